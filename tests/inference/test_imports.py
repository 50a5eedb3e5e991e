"""Importing captions by models: each line is told about, none is taken twice, and no words get into a report."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from core.images.models import CollectionImage, ImportJob, ImportKind, ImportOutcome
from core.images.selectors import report_of
from core.jobs.models import JobState
from core.jobs.services import leases
from core.languages.models import Language
from research.inference.models import CaptioningModel, ModelCaption
from research.inference.services import captions
from tests.concurrency import together
from tests.factories import (
    NOW,
    make_collection,
    make_image,
)
from tests.imports.sent import confirmed, run

MINUTE = timedelta(minutes=1)
WORDS = "a heron stands on one leg"


pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


def lines(*values: Any) -> bytes:
    return b"".join((value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n" for value in values)


def run_file(content: bytes, path: Path, *, model: str = "m", language: str = "en", collection=None) -> ImportJob:
    file = path / "captions.jsonl"
    file.write_bytes(content)
    return captions.import_path(
        path=file, model=model, language=Language.objects.get(pk=language), collection=collection, clock=lambda: NOW
    )


def reasons(job: ImportJob) -> dict[int, tuple[str, str]]:
    return {row.number: (row.outcome, row.reason) for row in job.rows.all()}


def keys(collection) -> list[str]:
    return list(collection.entries.values_list("key", flat=True))


def test_images_are_found_by_key_by_file_name_and_by_content(tmp_path):
    collection = make_collection(images=0)
    for position, (key, file_name) in enumerate(
        [("harbour", "IMG_1.jpg"), ("0041ab", "0041ab.jpg"), ("hash", "h.jpg"), ("000000391895", "000000391895.jpg")], 1
    ):
        CollectionImage.objects.create(
            collection=collection, image=make_image(), key=key, file_name=file_name, position=position
        )
    digest = CollectionImage.objects.get(key="hash").image.sha256

    job = run_file(
        lines(
            {"image": "IMG_1.jpg", "caption": WORDS},
            {"image/key": "0041ab", "caption": "  two  "},
            {"image": digest.upper(), "caption": "three"},
            {"image_id": 391895, "caption": "four"},
            {"file_name": "val/0041ab.jpg", "caption": "two"},
        ),
        tmp_path,
    )

    assert [outcome for outcome, _ in reasons(job).values()] == ["added"] * 4 + ["already"]
    texts = ModelCaption.objects.values_list("image__entries__key", "text")
    assert dict(texts) == {"harbour": WORDS, "0041ab": "two", "hash": "three", "000000391895": "four"}
    assert job.rows.get(number=1).image == CollectionImage.objects.get(key="harbour").image


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"image": "gone", "caption": WORDS}, "No image has the key"),
        ({"image": "KEY", "caption": ""}, "empty"),
        ({"image": "KEY", "caption": " \u200b\t"}, "empty"),
        ({"image": "KEY"}, "no caption"),
        ({"image": "KEY", "caption": ["x", "y"]}, "There are 2 captions"),
        ({"image": "KEY", "caption": [7]}, "must be text"),
        ({"image": "KEY", "caption": "x\u0000"}, "invalid characters"),
        (b'{"image": "KEY", "caption": "\\ud800"}', "invalid characters"),
        ({"image": "KEY", "caption": "x" * 2001}, "The most allowed is 2000"),
        ({"caption": WORDS}, "No image is named"),
        ({"image": "KEY", "caption": WORDS, "language": "de"}, "in de, but the file is imported as en"),
        ({"image": "KEY", "caption": WORDS, "language": "en_GB"}, "in en-GB, but the file is imported as en"),
        ({"image": "KEY", "caption": WORDS, "Lang": "de"}, "in de, but the file is imported as en"),
        ({"image": "KEY", "caption": WORDS, "language_code": "tl"}, "in fil, but the file is imported as en"),
        ({"image": "KEY", "caption": WORDS, "language": ["en"]}, "must be text"),
        ({"image": 1.5, "caption": WORDS}, "whole number"),
        ({"image": None, "caption": WORDS}, "No image is named"),
        ([WORDS], "object"),
        (b'{"image": "KEY", "caption": "' + WORDS.encode() + b'"', "JSON"),
        (b'{"image": "KEY", "caption": "\xe9"}', "UTF-8"),
        (b'{"image": "' + b"x" * 1_100_000 + b'"}', "longer than"),
    ],
)
def test_a_line_that_cannot_be_used_is_told_by_its_number_without_its_words(tmp_path, line, says):
    collection = make_collection(images=2)
    one, two = keys(collection)
    line = line.replace(b"KEY", one.encode()) if isinstance(line, bytes) else line
    if isinstance(line, dict) and line.get("image") == "KEY":
        line = line | {"image": one}

    job = run_file(lines({"image": two, "caption": "fine"}, line), tmp_path)

    outcome, reason = reasons(job)[2]
    assert (outcome, reasons(job)[1][0]) == ("rejected", "added")
    assert says in reason
    assert not any(WORDS in row.name + row.reason for row in job.rows.all())
    assert ModelCaption.objects.count() == 1


def test_hidden_characters_are_removed_and_such_captions_counted(tmp_path):
    collection = make_collection(images=3)
    one, two, three = keys(collection)
    hidden = {one: "\ufeffredcar", two: "red\u202eca\u200br\u202c"}
    content = lines(*({"image": key, "caption": text} for key, text in {**hidden, three: "می\u200cخواهم"}.items()))

    job = run_file(content, tmp_path)

    texts = dict(ModelCaption.objects.values_list("image__entries__key", "text"))
    assert texts == {one: "redcar", two: "redcar", three: "می\u200cخواهم"}
    assert report_of(job).had_hidden == 2
    assert reasons(job)[2] == ("added", "Invisible characters were removed from 1 caption.")


def test_what_is_there_is_not_taken_again_and_never_changed(tmp_path):
    collection = make_collection(images=1)
    (key,) = keys(collection)
    run_file(lines({"image": key, "caption": WORDS}), tmp_path)

    job = run_file(
        lines({"image": key, "caption": WORDS}, {"image": key, "caption": "another"}, {"image": key, "caption": WORDS}),
        tmp_path,
    )

    refused = reasons(job)
    assert [outcome for outcome, _ in refused.values()] == ["already", "rejected", "already"]
    assert "another model name" in refused[2][1]
    assert ModelCaption.objects.get().text == WORDS

    run_file(lines({"image": key, "caption": "another"}), tmp_path, model="m2")
    run_file(lines({"image": key, "caption": "un héron"}), tmp_path, language="fr")
    assert ModelCaption.objects.count() == 3


def test_two_captions_for_one_image_in_one_file_are_not_both_taken(tmp_path):
    (key,) = keys(make_collection(images=1))
    job = run_file(lines({"image": key, "caption": "one"}, {"image": key, "caption": "two"}), tmp_path)
    assert [outcome for outcome, _ in reasons(job).values()] == ["added", "rejected"]


def test_a_key_that_two_collections_use_asks_which_one(tmp_path):
    one, two = make_collection(images=1), make_collection(images=1)
    CollectionImage.objects.update(key="same")

    assert "Name the collection" in reasons(run_file(lines({"image": "same", "caption": WORDS}), tmp_path))[1][1]

    job = run_file(lines({"image": "same", "caption": WORDS}), tmp_path, collection=two)
    assert reasons(job)[1][0] == "added"
    assert ModelCaption.objects.get().image == two.entries.get().image
    assert one.entries.get().image.model_captions.count() == 0


def test_coco_results_and_lists_that_break_off_are_read_as_far_as_they_go(tmp_path):
    collection = make_collection(images=3)
    items = [{"image_id": key, "caption": f"caption of {key}"} for key in keys(collection)]

    whole = run_file(json.dumps(items, indent=2).encode(), tmp_path)
    assert [outcome for outcome, _ in reasons(whole).values()] == ["added"] * 3
    assert (whole.state, whole.total, whole.done) == (JobState.DONE, 3, 3)

    cut = run_file(json.dumps(items).encode()[:-20], tmp_path, model="m2")
    assert [outcome for outcome, _ in reasons(cut).values()] == ["added", "added", "rejected"]
    assert "Nothing after it" in reasons(cut)[3][1]


@pytest.mark.parametrize("content", [b"", b"  \n", '[{"image": "a"}]'.encode("utf-16")])
def test_a_file_that_cannot_be_read_at_all_fails_with_one_sentence(tmp_path, content):
    job = run_file(content, tmp_path)
    assert job.state == JobState.FAILED
    assert job.error


@pytest.mark.parametrize("content", [b"[]", b" [ ] \n"])
def test_a_file_with_nothing_in_it_fails_and_says_so(tmp_path, content):
    job = run_file(content, tmp_path)
    assert (job.state, job.error) == (JobState.FAILED, "There is nothing in the file to import.")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_large_file_is_read_bit_by_bit(tmp_path, django_assert_max_num_queries):
    collection = make_collection(images=1)
    (key,) = keys(collection)
    with django_assert_max_num_queries(63):
        job = run_file(lines(*({"image": f"unknown {number}", "caption": WORDS} for number in range(1000))), tmp_path)
    assert (job.done, job.total) == (1000, 1000)
    assert key not in set(job.rows.values_list("name", flat=True))


def test_an_import_that_was_killed_goes_on_where_it_was(monkeypatch):
    collection = make_collection(images=5)
    content = lines(*({"image": key, "caption": WORDS} for key in keys(collection)))
    job = confirmed(content, model="m", language="en")
    monkeypatch.setattr(captions, "LINES_PER_TRANSACTION", 2)
    real, taken = captions._ChunkOfCaptions.stored, []

    def dies_at_the_second(some):
        taken.append([row.number for row in some.chunk])
        if len(taken) == 2:
            raise KeyboardInterrupt
        return real(some)

    monkeypatch.setattr(captions._ChunkOfCaptions, "stored", dies_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        run(job)
    assert ModelCaption.objects.count() == 2

    later = NOW + 5 * MINUTE
    assert leases.rows_to_nudge(ImportJob.objects.filter(kind=ImportKind.IMAGES), now=later) == []
    assert leases.rows_to_nudge(ImportJob.objects.filter(kind=ImportKind.FILES), now=later) == [job.pk]
    assert run(job, now=later).state == JobState.DONE

    job = job.parts.get()
    assert taken == [[1, 2], [3, 4], [3, 4], [5]]
    assert (job.state, job.done, job.total) == (JobState.DONE, 5, 5)
    assert set(job.rows.values_list("outcome", flat=True)) == {ImportOutcome.ADDED}


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_imports_at_the_same_time_take_each_caption_once(tmp_path):
    collection = make_collection(images=20)
    content = lines(*({"image": key, "caption": WORDS} for key in keys(collection)))
    CaptioningModel.objects.create(is_shared=True, name="m")
    for name in "abcd":
        (tmp_path / name).mkdir()

    done = together(lambda name: run_file(content, tmp_path / name), "abcd")

    assert [job.state for job in done] == [JobState.DONE] * 4
    assert ModelCaption.objects.count() == 20
    added = sum(job.rows.filter(outcome=ImportOutcome.ADDED).count() for job in done)
    assert added == 20


def test_the_command_takes_aliases_and_names_what_is_wrong(tmp_path):
    collection = make_collection(images=1)
    (key,) = keys(collection)
    file = tmp_path / "captions.jsonl"
    taken = {"image": key, "caption": "אנפה", "language": "He"}
    file.write_bytes(lines(taken, {"image": "gone", "caption": WORDS}))
    printed, warned = io.StringIO(), io.StringIO()
    about = {"model": "m", "language": "iw", "collection": collection.slug, "stdout": printed, "stderr": warned}

    call_command("import", file, **about)

    assert "1 was left out." in warned.getvalue()
    with pytest.raises(CommandError, match=r"1 was left out\."):
        call_command("import", file, strict=True, **about)
    file.write_bytes(lines({"image": "gone", "caption": WORDS}))
    with pytest.raises(CommandError, match=r"Nothing was imported\."):
        call_command("import", file, **about)
    assert ModelCaption.objects.get().language_id == "he"
    assert "gone: No image has the key" in printed.getvalue()
    assert WORDS not in printed.getvalue()
    for wrong in ({"language": "not a tag"}, {"language": "tlh"}, {"collection": "gone"}, {"model": " "}):
        options = {"model": "m", "language": "en"} | wrong
        with pytest.raises(CommandError):
            call_command("import", file, stdout=printed, **options)
    with pytest.raises(CommandError, match="no file"):
        call_command("import", tmp_path / "gone", model="m", language="en", stdout=printed)


def test_an_error_that_nobody_foresaw_costs_one_line(tmp_path, monkeypatch, caplog):
    collection = make_collection(images=3)
    content = lines(*({"image": key, "caption": f"{WORDS} {key}"} for key in keys(collection)))
    real, fatal = captions._ChunkOfCaptions._outcome, keys(collection)[1]

    def fails_for_one(some, text, named, place):
        if named.name == fatal:
            raise AssertionError(text.text)
        return real(some, text, named, place)

    monkeypatch.setattr(captions._ChunkOfCaptions, "_outcome", fails_for_one)
    job = run_file(content, tmp_path)

    assert (job.state, job.done, job.total) == (JobState.DONE, 3, 3)
    assert [outcome for outcome, _ in reasons(job).values()] == ["added", "rejected", "added"]
    assert "AssertionError" in reasons(job)[2][1]
    assert WORDS not in reasons(job)[2][1]
    assert caplog.records[-1].exc_info


@pytest.mark.parametrize("is_list", [True, False])
def test_a_line_that_says_one_thing_twice_is_refused(tmp_path, is_list):
    first, second = keys(make_collection(images=2))
    twice = f'{{"image": "{first}", "caption": "{WORDS}", "caption": "other"}}'
    once = f'{{"image": "{second}", "caption": "{WORDS}"}}'
    job = run_file((f"[{twice},{once}]" if is_list else f"{twice}\n{once}\n").encode(), tmp_path)
    assert reasons(job) == {1: ("rejected", "Not valid JSON (an object has the same name twice)."), 2: ("added", "")}


@pytest.mark.parametrize("wrong", [{"model": "a\x07b"}, {"report": Path("/gone/r.csv")}])
def test_a_model_is_made_with_its_first_caption_only(tmp_path, wrong):
    run_file(lines({"image": "gone", "caption": WORDS}), tmp_path)
    with pytest.raises(CommandError):
        call_command("import", tmp_path / "captions.jsonl", **({"model": "m", "language": "en"} | wrong))
    assert ImportJob.objects.count() == 1
    assert not CaptioningModel.objects.exists()
