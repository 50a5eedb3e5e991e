"""Senses get the images of a manifest; those without a licence, a file or a known sense are counted by line."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from core.images.rules.manifests import attribution_of
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.named_vectors import NamedVectors
from parallel_text.config import Exclusions, ImageSettings
from parallel_text.images import STEP
from parallel_text.problems import CorpusError
from tests.parallel_text.made import cells, work_with, write

SEAL, STAMP, BABEL = "02077923-n", "04178897-n", "bn:00016606n"
INSTANCES = [
    ("a-1", 0, 1, ["02077923-n"]),
    ("b-2", 1, 2, ["02077923-n", "04178897-n"]),
    ("c-3", 2, 3, ["bn:00016606n"]),
    ("d-4", 3, 0, []),
]


@pytest.fixture
def work(tmp_path):
    """Steps before this one are done: three synsets are known, and four words have senses."""
    work = work_with(tmp_path, "es")
    write(work, "senses/inventory.parquet", {"language": ["en"] * 3, "synset": [SEAL, STAMP, BABEL]})
    ids, sentences, n, synsets = map(list, zip(*INSTANCES, strict=True))
    columns = {"id": ids, "sentence": sentences, "n": n, "synsets": pa.array(synsets, pa.list_(pa.string()))}
    write(work, "intersect/instances.parquet", columns)
    return work


def read(work, name, *columns):
    return cells(work, f"images/{name}.parquet", *columns)


def with_manifest(work, *lines, name="images.jsonl", folder=(), features=None, exclude=()):
    """Give `work` a manifest, files of a folder, and features by name."""
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    work.input(name).write_text(text)
    for file in folder:
        path = work.input("folder") / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    if features:
        vectors = np.array(list(features.values()), np.float32)
        NamedVectors(tuple(features), vectors, "made", "made").save(work.input("features.npz"))
    images = ImageSettings(name, "folder" if folder else "", "features.npz" if features else "")
    return replace(work, config=replace(work.config, images=images, exclude=Exclusions(images=tuple(exclude))))


def image(synset, file, licence="CC BY 4.0", **more):
    return {"synset": synset, "file": file, "licence": licence, "author": "Ann", "source": "https://a.example"} | more


def test_images_that_cannot_be_used_are_counted_by_line_and_the_others_kept(work):
    work = with_manifest(
        work,
        image("n02077923", "seal.jpg"),
        image(STAMP, "free.jpg", licence=""),
        image(STAMP, "mine.jpg", licence="All rights reserved."),
        image("00000000-n", "ghost.jpg"),
        image(SEAL, "lost.jpg"),
        image(SEAL, "seal.jpg"),
        image(SEAL, "../secret.jpg"),
        "not JSON",
        image("", "seal.jpg"),
        image(BABEL, "struck.jpg"),
        image(BABEL, "letter.jpg", license_url="https://l.example"),
        image(SEAL, "x" * 300 + ".jpg"),
        folder=("02077923-n/seal.jpg", "letter.jpg", "struck.jpg", "free.jpg", "mine.jpg", "ghost.jpg"),
        exclude=["struck.jpg"],
    )

    report = STEP.finish(work)

    assert read(work, "images", "synset", "file", "licence", "author", "representative") == [
        (SEAL, "02077923-n/seal.jpg", "CC BY 4.0", "Ann", True),
        (BABEL, "letter.jpg", "CC BY 4.0", "Ann", True),
    ]
    found = {kind: [one.line for one in some] for kind, some in report.problems.examples.items()}
    assert found == {
        "no_licence": [2, 3],
        "unknown_offset": [4],
        "missing_file": [5, 12],
        "duplicate_image": [6],
        "bad_line": [7, 8, 9],
    }
    assert {example.file for some in report.problems.examples.values() for example in some} == {"images.jsonl"}
    assert report.counts["excluded"] == 1


@pytest.mark.parametrize(
    "address", ["creativecommons.org", "ftp://l.example", "https://", "https://a b.example", "https://[x"]
)
def test_an_image_whose_licence_has_no_address_of_the_web_is_used_without_it(work, address):
    """The Gap Filling Game would refuse all sentences with it."""
    work = with_manifest(
        work, image(SEAL, "a.jpg", licence_url=address), image(SEAL, "b.jpg", licence_url="http://l.example")
    )
    report = STEP.finish(work)
    assert read(work, "images", "file", "licence_url") == [("a.jpg", ""), ("b.jpg", "http://l.example")]
    assert [example.line for example in report.problems.examples["bad_licence_url"]] == [1]
    with pytest.raises(LineError):
        attribution_of({"licence_url": address})


def test_words_are_kept_whose_senses_have_images_and_images_of_all_their_senses_count(work):
    work = with_manifest(work, image(SEAL, "a.jpg"), image(SEAL, "b.jpg"), image(STAMP, "c.jpg"), image(STAMP, "a.jpg"))

    report = STEP.finish(work)

    assert read(work, "instances", "sentence", "images") == [(0, 2), (1, 3)]
    assert report.counts == {
        "excluded": 0,
        "chosen_by_features": 0,
        "images": 4,
        "synsets": 2,
        "instances": 4,
        "illustrated": 2,
    }


def test_without_a_manifest_no_word_is_left_out(work):
    STEP.finish(work)

    assert read(work, "images") == []
    assert read(work, "instances", "sentence", "images") == [(0, 0), (1, 0), (2, 0), (3, 0)]


def test_the_image_closest_to_the_others_represents_its_sense_and_else_the_first(work):
    features = {"a.jpg": (1, 0), "n02077923/b": (0.8, 0.6), "c": (0, 1), "zero": (0, 0)}
    lines = [image(SEAL, file) for file in ("zero.jpg", "unseen.jpg", "a.jpg", "n02077923/b", "c.jpg")]
    work = with_manifest(work, *lines, image(STAMP, "first.jpg"), image(STAMP, "second.jpg"), features=features)

    report = STEP.finish(work)

    chosen = [row for row in read(work, "images", "synset", "file", "representative") if row[2]]
    assert chosen == [(SEAL, "n02077923/b", True), (STAMP, "first.jpg", True)]
    assert report.counts["chosen_by_features"] == 1
    assert report.problems.counts == {"bad_features": 1, "no_features": 3}


def test_a_line_of_a_csv_file_without_a_file_is_of_all_images_in_its_folder(work):
    rows = ["Synset,Licence,Author", "n02077923,CC0,Ann", "04178897-n,CC0,Ben"]
    folder = ("n02077923/b.JPEG", "n02077923/a.jpg", "n02077923/notes.txt")

    report = STEP.finish(with_manifest(work, *rows, name="images.csv", folder=folder))

    assert read(work, "images", "file", "author", "representative") == [
        ("n02077923/a.jpg", "Ann", True),
        ("n02077923/b.JPEG", "Ann", False),
    ]
    assert report.problems.examples["missing_file"][0].line == 3


def test_a_file_is_found_by_any_of_its_names(work):
    folder = ("e\u0301.jpg", "02077923-n/b.JPG", "c.jpg", "c.JPG")
    report = STEP.finish(
        with_manifest(work, image(SEAL, "é.jpg"), image(SEAL, "b.jpeg"), image(SEAL, "c.jpeg"), folder=folder)
    )

    assert set(read(work, "images", "file")) == {("02077923-n/b.JPG",), ("e\u0301.jpg",)}
    assert [one.line for one in report.problems.examples["missing_file"]] == [3]


def test_a_manifest_or_features_that_cannot_be_used_as_a_whole_are_refused(work):
    with pytest.raises(CorpusError, match=r"No image of images.jsonl can be used \(no_licence 1\)\. Line 1: The image"):
        STEP.finish(with_manifest(work, image(SEAL, "a.jpg", licence="unknown")))
    with pytest.raises(CorpusError, match=r"images\.csv: The first line names no column “synset”"):
        STEP.finish(with_manifest(work, "file,licence", "a.jpg,CC0", name="images.csv"))
    broken = with_manifest(work, image(SEAL, "a.jpg"), features={"a": (1, 0)})
    broken.input("features.npz").write_bytes(b"no archive")
    with pytest.raises(CorpusError, match=r"^features\.npz is not an npz file"):
        STEP.finish(broken)
    assert not work.folder.names("images/")
