"""What people wrote in English stays English, from left to right, on a page in Arabic; and the other way round."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from annotation.services.feedback import give_feedback
from annotation.services.projects import publish_guidelines
from core.languages.rules.scripts import is_english
from core.people.services import audit_log
from core.people.templatetags.written import written
from sxs_eval.models import RaterState, RaterStatus
from tests.factories import NOW, make_annotator, make_comparison, make_project, make_rater, make_round
from tests.people.invitations import link_of, make_invitation, publish
from tools.scripts.checks.sources import own_apps

ARABIC = {"accept-language": "ar"}
ENGLISH = "Name what is there, and what the people do."
LEFT_TO_RIGHT = 'lang="en" dir="ltr"'
AS_IT_BEGINS = 'lang="" dir="auto"'
DEFAULTS = sorted(path for app in own_apps() for path in Path(app.path).glob("defaults/*.en.md"))


@pytest.mark.parametrize("default", DEFAULTS, ids=lambda path: path.stem)
def test_our_own_texts_are_english(default: Path):
    assert is_english(default.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "123",
        "اكتب جملة واحدة عن الصورة، and nothing else",
        "Beschreibe in einem Satz, was auf dem Bild zu sehen ist, und wie die Menschen aussehen.",
        "Beskriv billedet i en sætning, og sig hvad der er at se, for en ven som ikke kan se det.",
        "Beschrijf de foto in een zin: dat is of was genoeg voor een vriend die het niet kan zien.",
        "Décris la photo en une phrase, comme à un ami qui ne voit pas bien.",
        "Legenda nu are verb.",
        "Descrierea este bună, dar nu are destule detalii.",
        "Legenda are un verb, dar nu are subiect; fotografia are un titlu, The Beatles.",
        "En and i vannet",
        "Bu it değil",
        "En kop the",
    ],
)
def test_other_texts_are_not(text: str):
    assert not is_english(text)
    assert written(text) == AS_IT_BEGINS


def around(page: str, text: str) -> str:
    """The opening tag of the block that `text` stands in."""
    return re.findall(r"<[a-z]+ [^>]*\blang=[^>]*>", page[: page.index(text)])[-1]


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.django_db
def test_guidelines_what_changed_and_feedback_have_a_language_of_their_own(client: Client):
    round = make_round(language="ar")
    annotator, project = make_annotator(round, "amal"), round.project
    manager = project.created_by
    assert manager is not None
    publish_guidelines(
        project=project,
        rating=f"## R\n\n{ENGLISH}\n",
        writing="اكتب جملة واحدة\n",
        note=f"Note: {ENGLISH}",
        examples=(),
        by=manager,
        now=NOW,
    )
    note = give_feedback(round=round, person=annotator, text=ENGLISH, by=manager, now=NOW)
    client.force_login(annotator)
    page = client.get(reverse("annotation:guidelines-show", args=[project.slug]), headers=ARABIC).content.decode()
    assert 'dir="rtl"' in page
    assert LEFT_TO_RIGHT in around(page, f"Note: {ENGLISH}")
    assert LEFT_TO_RIGHT in around(page, f"<p>{ENGLISH}")
    assert AS_IT_BEGINS in around(page, "اكتب جملة واحدة")
    for address in (reverse("annotation:feedback-list"), reverse("annotation:feedback-show", args=[note.pk])):
        assert LEFT_TO_RIGHT in around(client.get(address, headers=ARABIC).content.decode(), ENGLISH)


@pytest.mark.django_db
def test_consent_texts_and_what_a_project_says_of_itself_too(client: Client):
    project = make_project()
    project.description = ENGLISH
    project.save()
    publish(project, f"Agreed: {ENGLISH}")
    page = client.get(link_of(make_invitation(project)), headers=ARABIC).content.decode()
    assert LEFT_TO_RIGHT in around(page, ENGLISH)
    assert LEFT_TO_RIGHT in around(page, f"Agreed: {ENGLISH}")


@pytest.mark.django_db
def test_instructions_for_raters_too(client: Client):
    comparison = make_comparison()
    client.force_login(make_rater(comparison, "ria"))
    address = reverse("sxs_eval:instructions-show", args=[comparison.project.slug])
    page = client.get(address, headers=ARABIC).content.decode()
    assert LEFT_TO_RIGHT in page


@pytest.mark.django_db
def test_reasons_in_the_log_too(client: Client):
    project = make_project()
    by = project.created_by
    client.force_login(by)
    for reason in (ENGLISH, "نسخ من الويب"):
        audit_log.record(
            project=project,
            action="annotator.paused",
            about="de",
            by=by,
            person=by,
            now=NOW,
            details={"reason": reason},
        )
    page = client.get(reverse("people:log-show", args=[project.slug]), headers=ARABIC).content.decode()
    assert LEFT_TO_RIGHT in around(page, ENGLISH)
    assert AS_IT_BEGINS in around(page, "نسخ من الويب")


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.django_db
def test_notes_on_raters_too(client: Client):
    comparison = make_comparison()
    project, rater = comparison.project, make_rater(comparison, "ria")
    RaterStatus.objects.create(
        comparison=comparison,
        person=rater,
        state=RaterState.EXCLUDED,
        decided_at=NOW,
        decided_by=project.created_by,
        note=ENGLISH,
    )
    client.force_login(project.created_by)
    address = reverse("sxs_eval:rater-list", args=[project.slug, comparison.pk])
    assert LEFT_TO_RIGHT in around(client.get(address, headers=ARABIC).content.decode(), ENGLISH)
