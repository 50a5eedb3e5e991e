"""What somebody who joins says of many languages, and where they begin."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from core.languages.models import Language
from core.people.models import Project, Role, User
from tests.annotation.verifying import make_captioned_round, make_verification
from tests.factories import make_project
from tests.people.conftest import PASSWORD
from tests.people.invitations import link_of, make_invitation

pytestmark = pytest.mark.django_db

ANSWERS = {"level-de": "native", "level-sw": "advanced", "reads_english": "on", "consent": "on", "consent_version": "1"}
ACCOUNT = {"username": "Zoe", "email": "", "password1": PASSWORD, "password2": PASSWORD}


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
