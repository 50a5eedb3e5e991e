"""Marks on captions: what is noted while somebody writes who has agreed to it, and what that says to managers."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils.html import escape

from annotation.models import Caption, CaptionBatch, CaptionItem
from annotation.rules.writing_marks import MEANINGS, MarkKind, WrittenCaption, marks_of
from annotation.selectors.marks import marks_by_caption
from annotation.services import batches
from core.people.defaults import WRITING_MARKS
from core.people.models import ConsentText
from core.people.rules.pseudonyms import pseudonym
from core.people.services.consent import give_consent, publish_consent_text
from research.inference.models import Translator
from research.inference.models.registered import TRANSLATED
from tests.annotation.submitting import take, write
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_captioner, make_round
from tests.kept import kept

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=10)
NOTED = {"pasted_characters": 40, "longest_absence_ms": 90_000}
CAT = "Eine schwarze Katze schläft auf einem roten Sofa"


@kept
def batch() -> CaptionBatch:
    """A batch that was taken under a text with the sentence, wrapped as managers wrap it."""
    round = make_round(images=2, batch_size=2)
    ConsentText.objects.update(body=f"Stored:\n\n- {WRITING_MARKS.replace(' its page', chr(10) + '  its page')}\n")
    annotator = make_annotator(round)
    made = take(round, annotator)
    write(made, annotator, "Eine Katze")
    return made


def save(batch: CaptionBatch, **noted: Any) -> tuple[int | None, int | None]:
    item = CaptionItem.objects.get(batch=batch, position=1)
    draft: dict[str, Any] = {"text": CAT, "revision": item.revision, "active_ms": 0, "position": 1}
    batches.save_draft(batch_id=batch.pk, person=batch.lease.person, now=LATER, **draft, **noted)
    item.refresh_from_db()
    return item.pasted_characters, item.longest_absence_ms


def test_what_is_sent_again_counts_once_and_no_absence_is_longer_than_the_writing(batch: CaptionBatch) -> None:
    assert save(batch) == (0, 0)
    assert save(batch, **NOTED) == (40, 90_000)
    assert save(batch, **NOTED) == (40, 90_000)
    assert save(batch, pasted_characters=10**9, longest_absence_ms=10**9) == (10_000, 600_000)


def test_nothing_is_noted_of_somebody_who_has_not_agreed_to_it() -> None:
    round = make_round(images=1, batch_size=1)
    annotator = make_annotator(round)
    made = take(round, annotator)
    write(made, annotator, "Eine Katze")
    assert save(made, **NOTED) == (None, None)
    page = client_of(annotator).get(reverse("annotation:caption-write", args=[made.pk, 1])).content.decode()
    assert "data-marks" not in page


def test_what_was_noted_is_forgotten_if_the_text_agreed_to_since_does_not_say_it(batch: CaptionBatch) -> None:
    save(batch, **NOTED)
    person, project = batch.lease.person, batch.round.project
    text = publish_consent_text(project=project, body="I agree.", by=project.created_by, now=LATER)
    give_consent(project=project, user=person, version=text.version, now=LATER)
    batches.submit_batch(batch_id=batch.pk, person=person, now=LATER)
    assert set(batch.items.values_list("pasted_characters", "longest_absence_ms")) == {(None, None)}


def test_what_was_noted_stays_with_the_caption_and_is_in_the_writers_own_data(batch: CaptionBatch) -> None:
    save(batch, **NOTED)
    batches.submit_batch(batch_id=batch.pk, person=batch.lease.person, now=LATER)
    assert batch.items.filter(**NOTED, caption__isnull=False).count() == 1


def test_one_mark_is_never_stored_without_the_other(batch: CaptionBatch) -> None:
    with pytest.raises(IntegrityError, match=r"item_marks_noted_together|CHECK"), transaction.atomic():
        batch.items.update(pasted_characters=None)


def test_the_page_of_the_consent_text_says_whether_they_are_noted(batch: CaptionBatch) -> None:
    project = batch.round.project
    client, address = client_of(project.created_by), reverse("people:consent-publish", args=[project.slug])
    assert "absences are noted, because" in client.get(address).content.decode()
    publish_consent_text(project=project, body="I agree.", by=project.created_by, now=LATER)
    said = client.get(address).content.decode()
    assert "are not noted" in said
    assert WRITING_MARKS in said


@pytest.fixture
def marked(batch: CaptionBatch) -> Caption:
    """A caption that was pasted, with a long absence."""
    save(batch, **NOTED)
    batches.submit_batch(batch_id=batch.pk, person=batch.lease.person, now=LATER)
    return Caption.objects.get(item__batch=batch, item__position=1)


def test_a_manager_sees_the_marks_and_what_they_mean_where_captions_are_checked(marked: Caption) -> None:
    project = marked.round.project
    page = client_of(project.created_by).get(reverse("annotation:check-show", args=[project.slug, "de"]))
    (row,) = [row for shown in page.context["page"]["images"] for row in shown["rows"] if row.caption == marked]
    assert row.marks == [MarkKind.PASTED, MarkKind.AWAY]
    said = page.content.decode()
    assert [said.count(f'<span class="tag">{kind.label}</span>') for kind in row.marks] == [1, 1]
    assert all(escape(str(meaning)) in said for meaning in MEANINGS.values())
    known = re.compile("how often is not known|how often was not measured|up to 1 pair in 100")
    assert all(known.search(str(MEANINGS[kind])) for kind in MarkKind)


def test_a_caption_like_another_persons_of_the_image_is_marked_and_of_another_language_is_not(marked: Caption) -> None:
    about = {"image": marked.image, "text": f"{CAT}.", "text_as_typed": CAT, "submitted_at": NOW, "position": 1}
    Caption.objects.create(round=marked.round, guidelines=marked.round.guidelines, **about)
    assert MarkKind.ALIKE in marks_by_caption([marked])[marked.pk]
    other = make_round(images=1, project=marked.round.project, language="sv", collection=marked.round.collection)
    Caption.objects.update(round=other)
    Caption.objects.filter(pk=marked.pk).update(round=marked.round)
    assert MarkKind.ALIKE not in marks_by_caption([marked])[marked.pk]


@pytest.mark.parametrize(("is_of_its_english", "marks"), [(True, [MarkKind.TRANSLATED]), (False, [])])
def test_a_caption_like_a_machines_translation_of_its_english_caption_is_marked(
    marked: Caption, is_of_its_english: bool, marks: list[MarkKind]
) -> None:
    assert marked.item
    wrote = marked.item.english.model if is_of_its_english else make_captioner(marked.round.collection)
    about: dict[str, Any] = {"backend": TRANSLATED, "english_model": wrote}
    translator = Translator.objects.create(is_shared=True, name="NLLB", backend="fake", source="nllb")
    made = make_captioner(marked.round.collection, language="de", translator=translator, **about)
    made.captions.update(text=CAT)
    assert marks_by_caption([marked])[marked.pk] == [MarkKind.PASTED, MarkKind.AWAY, *marks]


def test_a_page_of_an_annotator_counts_marks_and_links_to_the_captions(marked: Caption) -> None:
    project, author = marked.round.project, marked.author
    assert author
    page = client_of(project.created_by).get(reverse("annotation:annotator-marks", args=[project.slug, author.pk]))
    assert page.context["marks"].captions == {kind: [marked] if kind in ("pasted", "away") else [] for kind in MarkKind}
    link = f"annotator={author.pk}&amp;after={marked.image_id - 1}#caption-{marked.pk}"
    assert page.content.decode().count(link) == 2
    address = reverse("api:annotator-marks", args=[project.slug, pseudonym(project, author.pk)])
    answer = client_of(project.created_by).get(address).json()
    assert (answer["looked_at"], answer["results"][0]) == (2, {"kind": "pasted", "captions": [marked.pk]})


def test_what_was_noted_says_nothing_about_a_caption_that_was_rewritten(marked: Caption) -> None:
    Caption.objects.filter(pk=marked.pk).update(text_as_typed="Eine andere Katze")
    marked.refresh_from_db()
    assert marks_by_caption([marked]) == {marked.pk: []}


def written(text: str = CAT, **about: Any) -> list[MarkKind]:
    noted: dict[str, Any] = {"writing_ms": 30_000, "pasted_characters": None, "longest_absence_ms": None}
    return marks_of(WrittenCaption(text, **noted | about))


@pytest.mark.parametrize(
    ("about", "marks"),
    [
        ({}, []),
        ({"pasted_characters": 24, "longest_absence_ms": 0}, [MarkKind.PASTED]),
        ({"pasted_characters": 23, "longest_absence_ms": 59_999}, []),
        ({"text": "Ein Pferd", "pasted_characters": 9}, []),
        ({"longest_absence_ms": 60_000}, [MarkKind.AWAY]),
        ({"writing_ms": 4_000}, [MarkKind.FAST]),
        ({"writing_ms": 4_200}, []),
        ({"writing_ms": 0}, []),
        ({"text": "一只黑色的猫睡在红色的沙发上", "writing_ms": 4_000}, [MarkKind.FAST]),
        ({"text": "कुत्ता घास पर दौड़ रहा है और बच्चे देख रहे हैं", "writing_ms": 4_000}, []),
        ({"others": ["Ein Hund", "Eine schwarze Katze schläft auf dem roten Sofa."]}, [MarkKind.ALIKE]),
        ({"translations": [CAT.upper()]}, [MarkKind.TRANSLATED]),
        ({"others": ["Ein Hund auf der Wiese"], "translations": ["Ein Hund"]}, []),
    ],
)
def test_a_caption_has_the_marks_that_its_writing_gives_reason_for(
    about: dict[str, Any], marks: list[MarkKind]
) -> None:
    assert written(**about) == marks
