"""The pages about people: what they show and do, and that an outsider is not told they exist."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from allauth.mfa.models import Authenticator
from django.conf import settings as django_settings
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from people import defaults, selectors, services
from people.models import Consent, Invitation, InvitationUse, Level, Membership, Project, Role, User, Webhook
from people.tokens import make_token
from tests.factories import NOW, make_language, make_user
from tests.people.conftest import PASSWORD

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]


def make_invitation(project: Project, **about: Any) -> Invitation:
    values: dict[str, Any] = {
        "role": Role.ANNOTATOR,
        "languages": [make_language("de"), make_language("sw")],
        "expires_at": timezone.now() + timedelta(days=1),
        "created_by": project.created_by,
    }
    return services.invite(project=project, now=timezone.now(), **(values | about))


def publish(project: Project, body: str) -> None:
    services.publish_consent_text(project=project, body=body, by=project.created_by, now=timezone.now())


def link_of(invitation: Invitation) -> str:
    return reverse("people:invitation-accept", args=[invitation.token])


ANSWERS = {"level-de": "native", "level-sw": "advanced", "reads_english": "on", "consent": "on", "consent_version": "1"}
ACCOUNT = {"username": "Zoe", "email": "", "password1": PASSWORD, "password2": PASSWORD}


# Home


def test_a_stranger_is_welcomed(client: Client):
    page = client.get("/")
    assert page.status_code == 200
    assert reverse("account_login") in page.content.decode()


def test_everybody_is_sent_to_their_work(manager: User, annotator: User, signed_in: SignIn):
    assert signed_in(manager).get("/")["Location"] == reverse("annotation:project-list")
    assert signed_in(annotator).get("/")["Location"] == reverse("annotation:work-show")
    installer = make_user(is_staff=True, is_superuser=True)
    assert signed_in(installer).get("/")["Location"] == reverse("annotation:project-list")


@pytest.mark.parametrize(
    ("roles", "shown"),
    [
        ({Role.MANAGER}, {"Projects", "Collections", "Evaluations"}),
        ({Role.RESEARCHER}, {"Evaluations"}),
        ({Role.RATER}, {"My work", "Compare"}),
        ({Role.ANNOTATOR}, {"My work"}),
        ({Role.ANNOTATOR, Role.RATER}, {"My work", "Compare"}),
        (set(), {"My work"}),
    ],
)
def test_the_navigation_leads_where_one_has_something_to_do_and_costs_one_query(
    project: Project, signed_in: SignIn, roles: set[Role], shown: set[str]
):
    person = make_user()
    for role in roles:
        services.add_member(project=project, user=person, role=role)
    with CaptureQueriesContext(connection) as queries:
        page = signed_in(person).get(reverse("people:profile-show")).content.decode()
    nav = page[page.index('class="site-nav"') : page.index("</nav>")]
    assert {name for name in ("My work", "Compare", "Projects", "Collections", "Evaluations") if name in nav} == shown
    assert len([query for query in queries if 'SELECT "people_membership"."role"' in query["sql"]]) == 1


def test_a_person_without_a_role_is_told_so(signed_in: SignIn):
    assert "You are in no project yet" in signed_in(make_user()).get("/").content.decode()


def test_a_player_begins_at_the_game(project: Project, signed_in: SignIn):
    player = make_user()
    services.add_member(project=project, user=player, role=Role.PLAYER)
    assert signed_in(player).get("/").headers["Location"] == reverse("gapgame:game-home")


def test_members_and_those_who_came_by_an_open_door_are_shown_some_at_a_time(
    project: Project, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(selectors, "MEMBERS_PER_PAGE", 4)
    monkeypatch.setattr(selectors, "NAMED", 3)
    invitation = make_invitation(project, places=100)
    Invitation.objects.filter(pk=invitation.pk).update(places_taken=5)
    for number in range(5):
        guest = make_user(f"guest{number}")
        services.add_member(project=project, user=guest, role=Role.PLAYER)
        InvitationUse.objects.create(invitation=invitation, user=guest)
    manager = signed_in(project.created_by)
    everybody = Membership.objects.filter(project=project).values("user").distinct().count()
    pages = [manager.get(reverse("people:member-list", args=["lions"]), {"page": number}) for number in (1, 2)]
    names = [[member.user.username for member in page.context["members"]] for page in pages]
    assert [len(names[0]), names[0] + names[1]] == [4, sorted(names[0] + names[1])]
    assert f"{everybody} people" in pages[0].content.decode()
    (row,) = selectors.invitations_of(project, NOW)
    assert row.used_by == ["guest4", "guest3", "guest2", "…"]


# Joining


def test_an_invitation_shows_project_role_languages_and_the_whole_consent_text(client: Client, project: Project):
    publish(project, "## Everything\n\nand <b>more</b>")
    page = client.get(link_of(make_invitation(project))).content.decode()
    for shown in ("Lions", "Annotator", "German", "Swahili", "<h2>Everything</h2>", "&lt;b&gt;more", "version 2"):
        assert shown in page


def test_a_new_person_makes_an_account_and_is_in(client: Client, project: Project):
    response = client.post(link_of(make_invitation(project)), ACCOUNT | ANSWERS)
    assert response["Location"] == reverse("people:home-show")
    zoe = User.objects.get(username="Zoe")
    assert client.session["_auth_user_id"] == str(zoe.pk)
    assert zoe.check_password(PASSWORD)
    assert zoe.reads_english
    assert dict(zoe.language_skills.values_list("language", "level")) == {"de": "native", "sw": "advanced"}
    assert zoe.consents.get().text.version == 1
    assert zoe.memberships.get().role == Role.ANNOTATOR


def test_a_rater_is_asked_for_languages_but_not_for_english(client: Client, project: Project):
    link = link_of(make_invitation(project, role=Role.RATER))
    page = client.get(link).content.decode()
    assert 'name="level-de"' in page
    assert "reads_english" not in page
    weak = ACCOUNT | ANSWERS | {"level-de": "advanced"}
    page = client.post(link, weak, follow=True).content.decode()
    assert "Captions are compared by people who are native or fluent" in page
    assert "read English" not in page


def test_a_rater_who_is_fluent_needs_no_english(client: Client, project: Project):
    link = link_of(make_invitation(project, role=Role.RATER))
    page = client.post(link, ACCOUNT | ANSWERS, follow=True)
    assert page.redirect_chain[-1][0] == reverse("sxs_eval:work-show")
    assert "correct it in your profile" not in page.content.decode()


def test_an_invitation_can_begin_with_a_role(manager: User, project: Project, signed_in: SignIn):
    path = reverse("people:invitation-create", args=["lions"])
    for asked, chosen in (("rater", Role.RATER), ("king", Role.ANNOTATOR)):
        form = signed_in(manager).get(path, {"role": asked}).context["form"]
        assert form["role"].value() == chosen


def test_an_invitation_for_raters_without_a_language_is_refused(manager: User, project: Project, signed_in: SignIn):
    path = reverse("people:invitation-create", args=["lions"])
    response = signed_in(manager).post(path, {"role": "rater", "places": "1", "days": "7"})
    assert response.status_code == 422
    assert "Choose at least one language" in response.content.decode()


def test_a_person_with_an_account_signs_in_first_and_comes_back(
    client: Client, project: Project, ann_with_password: User
):
    link = link_of(make_invitation(project))
    wanted = re.search(rf'href="({reverse("account_login")}\?next=[^"]*)"', client.get(link).content.decode())[1]
    sign_in_page = client.get(wanted)
    assert link in sign_in_page.content.decode()
    response = client.post(reverse("account_login"), {"login": "ann", "password": PASSWORD, "next": link})
    assert response["Location"] == link
    page = client.get(link).content.decode()
    assert "You are signed in as Ann" in page
    assert "password1" not in page
    assert client.post(link, ANSWERS)["Location"] == reverse("people:home-show")
    assert ann_with_password.memberships.get().project == project


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"username": "ANN"}, "already exists"),
        ({"username": "z@example.org"}, "no @ in it"),
        ({"email": "Ann@Example.org"}, "Sign in with it instead"),
        ({"password1": "12345", "password2": "12345"}, "too short"),
        ({"password2": "another one"}, "not the same password"),
        ({"consent": ""}, "Without your agreement"),
        ({"level-de": ""}, "required"),
        ({"level-sw": "so-so"}, "not one of the available choices"),
    ],
)
def test_what_does_not_fit_is_said_and_nothing_is_made(
    client: Client, project: Project, ann_with_password: User, change: dict[str, str], complaint: str
):
    invitation = make_invitation(project)
    response = client.post(link_of(invitation), ACCOUNT | ANSWERS | change)
    assert response.status_code == 422
    assert complaint in response.content.decode()
    assert not User.objects.filter(username="Zoe").exists()
    invitation.refresh_from_db()
    assert invitation.places_taken == 0


def test_joining_twice_leads_home_and_takes_one_place(client: Client, project: Project):
    invitation = make_invitation(project, places=2)
    client.post(link_of(invitation), ACCOUNT | ANSWERS)
    for again in (client.get(link_of(invitation)), client.post(link_of(invitation), ANSWERS)):
        assert again["Location"] == reverse("people:home-show")
    invitation.refresh_from_db()
    assert invitation.places_taken == 1


def test_a_text_that_changed_meanwhile_is_shown_and_asked_for_again(client: Client, project: Project):
    link = link_of(make_invitation(project))
    publish(project, "Something new.")
    response = client.post(link, ACCOUNT | ANSWERS)
    page = response.content.decode()
    assert response.status_code == 422
    assert "Something new." in page
    assert 'name="consent_version" value="2"' in page
    assert not re.search(r'name="consent"[^>]*checked', page)
    client.post(link, ACCOUNT | ANSWERS | {"consent_version": "2"})
    assert User.objects.get(username="Zoe").consents.get().text.version == 2


def test_a_manager_who_follows_an_annotators_link_is_told_why_not(manager: User, project: Project, signed_in: SignIn):
    response = signed_in(manager).post(link_of(make_invitation(project)), ANSWERS)
    assert response.status_code == 422
    assert "independent" in response.content.decode()


def test_who_does_not_qualify_may_join_but_is_told_what_it_means(client: Client, project: Project):
    answers = ACCOUNT | ANSWERS | {"level-de": "advanced"}
    client.post(link_of(make_invitation(project)), answers)
    assert "you do not get such work" in client.get(reverse("people:profile-show")).content.decode()


def test_a_researcher_is_asked_neither_languages_nor_consent(client: Client, project: Project):
    invitation = make_invitation(project, role=Role.RESEARCHER, languages=[])
    page = client.get(link_of(invitation)).content.decode()
    assert "level-" not in page
    assert "consent" not in page
    client.post(link_of(invitation), ACCOUNT)
    assert User.objects.get(username="Zoe").memberships.get().role == Role.RESEARCHER


def test_dead_links_say_what_to_do(client: Client, project: Project):
    expired = make_invitation(project, expires_at=timezone.now())
    revoked = make_invitation(project)
    services.revoke_invitation(invitation=revoked, by=project.created_by, now=timezone.now())
    used_up = make_invitation(project)
    Invitation.objects.filter(pk=used_up.pk).update(places_taken=1)
    for invitation, said in ((expired, "has expired"), (revoked, "was taken back"), (used_up, "is used up")):
        for response in (client.get(link_of(invitation)), client.post(link_of(invitation), ACCOUNT | ANSWERS)):
            assert response.status_code == 410
            assert said in response.content.decode()
            assert re.search(r"[Aa]sk ", response.content.decode())
    response = client.get(reverse("people:invitation-accept", args=["nonsense"]))
    assert response.status_code == 404
    assert "Copy it again" in response.content.decode()
    assert not User.objects.filter(username="Zoe").exists()


@pytest.mark.parametrize(
    ("wanted", "led"),
    [("/accounts/profile/", "/accounts/profile/"), ("//evil.example/", None), ("https://x.test/", None)],
)
def test_who_came_from_a_page_of_ours_is_led_back_to_it_and_nowhere_else(
    client: Client, project: Project, wanted: str, led: str | None
):
    link = f"{link_of(make_invitation(project))}?next={wanted}"
    expected = led or reverse("people:home-show")
    assert client.post(link, ACCOUNT | ANSWERS)["Location"] == expected
    assert client.get(link)["Location"] == expected, "The same link again, signed in."


def test_the_language_of_the_pages_stays_with_a_new_account(client: Client, project: Project):
    client.post(link_of(make_invitation(project)), ACCOUNT | ANSWERS, headers={"accept-language": "ar"})
    assert User.objects.get(username="Zoe").interface_language == "ar"


# Inviting


def invite_by_page(client: Client, **change: Any):
    values = {"role": "annotator", "languages": ["de"], "places": "3", "days": "14", "email": "", "note": "The class"}
    return client.post(reverse("people:invitation-create", args=["lions"]), values | change)


@pytest.mark.django_db
def test_what_no_database_can_look_for_is_an_unknown_link_or_name(client: Client):
    assert client.get("/join/a%00b/").status_code == 404
    assert client.post("/accounts/login/", {"login": "\0", "password": "x"}).status_code == 200


def test_a_manager_makes_a_link_and_finds_it_in_the_list(manager: User, signed_in: SignIn):
    client = signed_in(manager)
    assert invite_by_page(client)["Location"] == reverse("people:invitation-list", args=["lions"])
    invitation = Invitation.objects.get()
    assert (invitation.places, invitation.note, invitation.created_by) == (3, "The class", manager)
    assert timedelta(days=13) < invitation.expires_at - timezone.now() <= timedelta(days=14)
    page = client.get(reverse("people:invitation-list", args=["lions"])).content.decode()
    assert f"http://testserver{link_of(invitation)}" in page
    for shown in ("Annotator", "German", "0 of 3", "The class", "Open"):
        assert shown in page
    assert mail.outbox == []


def test_with_an_address_the_link_is_sent_there_too(manager: User, signed_in: SignIn):
    client = signed_in(manager)
    invite_by_page(client, email="zoe@example.org")
    (message,) = mail.outbox
    assert message.to == ["zoe@example.org"]
    assert f"http://testserver{link_of(Invitation.objects.get())}" in message.body
    assert "Lions" in message.subject


def test_where_no_mail_can_be_sent_the_link_is_made_and_the_manager_told(manager: User, signed_in: SignIn):
    client = signed_in(manager)
    with patch("people.services.send_mail", side_effect=ConnectionRefusedError):
        invite_by_page(client, email="zoe@example.org")
    page = client.get(reverse("people:invitation-list", args=["lions"])).content.decode()
    assert "no mail could be sent" in page
    assert Invitation.objects.count() == 1


@pytest.mark.parametrize("change", [{"languages": []}, {"places": "0"}, {"role": "king"}, {"days": "9999"}])
def test_an_invitation_that_makes_no_sense_is_not_made(manager: User, signed_in: SignIn, change: dict[str, Any]):
    assert invite_by_page(signed_in(manager), **change).status_code == 422
    assert not Invitation.objects.exists()


def test_a_consent_text_with_gaps_is_to_be_finished_before_people_are_invited(
    manager: User, project: Project, signed_in: SignIn
):
    client, address = signed_in(manager), reverse("people:invitation-create", args=["lions"])
    assert "Fill them in first" not in client.get(address).content.decode()
    publish(project, defaults.consent_text())
    assert "Fill them in first" in client.get(address).content.decode()


def test_a_manager_takes_an_invitation_back(manager: User, project: Project, signed_in: SignIn):
    invitation = make_invitation(project)
    client = signed_in(manager)
    client.post(reverse("people:invitation-revoke", args=["lions", invitation.pk]))
    page = client.get(reverse("people:invitation-list", args=["lions"])).content.decode()
    assert "Revoked" in page
    assert invitation.token not in page


# Members


def test_managers_see_who_is_in_with_languages_and_consent(
    manager: User, annotator: User, project: Project, signed_in: SignIn
):
    services.set_language_skills(user=annotator, levels={"de": Level.FLUENT}, reads_english=True, interface_language="")
    services.give_consent(project=project, user=annotator, version=1, now=timezone.now())
    publish(project, "New.")
    page = signed_in(manager).get(reverse("people:member-list", args=["lions"])).content.decode()
    for shown in ("ann", "mia", "German: Fluent", "version 1", "not to the newest"):
        assert shown in page


def test_the_members_page_asks_as_much_for_many_as_for_few(
    manager: User, project: Project, signed_in: SignIn, django_assert_num_queries: Any
):
    def add(number: int) -> None:
        for _ in range(number):
            services.add_member(project=project, user=make_user(), role=Role.RATER)

    client, address = signed_in(manager), reverse("people:member-list", args=["lions"])
    add(2)
    with django_assert_num_queries(10, exact=False):
        client.get(address)
    add(20)
    with django_assert_num_queries(10, exact=False):
        client.get(address)


def test_a_role_is_removed_after_being_asked(manager: User, annotator: User, signed_in: SignIn):
    client = signed_in(manager)
    address = reverse("people:member-remove", args=["lions", annotator.memberships.get().pk])
    assert "ann" in client.get(address).content.decode()
    assert annotator.memberships.exists()
    client.post(address)
    assert not annotator.memberships.exists()


def test_the_last_manager_stays(manager: User, signed_in: SignIn):
    client = signed_in(manager)
    client.post(reverse("people:member-remove", args=["lions", manager.memberships.get().pk]))
    assert "at least one manager" in client.get(reverse("people:member-list", args=["lions"])).content.decode()
    assert manager.memberships.exists()


# Profile


def test_a_profile_changes_adds_and_forgets_languages(annotator: User, signed_in: SignIn):
    services.set_language_skills(
        user=annotator, levels={"de": Level.FLUENT, "fr": Level.NATIVE}, reads_english=False, interface_language=""
    )
    client = signed_in(annotator)
    values = {"level-de": "advanced", "level-fr": "", "new_language": "sw", "new_level": "native"}
    response = client.post(reverse("people:profile-show"), values | {"reads_english": "on", "interface_language": ""})
    assert response.status_code == 302
    annotator.refresh_from_db()
    assert annotator.reads_english
    known = dict(annotator.language_skills.values_list("language", "level"))
    assert known == {"de": "advanced", "sw": "native"}
    page = client.get(reverse("people:profile-show")).content.decode()
    for link in ("mfa_index", "account_change_password", "account_email"):
        assert reverse(link) in page


def test_a_new_language_without_a_level_is_not_guessed(annotator: User, signed_in: SignIn):
    response = signed_in(annotator).post(reverse("people:profile-show"), {"new_language": "sw"})
    assert response.status_code == 422
    assert "both the language and how well" in response.content.decode()


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


def test_the_language_switch_of_every_page_stays_with_the_account(annotator: User, signed_in: SignIn):
    client = signed_in(annotator)
    client.post(reverse("set_language"), {"language": "ar", "next": "/"})
    client.post(reverse("set_language"), {"language": "xx", "next": "/"})
    annotator.refresh_from_db()
    assert annotator.interface_language == "ar"


# Consent


def test_a_newer_version_is_shown_in_full_and_agreed_to(annotator: User, project: Project, signed_in: SignIn):
    publish(project, "Something new.")
    client, address = signed_in(annotator), reverse("people:consent-give", args=["lions"])
    assert "Something new." in client.get(address).content.decode()
    assert client.post(address, {"version": "2"}).status_code == 422
    client.post(address, {"version": "1", "consent": "on"})
    assert not Consent.objects.exists()
    client.post(address, {"version": "2", "consent": "on"})
    assert annotator.consents.get().text.version == 2
    assert "You have agreed to this version" in client.get(address).content.decode()


def test_withdrawing_says_what_happens_and_is_recorded(annotator: User, project: Project, signed_in: SignIn):
    services.give_consent(project=project, user=annotator, version=1, now=timezone.now())
    client, address = signed_in(annotator), reverse("people:consent-withdraw", args=["lions"])
    assert "No more work" in client.get(address).content.decode()
    assert client.post(address).status_code == 422
    assert Consent.objects.filter(withdrawn_at=None).exists()
    client.post(address, {"answers": "remove"})
    consent = annotator.consents.get()
    assert consent.withdrawn_at is not None
    assert consent.answers_kept is False
    assert "without it you get no work" in client.get(reverse("people:profile-show")).content.decode()


def test_a_manager_publishes_the_next_version_and_the_old_one_stays(manager: User, project: Project, signed_in: SignIn):
    client, address = signed_in(manager), reverse("people:consent-publish", args=["lions"])
    client.post(address, {"body": "New text", "on_withdrawal": "remove"})
    texts = [(1, "I agree.", "choose"), (2, "New text", "remove")]
    assert list(project.consent_texts.values_list("version", "body", "on_withdrawal")) == texts
    assert client.post(address, {"body": " ", "on_withdrawal": "keep"}).status_code == 422


def test_markdown_cannot_smuggle_in_a_script(annotator: User, project: Project, signed_in: SignIn):
    publish(project, "<script>alert(1)</script> [x](javascript:alert(1)) ![x](https://evil.example/x.png)")
    page = signed_in(annotator).get(reverse("people:consent-give", args=["lions"])).content.decode()
    assert "<script>alert" not in page
    assert 'href="javascript' not in page
    assert '<img src="https://evil' not in page


# Outsiders

MANAGERS_PAGES = [
    ("people:member-list", False),
    ("people:member-remove", True),
    ("people:consent-publish", False),
    ("people:invitation-list", False),
    ("people:invitation-create", False),
    ("people:invitation-revoke", True),
]
MEMBERS_PAGES = [("people:consent-give", False), ("people:consent-withdraw", False)]


def addresses(project: Project, annotator: User, name: str, has_pk: bool) -> str:
    pk = {
        "people:member-remove": annotator.memberships.get().pk,
        "people:invitation-revoke": make_invitation(project).pk,
    }
    return reverse(name, args=[project.slug, pk[name]] if has_pk else [project.slug])


def answers(client: Client, address: str) -> set[int]:
    return {response.status_code for response in (client.get(address), client.post(address))} - {405}


@pytest.mark.parametrize(("name", "has_pk"), MANAGERS_PAGES + MEMBERS_PAGES)
def test_an_outsider_is_not_told_that_a_page_exists(
    project: Project, annotator: User, outsider: User, signed_in: SignIn, name: str, has_pk: bool
):
    assert answers(signed_in(outsider), addresses(project, annotator, name, has_pk)) == {404}
    assert Membership.objects.filter(user=annotator).exists()


@pytest.mark.parametrize(("name", "has_pk"), MANAGERS_PAGES)
def test_managers_pages_are_closed_to_annotators(
    project: Project, annotator: User, signed_in: SignIn, name: str, has_pk: bool
):
    assert answers(signed_in(annotator), addresses(project, annotator, name, has_pk)) == {404}


@pytest.mark.parametrize(("name", "has_pk"), MANAGERS_PAGES + MEMBERS_PAGES)
def test_strangers_are_sent_to_sign_in(client: Client, project: Project, annotator: User, name: str, has_pk: bool):
    address = addresses(project, annotator, name, has_pk)
    sent = [response for response in (client.get(address), client.post(address)) if response.status_code != 405]
    assert sent
    assert all(response["Location"].startswith(reverse("account_login")) for response in sent)


def test_a_manager_of_one_project_cannot_reach_into_another_by_number(
    outsider: User, annotator: User, project: Project, signed_in: SignIn
):
    client = signed_in(outsider)
    pk, invitation = annotator.memberships.get().pk, make_invitation(project)
    assert client.post(reverse("people:member-remove", args=["zebras", pk])).status_code == 404
    assert client.post(reverse("people:invitation-revoke", args=["zebras", invitation.pk])).status_code == 404


def test_the_profile_is_only_ones_own(client: Client):
    assert client.get(reverse("people:profile-show"))["Location"].startswith(reverse("account_login"))


# Administration


def test_the_installer_finds_everything_in_the_administration_and_changes_roles_nowhere_there(
    project: Project, annotator: User, signed_in: SignIn
):
    installer = make_user(is_staff=True, is_superuser=True)
    client = signed_in(installer)
    make_invitation(project)
    for model in ("user", "project", "membership", "invitation", "consent"):
        assert client.get(reverse(f"admin:people_{model}_changelist")).status_code == 200
    assert client.get(reverse("admin:people_user_change", args=[annotator.pk])).status_code == 200
    assert client.get(reverse("admin:people_project_change", args=[project.pk])).status_code == 200
    assert client.get(reverse("admin:people_membership_add")).status_code == 403


def test_no_secret_that_lets_somebody_in_stands_in_the_administration(
    project: Project, annotator: User, signed_in: SignIn
):
    """Nor any by which signatures or pseudonyms are made."""
    client = signed_in(make_user(is_staff=True, is_superuser=True))
    secrets = {
        Authenticator.objects.create(user=annotator, type="totp", data={"secret": "OLDSECRET"}): "OLDSECRET",
        make_invitation(project): "token",
        make_token(user=annotator, name="x", may_write=True, expires_at=None, now=NOW).row: "digest",
        Webhook.objects.create(
            project=project, url="https://a.org", secret="whsec_x", events=[], created_at=NOW, created_by=annotator
        ): "secret",
    }
    for row, secret in secrets.items():
        page = client.get(reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk]))
        assert page.status_code == 200
        assert str(getattr(row, secret, secret)) not in page.content.decode()
    factor = Authenticator.objects.get()
    assert client.post(reverse("admin:mfa_authenticator_delete", args=[factor.pk]), {"post": "yes"}).status_code == 302
    assert not Authenticator.objects.exists()
