"""English references translated into other languages: by whom, exactly once, whatever happens to the worker."""

from __future__ import annotations

import os
import signal
import time
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from django.urls import reverse

from core.jobs.models import JobState
from core.jobs.services import leases
from core.people.models import Role
from research.inference.backends.captioners import (
    BackendDownError,
    Decoding,
    FailedImage,
    GeneratedCaption,
    OutOfMemoryError,
)
from research.inference.models import Translator
from research.inference.services.steering import WorkRefusedError
from research.inference.training.options import TrainingOptions
from research.scoring import tasks
from research.scoring.models import Reference, ReferenceKind, ReferenceSet, ReferenceTranslation, Scoring
from research.scoring.selectors.setup import vectors_for, written_by_people
from research.scoring.services import reference_translations
from research.scoring.services.reference_translations import execute_translation, start_translations, translate_again
from research.scoring.services.references import ReferenceFileError, drop_references, put_references
from research.scoring.services.scorings import ask_where_changed
from research.scoring.services.training_data import start_training
from tests.concurrency import together
from tests.factories import NOW, make_collection, make_language, make_user, make_vectors
from tests.inference.fake_backend import FakeTranslation
from tests.inference.fake_runs import fake  # noqa: F401 - for all tests here
from tests.inference.watched import make_person
from tests.scoring.scored import in_a_process, make_references, make_scoring, run, ticking
from tests.sxs_eval.judged import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def english(project) -> ReferenceSet:
    """Two captions of each of five images."""
    return make_references(project=project, collection=make_collection(5), language="en", name="COCO")


def make_translator(**about: Any) -> Translator:
    return Translator.objects.create(is_shared=True, **({"name": "NLLB", "backend": "fake", "source": "nllb"} | about))


def start(english: ReferenceSet, *tags: str, **about: Any) -> list[ReferenceTranslation]:
    values: dict[str, Any] = {
        "translator": Translator.objects.first() or make_translator(),
        "decoding": Decoding(beams=4),
    }
    values |= {"name": "Translated", "by": make_user(), "now": NOW}
    languages = [make_language(tag) for tag in tags or ("de",)]
    return start_translations(english=english, languages=languages, **(values | about))


def work(row: ReferenceTranslation, *, later_s: float = 0, **about: Any) -> ReferenceTranslation:
    clock = ticking(NOW + timedelta(seconds=later_s))
    execute_translation(translation_id=row.pk, clock=clock, **about)
    row.refresh_from_db()
    return row


def texts_of(made: ReferenceSet) -> list[str]:
    return list(
        Reference.objects.filter(reference_set=made).order_by("image", "position").values_list("text", flat=True)
    )


def expected(english: ReferenceSet, tag: str = "de") -> list[str]:
    return [f"{tag} of {text}" for text in texts_of(english)]


@pytest.fixture
def said(monkeypatch) -> list[list[str]]:
    """What the translator was asked, batch by batch."""
    said: list[list[str]] = []
    translate = FakeTranslation.translate

    def told(self: Any, texts: Any, **about: Any) -> Any:
        said.append(list(texts))
        return translate(self, texts, **about)

    monkeypatch.setattr(FakeTranslation, "translate", told)
    return said


def test_each_language_gets_all_captions_in_their_order(english, said):
    german, french = (work(row) for row in start(english, "de", "fr"))

    assert texts_of(german.made) == expected(english)
    assert texts_of(french.made) == expected(english, "fr")
    assert (german.state, german.done, german.total, german.failed, german.error) == (JobState.DONE, 5, 5, 0, "")
    german.made.refresh_from_db()
    assert (german.made.kind, german.made.images, german.made.captions) == (ReferenceKind.TRANSLATED, 5, 10)
    assert german.made.digest == make_references_like(german.made).digest
    assert [len(batch) for batch in said] == [4, 4, 2, 4, 4, 2], "as many as the translator takes at once"


def make_references_like(made: ReferenceSet) -> ReferenceSet:
    """The same captions from a file."""
    captions: dict[int, list[str]] = {}
    for image, text in Reference.objects.filter(reference_set=made).values_list("image", "text"):
        captions.setdefault(image, []).append(text)
    other = make_references(project=made.project, collection=make_collection(0), name="From a file")
    put_references(reference_set=other, captions=captions, now=NOW)
    other.refresh_from_db()
    return other


def test_they_serve_wmdrel_and_their_scores_name_the_translator(english):
    (german,) = start(english)
    work(german)
    vectors = make_vectors("de")
    german.made.refresh_from_db()
    assert list(vectors_for(german.made)) == [vectors]

    done = run(make_scoring(german.made))

    signatures = dict(done.scores.values_list("metric", "signature"))
    assert "|translator:NLLB,%20nllb|translation:beams-4-tokens-40" in signatures["cider-d"]
    others = run(make_scoring(make_references(project=english.project, name="Of people")))
    assert not any("translat" in one for one in others.scores.values_list("signature", flat=True))


def test_captions_of_people_come_first_in_a_mixed_set(project, english):
    people = make_references(project=project, collection=english.collection, texts=["Ein Löwe."])
    only_english = Reference.objects.filter(reference_set=english).order_by("image").values_list("image", flat=True)[0]
    put_references(reference_set=people, captions={only_english: []}, now=NOW)
    assert written_by_people(english) == [people]

    german, french = (work(row) for row in start(english, "de", "fr", mixed_with=[people]))

    assert (german.made.kind, french.made.kind) == (ReferenceKind.MIXED, ReferenceKind.TRANSLATED)
    lines = expected(english)
    assert texts_of(german.made) == lines[:2] + [
        text for pair in zip(lines[2::2], lines[3::2], strict=True) for text in ("Ein Löwe.", *pair)
    ]
    assert not vectors_for(german.made).exists(), "WMDRel is for translations alone"


def test_captions_of_people_alone_are_no_mixed_set(project, english, monkeypatch):
    people = make_references(project=project, collection=english.collection, texts=["Ein Löwe."])
    (german,) = start(english, mixed_with=[people])
    cut_off = FailedImage("It is cut off.")
    monkeypatch.setattr(FakeTranslation, "translate", lambda _self, texts, **_about: [cut_off for _text in texts])

    assert (work(german).state, german.made.kind) == (JobState.FAILED, ReferenceKind.MIXED)


def test_a_worker_continues_where_the_last_one_died(english, said, monkeypatch):
    (german,) = start(english)
    translate, calls = FakeTranslation.translate, count()

    def dies(self: Any, texts: Any, **about: Any) -> Any:
        if next(calls) == 1:
            raise SystemExit
        return translate(self, texts, **about)

    monkeypatch.setattr(FakeTranslation, "translate", dies)
    with pytest.raises(SystemExit):
        work(german)
    german.refresh_from_db()
    assert (german.state, german.done) == (JobState.RUNNING, 2)
    assert leases.rows_to_nudge(ReferenceTranslation.objects.all(), now=NOW + timedelta(hours=1)) == [german.pk]
    work(german, later_s=3600)

    assert texts_of(german.made) == expected(english)
    assert [len(batch) for batch in said] == [4, 4, 2]


def test_slices_give_way_to_other_work(english):
    (german,) = start(english)
    slices = 0
    while german.is_open:
        work(german, slice_s=0, later_s=slices)
        slices += 1
    assert slices == 4, "three batches, and the end"
    assert texts_of(german.made) == expected(english)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_several_workers_one_translates(english):
    (german,) = start(english)
    together(lambda _: execute_translation(translation_id=german.pk, clock=ticking()), range(4))
    german.refresh_from_db()
    assert (german.state, german.done, german.attempts) == (JobState.DONE, 5, 0)
    assert texts_of(german.made) == expected(english)


@pytest.mark.process
@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_killed_worker_loses_nothing_and_repeats_nothing(english, monkeypatch, tmp_path):
    (german,) = start(english)
    begun, translate, calls = tmp_path / "begun", FakeTranslation.translate, count()

    def hangs(self: Any, texts: Any, **about: Any) -> Any:
        if next(calls) == 1:
            begun.touch()
            time.sleep(60)
        return translate(self, texts, **about)

    def translate_until_it_hangs() -> None:
        monkeypatch.setattr(FakeTranslation, "translate", hangs)
        work(german)

    worker = in_a_process(translate_until_it_hangs)
    try:
        until = time.monotonic() + 60
        while not begun.exists():
            assert time.monotonic() < until, "the worker never came to the second batch"
            time.sleep(0.02)
    finally:
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)
    german.refresh_from_db()
    assert (german.state, german.done, texts_of(german.made)) == (JobState.RUNNING, 2, expected(english)[:4])
    assert work(german).done == 2, "the lease of the dead lasts a while"
    assert work(german, later_s=3600).state == JobState.DONE
    assert texts_of(german.made) == expected(english)


def test_a_text_that_kills_workers_is_left_out_in_the_end(english, monkeypatch):
    (german,) = start(english)
    deadly, translate = texts_of(english)[4], FakeTranslation.translate

    def dies(self: Any, texts: Any, **about: Any) -> Any:
        if deadly in texts:
            raise SystemExit
        return translate(self, texts, **about)

    monkeypatch.setattr(FakeTranslation, "translate", dies)
    for attempt in range(6):
        try:
            work(german, later_s=3600 * attempt)
        except SystemExit:
            continue
    assert (german.state, german.failed) == (JobState.DONE, 1)
    assert texts_of(german.made) == [*expected(english)[:4], *expected(english)[6:]]


def test_a_batch_that_does_not_fit_is_halved_and_a_text_that_crashes_fails_alone(english, monkeypatch):
    (german,) = start(english)
    bad = texts_of(english)[3]

    def translate(self: Any, texts: Any, **about: Any) -> Any:
        if len(texts) > 1:
            raise OutOfMemoryError
        if texts == [bad]:
            raise RuntimeError("no such word")
        return [GeneratedCaption(texts[0].upper())]

    monkeypatch.setattr(FakeTranslation, "translate", translate)
    work(german)
    assert (german.state, german.failed) == (JobState.DONE, 1)
    assert texts_of(german.made) == [text.upper() for text in texts_of(english) if text != bad]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (BackendDownError("The endpoint does not answer."), "The endpoint does not answer."),
        (
            RuntimeError(),
            "No caption could be translated. The last failure: The translator failed on it (RuntimeError).",
        ),
    ],
)
def test_a_translator_that_fails_at_all_fails_and_is_resumed(english, monkeypatch, error, message):
    (german,) = start(english)
    with monkeypatch.context() as patched:
        patched.setattr(FakeTranslation, "translate", lambda *_given, **_about: (_ for _ in ()).throw(error))
        work(german)
    assert (german.state, german.error) == (JobState.FAILED, message)
    assert ("RuntimeError" in german.traceback) is isinstance(error, RuntimeError)

    translate_again(made=german.made)
    assert work(german).state == JobState.DONE
    if isinstance(error, BackendDownError):
        assert texts_of(german.made) == expected(english)


def test_one_without_a_single_success_is_given_up_early(project, monkeypatch):
    english = make_references(project=project, collection=make_collection(40), language="en")
    (german,) = start(english)
    monkeypatch.setattr(
        FakeTranslation, "translate", lambda _self, texts, **_about: [FailedImage("It is cut off.") for _text in texts]
    )
    work(german)
    assert german.error == "No caption could be translated. The last failure: It is cut off."
    assert german.failed == 32


def test_what_changed_is_translated_again(english):
    (german,) = start(english)
    work(german)
    images = sorted(set(Reference.objects.filter(reference_set=english).values_list("image", flat=True)))
    put_references(reference_set=english, captions={images[0]: ["New."], images[1]: []}, now=NOW)
    german.refresh_from_db()
    assert reference_translations.is_outdated(german)

    translate_again(made=german.made)
    work(german)

    assert texts_of(german.made) == ["de of New.", *expected(english)[1:]]
    assert not reference_translations.is_outdated(german)


def test_scores_wait_for_the_end_and_trainings_are_refused(project, english):
    (german,) = start(english)
    work(german, slice_s=0)
    scoring = make_scoring(german.made)
    run(scoring)
    work(german, slice_s=0, later_s=1)
    assert ask_where_changed(now=NOW) == []
    with pytest.raises(WorkRefusedError, match="“Translated” is still being translated"):
        start_training(
            name="Lions", base=None, references=[german.made], validation=[], validation_share=0.1,
            leaves_out_evaluated=False, options=TrainingOptions(), project=project, by=None, now=NOW,
        )  # fmt: skip
    work(german, later_s=2)
    assert len(ask_where_changed(now=NOW)) == Scoring.objects.count() == 1


def test_to_remove_what_is_being_made_ends_the_work(english, monkeypatch):
    (german,) = start(english)
    translate = FakeTranslation.translate

    def removes(self: Any, texts: Any, **about: Any) -> Any:
        drop_references(reference_set=german.made)
        return translate(self, texts, **about)

    monkeypatch.setattr(FakeTranslation, "translate", removes)
    # As it is called: the thread of models must not use the database of a test.
    monkeypatch.setattr(reference_translations._ReferenceSlice, "meanwhile", lambda _self, compute: compute())
    assert execute_translation(translation_id=german.pk, clock=ticking()) is False
    assert not ReferenceTranslation.objects.exists()


def test_where_the_english_captions_are_gone_it_fails_and_says_so(english):
    (german,) = start(english)
    drop_references(reference_set=english)
    assert work(german).error == "The captions to translate were removed."
    with pytest.raises(ReferenceFileError, match="Translate other references"):
        translate_again(made=german.made)


def test_what_cannot_be_translated_is_refused(project, english):
    german = make_references(project=project, collection=english.collection)
    other = make_references(project=project, collection=english.collection, name="Others")
    make_references(project=project, collection=english.collection, name="Translated")
    empty = make_references(project=project, collection=make_collection(0), language="en", name="Empty")
    for refused, tags, about, message in (
        (german, ["fr"], {}, "Only English references"),
        (empty, ["fr"], {}, "no captions yet"),
        (english, ["de"], {}, "There are references called “Translated” in German already"),
        (english, ["fr", "ja"], {}, "“NLLB” does not translate into Japanese"),
        (english, ["fr"], {"mixed_with": [german]}, "captions of people in German, but no translation into it"),
        (english, ["de"], {"mixed_with": [german, other]}, "There are several for German"),
    ):
        with pytest.raises(ReferenceFileError, match=message):
            start(refused, *tags, **about)
    assert not ReferenceTranslation.objects.exists()


class TestPages:
    @pytest.fixture
    def client(self, client, project):
        client.force_login(make_person(Role.RESEARCHER, project, name="res"))
        return client

    @pytest.fixture
    def sent(self, monkeypatch) -> list[int]:
        sent: list[int] = []
        monkeypatch.setattr(tasks, "ask_for_translation", sent.append)
        return sent

    def test_languages_are_chosen_watched_and_translated(self, client, english, sent):
        translator = make_translator()
        shown = client.get(reverse("scoring:reference-show", args=["lions", english.pk]))
        address = reverse("scoring:references-translate", args=["lions", english.pk])
        assert address in shown.text
        form = client.get(address).context["form"]
        given = {name: form[name].initial for name in ("name", "beams", "max_tokens")}
        assert given == {"name": "COCO, translated", "beams": 5, "max_tokens": 128}

        client.post(address, given | {"translator": translator.pk, "languages": ["de", "fr"]})

        rows = ReferenceTranslation.objects.order_by("pk")
        assert sent == [row.pk for row in rows]
        of_list = text_of(client.get(reverse("scoring:reference-list", args=["lions"])))
        assert of_list.count("Being translated") == 2
        german = rows[0]
        page = reverse("scoring:reference-show", args=["lions", german.made_id])
        assert "Translated: 0 of 0 images" in text_of(client.get(page))
        work(german)
        text = text_of(client.get(page))
        for said in ("from COCO", "Beams 5", "Translated from English"):
            assert said in text
        assert "Being translated" not in text

    def test_a_failure_is_shown_with_its_traceback_and_resumed(self, client, english, sent, monkeypatch):
        (german,) = start(english)
        with monkeypatch.context() as patched:
            patched.setattr(FakeTranslation, "translate", lambda *_given, **_about: 1 / 0)
            work(german)
        page = reverse("scoring:reference-show", args=["lions", german.made_id])
        text = text_of(client.get(page))
        assert "ZeroDivisionError" in text
        assert "10 captions could not be translated and are left out." in text
        client.post(reverse("scoring:reference-again", args=["lions", german.made_id]))
        assert sent == [german.pk]
        assert "Translated: 0 of 5 images" in text_of(client.get(page))

    def test_it_asks_for_itself_again_until_it_is_done(self, client, english):
        (german,) = start(english)
        part = reverse("scoring:reference-progress", args=["lions", german.made_id])
        assert f'hx-get="{part}"' in client.get(part).text
        work(german)
        assert "hx-get" not in client.get(part).text

    def test_a_refusal_says_why(self, client, english, sent):
        given = {"name": "COCO", "beams": 5, "max_tokens": 128, "languages": ["ja"], "translator": make_translator().pk}
        response = client.post(reverse("scoring:references-translate", args=["lions", english.pk]), given)
        assert (response.status_code, sent) == (422, [])
        assert "“NLLB” does not translate into Japanese" in text_of(response)

    def test_without_a_translator_it_says_how_to_get_one(self, client, english):
        text = text_of(client.get(reverse("scoring:references-translate", args=["lions", english.pk])))
        assert "There is no translator yet. Register one" in text

    def test_only_translated_references_are_translated_again(self, client, english):
        response = client.post(reverse("scoring:reference-again", args=["lions", english.pk]), follow=True)
        assert "These references were not translated here." in text_of(response)
