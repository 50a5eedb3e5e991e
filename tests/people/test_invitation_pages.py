"""Inviting people and joining by a link: what a newcomer is asked, where they begin, and what a closed link says."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.languages.models import Language
from core.people.models import Invitation, Membership, Project, Role, User
from core.people.services.invitations import revoke_invitation
from tests.annotation.verifying import make_captioned_round, make_verification
from tests.clients import client_of
from tests.factories import make_language, make_project, make_user
from tests.people.conftest import PASSWORD
from tests.people.invitations import link_of, make_invitation, publish

pytestmark = pytest.mark.django_db

ANSWERS = {"level-de": "native", "level-sw": "advanced", "reads_english": "on", "consent": "on", "consent_version": "1"}
ACCOUNT = {"username": "Zoe", "email": "", "password": PASSWORD}


@pytest.fixture
def link(project: Project) -> str:
    """Invites one annotator for German and Swahili."""
    return link_of(make_invitation(project))


@pytest.fixture
def rater_link(project: Project) -> str:
    return link_of(make_invitation(project, role=Role.RATER))


# Joining


def test_an_invitation_shows_project_role_languages_and_the_whole_consent_text(client: Client, project: Project):
    publish(project, "## Everything\n\nand <b>more</b>")
    page = client.get(link_of(make_invitation(project))).content.decode()
    for shown in ("Lions", "Annotator", "German", "Swahili", "<h2>Everything</h2>", "&lt;b&gt;more", "version 2"):
        assert shown in page


def test_a_new_person_makes_an_account_and_is_in(client: Client, link: str):
    response = client.post(link, ACCOUNT | ANSWERS)
    assert response["Location"] == reverse("annotation:work-show")
    zoe = User.objects.get(username="Zoe")
    assert client.session["_auth_user_id"] == str(zoe.pk)
    assert zoe.check_password(PASSWORD)
    assert zoe.reads_english
    assert dict(zoe.language_skills.values_list("language", "level")) == {"de": "native", "sw": "advanced"}
    assert zoe.consents.get().text.version == 1
    assert zoe.memberships.get().role == Role.ANNOTATOR


def test_whoever_knows_one_of_the_languages_claims_no_level_in_the_others(client: Client, link: str):
    page = client.get(link).content.decode()
    assert page.count("I do not know it") == 2
    client.post(link, ACCOUNT | ANSWERS | {"level-sw": ""})
    zoe = User.objects.get(username="Zoe")
    assert dict(zoe.language_skills.values_list("language", "level")) == {"de": "native"}


def test_saying_that_one_does_not_know_a_language_takes_back_what_the_profile_says(
    client: Client, link: str, ann_with_password: User
):
    ann_with_password.language_skills.create(language_id="sw", level="advanced")
    client.force_login(ann_with_password)
    client.post(link, ANSWERS | {"level-sw": ""})
    assert list(ann_with_password.language_skills.values_list("language", flat=True)) == ["de"]


def test_a_link_for_one_language_is_for_people_who_know_it_and_a_manager_need_not(client: Client, project: Project):
    invitation = make_invitation(project, languages=[make_language("de")])
    assert "I do not know it" not in client.get(link_of(invitation)).content.decode()
    link = link_of(make_invitation(project, role=Role.MANAGER))
    client.post(link, ACCOUNT | ANSWERS | {"level-de": "", "level-sw": ""})
    assert not User.objects.get(username="Zoe").language_skills.exists()


def test_a_rater_is_asked_for_languages_but_not_for_english(client: Client, rater_link: str):
    page = client.get(rater_link).content.decode()
    assert 'name="level-de"' in page
    assert "reads_english" not in page
    weak = ACCOUNT | ANSWERS | {"level-de": "advanced"}
    page = client.post(rater_link, weak, follow=True).content.decode()
    assert "Captions are compared by people who are native or fluent" in page
    assert "read English" not in page


def test_a_rater_who_is_fluent_needs_no_english(client: Client, rater_link: str):
    page = client.post(rater_link, ACCOUNT | ANSWERS, follow=True)
    assert page.redirect_chain[-1][0] == reverse("sxs_eval:work-show")
    assert "correct it in your profile" not in page.content.decode()


def test_a_person_with_an_account_signs_in_first_and_comes_back(
    client: Client, project: Project, link: str, ann_with_password: User
):
    wanted = re.search(rf'href="({reverse("account_login")}\?next=[^"]*)"', client.get(link).content.decode())[1]
    sign_in_page = client.get(wanted)
    assert link in sign_in_page.content.decode()
    response = client.post(reverse("account_login"), {"login": "ann", "password": PASSWORD, "next": link})
    assert response["Location"] == link
    page = client.get(link).content.decode()
    assert "You are signed in as Ann" in page
    assert 'type="password"' not in page
    assert client.post(link, ANSWERS)["Location"] == reverse("annotation:work-show")
    assert ann_with_password.memberships.get().project == project


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"username": "ANN"}, "already exists"),
        ({"username": "z@example.org"}, "cannot contain @"),
        ({"email": "Ann@"}, "valid email address"),
        ({"password": "12345"}, "too short"),
        ({"consent": ""}, "unless you agree"),
        ({"level-sw": "so-so"}, "not one of the available choices"),
        ({"level-de": "", "level-sw": ""}, "at least one of these languages"),
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


def test_joining_twice_leads_to_the_work_and_takes_one_place(client: Client, project: Project):
    invitation = make_invitation(project, places=2)
    client.post(link_of(invitation), ACCOUNT | ANSWERS)
    for again in (client.get(link_of(invitation)), client.post(link_of(invitation), ANSWERS)):
        assert again["Location"] == reverse("annotation:work-show")
    invitation.refresh_from_db()
    assert invitation.places_taken == 1


@pytest.mark.parametrize(
    ("role", "places", "made"), [(Role.PLAYER, 61, 4), (Role.PLAYER, 60, 5), (Role.ANNOTATOR, 61, 5)]
)
def test_a_script_makes_few_accounts_to_play_under_and_annotators_and_a_class_all_join_at_once(
    project: Project, role: Role, places: int, made: int
):
    invitation = make_invitation(project, role=role, places=places)
    for number in range(5):
        page = Client().post(link_of(invitation), ACCOUNT | ANSWERS | {"username": f"Zoe-{number}"})
    assert User.objects.filter(username__startswith="Zoe").count() == made
    invitation.refresh_from_db()
    assert invitation.places_taken == made
    assert ("Try again in 20 seconds" in page.content.decode()) == (made == 4)


def test_of_a_class_at_one_address_four_join_every_twenty_seconds(project: Project, monkeypatch: pytest.MonkeyPatch):
    link, began = link_of(make_invitation(project, role=Role.PLAYER, places=100)), time.time()
    for waited in (0, 20):
        monkeypatch.setattr("allauth.core.internal.ratelimit.time.time", lambda now=began + waited: now)
        for number in range(5):
            Client().post(link, ACCOUNT | ANSWERS | {"username": f"Zoe-{waited}-{number}"})

    assert User.objects.filter(username__startswith="Zoe").count() == 8


def test_a_player_who_was_refused_uses_up_none_of_the_accounts_of_their_network(client: Client, project: Project):
    link = link_of(make_invitation(project, role=Role.PLAYER, places=100))
    publish(project, "Something new.")
    for _try in range(4):
        assert "The text has changed" in client.post(link, ACCOUNT | ANSWERS).content.decode()
    client.post(link, ACCOUNT | ANSWERS | {"consent_version": "2"})
    assert User.objects.filter(username="Zoe").exists()


def test_a_text_that_changed_meanwhile_is_shown_and_asked_for_again(client: Client, project: Project, link: str):
    publish(project, "Something new.")
    response = client.post(link, ACCOUNT | ANSWERS)
    page = response.content.decode()
    assert response.status_code == 422
    assert not Membership.objects.filter(role=Role.ANNOTATOR).exists()
    assert "Something new." in page
    assert 'name="consent_version" value="2"' in page
    assert not re.search(r'name="consent"[^>]*checked', page)
    client.post(link, ACCOUNT | ANSWERS | {"consent_version": "2"})
    assert User.objects.get(username="Zoe").consents.get().text.version == 2


def test_a_manager_who_follows_an_annotators_link_is_told_why_not_and_no_place_is_lost(manager: User, project: Project):
    invitation = make_invitation(project)
    assert "private window" in client_of(manager).get(link_of(invitation)).text
    response = client_of(manager).post(link_of(invitation), ANSWERS)
    assert response.status_code == 422
    assert "independent" in response.content.decode()
    invitation.refresh_from_db()
    assert invitation.places_taken == 0


def test_who_does_not_qualify_may_join_but_is_told_what_it_means(client: Client, link: str):
    answers = ACCOUNT | ANSWERS | {"level-de": "advanced"}
    client.post(link, answers)
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
    revoke_invitation(invitation=revoked, by=project.created_by, now=timezone.now())
    used_up = make_invitation(project)
    Invitation.objects.filter(pk=used_up.pk).update(places_taken=1)
    for invitation, said in ((expired, "has expired"), (revoked, "was revoked"), (used_up, "is used up")):
        for response in (client.get(link_of(invitation)), client.post(link_of(invitation), ACCOUNT | ANSWERS)):
            assert response.status_code == 410
            assert said in response.content.decode()
            assert re.search(r"[Aa]sk ", response.content.decode())
    response = client.get(reverse("people:invitation-accept", args=["nonsense"]))
    assert response.status_code == 404
    assert "Copy it again" in response.content.decode()
    assert not User.objects.filter(username="Zoe").exists()


def test_what_no_database_can_look_for_is_an_unknown_link_or_name(client: Client):
    assert client.get("/join/a%00b/").status_code == 404
    assert client.post("/accounts/login/", {"login": "\0", "password": "x"}).status_code == 200


@pytest.mark.parametrize(
    ("wanted", "led"),
    [("/accounts/profile/", "/accounts/profile/"), ("//evil.example/", None), ("https://x.test/", None)],
)
def test_who_came_from_a_page_of_ours_is_led_back_to_it_and_nowhere_else(
    client: Client, link: str, wanted: str, led: str | None
):
    link = f"{link}?next={wanted}"
    expected = led or reverse("annotation:work-show")
    assert client.post(link, ACCOUNT | ANSWERS)["Location"] == expected
    assert client.get(link)["Location"] == expected, "The same link again, signed in."


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_language_of_the_pages_stays_with_a_new_account(client: Client, link: str):
    client.post(link, ACCOUNT | ANSWERS, headers={"accept-language": "ar"})
    assert User.objects.get(username="Zoe").interface_language == "ar"


# After joining


def joined(client: Client, project: Project, role: Role, **about: Any) -> Any:
    """Follow an invitation into `role` to the page that it leads to."""
    link = link_of(make_invitation(project, role=role, **about))
    return client.post(link, ACCOUNT | ANSWERS, follow=True)


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    ("role", "address"),
    [
        (Role.MANAGER, "/projects/lions/"),
        (Role.RESEARCHER, "/projects/lions/comparisons/"),
        (Role.ANNOTATOR, "/work/"),
        (Role.RATER, "/compare/"),
        (Role.PLAYER, "/game/"),
    ],
)
def test_who_joined_begins_where_their_role_has_its_work(client: Client, project: Project, role: Role, address: str):
    page = joined(client, project, role)
    assert page.redirect_chain[-1][0] == address
    assert page.status_code == 200


def test_an_annotator_elsewhere_who_joins_as_a_rater_begins_with_comparing(
    client: Client, project: Project, ann_with_password: User
):
    make_project("zebras").memberships.create(user=ann_with_password, role=Role.ANNOTATOR)
    client.force_login(ann_with_password)
    assert joined(client, project, Role.RATER).redirect_chain[-1][0] == reverse("sxs_eval:work-show")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_rater_with_nothing_to_compare_yet_is_led_to_the_captions_to_rate(client: Client):
    verification = make_verification(make_captioned_round(images=2, captions=1)[0], places=1)
    project = verification.project
    page = joined(client, project, Role.RATER, languages=[verification.language])
    assert page.redirect_chain[-1][0] == reverse("annotation:work-show")
    assert reverse("annotation:verification-take", args=[verification.pk]) in page.content.decode()
    assert client.get(reverse("people:home-show"))["Location"] == reverse("annotation:work-show")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_where_there_is_no_work_yet_the_page_says_in_which_project_one_is_and_that_work_appears_there(
    client: Client, project: Project
):
    for role, username in ((Role.RATER, "rita"), (Role.ANNOTATOR, "anna")):
        link = link_of(make_invitation(project, role=role))
        page = Client().post(link, ACCOUNT | ANSWERS | {"username": username}, follow=True).content.decode()
        assert "There is nothing to do for your role yet. When there is, it appears here." in page
        assert "Lions" in page


def test_whoever_lost_the_role_again_is_led_home_by_the_old_link(client: Client, project: Project):
    invitation = make_invitation(project, role=Role.MANAGER, languages=[])
    client.post(link_of(invitation), ACCOUNT | ANSWERS)
    User.objects.get(username="Zoe").memberships.all().delete()
    assert client.get(link_of(invitation))["Location"] == reverse("people:home-show")


# Choosing among many languages


@pytest.fixture
def long_link(project: Project) -> str:
    """Invites one annotator for any of the 36 languages."""
    return link_of(make_invitation(project, languages=list(Language.objects.all())))


def test_whoever_knows_one_of_36_languages_says_so_and_claims_no_other(client: Client, long_link: str):
    client.post(long_link, ACCOUNT | {"consent": "on", "consent_version": "1", "level-th": "native"})
    assert dict(User.objects.get(username="Zoe").language_skills.values_list("language", "level")) == {"th": "native"}


@pytest.mark.long(reason="at least three others run each of its lines")
def test_languages_are_listed_by_their_own_names_and_that_of_the_page_comes_first(client: Client, long_link: str):
    page = client.get(long_link, headers={"accept-language": "th"}).content.decode()
    assert page.count('<select name="level-') == 36
    assert page.index('dir="ltr">ไทย</span>') < page.index('dir="rtl">العربية</span>')


def test_a_researcher_may_know_none_of_the_languages_of_a_link(client: Client, project: Project):
    joined(client, project, Role.RESEARCHER)
    assert User.objects.get(username="Zoe").memberships.get().role == Role.RESEARCHER


def test_the_page_is_in_the_language_of_its_invitation_until_the_reader_chooses_another(
    client: Client, project: Project
):
    link = link_of(make_invitation(project, languages=[make_language("te")]))
    english = {"accept-language": "en"}
    assert '<html lang="te"' in client.get(link, headers=english).content.decode()
    refused = client.post(link, {"consent": ""}, headers=english)
    assert (refused.status_code, refused["Content-Language"]) == (422, "te")
    member = client_of(make_user(), headers=english)
    client.post(reverse("set_language"), {"language": "en", "next": link})
    for_two = link_of(make_invitation(project))
    for who, what in ((client, link), (member, link), (Client(headers=english), for_two)):
        assert '<html lang="en"' in who.get(what).content.decode()
