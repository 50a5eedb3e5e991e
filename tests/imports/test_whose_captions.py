"""Whose captions a file has: a model's, with one caption of each image, or people's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from annotation.models import Caption
from crosslens_metrics.formats.recognised_files import RecognisedFile
from crosslens_metrics.formats.recognition import recognise
from research.inference.models import ModelCaption
from research.scoring.models import Reference
from tests.factories import make_collection, make_project
from tests.imports.test_import_command import looked_at, run, write

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
DIFFER = "The file has different captions of this image by one model"


@pytest.fixture
def keys() -> list[str]:
    make_project("p")
    collection = make_collection(images=2)
    collection.name = "C"
    collection.save()
    return list(collection.entries.values_list("key", flat=True))


def about(*more: Any) -> list[Any]:
    return ["--project", "p", "--collection", "C", "--language", "en", *more]


def only(path: Path, **options: Any) -> RecognisedFile:
    [file] = recognise([path], **options).files
    return file


def stored() -> list[tuple[str, str]]:
    assert not Reference.objects.exists()
    return sorted(ModelCaption.objects.values_list("model__name", "text"))


@pytest.mark.parametrize("name", ["res.json", "captions_val_blip_results.json"])
def test_an_image_that_a_padded_sampler_has_twice_counts_once(keys, tmp_path, name):
    results = [{"image_id": keys[0], "caption": "a hill"}, {"image_id": keys[1], "caption": "a tree"}]
    (tmp_path / name).write_text(json.dumps([*results, results[0]]))
    model = ["--model", "blip"] if name == "res.json" else []
    [file], _status = looked_at(tmp_path / name, *about(*model))
    assert (file["kind"], file["models"], file["languages"], file["problems"]) == (
        "model captions",
        ["blip"],
        {"en": 2},
        [],
    )
    run(tmp_path / name, *about(*model))
    assert stored() == [("blip", "a hill"), ("blip", "a tree")]


def test_different_captions_of_an_image_by_one_model_are_refused_and_named(keys, tmp_path):
    one, two = keys
    lines = [{"image": one, "caption": text, "model": "blip"} for text in ("a hill", "a slope", "a hill")]
    lines += [{"image": one, "caption": "a mount", "model": "git"}, {"image": two, "captions": ["x"], "model": "blip"}]
    path = write(tmp_path / "beams.jsonl", *lines)
    [file], _status = looked_at(path, *about())
    assert (file["kind"], file["languages"]) == ("model captions", {"en": 4})
    assert [(one["kind"].split(",")[0], one["count"], one["example"]) for one in file["problems"]] == [
        (DIFFER, 2, f"line 2: {one}")
    ]
    report = tmp_path / "report.csv"
    run(path, *about("--report", report))
    assert stored() == [("blip", "x"), ("git", "a mount")]
    assert report.read_text("utf-8").count(DIFFER) == 3


def answered(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "textarea", "value": {"text": [text]}} for text in texts]


def tasks(keys: list[str]) -> str:
    """Tasks of Label Studio: the second has nobody's annotation, the last none at all."""
    said = [{"result": answered("a slope", "a hill")}], [{"model_version": "m", "result": answered("a mount")}]
    return json.dumps(
        [
            {"data": {"image": f"/data/upload/1/0a1b2c3d-{keys[0]}"}, "annotations": said[0], "predictions": said[1]},
            {"data": {"image": keys[1]}, "annotations": [], "predictions": said[1]},
            {"data": {"image": keys[1]}, "annotations": [{"result": []}]},
        ]
    )


@pytest.mark.parametrize("kind", [None, "references", "model captions"])
def test_annotations_are_peoples_and_predictions_models(keys, tmp_path, kind):
    (tmp_path / "tasks.json").write_text(tasks(keys))
    said = about(*(["--as", kind] if kind else []))
    files, status = looked_at(tmp_path / "tasks.json", *said)
    assert status == 0
    assert [(one["kind"], one["models"], one["languages"], len(one["problems"])) for one in files] == [
        ("references", [], {"en": 2}, 1),
        ("model captions", ["m"], {"en": 2}, 0),
    ]
    output = run(tmp_path / "tasks.json", *said)
    assert sorted(Reference.objects.values_list("text", flat=True)) == ["a hill", "a slope"]
    assert set(ModelCaption.objects.values_list("model__name", "text", "image__entries__key")) == {
        ("m", "a mount", keys[0]),
        ("m", "a mount", keys[1]),
    }
    assert output.count("There is no caption.") == 1
    assert "No model is named" not in output


def test_annotations_beside_predictions_can_be_a_round(keys, tmp_path):
    (tmp_path / "tasks.json").write_text(json.dumps(json.loads(tasks(keys))[:2]))
    run(tmp_path / "tasks.json", *about("--as", "captions by people"))
    assert sorted(Caption.objects.values_list("text", flat=True)) == ["a hill", "a slope"]
    assert stored() == [("m", "a mount"), ("m", "a mount")]


@pytest.mark.parametrize("predicted", [answered(""), answered("x" * 2001)])
def test_predictions_without_a_caption_that_can_be_kept_are_nobodys(keys, tmp_path, predicted):
    said = {"annotations": [{"result": answered("a slope", "a hill")}]}
    task = {"data": {"image": keys[0]}, **said, "predictions": [{"model_version": "m", "result": predicted}]}
    (tmp_path / "tasks.json").write_text(json.dumps([task]))
    [file], status = looked_at(tmp_path / "tasks.json", *about())
    assert (status, file["kind"], file["models"], file["languages"]) == (0, "references", [], {"en": 2})
    run(tmp_path / "tasks.json", *about())
    assert sorted(Reference.objects.values_list("text", flat=True)) == ["a hill", "a slope"]
    assert not ModelCaption.objects.exists()


def test_annotations_that_are_all_empty_leave_the_predictions(keys, tmp_path):
    task = {"data": {"image": keys[0]}, "annotations": [{"result": answered("")}]}
    task |= {"predictions": [{"model_version": "m", "result": answered("a mount")}]}
    (tmp_path / "tasks.json").write_text(json.dumps([task]))
    [file], status = looked_at(tmp_path / "tasks.json", *about())
    assert (status, file["kind"], file["models"], file["languages"]) == (0, "model captions", ["m"], {"en": 1})
    run(tmp_path / "tasks.json", *about())
    assert stored() == [("m", "a mount")]


def test_equal_captions_in_one_line_are_one(keys, tmp_path):
    run(write(tmp_path / "m.jsonl", {"image": keys[0], "captions": ["x", "x"], "model": "blip"}), *about())
    assert stored() == [("blip", "x")]


def test_a_model_that_is_named_wrote_them_whatever_the_layout_holds_otherwise(keys, tmp_path):
    file = {"images": [{"id": 1, "file_name": keys[0]}], "annotations": [{"image_id": 1, "caption": "a"}] * 2}
    (tmp_path / "coco.json").write_text(json.dumps(file))
    assert only(tmp_path / "coco.json").kind == "references"
    run(tmp_path / "coco.json", *about("--model", "blip"))
    assert stored() == [("blip", "a")]


def test_captions_are_references_where_somebody_says_so(keys, tmp_path):
    lines = [{"image": keys[0], "caption": text, "model": "ann"} for text in ("a hill", "a slope")]
    path = write(tmp_path / "people.jsonl", *lines)
    [file], _status = looked_at(path, *about("--as", "references"))
    assert (file["kind"], file["problems"]) == ("references", [])
    run(path, *about("--as", "references"))
    assert sorted(Reference.objects.values_list("text", flat=True)) == ["a hill", "a slope"]


def test_a_list_like_coco_results_with_several_captions_of_an_image_asks_who_wrote_them(keys, tmp_path):
    (tmp_path / "list.json").write_text(json.dumps([{"image_id": keys[0], "caption": text} for text in ("a", "b")]))
    with pytest.raises(CommandError, match="does not say who wrote its captions"):
        run(tmp_path / "list.json", *about())
    with pytest.raises(CommandError, match="does not say who wrote its captions"):
        run(tmp_path / "list.json", *about("--as", "model captions"))
    run(tmp_path / "list.json", *about("--as", "references"))
    assert sorted(Reference.objects.values_list("text", flat=True)) == ["a", "b"]
