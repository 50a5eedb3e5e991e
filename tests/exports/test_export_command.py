"""`manage.py export`: every table in every format, of what was chosen."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command

from annotation.models import Caption
from office.exports.selectors.tables import TABLES
from office.exports.services.exports import CAPTION_FORMATS, TABLE_FORMATS
from tests.annotation.released import Campaign
from tests.factories import make_captioner, make_collection, make_project
from tests.sxs_eval.judged import judged_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(made_once) -> Campaign:
    return made_once(Campaign)


def exported(path: Path, *arguments: Any, project: str = "harbours") -> Path:
    call_command("export", project, *map(str, arguments), "--output", str(path), stderr=io.StringIO())
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("what", sorted(TABLES.keys() - {"turns"}))
def test_a_table_has_the_same_rows_in_each_format(campaign, what, tmp_path):
    about = ("--what", what, "--format")
    parquet = pq.read_table(exported(tmp_path / "a.parquet", *about, "parquet"))
    rows = lines(exported(tmp_path / "a.jsonl", *about, "jsonl")) if parquet.num_rows else []
    book = openpyxl.load_workbook(exported(tmp_path / "a.xlsx", *about, "xlsx"), read_only=True)
    sheet = list(book.active.iter_rows(values_only=True))
    csv = exported(tmp_path / "a.csv", *about, "csv").read_bytes().count(b"\r\n")
    assert parquet.to_pylist() == rows
    assert (len(sheet), csv) == (1 + len(rows), 1 + len(rows))
    assert sheet[0] == tuple(parquet.column_names)
    assert rows or what in ("judgements", "scores", "image-scores", "time")


def test_judgements_have_the_same_rows_in_each_format(tmp_path):
    project, collection = make_project("lions"), make_collection(2)
    models = [make_captioner(collection, f"m{number}", language="de") for number in range(2)]
    judged_once(project, collection, models[0], models[1], [3, -1])
    about = ("--what", "judgements", "--format")
    rows = lines(exported(tmp_path / "a.jsonl", *about, "jsonl", project="lions"))
    parquet = exported(tmp_path / "a.parquet", *about, "parquet", project="lions")
    assert pq.read_table(parquet).to_pylist() == rows != []


def test_ratings_are_by_reviewers_under_pseudonyms(campaign, tmp_path):
    rows = lines(exported(tmp_path / "a.jsonl", "--what", "ratings", "--format", "jsonl"))
    assert len(rows) == 8
    assert {row["language"] for row in rows} == {"de"}
    assert not {row["rater"] for row in rows} & {row["author"] for row in rows}
    assert not {row["rater"] for row in rows} & {person.username for person in campaign.people.values()}


def test_a_text_that_begins_like_a_formula_stays_a_text_in_a_workbook(campaign, tmp_path):
    Caption.objects.filter(round=campaign.rounds["fr"], position=1).update(text="=1+1")
    path = exported(tmp_path / "a.xlsx", "--what", "captions", "--format", "xlsx", "--language", "fr")
    cells = [cell for row in openpyxl.load_workbook(path).active.iter_rows() for cell in row if cell.value == "=1+1"]
    assert {cell.data_type for cell in cells} == {"s"}


def test_one_language_is_what_that_language_has(campaign, tmp_path):
    rows = lines(exported(tmp_path / "a.jsonl", "--what", "captions", "--format", "jsonl", "--language", "fr", "ar"))
    assert [row["language"] for row in rows].count("fr") == 4
    assert {row["language"] for row in rows} == {"ar", "fr"}
    xm3600 = lines(exported(tmp_path / "b.jsonl", "--what", "captions", "--format", "xm3600", "--language", "fr"))
    assert all(set(line) == {"image/key", "fr"} for line in xm3600)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("captions", "coco"), "one language. Choose one: ar, de, fr"),
        (("scores", "coco"), "coco is for captions. Export scores as one of: csv, jsonl, parquet, xlsx"),
        (("time", "csv", "--images", "in:PL"), "No image is left"),
        (("time", "csv", "--comparison", "1"), "“comparison” cannot be used with time, only with: judgements"),
        (("captions", "csv", "--licence", "CC0 1.0"), "“licence” cannot be used with captions, only with: images"),
        (("turns", "jsonl"), "Choose a season. Available: none yet"),
        (("turns", "jsonl", "--season", "spring"), "no season 'spring'"),
    ],
)
def test_what_cannot_be_exported_is_refused_and_leaves_no_file(campaign, tmp_path, arguments, said):
    what, format, *rest = arguments
    with pytest.raises(CommandError, match=said):
        exported(tmp_path / "a", "--what", what, "--format", format, *rest)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", [*TABLE_FORMATS, *CAPTION_FORMATS])
def test_an_empty_table_is_a_file_only_where_its_columns_are_kept(campaign, tmp_path, format):
    make_project("empty")
    asked = (tmp_path / "a", "--what", "captions", "--format", format)
    if format in ("csv", "parquet", "xlsx"):
        assert b"caption" in exported(*asked, project="empty").read_bytes() or format == "xlsx"
    else:
        with pytest.raises(CommandError, match="There is nothing to export"):
            exported(*asked, project="empty")
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["x" * 40_000, "a\x0bb"], ids=["long", "control"])
def test_nothing_is_cut_off_for_excel(campaign, tmp_path, text):
    Caption.objects.filter(round=campaign.rounds["fr"], position=1).update(text=text)
    with pytest.raises(CommandError, match="Export it as csv or parquet"):
        exported(tmp_path / "a.xlsx", "--what", "captions", "--format", "xlsx")
    assert not list(tmp_path.iterdir())
