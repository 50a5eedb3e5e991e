"""Importing references: three layouts, every line told of, nothing taken twice, a digest that follows the words."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from core.images.models import Collection, CollectionImage, Image, ImportJob, ImportKind, ImportOutcome
from core.images.selectors import report_of
from core.jobs.models import JobState
from core.jobs.services import leases
from core.jobs.services.leases import LEASE
from core.people.models import Project
from research.scoring.models import Reference, ReferenceKind, ReferenceSet
from research.scoring.rules.digests import as_digest, image_digest
from research.scoring.services import reference_imports
from research.scoring.services.references import ReferenceFileError, drop_references, put_references
from tests.factories import NOW, make_collection, make_image, make_language, make_project
from tests.imports.sent import confirmed, run
from tests.published import published
from tests.scoring.scored import make_references, make_scoring

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]

WORDS = "a heron stands on one leg"


def keys(collection: Collection) -> list[str]:
    return list(collection.entries.values_list("key", flat=True))


def take(
    content: Any, path: Path, collection: Collection, *, language: str | None = "de", project=None, name: str = "People"
) -> ImportJob:
    """Import lines, or one object as it stands."""
    lines = [content] if isinstance(content, dict) else content
    file = path / "references.jsonl"
    file.write_bytes(b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines))
    return reference_imports.import_path(
        path=file,
        project=project or Project.objects.first() or make_project(),
        collection=collection,
        language=make_language(language) if language else None,
        name=name,
        clock=lambda: NOW,
    )


def outcomes(job: ImportJob) -> dict[int, str]:
    return dict(job.rows.values_list("number", "outcome"))


def texts(language: str = "de", name: str = "People") -> dict[str, list[str]]:
    by_key: dict[str, list[str]] = {}
    rows = Reference.objects.filter(reference_set__language=language, reference_set__name=name)
    for sha256, text in rows.order_by("image", "position").values_list("image__entries__key", "text"):
        by_key.setdefault(sha256, []).append(text)
    return by_key


def digest_anew(reference_set: ReferenceSet) -> str:
    """From the rows alone, as nothing that keeps it up to date does it."""
    by_image: dict[str, list[str]] = {}
    for sha256, text in reference_set.references.order_by("image", "position").values_list("image__sha256", "text"):
        by_image.setdefault(sha256, []).append(text)
    return as_digest(sum(image_digest(image, said) for image, said in by_image.items()))


def test_json_lines_give_one_caption_or_several_on_any_number_of_lines(tmp_path):
    collection = make_collection()
    one, two, three = keys(collection)

    lines = [
        {"image": one, "caption": " one "},
        {"image": two, "captions": ["two", "zwei"]},
        {"image": one, "caption": "eins"},
        {"image": three, "caption": "cafe\u0301", "language": "de"},
    ]
    job = take(lines, tmp_path, collection)

    assert job.state == JobState.DONE, job.error
    assert set(outcomes(job).values()) == {ImportOutcome.ADDED}
    assert texts() == {one: ["one", "eins"], two: ["two", "zwei"], three: ["café"]}
    references = ReferenceSet.objects.get()
    assert (references.images, references.captions) == (3, 5)
    assert (references.kind, references.changed_at) == (ReferenceKind.IMPORTED, NOW)
    assert references.digest == digest_anew(references) != ""


def test_the_layout_of_crossmodal_3600_gives_one_language_or_all_it_has(tmp_path):
    collection = make_collection()
    one, two, _three = keys(collection)
    content = [
        {"image/key": one, "de": {"caption": ["eins"]}, "iw": {"caption": ["אחת", "תמונה"]}},
        {"image/key": two, "de": {"caption": ["zwei", "two"]}, "iw": {"caption": []}},
    ]

    job = take(content, tmp_path, collection, name="One")
    assert set(outcomes(job).values()) == {ImportOutcome.ADDED}
    assert texts(name="One") == {one: ["eins"], two: ["zwei", "two"]}
    assert ReferenceSet.objects.count() == 1

    take(content, tmp_path, collection, language=None, name="All")
    assert texts("de", "All") == {one: ["eins"], two: ["zwei", "two"]}
    assert texts("he", "All") == {one: ["אחת", "תמונה"]}
    assert dict(ReferenceSet.objects.filter(name="All").values_list("language", "captions")) == {"de": 3, "he": 2}


@pytest.mark.parametrize("is_pretty", [False, True])
def test_the_layout_of_coco_names_images_by_number_or_by_file(tmp_path, is_pretty):
    collection = make_collection(images=0)
    for position, (key, file_name) in enumerate([("000000391895", ""), ("harbour", "harbour.jpg")], 1):
        CollectionImage.objects.create(
            collection=collection, image=make_image(), key=key, file_name=file_name, position=position
        )
    content = {
        "info": {"year": 2014},
        "annotations": [
            {"image_id": 7, "id": 1, "caption": "boats"},
            {"image_id": 391895, "id": 2, "caption": "a man"},
            {"image_id": 7, "id": 3, "caption": "a harbour"},
        ],
        "images": [{"id": 391895}, {"id": 7, "file_name": "harbour.jpg"}],
        "licenses": [],
    }
    written = json.dumps(content, indent=1 if is_pretty else None).encode()

    job = take([written], tmp_path, collection)

    assert job.state == JobState.DONE, job.error
    assert outcomes(job) == dict.fromkeys((1, 2, 3), ImportOutcome.ADDED)
    assert texts() == {"harbour": ["boats", "a harbour"], "000000391895": ["a man"]}


def test_a_broken_line_is_told_and_the_others_go_in_and_no_report_has_a_caption(tmp_path):
    collection = make_collection()
    one, two, three = keys(collection)

    lines = [
        {"image": one, "caption": WORDS},
        b'{"image": \n',
        {"image": two, "caption": "  "},
        {"image": "nobody", "caption": WORDS},
        {"image": two, "captions": 7},
        {"image": two, "caption": WORDS, "captions": [WORDS]},
        {"image": two, "caption": WORDS, "language": ["de"]},
        {"image": two, "caption": WORDS, "language": "fr"},
        {"image": two, "caption": WORDS, "language": "xx-none"},
        {"caption": WORDS},
        [WORDS],
        {"image": three, "de": {"caption": [WORDS, 3]}},
        {"image": two, "captions": [WORDS, WORDS]},
    ]
    job = take(lines, tmp_path, collection)

    assert job.state == JobState.DONE
    added = dict.fromkeys((1, 12, 13), ImportOutcome.ADDED)
    assert outcomes(job) == dict.fromkeys(range(1, 14), ImportOutcome.REJECTED) | added
    assert texts() == {one: [WORDS], two: [WORDS, WORDS], three: [WORDS]}
    assert all(row.reason for row in job.rows.filter(outcome=ImportOutcome.REJECTED))
    assert not job.rows.filter(reason__contains="heron").exists()


def test_of_a_line_with_a_broken_language_the_others_are_taken(tmp_path):
    collection = make_collection(images=1)
    (one,) = keys(collection)
    content = [{"image/key": one, "de": {"caption": ["eins"]}, "fr": {"caption": [1]}, "zz": {"caption": ["what"]}}]

    job = take(content, tmp_path, collection, language=None)

    (row,) = job.rows.all()
    assert row.outcome == ImportOutcome.ADDED
    assert "fr: " in row.reason
    assert "zz: " in row.reason
    assert texts() == {one: ["eins"]}


def test_captions_are_counted_not_lines(tmp_path):
    collection = make_collection(images=2)
    one, two = keys(collection)
    make_language("pt")
    content: list[dict[str, Any]] = [
        {
            "image/key": one,
            "de": {"caption": ["eins", "1"]},
            "pt": {"caption": ["um"]},
            "pt_BR": {"caption": ["1", "2"]},
        },
        {"image/key": two, "ja-JP": {"caption": ["一"]}, "zh_CN": {"caption": ["二", "三"]}},
        {"image": two, "caption": "zwei", "language": "de", "pt": {"caption": ["dois"]}},
        {"image": "gone", "captions": ["a", "b", "c", "d"], "language": "de"},
    ]

    job = take(content, tmp_path, collection, language=None)

    assert report_counts(job) == {"added": 5, "already": 0, "rejected": 9}
    assert list(job.rows.values_list("added", "rejected")) == [(3, 2), (0, 3), (2, 0), (0, 4)]
    assert Reference.objects.count() == 5

    changed = [content[0] | {"pt": {"caption": ["uma"]}}, *content[1:]]
    assert report_counts(take(changed, tmp_path, collection, language=None)) == {
        "added": 1,
        "already": 4,
        "rejected": 9,
    }


def report_counts(job: ImportJob) -> dict[str, int]:
    return {outcome: count for outcome, _, count in report_of(job).counts}


def test_hidden_characters_of_references_are_removed_and_counted(tmp_path):
    collection = make_collection(1)
    (key,) = keys(collection)

    job = take([{"image": key, "captions": ["ein\u200b Hund", "\ufeffHund", "Katze"]}], tmp_path, collection)

    assert texts() == {key: ["ein Hund", "Hund", "Katze"]}
    assert report_of(job).had_hidden == 2


def test_a_file_without_a_language_has_to_be_given_one(tmp_path):
    collection = make_collection(images=1)
    (one,) = keys(collection)

    job = take([{"image": one, "caption": WORDS}], tmp_path, collection, language=None)
    assert outcomes(job) == {1: ImportOutcome.REJECTED}

    job = take({"annotations": [{"image_id": one, "caption": WORDS}]}, tmp_path, collection, language=None)
    assert outcomes(job) == {1: ImportOutcome.REJECTED}
    without: dict[str, dict[str, list[Any]]] = {
        "nothing in the file": {"annotations": []},
        "list of images without captions": {"images": [{"id": 1, "file_name": one}]},
    }
    for says, content in without.items():
        job = take(content, tmp_path, collection)
        assert (job.state, says in job.error) == (JobState.FAILED, True)
    assert not ReferenceSet.objects.exists()


def test_importing_again_replaces_what_an_image_had_and_leaves_the_others(tmp_path):
    collection = make_collection()
    one, two, three = keys(collection)
    take([{"image": key, "captions": ["first", "second"]} for key in (one, two)], tmp_path, collection)
    before = ReferenceSet.objects.get()

    lines = [
        {"image": one, "captions": ["first", "second"]},
        {"image": two, "captions": ["third"]},
        {"image": three, "captions": ["fourth"]},
    ]
    job = take(lines, tmp_path, collection)

    assert outcomes(job) == {1: ImportOutcome.ALREADY, 2: ImportOutcome.ADDED, 3: ImportOutcome.ADDED}
    assert "de" in job.rows.get(number=2).reason
    assert texts() == {one: ["first", "second"], two: ["third"], three: ["fourth"]}
    after = ReferenceSet.objects.get()
    assert (after.images, after.captions) == (3, 4)
    assert after.digest == digest_anew(after) != before.digest


def test_the_same_file_again_changes_nothing(tmp_path):
    collection = make_collection()
    content = [{"image": key, "captions": ["first", "second"]} for key in keys(collection)]
    take(content, tmp_path, collection)
    before = (ReferenceSet.objects.values().get(), list(Reference.objects.values()))

    job = take(content, tmp_path, collection)

    assert set(outcomes(job).values()) == {ImportOutcome.ALREADY}
    assert (ReferenceSet.objects.values().get(), list(Reference.objects.values())) == before


def test_the_order_of_the_lines_does_not_matter_to_the_digest_but_the_words_do(tmp_path):
    collection = make_collection()
    content = [{"image": key, "captions": [f"of {place}", "second"]} for place, key in enumerate(keys(collection))]
    take(content, tmp_path, collection, name="a")
    take(content[::-1], tmp_path, collection, name="b")
    content[0]["captions"] = ["of", "0second"]
    take(content, tmp_path, collection, name="c")

    a, b, c = ReferenceSet.objects.order_by("name").values_list("digest", flat=True)
    assert a == b != c


def test_a_digest_is_the_same_in_every_database(tmp_path):
    collection = make_collection(images=0)
    for position, name in enumerate(("hund", "katze")):
        CollectionImage.objects.create(collection=collection, image=make_image(name), key=name, position=position)

    lines = [{"image": "katze", "caption": "eine Katze"}, {"image": "hund", "captions": ["ein Hund", "犬"]}]
    take(lines, tmp_path, collection)

    # Written down, so that both databases, where rows have other keys and another order, are held to it.
    assert ReferenceSet.objects.get().digest == ("20c2931c226b4b9a9490a197f7efcae5352369e65e08088f583e49e5d257f271")


def test_a_set_of_another_collection_or_origin_is_left_alone(tmp_path):
    collection, other = make_collection(), make_collection()
    take([{"image": keys(collection)[0], "caption": "one"}], tmp_path, collection)

    job = take([{"image": keys(other)[0], "caption": "one"}], tmp_path, other)
    assert (job.state, "another collection" in job.error) == (JobState.FAILED, True)

    make_references(project=Project.objects.get(), collection=other, name="Ours", origin="round:1")
    job = take([{"image": keys(other)[0], "caption": "one"}], tmp_path, other, name="Ours")
    assert (job.state, "another source" in job.error) == (JobState.FAILED, True)
    assert Reference.objects.filter(text="one").count() == 1


def test_references_that_scores_stand_on_are_not_dropped():
    used, unused = make_references(), make_references()
    make_scoring(used)

    with pytest.raises(ReferenceFileError):
        drop_references(reference_set=used)
    drop_references(reference_set=unused)

    assert list(ReferenceSet.objects.all()) == [used]


def upload(content: list[dict[str, Any]], collection: Collection) -> ImportJob:
    written = b"".join(json.dumps(line).encode() + b"\n" for line in content)
    make_language("de")
    return confirmed(written, name="People", language="de", collection=collection.slug)


def test_an_import_that_was_broken_off_goes_on_and_tells_of_each_line_once(monkeypatch):
    collection = make_collection(images=5)
    job = upload([{"image": key, "captions": ["first", "second"]} for key in keys(collection)], collection)
    monkeypatch.setattr(reference_imports, "IMAGES_PER_TRANSACTION", 2)
    calls = []

    def until_killed(**about: Any) -> Any:
        calls.append(about)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return put_references(**about)

    with monkeypatch.context() as killed:
        killed.setattr(reference_imports, "put_references", until_killed)
        with pytest.raises(KeyboardInterrupt):
            run(job)
    references = ReferenceSet.objects.get()
    assert (job.parts.get().rows.count(), references.images) == (2, 2)
    assert references.digest == digest_anew(references)

    later = NOW + 2 * LEASE
    assert leases.rows_to_nudge(ImportJob.objects.filter(kind=ImportKind.FILES), now=later) == [job.pk]
    assert run(job, now=later).state == JobState.DONE

    job = job.parts.get()
    assert (job.state, job.done) == (JobState.DONE, 5)
    assert outcomes(job) == dict.fromkeys(range(1, 6), ImportOutcome.ADDED)
    references.refresh_from_db()
    assert (references.images, references.digest) == (5, digest_anew(references))


def test_an_image_that_cannot_be_taken_does_not_keep_the_others_out(monkeypatch):
    collection = make_collection(images=3)
    bad = collection.entries.all()[1].image_id

    def picky(*, captions: dict[int, list[str]], **about: Any) -> Any:
        if bad in captions:
            raise ValueError("no")
        return put_references(captions=captions, **about)

    monkeypatch.setattr(reference_imports, "put_references", picky)
    job = upload([{"image": key, "caption": "words"} for key in keys(collection)], collection)
    run(job)

    assert outcomes(job.parts.get()) == {1: ImportOutcome.ADDED, 2: ImportOutcome.REJECTED, 3: ImportOutcome.ADDED}
    assert ReferenceSet.objects.get().images == 2


def test_the_command_imports_a_file_and_tells_of_what_is_wrong(tmp_path):
    collection, project = make_collection(), make_project()
    file = tmp_path / "people.jsonl"
    file.write_text(json.dumps({"image": keys(collection)[0], "caption": "one"}) + '\n{"image": "x", "caption": "y"}\n')
    said = io.StringIO()

    call_command(
        "import", file, "--project", project.slug, "--collection", collection.slug, "--language", "de",
        "--name", "People", "--translated", "--source", "CC BY 4.0", stdout=said,
    )  # fmt: skip

    references = ReferenceSet.objects.get()
    assert (references.project, references.collection, references.language_id) == (project, collection, "de")
    assert (references.kind, references.source, references.captions) == (ReferenceKind.TRANSLATED, "CC BY 4.0", 1)
    assert "x: No image" in said.getvalue()
    assert "Added: 1" in said.getvalue()
    there = (project.slug, collection.slug, "n")
    for place, wrong in enumerate(("no-such", "no-such", " ")):
        wanted = [wrong if place == number else given for number, given in enumerate(there)]
        about = {"project": wanted[0], "collection": wanted[1], "name": wanted[2]}
        with pytest.raises(CommandError):
            call_command("import", file, **about)


@pytest.mark.long(reason="45,796 captions; the tests before take some of the same layout")
def test_the_captions_of_six_languages_go_in_at_once(tmp_path):
    path = published("xm3600/captions_6languages.jsonl")
    collection = make_collection(images=0)
    names = [json.loads(line)["image/key"] for line in path.open()]
    images = Image.objects.bulk_create(
        Image(sha256=f"{place:064x}", original=f"o/{place}", format="JPEG", bytes=1, width=1, height=1)
        for place, _ in enumerate(names)
    )
    CollectionImage.objects.bulk_create(
        CollectionImage(collection=collection, image=image, key=name, position=place)
        for place, (image, name) in enumerate(zip(images, names, strict=True))
    )

    job = reference_imports.import_path(
        path=path, project=make_project(), collection=collection, language=None, name="XM3600", clock=lambda: NOW
    )

    assert (job.state, outcomes(job)) == (JobState.DONE, dict.fromkeys(range(1, 3601), ImportOutcome.ADDED))
    assert Reference.objects.count() == sum(ReferenceSet.objects.values_list("captions", flat=True))
    assert dict(ReferenceSet.objects.values_list("language", "images")) == dict.fromkeys(
        ("en", "es", "fr", "sw", "th", "zh"), 3600
    )
