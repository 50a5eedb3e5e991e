"""The texts that projects begin with, in all languages: people read them in theirs, until the manager changes them."""

from __future__ import annotations

import re
import time
from collections import Counter

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation

from annotation.models import Rating
from annotation.services.projects import create_empty_project, publish_guidelines
from core.languages.rules.registry import LANGUAGES
from core.people.defaults import WRITING_MARKS, default_text
from core.people.models import Consent, Project, Role, TextKind, TextTranslation
from core.people.rules.consent_parts import checked_parts, is_marker, text_for, without_markers
from core.people.rules.review_links import DAYS, SECONDS_PER_DAY, link_token
from core.people.selectors.texts import (
    MACHINE,
    TranslationState,
    has_gaps,
    originals_of,
    platform_text,
    translation_rows,
)
from core.people.services.consent import give_consent
from tests.clients import client_of
from tests.factories import NOW, join_project, make_language, make_user
from tests.people.invitations import link_of, make_invitation

pytestmark = pytest.mark.django_db
TELUGU = "te"
PLACEHOLDER = re.compile(r"\{[A-Z_]+\}")


@pytest.fixture
def project() -> Project:
    manager = make_user("maria", email="maria@example.org")
    return create_empty_project(creator=manager, name="Birds", now=NOW)


def shape(markdown: str) -> dict[str, object]:
    """What a translation has as its original does."""
    lines = markdown.splitlines()
    marks = {"headings": "#", "items": "- ", "rows": "|", "quotations": ">"}
    return {
        **{name: sum(line.startswith(mark) for line in lines) for name, mark in marks.items()},
        "steps": sum(bool(re.match(r"\d\. ", line)) for line in lines),
        "placeholders": Counter(PLACEHOLDER.findall(markdown)),
        "markers": [line for line in lines if is_marker(line)],
    }


@pytest.mark.parametrize("kind", TextKind)
def test_the_text_is_in_every_language_with_the_same_parts(kind: TextKind) -> None:
    original = platform_text(kind)
    differing = {
        one.tag: found for one in LANGUAGES if (found := shape(platform_text(kind, one.tag))) != shape(original)
    }
    assert differing == {}
    assert len({platform_text(kind, one.tag) for one in LANGUAGES}) == len(LANGUAGES) == 36


def test_reviewers_read_nothing_of_a_second_screen_in_any_language() -> None:
    for one in LANGUAGES:
        whole = default_text("rating", one.tag)
        [*_others, annotators, _end] = checked_parts(whole)
        assert (annotators.roles, annotators.lines[0][:3]) == (("annotator",), "## "), one.tag
        assert text_for(whole, ["annotator"]) == without_markers(whole)
        assert text_for(whole, ["rater"]) + "\n".join(annotators.lines) + "\n" == without_markers(whole)
    assert "screen" not in text_for(default_text("rating"), ["rater"])


def test_the_consent_text_says_in_full_what_is_noted_while_a_caption_is_written() -> None:
    assert f"- {WRITING_MARKS}\n" in default_text("consent")


def page_of(client: Client, name: str, *args: object, code: str = TELUGU) -> str:
    answer = client.get(reverse(name, args=args), headers={"accept-language": code})
    assert answer.status_code == 200
    return answer.content.decode()


def test_people_read_the_guidelines_in_their_language_with_the_names_of_its_buttons(project: Project) -> None:
    reader = client_of(join_project(project, make_user("asha")))
    page = page_of(reader, "annotation:guidelines-show", project.slug)
    assert page.count('<div class="prose" lang="te"') == 2
    with translation.override(TELUGU):
        assert f"<strong>{Rating.EXCELLENT.label}</strong>" in page
    assert not PLACEHOLDER.search(page)


@pytest.mark.parametrize("code", ["en", TELUGU])
def test_reviewers_and_annotators_read_each_their_own_guidelines(project: Project, code: str) -> None:
    ending = default_text("rating", code).partition("{FOR annotator}\n## ")[2].partition("\n")[0]
    annotator, rater = (
        client_of(join_project(project, make_user(role.value), role)) for role in (Role.ANNOTATOR, Role.RATER)
    )
    address = reverse("annotation:guidelines-show", args=[project.slug])

    def page(client: Client, query: str = "") -> str:
        return client.get(address + query, headers={"accept-language": code}).content.decode()

    assert ending in page(annotator)
    assert ending not in page(rater)
    assert ending not in page(annotator, "?for=rater"), "before they rate what others wrote"
    assert "{FOR annotator}" in page(client_of(project.created_by))


def test_reviewers_see_what_changed_in_what_they_read(project: Project) -> None:
    rating = f"Look twice.\n\n{default_text('rating')}"
    publish_guidelines(project=project, rating=rating, writing="x", by=project.created_by, now=NOW)
    rater = client_of(join_project(project, make_user("ria"), Role.RATER))
    address = reverse("annotation:guidelines-show", args=[project.slug])
    page = rater.get(address, {"version": 2, "before": 1}).content.decode()
    assert "<ins>Look twice." in page
    assert "second screen" not in page


def test_guidelines_from_before_there_were_parts_are_read_as_they_were(project: Project) -> None:
    project.guidelines.update(rating=without_markers(default_text("rating")))
    reader = client_of(join_project(project, make_user("asha")))
    page = page_of(reader, "annotation:guidelines-show", project.slug)
    assert page.count('<div class="prose" lang="te"') == 2
    address = reverse("people:text-translate", args=[project.slug, "rating", TELUGU])
    manager = client_of(project.created_by)
    body = manager.get(address).context["form"]["body"].value()
    assert body == without_markers(default_text("rating", TELUGU))
    assert manager.post(address, {"version": "1", "body": body, "do": "publish"}).status_code == 302


def test_a_text_that_was_changed_is_read_in_the_language_it_was_written_in(project: Project) -> None:
    rating, writing = f"{default_text('rating')} More.", default_text("writing")
    publish_guidelines(project=project, rating=rating, writing=writing, by=project.created_by, now=NOW)
    reader = client_of(join_project(project, make_user("asha")))
    page = page_of(reader, "annotation:guidelines-show", project.slug)
    assert page.count('<div class="prose" lang="te"') == 1


def test_a_consent_keeps_the_translation_that_was_read(project: Project) -> None:
    client = client_of(asha := make_user("asha"))
    project.memberships.create(user=asha, role=Role.ANNOTATOR)
    page = page_of(client, "people:consent-give", project.slug)
    assert "CC BY 4.0" in page
    assert "maria@example.org" in page
    for _again in range(2):
        client.post(
            reverse("people:consent-give", args=[project.slug]),
            {"version": "1", "roles": "annotator", "consent": "on"},
            headers={"accept-language": TELUGU},
        )
    read = Consent.objects.get(user=asha).translation
    assert read is not None
    assert (read.language_id, read.drafted_by, read.reviewer) == (TELUGU, MACHINE, "")
    assert read.body == default_text("consent", TELUGU)
    assert TextTranslation.objects.count() == 1


@pytest.mark.parametrize(
    ("role", "lacks"),
    [
        (Role.PLAYER, "caption|paste|actively|judgement"),
        (Role.RATER, "paste|guess|nickname|leaderboard"),
        (Role.ANNOTATOR, "judgement|guess|nickname|leaderboard"),
    ],
)
def test_an_invitation_shows_what_is_collected_from_its_role_alone(project: Project, role: Role, lacks: str) -> None:
    page = Client().get(link_of(make_invitation(project, role=role))).content.decode()
    [text] = re.findall(r'<div class="prose" lang.*?</div>', page, re.DOTALL)
    assert not re.search(rf"{lacks}|\{{", text), text
    assert "CC BY 4.0" in text
    assert ("I read English well" in page) == (role == Role.ANNOTATOR)


def test_a_consent_text_without_somebody_to_ask_has_a_gap(project: Project) -> None:
    text = project.consent_texts.get()
    assert not has_gaps(text)
    text.contact = ""
    assert has_gaps(text)


def states_in(project: Project, tag: str) -> list[str]:
    [(_language, cells)] = translation_rows(project, originals_of(project), [make_language(tag)])
    return [cell.state for cell in cells]


class TestReviewing:
    """By somebody without an account, who has the link of a language."""

    @staticmethod
    def address(project: Project, kind: str = "writing", tag: str = TELUGU) -> str:
        return reverse("people:review-text", args=[link_token(project.pk, tag), kind])

    def test_what_they_publish_is_read_and_bears_their_name(self, project: Project) -> None:
        reviewer, address = Client(), self.address(project)
        assert set(states_in(project, TELUGU)) == {TranslationState.MACHINE}
        assert "Imagine describing the image" in reviewer.get(address).content.decode()
        wrong = reviewer.post(address, {"version": "1", "body": "కొత్త", "do": "publish"})
        assert wrong.status_code == 422, "they say who they are"
        said = {"version": "1", "body": "కొత్త", "reviewed_by": "Padma", "do": "publish"}
        assert reviewer.post(address, said).status_code == 302
        assert Counter(states_in(project, TELUGU)) == {
            TranslationState.MACHINE: len(originals_of(project)) - 1,
            TranslationState.REVIEWED: 1,
        }
        assert "Padma" in page_of(client_of(project.created_by), "people:text-list", project.slug, code="en")
        entry = project.audit_entries.get(action="translation.published")
        assert (entry.by, entry.details["reviewed_by"]) == (None, "Padma")
        reader = client_of(join_project(project, make_user("asha")))
        assert "కొత్త" in page_of(reader, "annotation:guidelines-show", project.slug)

    def test_their_draft_stays_when_somebody_agrees_to_what_the_platform_brings(self, project: Project) -> None:
        reviewer, address = Client(), self.address(project, "consent")
        draft = default_text("consent", TELUGU) + "\nకొత్త\n"
        reviewer.post(address, {"version": "1", "body": draft, "reviewed_by": "Padma", "do": "draft"})
        asha = join_project(project, make_user("asha"))
        with translation.override(TELUGU):
            [given] = give_consent(project=project, user=asha, version=1, now=NOW)
        assert given.translation is not None
        assert given.translation.body == default_text("consent", TELUGU)

        assert "కొత్త" in reviewer.get(address).content.decode()
        [(_language, cells)] = translation_rows(project, originals_of(project), [make_language(TELUGU)])
        assert next(cell for cell in cells if cell.kind == TextKind.CONSENT).has_draft
        said = {"version": "1", "body": draft, "reviewed_by": "Padma", "do": "publish"}
        assert reviewer.post(address, said).status_code == 302
        assert TextTranslation.objects.filter(kind="consent").count() == 2
        asked = join_project(project, make_user("usha"))
        assert "కొత్త" in page_of(client_of(asked), "people:consent-give", project.slug)

    @pytest.mark.parametrize("part", ["", "x"])
    def test_a_link_that_was_changed_opens_nothing(self, project: Project, part: str) -> None:
        token = link_token(project.pk, TELUGU)
        address = reverse("people:review-list", args=[token[:-5] + part or "x"])
        answer = Client().get(address)
        assert answer.status_code == 410
        assert "Copy the whole address" in answer.content.decode()

    def test_a_link_is_valid_for_its_days(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        now, address = time.time(), self.address(project)
        for days, status in ((DAYS - 1, 200), (DAYS + 1, 410)):
            monkeypatch.setattr("django.core.signing.time.time", lambda days=days: now + days * SECONDS_PER_DAY)
            assert Client().get(address).status_code == status
