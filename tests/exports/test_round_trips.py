"""What is exported comes in again by our import, and is opened by the programs that the formats are for."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from core.people.models import Project
from crosslens_metrics.formats.recognition import CAPTIONS_BY_PEOPLE
from office.exports.services.exports import CAPTION_FORMATS, SUFFIXES, TABLE_FORMATS
from tests.annotation.released import Campaign
from tests.exported import exported_text
from tests.factories import make_project

pytestmark = pytest.mark.django_db
WITH_IMAGES = {"huggingface-images", "webdataset"}
"""In test_images.py. CSV is left out: in it, an apostrophe precedes the key `=stairs`."""


@pytest.fixture
def campaign(made_once) -> Campaign:
    return made_once(Campaign)


def file_of(folder: Path, format: str, *languages: str) -> Path:
    path = folder / f"captions.{SUFFIXES.get(format, format)}"
    about = ("--what", "captions", "--format", format, "--output", str(path))
    call_command("export", "harbours", *about, *(["--language", *languages] if languages else []), stderr=io.StringIO())
    return path


def said(project: Project) -> dict[str, list[str]]:
    """What is said of each image in German."""
    text = exported_text(project, "captions", "xm3600", until=timezone.now(), languages=["de"])
    return {line["image/key"]: sorted(line["de"]["caption"]) for line in map(json.loads, text.splitlines())}


@pytest.mark.parametrize("format", sorted({*TABLE_FORMATS, *CAPTION_FORMATS} - WITH_IMAGES))
def test_what_comes_in_again_by_the_import_is_equal(campaign, media, format, tmp_path):
    path, again = file_of(tmp_path, format, "de"), make_project("again")
    about = ("--project", "again", "--collection", campaign.collection.slug, "--as", CAPTIONS_BY_PEOPLE)
    call_command("import", str(path), *about, "--language", "de", "--source", "Harbours", stdout=io.StringIO())
    assert said(again) == said(campaign.project)
    assert len(said(again)) == 4


def test_pycocotools_finds_the_captions_of_each_image(campaign, tmp_path, capsys):
    from pycocotools.coco import COCO

    coco = COCO(str(file_of(tmp_path, "coco", "de")))
    names = {number: image["file_name"] for number, image in coco.imgs.items()}
    found = {names[number]: sorted(one["caption"] for one in of) for number, of in coco.imgToAnns.items()}
    assert found == said(campaign.project)
    assert coco.getAnnIds() == list(range(1, 9))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("format", "builder"), [("jsonl", "json"), ("parquet", "parquet"), ("csv", "csv")])
def test_datasets_opens_tables(campaign, format, builder, tmp_path, monkeypatch):
    from datasets import load_dataset

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    rows = load_dataset(builder, data_files=str(file_of(tmp_path, format)), split="train")
    expected: list[dict[str, Any]] = [*map(json.loads, file_of(tmp_path, "jsonl").read_text("utf-8").splitlines())]
    assert rows["caption"][:] == [row["caption"] for row in expected]
    assert rows["writing_ms"][:] == [row["writing_ms"] for row in expected]


def test_a_task_of_label_studio_has_an_annotation_for_each_caption(campaign, tmp_path):
    """As its import reads predictions and annotations of `<TextArea name="caption" toName="image"/>`."""
    tasks = json.loads(file_of(tmp_path, "label-studio").read_text("utf-8"))
    results = [result for task in tasks for one in task["annotations"] for result in one["result"]]
    assert {(one["from_name"], one["to_name"], one["type"]) for one in results} == {("caption", "image", "textarea")}
    assert len(results) == 20
    assert all(task["data"]["image"] for task in tasks)
