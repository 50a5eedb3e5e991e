"""Parts of a consent text for some roles: people read and agree to those of their own, and to no others."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from core.people.models import Consent, Project, Role, TextKind, User
from core.people.rules.consent_parts import PartsError, checked_parts, is_marker, text_for
from core.people.selectors.projects import own_projects
from core.people.selectors.qualification import still_takes_part
from core.people.selectors.texts import notes_writing_marks
from core.people.services.consent import publish_consent_text
from core.people.services.texts import save_translation
from tests.clients import client_of
from tests.factories import NOW, make_language, make_user
from tests.people.invitations import link_of, make_invitation, publish
from tests.people.test_data_export import archive_of

TEXT = """You agree to this.

{FOR annotator}
You write captions.
{END}

- a user name
{FOR annotator, rater}
- languages
{END}
{FOR rater}
- judgements
{END}
{FOR player}
- guesses
{END}
- an address
"""


def test_each_role_reads_its_own_parts_and_what_is_for_everybody() -> None:
    assert " ".join(text_for(TEXT, ["player"]).split()) == "You agree to this. - a user name - guesses - an address"
    both = text_for(TEXT, ["annotator", "rater"])
    assert "- a user name\n- languages\n- judgements\n- an address" in both
    assert "{" not in both
    assert text_for(TEXT.replace("\n", "\r\n"), ["rater"]).count("judgements") == 1, "as a browser sends it"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("x\n{FOR annotator}\ny", "Line 2: this part has no end"),
        ("{FOR annotator}\n{FOR rater}\n{END}", "Line 1: this part has no end"),
        ("x\n\n{END}", "Line 3: {END} ends nothing"),
        ("x\n{FOR judge}\ny\n{END}", "Line 2: “judge” is not a role that agrees to this text. Write annotator"),
        ("{FOR rater, manager}\ny\n{END}", "“manager” is not a role"),
        ("x {FOR rater} y {END}", "Line 1: put {FOR annotator}"),
        ("{for rater}\ny\n{END}", "Line 1: put {FOR annotator}"),
        ("{FOR}\ny\n{END}", "on lines of their own"),
        ("\u2066{\u2069for rater}\ny\n{END}", "Line 1: put {FOR annotator}"),
    ],
)
def test_a_part_that_begins_or_ends_wrongly_is_named_with_its_line(body: str, said: str) -> None:
    with pytest.raises(PartsError) as wrong:
        checked_parts(body)
    assert said in str(wrong.value)
    assert text_for(body, ["rater"]) == body, "what was stored before is shown whole"


def test_markers_copied_from_a_page_in_arabic_are_read_without_their_invisible_signs() -> None:
    copied = TEXT.replace("{FOR", "\u2068{\u200eFOR").replace("}", "}\u2069\u200f")
    assert text_for(copied, ["player"]) == text_for(TEXT, ["player"])
    assert is_marker("\u2067{END}\u2069")


@pytest.fixture
def parted(project: Project) -> Project:
    publish(project, TEXT)
    return project


def with_roles(project: Project, *roles: Role) -> User:
    person = make_user()
    for role in roles:
        project.memberships.create(user=person, role=role)
    return person


def agree(client: Client, project: Project) -> str:
    """Agree to what the page shows; return that."""
    address = reverse("people:consent-give", args=[project.slug])
    page = client.get(address)
    form = page.context["form"]
    client.post(address, {name: form[name].value() for name in ("version", "roles")} | {"consent": "on"})
    return str(page.context["shown"].html)


@pytest.mark.django_db
class TestAgreeing:
    def test_a_player_reads_and_agrees_to_no_word_of_the_annotators_parts(self, parted: Project) -> None:
        client, link = Client(), link_of(make_invitation(parted, role=Role.PLAYER, languages=[]))
        page = client.get(link).content.decode()
        assert "guesses" in page
        assert not [words for words in ("captions", "<li>languages", "judgements", "{FOR", "{END}") if words in page]
        client.post(link, {"way": "link", "consent": "on", "consent_version": "2"})
        given = Consent.objects.get()
        assert given.role == Role.PLAYER
        assert still_takes_part(given.user, parted.pk, Role.PLAYER)
        again = client.get(reverse("people:consent-give", args=[parted.slug])).content.decode()
        assert "You have agreed to this version" in again
        assert "guesses" in again
        assert "captions" not in again

    def test_who_gets_another_role_is_asked_for_the_parts_of_that_role(self, parted: Project) -> None:
        person = with_roles(parted, Role.ANNOTATOR)
        client = client_of(person)
        assert "judgements" not in agree(client, parted)
        parted.memberships.create(user=person, role=Role.RATER)
        assert still_takes_part(person, parted.pk, Role.ANNOTATOR)
        assert not still_takes_part(person, parted.pk, Role.RATER)
        assert own_projects(person)[0]["is_due"]
        profile = client.get(reverse("people:profile-show")).content.decode()
        assert "Read and agree to the consent text" in profile
        assert "There is a new version" not in profile
        assert "not for every role" in client_of(parted.created_by).get(
            reverse("people:member-list", args=[parted.slug])
        ).content.decode()  # fmt: skip
        shown = agree(client, parted)
        assert "judgements" in shown
        assert "You write captions" not in shown
        assert still_takes_part(person, parted.pk, Role.RATER)
        assert not own_projects(person)[0]["is_due"]
        assert list(Consent.objects.order_by("pk").values_list("role", flat=True)) == ["annotator", "rater"]

    def test_what_was_not_shown_is_not_agreed_to(self, parted: Project) -> None:
        """A form without roles is of a page that showed another text; a role that somebody lacks has no parts here."""
        client, address = client_of(with_roles(parted, Role.RATER)), reverse("people:consent-give", args=[parted.slug])
        for roles in ("", "annotator"):
            answer = client.post(address, {"version": "2", "roles": roles, "consent": "on"})
            assert "The text has changed since you opened this page" in answer.content.decode()
        assert not Consent.objects.exists()

    def test_work_asks_for_consent_in_one_statement(self, parted: Project, django_assert_num_queries: Any) -> None:
        person = with_roles(parted, Role.RATER)
        agree(client_of(person), parted)
        with django_assert_num_queries(1):
            assert still_takes_part(person, parted.pk, Role.RATER)

    def test_a_consent_for_all_roles_covers_each(self, parted: Project) -> None:
        person = with_roles(parted, Role.RATER)
        Consent.objects.create(text=parted.consent_texts.latest("version"), user=person, given_at=NOW)
        assert still_takes_part(person, parted.pk, Role.RATER)

    def test_own_data_have_what_was_read(self, parted: Project) -> None:
        person = with_roles(parted, Role.PLAYER)
        agree(client_of(person), parted)
        [row] = archive_of(person)["account/consents.json"]
        assert row["role"] == "player"
        assert "guesses" in row["body"]
        assert "captions" not in row["body"]


@pytest.mark.django_db
class TestPublishing:
    def test_a_manager_is_told_the_line_and_sees_what_each_role_reads(self, parted: Project) -> None:
        client, address = client_of(parted.created_by), reverse("people:consent-publish", args=[parted.slug])
        refused = client.post(address, {"body": "x\n{FOR judge}\ny\n{END}", "on_withdrawal": "keep"})
        assert refused.status_code == 422
        assert "Line 2: “judge” is not a role" in refused.content.decode()
        shown = {role: str(text.html) for role, text in client.get(address).context["shown"]}
        assert list(shown) == ["Annotator", "Rater", "Player"]
        assert [role for role, html in shown.items() if "languages" in html] == ["Annotator", "Rater"]

    def test_a_text_without_parts_can_give_way_to_the_one_that_new_projects_begin_with(self, project: Project) -> None:
        publish(project, "I agree.")
        client, address = client_of(project.created_by), reverse("people:consent-publish", args=[project.slug])
        page = client.get(address)
        assert page.context["form"]["body"].value() == "I agree."
        assert 'href="?text=default#id_body"' in page.content.decode()
        filled = client.get(address, {"text": "default"}).context["form"]
        client.post(address, {name: filled[name].value() for name in filled.fields})
        page = client.get(address)
        assert len(page.context["shown"]) == 3
        assert "?text=default" not in page.content.decode()

    def test_a_translation_has_the_parts_of_its_original_once_it_is_published(self, parted: Project) -> None:
        about: dict[str, Any] = {
            "project": parted,
            "kind": TextKind.CONSENT,
            "language": make_language("te"),
            "version": 2,
        }
        about |= {"by": parted.created_by, "now": NOW}
        unfinished = TEXT.replace("{FOR player}\n- guesses\n{END}\n", "")
        save_translation(**about, body=unfinished)
        with pytest.raises(PartsError, match="must be those of the original"):
            save_translation(**about, body=unfinished, publishes=True)
        client, address = (
            client_of(parted.created_by),
            reverse("people:text-translate", args=[parted.slug, "consent", "te"]),
        )
        refused = client.post(address, {"version": "2", "body": unfinished, "do": "publish"})
        assert refused.status_code == 422
        assert "must be those of the original" in refused.content.decode()
        assert client.post(address, {"version": "2", "body": TEXT, "do": "publish"}).status_code == 302

    def test_marks_of_writing_are_noted_if_annotators_read_of_them(self, project: Project) -> None:
        sentence = "- How many characters of a caption you pasted, and the longest time that its page was out of sight"
        for role, noted in (("rater", False), ("annotator", True)):
            body = f"{{FOR {role}}}\n{sentence}\n  while you wrote it.\n{{END}}"
            publish_consent_text(project=project, body=body, by=project.created_by, now=NOW)
            assert notes_writing_marks(project) is noted
