"""What annotation tools export comes in as it is: files that the tools themselves wrote, in `exports`."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest
from django.core.management import call_command

from crosslens_metrics.formats.caption_rows import CaptionRow
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.recognition import captions_of
from research.inference.models import ModelCaption
from research.scoring.models import Reference
from tests.factories import make_keyed_collection, make_project
from tests.imports.test_import_command import looked_at, write

EXPORTS = Path(__file__).parent / "exports"
pytestmark = pytest.mark.django_db

Captions = Mapping[tuple[str, str], Mapping[str, list[str]]]
"""Texts of each image, by set of references or model, and language."""

TWO_LINES = 'A blue square, "almost" alone;\nwith a second line'
BY_LANGUAGE: Mapping[str, Mapping[str, list[str]]] = {
    "en": {"red_circle": ["A red circle on white ground."], "blue_square": [TWO_LINES]},
    "ar": {"red_circle": ["دائرة حمراء على خلفية بيضاء."], "green_triangle": ["مثلث أخضر."]},
}
ENGLISH: Captions = {
    ("blip", "en"): {"red_circle": ["A red circle on white ground."], "blue_square": ["A blue square."]},
    ("git", "en"): {"red_circle": ["A red ball."], "blue_square": ['A "blue" box\nwith corners']},
}
EXPORTED: Mapping[str, Captions] = {
    "doccano.zip": {
        ("admin", "ja"): {
            "red_circle": ["白い背景に赤い丸。", "赤い円が一つある。"],
            "blue_square": ["青い四角、「ほぼ」\n一つだけ。"],
            "green_triangle": ['緑の三角形が"上"を向く。'],
        },
        ("second", "ja"): {"red_circle": ["赤い丸です。"]},
    },
    **{
        f"potato.{suffix}": {("potato", tag): texts for tag, texts in BY_LANGUAGE.items()}
        for suffix in ("csv", "tsv", "jsonl")
    },
    "potato_one_box.jsonl": {
        ("potato_one_box", "ja"): {
            "red_circle": ["A red circle on white ground.", "دائرة حمراء على خلفية بيضاء."],
            "blue_square": ['A blue square, "almost" alone; with a second line', "एक नीला वर्ग।"],
            "green_triangle": ["三角形は緑色です。"],
        }
    },
    **{
        f"potato_1.{suffix}": {
            ("potato_1", "ja"): {
                "red_circle": ["A red circle on white ground."],
                "blue_square": ["एक नीला वर्ग।"],
                "green_triangle": ["مثلث أخضر."],
            }
        }
        for suffix in ("tsv", "jsonl")
    },
    "pearmut_en.jsonl": ENGLISH,
    "pearmut.json": {
        **ENGLISH,
        ("blip", "hi"): {"red_circle": ["सफ़ेद पृष्ठभूमि पर लाल वृत्त।"], "blue_square": ["एक नीला वर्ग।"]},
        ("git", "hi"): {"red_circle": ["एक लाल गेंद।"], "blue_square": ["नीला डिब्बा।"]},
    },
}


def stored() -> Captions:
    found: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    rows = [
        *Reference.objects.values_list("reference_set__name", "reference_set__language", "image__entries__key", "text"),
        *ModelCaption.objects.values_list("model__name", "language", "image__entries__key", "text"),
    ]
    for name, language, key, text in rows:
        found[name, language][key].append(text)
    return found


@pytest.mark.parametrize("name", EXPORTED)
def test_captions_of_a_tool(name):
    expected = EXPORTED[name]
    is_of_models = name.startswith("pearmut")
    collection = make_keyed_collection(["red_circle", "blue_square", "green_triangle"])
    kind = "model captions" if is_of_models else "references"
    options = [str(EXPORTS / name), "--collection", collection.slug, "--language", "ja", "--as", kind]
    options += [] if is_of_models else ["--project", make_project("lions").slug]
    files, status = looked_at(*options)
    assert (status, {file["format"].lower() for file in files}) == (0, {re.split("[_.]", name)[0]})
    assert {file["kind"] for file in files} == {kind}
    if not is_of_models:
        told = [problem["kind"].partition(".")[0] for file in files for problem in file["problems"]]
        remarks = "Texts of “caption” are imported as captions, and those of “remark” are not"
        assert told == ([remarks] if name.startswith("potato.") else [])
    assert not any(file["images"]["unknown"] for file in files)

    call_command("import", *options, stdout=io.StringIO())
    assert stored() == expected


def test_somebody_who_wrote_nothing_does_not_stop_the_import_of_what_others_wrote():
    """A third member of the project, who only approves, has a file too."""
    collection = make_keyed_collection(["red_circle", "blue_square", "green_triangle"])
    options = [str(EXPORTS / "doccano_approver.zip"), "--collection", collection.slug, "--language", "ja"]
    options += ["--project", make_project("lions").slug, "--as", "references"]
    files, _status = looked_at(*options)
    assert [[one["kind"] for one in file["problems"]] for file in files] == [[], [], ["The file has no captions."]]
    call_command("import", *options, stdout=io.StringIO())
    assert stored() == EXPORTED["doccano.zip"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("doccano_boxes.jsonl", "This is a doccano export of bounding boxes. It has no captions."),
        ("pearmut_campaigns.json", "This is a campaign of Pearmut, not its results. Give the file of its outputs."),
    ],
)
def test_exports_without_captions_are_refused_by_their_name(name, reason):
    (file,), status = looked_at(EXPORTS / name)
    assert (status, [problem["kind"] for problem in file["problems"]]) == (1, [reason])


def test_texts_beside_the_captions_of_potato_are_left_out_and_named(tmp_path):
    boxes = {
        "red_circle": {"caption": {"text_box": "A red circle."}, "second caption": {"text_box": "A red disc."}},
        "green_triangle": {"description": {"text_box": "A triangle."}},
        "blue_square": {"remark": {"text_box": "The border is thin."}},
    }
    lines = [{"id": key, "label_annotations": labels} for key, labels in boxes.items()]
    with write(tmp_path / "annotations.jsonl", *lines).open("rb") as opened:
        captions, *others = captions_of(opened)
    assert [(row.number, row.name, row.reason.partition(".")[0]) for row in others if isinstance(row, LineError)] == [
        (3, "blue_square", "There is no caption"),
        (
            4,
            "red_circle",
            "Texts of “caption” are imported as captions, and those of “second caption” are not",
        ),
    ]
    texts = [given.value for row in (captions, *others) if isinstance(row, CaptionRow) for given in row.captions]
    assert texts == ["A red circle.", "A triangle."]


@pytest.mark.parametrize("header", ["instance_id,user_id,image,caption,model.version", "a,b,image,caption,c:::d"])
def test_a_table_of_images_and_captions_is_not_potatos(tmp_path, header):
    (tmp_path / "a.csv").write_text(f"{header}\n1,2,b1.jpg,A dog.,v1\n")
    (file,), _status = looked_at(str(tmp_path / "a.csv"), "--language", "en")
    assert (file["format"], file["problems"]) == ("CSV", [])


def test_choices_alone_are_no_captions_of_potato(tmp_path):
    """A box “no” among choices is not Norwegian."""
    lines = [{"instance_id": "red_circle", "user_id": "amina", "labels": {"clear": {"no": "no"}}}]
    (file,), _status = looked_at(write(tmp_path / "annotations.jsonl", *lines))
    assert file["problems"][0]["kind"] == "This is a Potato export of choices and marks. It has no captions."
