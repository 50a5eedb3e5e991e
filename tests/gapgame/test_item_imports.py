"""Importing items: each line is told about, nothing is taken twice, and no picture keeps the word."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from PIL import Image as Pillow
from PIL.PngImagePlugin import PngInfo

from corpus.models import Collection, CollectionImage, Image, ImportJob, ImportKind, JobState, Outcome
from corpus.services import imports as image_imports
from corpus.services import jobs
from corpus.services.collections import collection_named
from corpus.services.files import size_name
from corpus.services.images import make_sizes, sha256_of
from gapgame import tasks
from gapgame.models import Item, ItemSet, RepresentativeSource
from gapgame.rules.stripping import words_beside
from gapgame.services import item_imports
from gapgame.services.items import create_item_set
from people.models import Project
from tests.concurrency import together
from tests.corpus.pictures import picture
from tests.factories import NOW, make_project, make_season, make_user

WORD = "walrus"
LINE = {
    "key": "one",
    "language": "en",
    "sentence": "A ____ lies on the ice.",
    "word": WORD,
    "split": "intersect_3",
    "sense": ["bn:1"],
    "images": ["a.jpg", "b.jpg"],
}


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> None:
    settings.STORAGES = settings.STORAGES | {
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": tmp_path / "media"},
        }
    }


@pytest.fixture
def item_set(db: None) -> ItemSet:
    return create_item_set(project=make_project("whales"), name="Animals", by=None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "items"
    folder.mkdir()
    for shade, name in enumerate(("a.jpg", "b.jpg", "c.jpg")):
        (folder / name).write_bytes(picture(shade=10 * shade))
    manifest = "file,author,licence,licence_url\n" + "".join(
        f"{name},Ada Example,CC BY 4.0,https://example.org/by\n" for name in ("a.jpg", "b.jpg", "c.jpg")
    )
    (folder / "manifest.csv").write_text(manifest)
    return folder


def write(folder: Path, *lines: Any) -> Path:
    path = folder / "items.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def run(item_set: ItemSet, path: Path, **options: Any) -> ImportJob:
    return item_imports.import_path(
        path=path, item_set=item_set, clock=lambda: NOW, announce=lambda image_id: None, **options
    )


def told(job: ImportJob) -> list[tuple[str, str]]:
    return list(job.rows.order_by("number").values_list("outcome", "reason"))


def shas(item: Item) -> list[str]:
    return [entry.image.sha256 for entry in item.images.select_related("image")]


def sha_of(path: Path) -> str:
    return sha256_of(io.BytesIO(path.read_bytes()))


def test_an_item_goes_in_with_its_images_under_keys_that_tell_nothing(item_set, folder):
    job = run(item_set, write(folder, LINE))

    assert (job.kind, job.state, job.total, job.done) == (ImportKind.ITEMS, JobState.DONE, 1, 1)
    assert told(job) == [("added", "")]
    item = item_set.items.get()
    assert (item.key, item.before, item.word, item.after) == ("one", "A ", WORD, " lies on the ice.")
    assert (item.language_id, item.split, item.sense, item.is_used) == ("en", 3, ["bn:1"], True)
    assert item.representative_source == RepresentativeSource.FIRST
    assert shas(item) == [sha_of(folder / "a.jpg"), sha_of(folder / "b.jpg")]
    entries = list(item_set.collection.entries.select_related("image"))
    assert {entry.image.licence for entry in entries} == {"CC BY 4.0"}
    assert {entry.file_name for entry in entries} == {"a.jpg", "b.jpg"}
    assert all(len(entry.key) == 20 and int(entry.key, 16) for entry in entries)


def test_the_same_file_again_adds_nothing_and_other_content_is_a_problem_of_its_line(item_set, folder):
    unkeyed = {name: value for name, value in LINE.items() if name != "key"} | {"sentence": "The ____ swims."}
    run(item_set, write(folder, LINE, unkeyed))
    before = list(Item.objects.order_by("pk").values())

    again = run(item_set, write(folder, LINE, unkeyed))
    assert [outcome for outcome, _ in told(again)] == ["already", "already"]

    changed = [
        LINE | {"sentence": "The ____ lies on the ice."},
        LINE | {"split": 0},
        LINE | {"images": ["a.jpg", "c.jpg"]},
        LINE | {"key": "two"},
        LINE | {"key": "two", "sense": []},
        LINE | {"representative": "b.jpg"},
    ]
    job = run(item_set, write(folder, *changed))
    assert [outcome for outcome, _ in told(job)] == ["rejected"] * 3 + ["added", "rejected", "already"]
    assert all("same key" in reason for outcome, reason in told(job) if outcome == "rejected")
    assert "another representative" in told(job)[5][1]
    assert list(Item.objects.order_by("pk").values())[:2] == before
    assert item_set.items.count() == 3


def test_each_line_that_cannot_be_used_is_told_by_its_number_and_without_the_word(item_set, folder):
    (folder / "cut.jpg").write_bytes(picture(size=(400, 300))[:-300])
    (folder / f"{WORD}.png").write_text("<html>")
    (folder / f"{WORD}.gif").write_bytes(picture())
    job = run(
        item_set,
        write(
            folder,
            LINE,
            LINE | {"key": "2", "sentence": "No gap here."},
            LINE | {"key": "3", "images": []},
            LINE | {"key": "4", "images": ["a.jpg", "gone.jpg"]},
            LINE | {"key": "5", "split": "intersect_9"},
            LINE | {"key": "6", "sentence": f"A ____ and a {WORD}."},
            '{"key": "7",',
            LINE | {"key": "8", "images": ["cut.jpg"]},
            LINE | {"key": "9", "images": [f"{WORD}.png"]},
            LINE | {"key": "10", "images": ["a.jpg", f"{WORD}.gif"]},
            LINE | {"key": "11"},
        ),
    )
    says = ["", "No gap", "no image", "Image 2: No such file", "split", "occurs twice", "JSON", "Image 1: The JPEG is",
            "Image 1: This is", "Image 2: The name ends", ""]  # fmt: skip
    rows = told(job)
    assert [outcome for outcome, _ in rows] == ["added"] + ["rejected"] * 9 + ["added"]
    assert all(part in reason for part, (_, reason) in zip(says, rows, strict=True))
    assert [row.name for row in job.rows.order_by("number")] == [f"line {number}" for number in range(1, 12)]
    everything = " ".join(f"{row.name} {row.reason}" for row in job.rows.all())
    assert WORD not in everything.lower()
    assert item_set.items.count() == 2


def marked(word: str) -> Mapping[str, bytes]:
    """Pictures that hold the word, each in another place."""
    exif = Pillow.Exif()
    exif[0x010E] = f"A big {word.upper()} on ice"
    comment = Pillow.Exif()
    comment[0x9C9F] = f"{word}\0".encode("utf-16-le")
    text = PngInfo()
    text.add_itxt("Description", f"the {word}")
    xmp = f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><dc:subject>{word}</dc:subject></x:xmpmeta>'.encode()
    iptc = b"Photoshop 3.0\x008BIM\x04\x04\x00\x00\x00\x00\x00" + bytes([5 + len(word)])
    iptc += b"\x1c\x02\x78\x00" + bytes([len(word)]) + word.encode()
    plain = picture(shade=25)
    segment = b"\xff\xed" + (len(iptc) + 2).to_bytes(2, "big") + iptc
    return {
        "exif.jpg": picture(shade=20, exif=exif),
        "xp.jpg": picture(shade=21, exif=comment),
        "xmp.jpg": picture(shade=22, xmp=xmp),
        "comment.jpg": picture(shade=23, comment=f"seen: {word}".encode()),
        "iptc.jpg": plain[:2] + segment + plain[2:],
        "text.png": picture("PNG", shade=24, pnginfo=text),
        "exif.webp": picture("WEBP", shade=26, exif=exif),
        "comment.gif": picture("GIF", shade=27, comment=word.encode()),
        "tag.tif": picture("TIFF", shade=28, description=f"{word} 7"),
    }


@pytest.mark.parametrize("name", sorted(marked(WORD)))
def test_a_picture_that_holds_the_word_is_replaced_by_a_copy_that_holds_no_words(item_set, folder, name):
    content = marked(WORD)[name]
    (folder / name).write_bytes(content)
    path = write(folder, LINE | {"images": [name]})

    job = run(item_set, path)

    assert told(job)[0][0] == "added"
    assert "its title or its file holds the word" in told(job)[0][1]
    image = item_set.items.get().images.get().image
    assert image.sha256 != sha256_of(io.BytesIO(content))
    assert not Image.objects.filter(sha256=sha256_of(io.BytesIO(content))).exists()
    with default_storage.open(image.original) as file:
        assert WORD not in words_beside(file, kind=image.format).lower()
        file.seek(0)
        assert WORD.encode() not in file.read().lower()
    with Pillow.open(io.BytesIO(content)) as one, Pillow.open(default_storage.open(image.original)) as other:
        assert one.size == other.size
        difference = np.asarray(one.convert("L"), int) - np.asarray(other.convert("L"), int)
        assert np.abs(difference).max() <= 2
    again = run(item_set, path)
    assert [outcome for outcome, _ in told(again)] == ["already"]
    assert item_set.collection.entries.count() == 1


def test_what_is_served_and_stored_of_a_telling_picture_holds_no_trace_of_the_word(item_set, folder):
    exif = Pillow.Exif()
    exif[0x010E] = f"{WORD} at rest"
    exif[0x013B] = "Ada Example"
    exif[0x0112] = 6
    (folder / f"big-{WORD}.jpg").write_bytes(picture(shade=30, size=(90, 60), exif=exif))
    image = {"file": f"big-{WORD}.jpg", "title": f"A {WORD}", "licence": "CC0", "source": "https://example.org/7"}

    job = run(item_set, write(folder, LINE | {"images": [image]}))

    assert "its name holds the word" in told(job)[0][1]
    entry = item_set.collection.entries.select_related("image").get()
    shown = entry.image
    assert (shown.title, shown.author, shown.licence) == ("", "Ada Example", "CC0")
    assert shown.source == "https://example.org/7"
    assert (shown.width, shown.height) == (60, 90)  # still upright
    assert shown.extra["withheld_title"] == f"A {WORD}"  # for the credit that a manager may have to give
    assert WORD not in entry.key + entry.file_name + shown.original + str(shown.public_id)
    make_sizes(image_id=shown.pk, now=NOW)
    content = default_storage.open(size_name(shown.public_id, 320)).read()
    assert WORD.encode() not in content.lower()
    with Pillow.open(io.BytesIO(content)) as served:
        assert served.format == "WEBP"
        assert not {"exif", "xmp", "icc_profile"} & served.info.keys()
    assert all(WORD not in " ".join((row.name, row.reason)) for row in job.rows.all())


def test_a_name_that_is_harmless_for_one_word_is_forgotten_when_another_word_is_in_it(item_set, folder):
    (folder / "seal.jpg").write_bytes(picture(shade=33))
    seal = {"key": "seal", "sentence": "A ____ dives.", "word": "seal", "images": ["seal.jpg"]}
    run(item_set, write(folder, LINE | {"images": ["seal.jpg"]}))
    assert item_set.collection.entries.get().file_name == "seal.jpg"

    job = run(item_set, write(folder, LINE | seal))

    assert told(job)[0][0] == "added"
    assert "its name holds the word" in told(job)[0][1]
    assert item_set.collection.entries.get().file_name == ""


def test_images_of_other_collections_are_found_by_key_file_name_and_content(item_set, folder):
    image_imports.import_path(
        path=folder, collection=collection_named("Sea"), clock=lambda: NOW, announce=lambda image_id: None
    )
    digest = sha_of(folder / "c.jpg")
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    path = write(elsewhere, LINE | {"images": ["a", "b.jpg", digest.upper()]})

    assert told(run(item_set, path))[0][0] == "rejected"
    sea = Collection.objects.get(name="Sea")
    assert told(run(item_set, path, collections=[sea]))[0] == ("added", "")

    assert shas(item_set.items.get()) == [sha_of(folder / name) for name in ("a.jpg", "b.jpg", "c.jpg")]
    assert not set(item_set.collection.entries.values_list("key", flat=True)) & {"a", "b", "c"}
    key = CollectionImage.objects.get(collection=item_set.collection, image__sha256=digest).key
    by_own_key = write(elsewhere, LINE | {"key": "own", "images": [key]})
    assert told(run(item_set, by_own_key))[0][0] == "added"


def test_an_image_of_another_collection_whose_title_holds_the_word_is_copied_and_stays_as_it_is_there(item_set, folder):
    manifest = f"file,title,author,licence\na.jpg,Two {WORD}es,Ada,CC0\n"
    (folder / "manifest.csv").write_text(manifest)
    sea = collection_named("Sea")
    image_imports.import_path(path=folder, collection=sea, clock=lambda: NOW, announce=lambda image_id: None)
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()

    job = run(item_set, write(elsewhere, LINE | {"images": ["a"]}), collections=[sea])

    assert "its title" in told(job)[0][1]
    copied = item_set.collection.images.get()
    assert (copied.title, copied.author, copied.licence) == ("", "Ada", "CC0")
    assert sea.images.get().title == f"Two {WORD}es"
    assert told(run(item_set, elsewhere / "items.jsonl", collections=[sea]))[0][0] == "already"
    assert Image.objects.count() == 2


def test_an_image_without_a_licence_is_taken_and_reported(item_set, folder):
    (folder / "manifest.csv").unlink()
    given = [{"file": "a.jpg", "license": "CC0"}, "b.jpg"]
    assert told(run(item_set, write(folder, LINE | {"images": given}))) == [
        ("added", "No licence is known of image 2.")
    ]


def test_a_path_that_leaves_the_folder_is_not_followed(item_set, folder):
    (folder.parent / "out.jpg").write_bytes(picture(shade=50))
    (folder / "link.jpg").symlink_to(folder.parent / "out.jpg")
    paths = ["../out.jpg", "link.jpg", str(folder.parent / "out.jpg"), "nowhere/../../out.jpg"]
    job = run(item_set, write(folder, *(LINE | {"key": path, "images": [path]} for path in paths)))
    assert [outcome for outcome, _ in told(job)] == ["rejected"] * 4
    assert not Image.objects.exists()


def embeddings(folder: Path, kind: str) -> Path:
    vectors = {"a.jpg": [1, 0], "b": [0.8, 0.6], "c.jpg": [0, 1]}
    if kind == "jsonl":
        path = folder / "vectors.jsonl"
        path.write_text("".join(json.dumps({"image": n, "vector": v}) + "\n" for n, v in vectors.items()))
        return path
    path = folder / "vectors.npz"
    if kind == "npz by name":
        arrays: dict[str, Any] = {name: np.array(vector) for name, vector in vectors.items()}
        np.savez(path, **arrays)
    else:
        np.savez(path, images=np.array(list(vectors)), vectors=np.array(list(vectors.values())))
    return path


@pytest.mark.parametrize("kind", ["jsonl", "npz by name", "npz"])
def test_the_representative_is_the_most_central_embedding_else_the_one_named_else_the_first(item_set, folder, kind):
    images = ["a.jpg", "b.jpg", "c.jpg"]
    (folder / "d.jpg").write_bytes(picture(shade=44))
    path = write(
        folder,
        LINE | {"images": images, "representative": "c.jpg"},
        LINE | {"key": "two", "images": ["d.jpg", "a.jpg"], "representative": "a.jpg"},
        LINE | {"key": "three", "images": ["d.jpg", "a.jpg"]},
    )
    job = run(item_set, path, embeddings=embeddings(folder, kind))

    sources = dict(Item.objects.values_list("key", "representative_source"))
    assert sources == {"one": "embeddings", "two": "file", "three": "first"}
    first = {item.key: shas(item)[0] for item in item_set.items.all()}
    expected = {"one": "b.jpg", "two": "a.jpg", "three": "d.jpg"}
    assert first == {key: sha_of(folder / name) for key, name in expected.items()}
    assert shas(item_set.items.get(key="one"))[1:] == [sha_of(folder / "a.jpg"), sha_of(folder / "c.jpg")]
    assert "1 of 2 images have no embedding" in told(job)[1][1]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"image": "a", "vector": [1, 0]}\n{"image": "b", "vector": [1]}\n', "Embedding 2 is not 2"),
        (b'{"image": "a", "vector": [0, 0]}\n', "not all 0"),
        (b'{"image": "a", "vector": [1e99, 0]}\n', "finite"),
        (b'{"image": "a", "vector": ["1"]}\n', "line 1: not an object"),
        (b'{"image": "a"\n', "line 1: Not valid JSON"),
        (b"PK\x03\x04 no archive", "no NumPy archive"),
        (b"", "empty"),
    ],
)
def test_embeddings_that_cannot_be_read_end_the_import_before_anything_is_taken(item_set, folder, content, says):
    path = folder / "vectors"
    path.write_bytes(content)
    job = run(item_set, write(folder, LINE), embeddings=path)
    assert job.state == JobState.FAILED
    assert says in job.error
    assert not Item.objects.exists()


def upload(item_set: ItemSet, lines: list[Any], pictures: Mapping[str, bytes], **options: Any) -> ImportJob:
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    return item_imports.start_upload(
        item_set=item_set,
        items=SimpleUploadedFile("items.jsonl", content),
        pictures=[SimpleUploadedFile(name, data) for name, data in pictures.items()],
        by=make_user(),
        **options,
    )


def run_upload(job: ImportJob, now=NOW) -> ImportJob:
    item_imports.run_import(job_id=job.pk, clock=lambda: now, announce=lambda image_id: None)
    job.refresh_from_db()
    return job


def zipped(files: Mapping[str, bytes]) -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return output.getvalue()


def test_a_browser_sends_items_with_a_zip_and_its_manifest(item_set):
    manifest = "file,key,licence\n" + "".join(f"{name}.jpg,{name},CC0\n" for name in "ab")
    pictures = {"pictures/manifest.csv": manifest.encode()}
    pictures |= {f"pictures/{name}.jpg": picture(shade=shade) for shade, name in enumerate("ab")}
    lines = [LINE, LINE | {"key": "two", "images": ["b", "pictures/a.jpg"]}, LINE | {"key": "3", "images": ["x.jpg"]}]

    job = run_upload(upload(item_set, lines, {"p.zip": zipped(pictures)}))

    assert [outcome for outcome, _ in told(job)] == ["added", "added", "rejected"]
    assert (job.state, job.total, job.done) == (JobState.DONE, 3, 3)
    assert set(item_set.collection.images.values_list("licence", flat=True)) == {"CC0"}
    assert not default_storage.exists(f"{job.folder}/items")


def test_an_import_that_was_interrupted_goes_on_after_the_last_line_of_its_report(item_set, folder, monkeypatch):
    monkeypatch.setattr(item_imports, "LINES_PER_TRANSACTION", 2)
    lines = [LINE | {"key": str(number), "images": ["a.jpg"]} for number in range(5)]
    job = upload(item_set, lines, {"a.jpg": picture()})
    put = item_imports._Import._put

    def stop(run, one, by_key):
        if one.line.key == "2":
            raise KeyboardInterrupt
        return put(run, one, by_key)

    monkeypatch.setattr(item_imports._Import, "_put", stop)
    with pytest.raises(KeyboardInterrupt):
        run_upload(job)
    assert sorted(item_set.items.values_list("key", flat=True)) == ["0", "1"]
    monkeypatch.setattr(item_imports._Import, "_put", put)

    run_upload(job, now=NOW + timedelta(seconds=30))
    assert item_set.items.count() == 2  # its lease is not over

    job = run_upload(job, now=NOW + 2 * jobs.LEASE)
    assert (job.state, job.done, item_set.items.count()) == (JobState.DONE, 5, 5)
    assert [outcome for outcome, _ in told(job)] == ["added"] * 5


def test_a_line_that_nobody_foresaw_takes_no_other_with_it(item_set, folder, monkeypatch):
    put = item_imports._Import._put

    def fail(run, one, by_key):
        if one.line.key == "1":
            raise IntegrityError(WORD)
        return put(run, one, by_key)

    monkeypatch.setattr(item_imports._Import, "_put", fail)
    job = run(item_set, write(folder, *(LINE | {"key": str(number)} for number in range(3))))
    assert [outcome for outcome, _ in told(job)] == ["added", "rejected", "added"]
    assert "IntegrityError" in told(job)[1][1]
    assert WORD not in told(job)[1][1]


def test_a_line_at_which_the_worker_dies_each_time_is_left_out_in_the_end(item_set):
    job = upload(
        item_set, [LINE | {"images": ["a.jpg"]}, LINE | {"key": "2", "images": ["a.jpg"]}], {"a.jpg": picture()}
    )
    ImportJob.objects.filter(pk=job.pk).update(attempts=jobs.SKIP_AFTER_ATTEMPTS)
    job = run_upload(job)
    assert [outcome for outcome, _ in told(job)] == ["rejected", "added"]
    assert "stopped the import" in told(job)[0][1]


def test_once_a_season_has_begun_with_the_items_none_is_added(item_set, folder):
    path = write(folder, LINE)
    run(item_set, path)
    season = make_season(project=item_set.project, item_set=item_set, items=0)
    begin = season.starts_at

    def at(now):
        return item_imports.import_path(
            path=write(folder, LINE | {"key": str(now)}),
            item_set=item_set,
            clock=lambda: now,
            announce=lambda image_id: None,
        )

    assert at(begin - timedelta(seconds=1)).state == JobState.DONE
    refused = at(begin)
    assert refused.state == JobState.FAILED
    assert "A season has begun" in refused.error
    assert item_set.items.count() == 2


@pytest.mark.django_db(transaction=True)
def test_two_imports_of_the_same_file_at_once_make_each_item_and_image_once(tmp_path):
    item_set = create_item_set(project=make_project(), name="Animals", by=None)
    (tmp_path / "a.jpg").write_bytes(picture())
    path = write(tmp_path, *(LINE | {"key": str(number), "images": ["a.jpg"]} for number in range(20)))

    done = together(lambda _: run(item_set, path), range(3))

    outcomes = [outcome for job in done for outcome, _ in told(job)]
    assert {job.state for job in done} == {JobState.DONE}
    assert (outcomes.count("added"), outcomes.count("already")) == (20, 40)
    assert (item_set.items.count(), Image.objects.count()) == (20, 1)


def test_a_message_that_was_lost_is_sent_again_by_the_sweep(item_set, monkeypatch):
    job = upload(item_set, [LINE], {})
    sent: list[int] = []
    monkeypatch.setattr(tasks.run_item_import, "delay", sent.append)
    tasks.sweep_item_imports()
    assert sent == [job.pk]


def theirs(**changes: Any) -> dict[str, Any]:
    value = {"text": f"the {WORD} sleeps .", "word": WORD, "synsets": "bn:1", "intersect": 2, "imageIds": ["a.jpg"]}
    return {name: given for name, given in (value | changes).items() if given is not ...}


def test_a_list_of_multisubs_is_known_by_its_names(item_set, folder):
    path = folder / "sents.json"
    tokens = {"tokens": ["the", WORD, "of", "a", WORD], "index": 1, "text": ...}
    path.write_text(json.dumps([theirs(), theirs(tokens=["a", "big", WORD.title(), "."], position=2, text=...),
                                theirs(**tokens)]))  # fmt: skip

    job = run(item_set, path)

    assert [outcome for outcome, _ in told(job)] == ["added", "added", "rejected"]
    assert "occurs twice" in told(job)[2][1]
    found = item_set.items.order_by("pk").values_list("before", "word", "after", "split", "sense", "language_id")
    assert list(found) == [
        ("the ", WORD, " sleeps .", 2, ["bn:1"], "en"),
        ("a big ", WORD, " .", 2, ["bn:1"], "en"),
    ]
    assert told(run(item_set, path, layout="crosslens"))[0][0] == "rejected"


def test_a_folder_of_multisubs_is_cut_by_characters_or_by_tokens(item_set, folder):
    table = "sentence-id\tword\tsplit\tsynsets\timages\n"
    table += "".join(f"1#{number}\t{WORD}\tintersect_1\tbn:1,bn:2\ta.jpg,b.jpg\n" for number in range(1, 6))
    table += "1#6\tshort\n"
    (folder / "en.items.tsv").write_text(table)
    sentences = [f"the {WORD} sleeps", f"one {WORD}, dear", f"no {WORD} there", "nothing", f"a {WORD}s' {WORD}"]
    lines = [f"1#{number}\t{sentence}" for number, sentence in enumerate(sentences[:4], start=1)]
    (folder / "en.sents.det").write_text("\n".join(lines) + "\n")
    fragments = {1: (4, 4 + len(WORD)), 2: (1, 2), 3: (0, 2)}
    (folder / "en.fragments").write_text(
        "".join(f"1#{n}\t{start}\t{end}\tx\t{WORD}\t{WORD}\tNN\n" for n, (start, end) in fragments.items())
    )

    job = run(item_set, folder)

    rows = dict(zip(job.rows.order_by("number").values_list("number", flat=True), told(job), strict=True))
    assert {number: outcome for number, (outcome, _) in rows.items()} == {
        2: "added", 3: "rejected", 4: "rejected", 5: "rejected", 6: "rejected", 7: "rejected"
    }  # fmt: skip
    assert "does not stand where" in rows[3][1]  # the comma belongs to its token
    assert "No gap" in rows[5][1]
    assert "no sentence of this id" in rows[6][1]
    assert "2 cells" in rows[7][1]
    item = item_set.items.get()
    assert (item.key, item.before, item.sense, item.split) == (f"1#1-{WORD}", "the ", ["bn:1", "bn:2"], 1)


def call(*arguments: str) -> str:
    output = io.StringIO()
    call_command("import_gap_items", *arguments, stdout=output)
    return output.getvalue()


def test_the_command_imports_and_reports(item_set, folder, tmp_path):
    (folder / "manifest.csv").unlink()
    path = write(tmp_path, LINE, LINE | {"key": "2", "images": []})
    report = tmp_path / "report.csv"

    output = call(str(path), "--project=whales", "--set=Plants", f"--images={folder}", f"--report={report}")

    assert "line 1: Added. No licence is known of image 1. No licence is known of image 2." in output
    assert "line 2: Not taken. There is no image" in output
    assert "Added: 1, Already there: 0, Not taken: 1" in output
    assert [row[2] for row in csv.reader(report.open())] == ["outcome", "added", "rejected"]
    assert ItemSet.objects.get(name="Plants").project == Project.objects.get(slug="whales")
    call(str(path), "--project=whales", "--set=Plants", f"--images={folder}")
    assert ItemSet.objects.filter(name="Plants").count() == 1
    assert ImportJob.objects.filter(rows__outcome=Outcome.ALREADY).count() == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["gone.jsonl", "--project=whales", "--set=x"], "no file or folder"),
        (["FILE", "--project=gone", "--set=x"], "no project gone"),
        (["FILE", "--project=whales", "--set= "], "--set takes"),
        (["FILE", "--project=whales", "--set=x", "--collection=gone"], "no collection gone"),
        (["FILE", "--project=whales", "--set=x", "--images=gone"], "no folder or zip"),
        (["FILE", "--project=whales", "--set=x", "--embeddings=gone"], "no file gone"),
        (["FOLDER", "--project=whales", "--set=x"], "no table"),
    ],
)
def test_the_command_says_what_is_wrong_and_makes_nothing(item_set, folder, arguments, says):
    names = {"FILE": str(write(folder, LINE)), "FOLDER": str(folder)}
    with pytest.raises(CommandError, match=says):
        call(*(names.get(argument, argument) for argument in arguments))
    assert ItemSet.objects.count() == 1
    assert not ImportJob.objects.exists()
