"""When two names of an image are the same, and when they are not."""

from __future__ import annotations

import json
import unicodedata

import pytest

from core.people.models.names import NameField
from crosslens_metrics.formats.captions import read_candidates, read_references
from crosslens_metrics.formats.judgements import read_judgements
from crosslens_metrics.formats.names import ImageNames, ImagesDifferError, image_name, paired, shortest_names

NFD = unicodedata.normalize("NFD", "Zoë/Hôtel.jpg")


def found(name: str, *known: str) -> list[str]:
    return ImageNames(dict.fromkeys(known, name)).find(name)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        (NFD, "Zoë/Hôtel.jpg"),
        ("Zoë/Hôtel.jpg", NFD),
        ("b1", "b1.jpg"),
        ("b1.JPG", "b1"),
        ("2", "000000000002"),
        ("2.0", "2"),
        ("COCO_val2014_000000000002.jpg", "2"),
        ("2", "COCO_train2014_000000000002.jpg"),
        ("000000000002.jpg", "COCO_test2015_000000000002"),
        ("photos/dogs/001.jpg", "dogs/001"),
        ("001", "dogs/001.jpg"),
        ("dogs\\001.jpg", "dogs/001.jpg"),
        ("./001.jpg", "001.jpg"),
        ("photo.v2", "photo.v2.png"),
        ("b1.JPEG", "b1.jpg"),
        ("b1.tif", "b1.TIFF"),
        ("dogs//./001.jpg", "dogs/001.jpg"),
        ("b\u200b1\u202e.jpg", "b1.jpg"),
        ("trail", "trail .jpg"),
    ],
)
def test_these_are_one_image(name, known):
    assert found(name, known) == [known]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("dogs/001.jpg", "cats/001.jpg"),
        ("b1.jpg", "b1.png"),
        ("b1", "B1"),
        ("photo.v2", "photo"),
        ("2", "22"),
        ("cats/2.jpg", "dogs/000000000002.jpg"),
        ("ab1", "b1"),
    ],
)
def test_these_are_two(name, known):
    assert found(name, known) == []


def test_the_nearest_name_is_meant_and_what_is_as_near_is_ambiguous():
    assert found("001.jpg", "001", "dogs/001", "1") == ["001"]
    assert found("dogs/001.jpg", "001", "dogs/001", "cats/001") == ["dogs/001"]
    assert found("x/dogs/001", "001", "dogs/001") == ["dogs/001"]
    assert found("001", "dogs/001", "cats/001") == ["dogs/001", "cats/001"]
    assert len(found("2", "COCO_val2014_000000000002", "COCO_train2014_000000000002")) == 2
    assert found("b1.JPG", "b1.jpeg", "b1.jpg") == ["b1.jpg"]
    # Folders tell these apart, and none is of birds.
    assert found("birds/001", "001", "dogs/001") == []


def test_a_number_is_a_name_and_a_fraction_is_none():
    assert [image_name(one) for one in (2, 2.0, "2.0", " b1 ")] == ["2", "2", "2", "b1"]
    nothing: list[object] = [2.5, True, None, "", []]
    assert [image_name(one) for one in nothing] == [None] * 5


def test_a_key_keeps_the_folders_and_the_extension_that_tell_files_apart():
    assert shortest_names(["a.jpg", "001.jpg", "dogs/001.jpg"]) == {
        "a.jpg": "a",
        "001.jpg": "001",
        "dogs/001.jpg": "dogs/001",
    }
    assert set(shortest_names(["p/cats/1.jpg", "p/dogs/1.jpg"]).values()) == {"cats/1", "dogs/1"}
    assert shortest_names(["b.jpg", "b.png"]) == {"b.jpg": "b.jpg", "b.png": "b.png"}
    crossed = ["a.jpg", "d/a.jpg", "a.png", "d/a.png"]
    assert shortest_names(crossed) == dict(zip(crossed, crossed, strict=True))


def test_candidates_and_references_meet_under_different_names(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps([{"image_id": 2.0, "caption": "a"}, {"image_id": NFD, "caption": "b"}]))
    (tmp_path / "r.jsonl").write_text(
        '{"image": "COCO_val2014_000000000002.jpg", "caption": "c"}\n{"image": "Zoë/Hôtel", "caption": "d"}\n',
        encoding="utf-8",
    )
    with (tmp_path / "c.json").open("rb") as candidates, (tmp_path / "r.jsonl").open("rb") as references:
        pairs = paired(read_candidates(candidates, name="c").captions, read_references(references, name="r").captions)
    assert dict(zip(pairs.candidates, pairs.references, strict=True)) == {"a": ["c"], "b": ["d"]}


@pytest.mark.parametrize(
    ("candidates", "references", "says"),
    [
        (["001"], ["dogs/001", "cats/001"], "may belong to several images: cats/001, dogs/001"),
        (["b1", "./b1"], ["b1.png"], "b1 and ./b1 are both candidates for b1.png"),
        (["b1.jpg", "2"], ["b1", "3"], "1 image with a candidate but no reference: 2"),
    ],
)
def test_what_cannot_be_matched_is_named(candidates, references, says):
    with pytest.raises(ImagesDifferError, match=says):
        paired(dict.fromkeys(candidates, "x"), {name: ["y"] for name in references})


@pytest.mark.parametrize("other", [unicodedata.normalize("NFD", "José P"), "José  P", " José\u200b P", "José\u00a0P"])
def test_a_rater_or_model_is_one_in_every_spelling_that_looks_the_same(tmp_path, other):
    file = tmp_path / "judgements.csv"
    file.write_text(f"image,rater,score\n1,José P,BETTER\n2,{other},WORSE\n", encoding="utf-8")
    (comparison,) = read_judgements(file).comparisons
    assert set(comparison.judged.rater) == {"José P"}
    assert NameField().get_prep_value(other) == "José P"
