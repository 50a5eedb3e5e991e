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
from crosslens_metrics.formats.recognised_files import CAPTIONS_BY_PEOPLE, MODEL_CAPTIONS
from crosslens_metrics.formats.recognition import recognise
from gapgame.selectors import turns
from office.exports.selectors import tables
from office.exports.services.exports import CAPTION_FORMATS, SUFFIXES, TABLE_FORMATS
from office.recruitment import pages
from research.inference.models import CaptioningModel, ModelCaption
from research.scoring.formats import scores
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


def imported(path: Path, campaign: Campaign) -> Project:
    project = make_project("again")
    about = ("--project", "again", "--collection", campaign.collection.slug, "--as", CAPTIONS_BY_PEOPLE)
    call_command("import", str(path), *about, "--language", "de", "--source", "Harbours", stdout=io.StringIO())
    return project


def said(project: Project, language: str = "de") -> dict[str, list[str]]:
    """What is said of each image in one language."""
    text = exported_text(project, "captions", "xm3600", until=timezone.now(), languages=[language])
    return {line["image/key"]: sorted(line[language]["caption"]) for line in map(json.loads, text.splitlines())}


@pytest.mark.parametrize("format", sorted({*TABLE_FORMATS, *CAPTION_FORMATS} - WITH_IMAGES))
def test_what_comes_in_again_by_the_import_is_equal(campaign, media, format, tmp_path):
    again = imported(file_of(tmp_path, format, "de"), campaign)
    assert said(again) == said(campaign.project)
    assert len(said(again)) == 4


@pytest.mark.parametrize("format", sorted(TABLE_FORMATS))
def test_captions_by_models_come_in_again_without_being_told_what_they_are(campaign, media, format, tmp_path):
    path = tmp_path / f"all.{format}"
    call_command("export", "harbours", "--what", "model-captions", "--format", format, "--output", str(path),
                 stderr=io.StringIO())  # fmt: skip
    written = ModelCaption.objects.filter(model__name=campaign.model.name).values_list("language", "image", "text")
    before = set(written)
    (file,) = recognise([path]).files
    assert (file.kind, len(before)) == (MODEL_CAPTIONS, 4)
    CaptioningModel.objects.update(name="the first")
    call_command("import", str(path), "--collection", campaign.collection.slug, stdout=io.StringIO())
    assert set(written.all()) == before


def languages_of(project: Project) -> list[str]:
    return sorted(set(project.rounds.values_list("language", flat=True)))


@pytest.mark.parametrize("format", sorted({*TABLE_FORMATS, *CAPTION_FORMATS} - WITH_IMAGES - {"coco"}))
def test_each_language_comes_in_again_as_itself_whatever_is_said_of_others(campaign, media, format, tmp_path):
    again = imported(file_of(tmp_path, format), campaign)
    assert languages_of(again) == languages_of(campaign.project)
    assert len(languages_of(again)) > 1
    for tag in languages_of(again):
        assert said(again, tag) == said(campaign.project, tag)


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


COLUMNS_OF = {
    "ratings": tables.RATING_COLUMNS,
    "scores": scores.COLUMNS,
    "image-scores": scores.IMAGE_COLUMNS,
    "turns": turns.COLUMNS,
    "time": pages.COLUMNS,
    "images": tables.IMAGE_COLUMNS,
}


@pytest.mark.parametrize("what", sorted(tables.TABLES.keys() - {"captions", "judgements", "model-captions"}))
def test_tables_that_do_not_come_in_again_are_refused_by_name(what, tmp_path):
    columns = list(COLUMNS_OF[what])
    (tmp_path / "table.csv").write_text(f"{','.join(columns)}\n{','.join('1' * len(columns))}\n")
    (file,) = recognise([tmp_path / "table.csv"]).files
    assert f"This is a Crosslens export of {what};" in next(iter(file.problems))


LABELING = '<View><Image name="image" value="$image"/><TextArea name="caption" toName="image"/></View>'


@pytest.mark.filterwarnings("ignore")
def test_label_studio_accepts_each_annotation(campaign, tmp_path):
    from label_studio_sdk.label_interface.interface import LabelInterface

    interface = LabelInterface(LABELING)
    tasks = json.loads(file_of(tmp_path, "label-studio").read_text("utf-8"))
    accepted = [interface.validate_annotation(one) for task in tasks for one in task["annotations"]]
    assert accepted == [True] * 20
    assert not interface.validate_annotation({"result": [{"from_name": "caption"}]})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("layout", "suffix"), [("JSON_MIN", "json"), ("CSV", "csv"), ("TSV", "csv")])
def test_what_label_studio_makes_of_our_tasks_comes_in_again(campaign, media, layout, suffix, tmp_path):
    from label_studio_sdk.converter.converter import Converter

    converter = Converter(LABELING, project_dir=str(tmp_path))
    converter.convert(str(file_of(tmp_path, "label-studio")), str(tmp_path / "short"), layout, is_dir=False)
    again = imported(tmp_path / "short" / f"result.{suffix}", campaign)
    assert languages_of(again) == languages_of(campaign.project)
    for tag in languages_of(again):
        assert said(again, tag) == said(campaign.project, tag)
