"""Where people begin, the pages about members, one's own profile and consent, and who sees a project's navigation."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import resolve, reverse
from django.utils import timezone

from core.people.context_processors import navigation
from core.people.models import Consent, Invitation, InvitationUse, LanguageLevel, Membership, Project, Role, User
from core.people.pages import ProjectNavigation
from core.people.rules.project_pages import page_of
from core.people.selectors.invitations import rows_of
from core.people.services.accounts import set_language_skills
from core.people.services.consent import give_consent
from core.people.services.members import add_member
from tests.clients import client_of
from tests.factories import NOW, make_project, make_user
from tests.people.conftest import PASSWORD
from tests.people.invitations import make_invitation, publish

pytestmark = pytest.mark.django_db


# Home


def test_a_stranger_is_welcomed(client: Client):
    page = client.get("/")
    assert page.status_code == 200
    assert reverse("account_login") in page.content.decode()


def test_everybody_is_sent_to_their_work_and_who_has_no_role_is_told_so(
    manager: User, annotator: User, installer: User, project: Project
):
    assert client_of(manager).get("/")["Location"] == reverse("annotation:project-list")
    assert client_of(annotator).get("/")["Location"] == reverse("annotation:work-show")
    assert client_of(installer).get("/")["Location"] == reverse("annotation:project-list")
    assert "You are not in a project yet" in client_of(make_user()).get("/").content.decode()
    player = make_user()
    add_member(project=project, user=player, role=Role.PLAYER)
    assert client_of(player).get("/").headers["Location"] == reverse("gapgame:game-home")


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    ("roles", "shown"),
    [
        ({Role.MANAGER}, {"Projects", "Collections", "Evaluations"}),
        ({Role.RESEARCHER}, {"Collections", "Evaluations"}),
        ({Role.RATER}, {"My work", "Compare"}),
        ({Role.ANNOTATOR}, {"My work"}),
        ({Role.ANNOTATOR, Role.RATER}, {"My work", "Compare"}),
        (set(), {"My work"}),
    ],
)
def test_the_navigation_leads_where_one_has_something_to_do_and_costs_one_query(
    project: Project, roles: set[Role], shown: set[str]
):
    person = make_user()
    for role in roles:
        add_member(project=project, user=person, role=role)
    with CaptureQueriesContext(connection) as queries:
        page = client_of(person).get(reverse("people:profile-show")).content.decode()
    nav = page[page.index('class="site-nav"') : page.index("</nav>")]
    assert {name for name in ("My work", "Compare", "Projects", "Collections", "Evaluations") if name in nav} == shown
    assert len([query for query in queries if 'SELECT "people_membership"."role"' in query["sql"]]) == 1


# Members


def test_managers_see_who_is_in_with_languages_and_consent(manager: User, annotator: User, project: Project):
    set_language_skills(user=annotator, levels={"de": LanguageLevel.FLUENT}, reads_english=True, interface_language="")
    give_consent(project=project, user=annotator, version=1, now=timezone.now())
    publish(project, "New.")
    page = client_of(manager).get(reverse("people:member-list", args=["lions"])).content.decode()
    for shown in ("ann", "mia", "German: Fluent", "Version 1", "not to the latest version"):
        assert shown in page


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_members_page_asks_as_much_for_many_as_for_few(
    manager: User, project: Project, django_assert_num_queries: Any
):
    def add(number: int) -> None:
        for _ in range(number):
            add_member(project=project, user=make_user(), role=Role.RATER)

    client, address = client_of(manager), reverse("people:member-list", args=["lions"])
    add(2)
    with django_assert_num_queries(10, exact=False):
        client.get(address)
    add(20)
    with django_assert_num_queries(10, exact=False):
        client.get(address)


def test_members_and_those_who_came_by_an_open_door_are_shown_some_at_a_time(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("core.people.selectors.projects.MEMBERS_PER_PAGE", 4)
    monkeypatch.setattr("core.people.selectors.invitations.MAX_NAMED", 3)
    invitation = make_invitation(project, places=100)
    Invitation.objects.filter(pk=invitation.pk).update(places_taken=5)
    for number in range(5):
        guest = make_user(f"guest{number}")
        add_member(project=project, user=guest, role=Role.PLAYER)
        InvitationUse.objects.create(invitation=invitation, user=guest)
    manager = client_of(project.created_by)
    everybody = Membership.objects.filter(project=project).values("user").distinct().count()
    pages = [manager.get(reverse("people:member-list", args=["lions"]), {"page": number}) for number in (1, 2)]
    names = [[member["user"].username for member in page.context["members"]] for page in pages]
    assert [len(names[0]), names[0] + names[1]] == [4, sorted(names[0] + names[1])]
    assert f"{everybody} people" in pages[0].content.decode()
    invitation.refresh_from_db()
    (row,) = rows_of([invitation], now=NOW)
    assert row.used_by == ["guest4", "guest3", "guest2", "…"]


def test_a_role_is_removed_after_being_asked_but_the_last_manager_stays(manager: User, annotator: User):
    client = client_of(manager)
    address = reverse("people:member-remove", args=["lions", annotator.memberships.get().pk])
    assert "ann" in client.get(address).content.decode()
    assert annotator.memberships.exists()
    client.post(address)
    assert not annotator.memberships.exists()
    client.post(reverse("people:member-remove", args=["lions", manager.memberships.get().pk]))
    assert "at least one manager" in client.get(reverse("people:member-list", args=["lions"])).content.decode()
    assert manager.memberships.exists()


# Profile


def test_a_profile_changes_adds_and_forgets_languages_but_guesses_no_level(annotator: User):
    response = client_of(annotator).post(reverse("people:profile-show"), {"new_language": "sw"})
    assert response.status_code == 422
    assert "both a language and how well" in response.content.decode()
    set_language_skills(
        user=annotator,
        levels={"de": LanguageLevel.FLUENT, "fr": LanguageLevel.NATIVE},
        reads_english=False,
        interface_language="",
    )
    client = client_of(annotator)
    values = {"level-de": "advanced", "level-fr": "", "new_language": "sw", "new_level": "native"}
    response = client.post(reverse("people:profile-show"), values | {"reads_english": "on", "interface_language": ""})
    assert response.status_code == 302
    annotator.refresh_from_db()
    assert annotator.reads_english
    known = dict(annotator.language_skills.values_list("language", "level"))
    assert known == {"de": "advanced", "sw": "native"}
    page = client.get(reverse("people:profile-show")).content.decode()
    for link in ("mfa_index", "account_set_password", "account_email"):
        assert reverse(link) in page


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_language_chosen_in_the_profile_wins_over_the_browsers_also_after_the_next_sign_in(
    client: Client, ann_with_password: User
):
    credentials = {"login": "ann", "password": PASSWORD}
    client.post(reverse("account_login"), credentials)
    client.post(reverse("people:profile-show"), {"interface_language": "ar"})
    assert 'dir="rtl"' in client.get(reverse("people:profile-show"), headers={"accept-language": "en"}).content.decode()
    elsewhere = Client()
    elsewhere.post(reverse("account_login"), credentials)
    assert elsewhere.cookies[django_settings.LANGUAGE_COOKIE_NAME].value == "ar"
    client.post(reverse("people:profile-show"), {"interface_language": ""})
    assert 'dir="ltr"' in client.get(reverse("people:profile-show"), headers={"accept-language": "en"}).content.decode()


def test_the_language_switch_of_every_page_stays_with_the_account(annotator: User):
    client = client_of(annotator)
    client.post(reverse("set_language"), {"language": "ar", "next": "/"})
    client.post(reverse("set_language"), {"language": "xx", "next": "/"})
    annotator.refresh_from_db()
    assert annotator.interface_language == "ar"


# Consent


def test_a_newer_version_is_shown_in_full_and_agreed_to(annotator: User, project: Project):
    publish(project, "Something new.")
    client, address = client_of(annotator), reverse("people:consent-give", args=["lions"])
    assert "Something new." in client.get(address).content.decode()
    assert client.post(address, {"version": "2"}).status_code == 422
    client.post(address, {"version": "1", "consent": "on"})
    assert not Consent.objects.exists()
    client.post(address, {"version": "2", "consent": "on"})
    assert annotator.consents.get().text.version == 2
    assert "You have agreed to this version" in client.get(address).content.decode()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_withdrawing_says_what_happens_and_is_recorded(annotator: User, project: Project):
    give_consent(project=project, user=annotator, version=1, now=timezone.now())
    client, address = client_of(annotator), reverse("people:consent-withdraw", args=["lions"])
    assert "no more work" in client.get(address).content.decode()
    assert client.post(address).status_code == 422
    assert Consent.objects.filter(withdrawn_at=None).exists()
    client.post(address, {"answers": "remove"})
    consent = annotator.consents.get()
    assert consent.withdrawn_at is not None
    assert consent.answers_kept is False
    assert "You get no work until you agree" in client.get(reverse("people:profile-show")).content.decode()


def test_a_manager_publishes_the_next_version_and_the_old_one_stays(manager: User, project: Project):
    client, address = client_of(manager), reverse("people:consent-publish", args=["lions"])
    client.post(address, {"body": "New text", "on_withdrawal": "remove"})
    texts = [(1, "I agree.", "choose"), (2, "New text", "remove")]
    assert list(project.consent_texts.values_list("version", "body", "on_withdrawal")) == texts
    assert client.post(address, {"body": " ", "on_withdrawal": "keep"}).status_code == 422


def test_markdown_cannot_smuggle_in_a_script(annotator: User, project: Project):
    publish(project, "<script>alert(1)</script> [x](javascript:alert(1)) ![x](https://evil.example/x.png)")
    page = client_of(annotator).get(reverse("people:consent-give", args=["lions"])).content.decode()
    assert "<script>alert" not in page
    assert 'href="javascript' not in page
    assert '<img src="https://evil' not in page


ROUTE = "projects/<slug:slug>/"


def request_of(user: User | AnonymousUser, path: str) -> HttpRequest:
    request = RequestFactory().get(path)
    request.user, request.resolver_match = user, resolve(path)
    return request


def navigation_of(user: User | AnonymousUser, path: str) -> ProjectNavigation:
    found = navigation(request_of(user, path))["navigation"]
    assert isinstance(found, ProjectNavigation)
    return found


@pytest.fixture
def log_url(project):
    return reverse("people:log-show", args=[project.slug])


@pytest.mark.parametrize(
    ("route", "name"),
    [
        ("", "annotation:project-show"),
        ("languages/<str:tag>/", "annotation:project-show"),
        ("comparisons/<int:comparison_id>/settings/", "sxs_eval:comparison-list"),
        ("comparisons/results/", "sxs_eval:results-show"),
        ("people/<int:pk>/remove/", "people:member-list"),
        ("people/texts/<str:kind>/<str:tag>/", "people:text-list"),
    ],
)
def test_an_address_belongs_to_the_page_with_the_longest_path(route, name):
    page = page_of(ROUTE + route)
    assert page is not None
    assert page.name == name


@pytest.mark.parametrize(
    "route", ["work/", "projects/new/", f"{ROUTE}nowhere/", f"{ROUTE}practice/", "api/v1/projects/"]
)
def test_other_addresses_belong_to_none(route):
    assert page_of(route) is None


def test_a_page_of_a_project_costs_the_one_query_of_the_main_navigation(project, log_url, django_assert_num_queries):
    make_project(slug="tigers", manager=project.created_by)
    with django_assert_num_queries(1):
        found = navigation(request_of(project.created_by, log_url))
        assert found["ways"].manages
        assert found["navigation"]
        assert found["navigation"].project == project.name
        assert [str(link.label) for link in found["navigation"].place] == ["Settings", "Audit log"]


def test_other_pages_cost_none(project, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert not navigation_of(project.created_by, reverse("annotation:work-show"))


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.RATER, Role.PLAYER])
def test_who_works_in_a_project_does_not_see_it(project, log_url, role):
    person = make_user()
    Membership.objects.create(project=project, user=person, role=role)
    assert not navigation_of(person, log_url)


def test_nobody_sees_it_in_the_project_of_others(log_url):
    assert not navigation_of(make_project(slug="tigers").created_by, log_url)
    assert not navigation_of(AnonymousUser(), log_url)


def test_a_request_that_no_view_answers_has_none():
    assert not navigation(RequestFactory().get("/projects/lions/"))["navigation"]
