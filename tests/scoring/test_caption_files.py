"""Captions from files of other tools: layouts found by content, and every problem named by its place."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from crosslens_metrics.formats.captions import candidates_in, read_candidates, read_references, references_in
from crosslens_metrics.formats.names import ImagesDifferError, paired
from crosslens_metrics.formats.problems import FileProblemsError
from tests.published import published

REFERENCES = {"1": ["a cat", "one cat"], "2": ["a dog"]}
CANDIDATES = {"1": "cat", "2": "dog"}


def as_lines(*rows: Any) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def references(text: str | bytes, language: str | None = None) -> dict[str, list[str]]:
    data = text if isinstance(text, bytes) else text.encode()
    return read_references(io.BytesIO(data), name="refs.json", language=language).captions


def candidates(text: str, language: str | None = None) -> dict[str, str]:
    return read_candidates(io.BytesIO(text.encode()), name="cands.json", language=language).captions


def problems_of(read: Any, text: str | bytes, language: str | None = None) -> str:
    with pytest.raises(FileProblemsError) as refused:
        read(text, language)
    return str(refused.value)


COCO = {
    "info": {"year": 2014},
    "images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2}],
    "annotations": [
        {"id": 7, "image_id": 1, "caption": "a cat"},
        {"id": 8, "image_id": 2, "caption": "a dog"},
        {"id": 9, "image_id": 1, "caption": "one cat"},
    ],
}
ROWS = [{"image": image, "captions": captions} for image, captions in REFERENCES.items()]
SINGLE = [{"image_id": int(image), "caption": caption} for image, texts in REFERENCES.items() for caption in texts]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(COCO), id="COCO annotations"),
        pytest.param(json.dumps(COCO, indent=2), id="COCO annotations on many lines"),
        pytest.param(json.dumps(REFERENCES), id="captions by image"),
        pytest.param("\ufeff\n" + json.dumps(REFERENCES, indent=1), id="captions by image on many lines"),
        pytest.param(as_lines(*ROWS), id="JSON Lines"),
        pytest.param("\n" + as_lines(*ROWS).rstrip("\n"), id="JSON Lines without their last end"),
        pytest.param(as_lines(*SINGLE), id="JSON Lines, a caption on each"),
        pytest.param(json.dumps(SINGLE), id="a list, as COCO results"),
        pytest.param(json.dumps(ROWS, indent=1), id="a list on many lines"),
        pytest.param(
            as_lines(*({"image/key": image, "en": {"caption": texts}} for image, texts in REFERENCES.items())),
            id="Crossmodal-3600",
        ),
        pytest.param("image,caption\n1,a cat\n1,one cat\n2,a dog\n", id="CSV"),
    ],
)
def test_references_are_read_from_any_layout(text):
    assert references(text) == REFERENCES


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            json.dumps([{"image_id": 1, "caption": "cat"}, {"image_id": 2, "caption": "dog"}]), id="COCO results"
        ),
        pytest.param(json.dumps({"1": ["cat"], "2": ["dog"]}), id="captions by image"),
        pytest.param(json.dumps({"1": "cat", "2": "dog"}), id="a caption by image"),
        pytest.param(as_lines({"image": "1", "caption": "cat"}, {"image": 2, "caption": "dog"}), id="JSON Lines"),
        pytest.param(
            as_lines({"image": "1", "captions": ["cat"]}, {"image": 2, "caption": "dog"}), id="JSON Lines, lists"
        ),
        pytest.param(
            as_lines({"image/key": "1", "en": {"caption": ["cat"]}}, {"image/key": "2", "en": {"caption": ["dog"]}}),
            id="Crossmodal-3600",
        ),
    ],
)
def test_candidates_are_read_from_any_layout(text):
    assert candidates(text) == CANDIDATES


def test_one_line_is_told_from_one_object_for_all_images():
    assert references('{"image": "a", "captions": ["b"]}') == {"a": ["b"]}
    assert references('{"image": ["a"], "annotations": ["b"]}') == {"image": ["a"], "annotations": ["b"]}


def test_captions_are_taken_as_they_stand():
    texts = ["  Two  spaces, e\u0301 \n", "狗。"]

    assert references(json.dumps({" a ": texts})) == {"a": texts}


@pytest.mark.parametrize("asked", ["he", "quz"])
def test_the_language_is_chosen_under_any_of_its_names(asked):
    text = as_lines({"image/key": "a", "iw": {"caption": ["he"]}, "qu": {"caption": ["quz"]}, "image/locale": "de"})

    assert references(text, asked) == {"a": [asked]}


def test_rows_of_other_languages_are_left_out():
    text = as_lines(
        {"image": "a", "language": "de", "caption": "Hund"},
        {"image": "a", "language": "en", "caption": "dog"},
        {"image": "a", "LANG": "DE", "caption": "ein Hund"},
    )

    assert references(text, "de") == {"a": ["Hund", "ein Hund"]}
    assert "captions in de, en. Choose one" in problems_of(references, text)
    assert "no captions in sw; it has: de, en" in problems_of(references, text, "sw")


def test_the_language_must_be_chosen_where_there_are_several():
    text = as_lines({"image/key": "a", "de": {"caption": ["Hund"]}, "en": {"caption": ["dog"]}})

    assert "refs.json: The file has captions in de, en. Choose one" in problems_of(references, text)
    assert "line 1: Image a has no captions in sw; it has: de, en" in problems_of(references, text, "sw")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "The file is empty"),
        ("[]", "There is nothing in the file"),
        ("{}", "There is nothing in the file"),
        ("[1]", "Each line or entry has to be an object"),
        ("a cat\n", "There is nothing in the file"),
        ('{"image": "a", "captions": ["b"]}\n{"image": "c"\n', "line 2: Not valid JSON"),
        ('{"image": "a", "captions": ["b"}\n{"image": "c", "captions": ["d"]}\n', "line 1: Not valid JSON"),
        ('{"a": ["b"],\n "c": ["d"\n}', "entry 2: The list is not closed"),
        (as_lines({"caption": "b"}, {"caption": "c"}), "It has “caption”. Call the column"),
        (as_lines({"image": "a", "caption": 3}), "line 1: A caption is not text"),
        (as_lines({"image": "a"}, {"image": "b", "caption": "c"}), "line 1: Image a has no captions"),
        (as_lines({"image": True, "caption": "b"}), "line 1: “image” must be text"),
        (as_lines({"image": "a", "caption": " "}), "line 1: A reference of image a is empty"),
        (as_lines({"image": "a", "captions": []}), "line 1: Image a has no reference"),
        ('{"image": "a", "caption": "\\ud800"}', "line 1: A caption holds characters"),
        (as_lines({"image": "a", "language": "??", "caption": "b"}), "is not a BCP-47 language tag"),
        (as_lines({"image": "a", "language": 3, "caption": "b"}), "“language” must be text"),
        ('{"a": ["b"], "c": ["d"], "a": ["e"]}', "entry 3: Image a is there twice; it came first in entry 1"),
        ('{"a": [NaN]}', "Not valid JSON"),
        (b'{"a": ["\xff"]}', "not valid UTF-8"),
        (as_lines(ROWS[0], ROWS[0]), "line 2: Image 1 is there twice; it came first in line 1"),
        (as_lines(SINGLE[0], ROWS[0]), "line 2: Image 1 is there twice"),
        (as_lines(ROWS[0], SINGLE[0]), "line 2: Image 1 is there twice"),
        (json.dumps({"annotations": 3}), "one JSON object with “annotations”, which is not known"),
        (json.dumps({"annotations": [{"image_id": 1}]}), "The entries under “annotations” have no “caption”"),
    ],
)
def test_what_is_wrong_with_references_is_named_with_its_place(text, said):
    assert said in problems_of(references, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (as_lines({"image": 1, "caption": "b"}, {"image": "1", "caption": "c"}), "line 2: Image 1 is there twice"),
        (json.dumps([{"image_id": 1, "caption": "b"}] * 2), "entry 2: Image 1 is there twice"),
        (json.dumps({"1": ["b", "c"]}), "entry 1: 2 candidates for image 1: give one"),
        (as_lines({"image": 1, "captions": []}), "line 1: 0 candidates for image 1"),
        (as_lines({"image": 1, "caption": None}), "A caption is not text"),
    ],
)
def test_several_candidates_for_an_image_are_refused(text, said):
    assert said in problems_of(candidates, text)


def test_a_candidate_may_say_nothing():
    pairs = paired(candidates('{"1": "", "2": " "}'), REFERENCES)

    assert pairs.candidates == ["", " "]


def test_all_problems_are_told_up_to_a_number():
    text = as_lines(*({"image": str(number), "caption": number} for number in range(30)))

    said = problems_of(references, text).splitlines()

    assert said[0] == "refs.json, line 1: A caption is not text."
    assert len(said) == 21
    assert said[-1] == "and 10 more problems."


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileProblemsError, match=r"none\.json: The file cannot be read: No such file"):
        references_in(tmp_path / "none.json")
    with pytest.raises(FileProblemsError, match="The file cannot be read: Is a directory"):
        candidates_in(tmp_path)


@pytest.mark.parametrize(
    ("row", "language"),
    [
        ({"image/key": "a", "iw": {"caption": ["b"]}}, "he"),
        ({"image": "a", "language": "PT-br", "caption": "b"}, "pt-BR"),
        ({"image": "a", "caption": "b"}, None),
    ],
)
def test_the_language_that_a_file_names_is_known(row, language):
    assert read_references(io.BytesIO(as_lines(row).encode()), name="refs.json").language == language


def test_images_meet_under_any_name_that_a_file_gives_them():
    images = [{"filename": "a.jpg", "cocoid": 7, "sentences": [{"raw": "a cat"}, {"raw": "one cat"}]}]
    file = read_references(io.BytesIO(json.dumps({"images": images}).encode()), name="refs.json")
    for name in ("7", "a", "a.jpg"):
        assert paired({name: "cat"}, file.captions, other_names=file.other_names).references == [["a cat", "one cat"]]


def test_captions_stand_beside_their_references_in_the_order_of_their_images():
    names = ["10", "9", "b", "a"]
    pairs = paired({name: name for name in names}, {name: [name] for name in reversed(names)})

    assert pairs.images == pairs.candidates == ["9", "10", "a", "b"]
    assert pairs.references == [["9"], ["10"], ["a"], ["b"]]


def test_images_that_lack_a_caption_are_named_up_to_a_number():
    there = {str(number): ["a"] for number in range(15)}

    with pytest.raises(ImagesDifferError) as refused:
        paired({"3": "a", "x": "b"}, there)

    first, second, advice = str(refused.value).splitlines()
    assert first == "14 images with references but no candidate: 0, 1, 2, 4, 5, 6, 7, 8, 9, 10 and 4 more."
    assert second == "1 image with a candidate but no reference: x."
    assert "same images" in advice


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_published_files_are_read():
    folder: Path = published("coco_example")
    plain, tokenised = (
        references_in(folder / f"{name}.json").captions for name in ("references", "references_tokenized")
    )
    crossmodal = references_in(published("xm3600/captions_6languages.jsonl"), language="sw")

    assert len(plain) == len(tokenised) == 1000
    assert sum(map(len, plain.values())) == sum(map(len, tokenised.values())) == 5005
    pairs = paired(candidates_in(folder / "candidates.json").captions, tokenised)
    assert len(pairs.images) == 1000
    assert len(crossmodal.captions) == 3600
    assert crossmodal.language == "sw"


def test_what_is_left_out_beside_captions_refuses_no_file():
    boxes = {"caption": {"text_box": "a dog"}, "remark": {"text_box": "blurred"}}
    assert references(as_lines({"id": "b1.jpg", "label_annotations": boxes})) == {"b1.jpg": ["a dog"]}
