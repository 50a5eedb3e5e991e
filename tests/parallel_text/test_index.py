"""The index of a corpus: sorted copies of its tables, and counts of its words and senses."""

from __future__ import annotations

from typing import Any

import pytest

from parallel_text.folder import Folder
from tests.parallel_text.looked_at import ANIMAL, DOG, STAMP, build_index


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Folder:
    return build_index(tmp_path_factory.mktemp("made") / "it's a corpus")


def rows(folder: Folder, columns: str, name: str) -> list[Any]:
    import duckdb

    return duckdb.execute(
        f"SELECT {columns} FROM read_parquet($1)",  # noqa: S608
        [str(folder.read(f"index/{name}.parquet"))],
    ).fetchall()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_words_are_counted(folder):
    assert rows(folder, "lemma, occurrences, instances, illustrated, senses, images", "words") == [
        ("dog", 2, 2, 2, 1, 1),
        ("seal", 3, 3, 2, 2, 2),
    ]


def test_instances_of_a_word_stand_together_with_the_number_of_their_images(folder):
    assert rows(folder, "lemma, sentence, position, images", "instances") == [
        ("dog", 2, 2, 1),
        ("dog", 3, 1, 1),
        ("seal", 0, 1, 2),
        ("seal", 1, 1, 0),
        ("seal", 2, 0, 2),
    ]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_senses_count_instances_also_of_those_that_no_sentence_has(tmp_path):
    folder = build_index(tmp_path, {"intersect/instances": [], "images/instances": []})
    assert rows(folder, "*", "senses") == [("dog", DOG, 0, 0, 1), ("seal", ANIMAL, 0, 0, 2), ("seal", STAMP, 0, 0, 0)]


def test_what_occurs_most_stands_first(folder):
    assert rows(folder, "fragment", "frequent") == [
        ("thing",),
        ("seal",),
        ("dog",),
        ("my dog",),
        ("letter",),
        ("swim",),
    ]
