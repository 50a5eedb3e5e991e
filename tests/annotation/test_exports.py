"""Downloads of captions: what is in them, in what order, and what they cost."""

from __future__ import annotations

import csv
import io
import json
import sys
import unicodedata
from collections import Counter
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.formats import captions as exports
from annotation.formats.captions import COLUMNS
from annotation.models import Caption, CaptionBatch, RoundKind
from annotation.services import batches
from core.images.models import Collection, CollectionImage, Image
from core.people.models import Project
from core.people.rules.pseudonyms import pseudonym
from office.exports.selectors.tables import ExportWish
from office.exports.services.exports import export
from research.selection.models import PlaceLevelChoice
from research.selection.selectors.image_places import ORIGIN_COLUMNS
from tabular import downloads
from tabular.downloads import as_iso, csv_safe, plain_cell, safe_cell, write_whole
from tests.annotation.submitting import make_captions, submit_captions, take, write
from tests.exported import LATER, exported_text
from tests.factories import (
    NOW,
    images_of,
    make_annotator,
    make_captioner,
    make_collection,
    make_keyed_collection,
    make_project,
    make_round,
    make_translation,
)
from tests.kept import kept
from tests.memory import peak_of
from tests.published import published
from tests.queries import queries_of
from tests.selection.placing import choose, place
from tests.tabular.nasty import NASTY

pytestmark = pytest.mark.django_db

FEWER = 40
"""Every fortieth image, for the sake of those who wait for the tests; all of them come out the same."""
LAYOUTS = ("xm3600", "jsonl", "csv")
DAY = timedelta(days=1)
SIDE_BY_SIDE = [
    "=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "＝1+1", "＋1", "－1", "＠x", "−1",
    " =1", "\u200b=1", "'=1", "%x", "|x",
]  # fmt: skip


def exported(project, layout="jsonl", **options) -> str:
    return exported_text(project, "captions", layout, **options)


def rows(project, **options) -> list[dict[str, Any]]:
    return [json.loads(line) for line in exported(project, **options).split("\n")[:-1]]


def texts_by_key(round, texts) -> dict[int, list[str]]:
    images = dict(round.collection.entries.values_list("key", "image_id"))
    return {images[key]: captions for key, captions in texts.items()}


@kept
def collection() -> Collection:
    """Three images whose keys and primary keys run against their positions."""
    made = make_collection(images=3)
    for position, entry in enumerate(made.entries.order_by("-pk"), start=1):
        entry.position, entry.key = position, f"image-{9 - position}"
        entry.save()
    return made


@pytest.fixture
def project(collection):
    """German by two people, Arabic by one who did not get to the last image."""
    project = make_project("lions")
    captioners = [make_captioner(collection, "blip")]
    german = make_round(project=project, collection=collection, captioners=captioners, language="de")
    arabic = make_round(project=project, collection=collection, captioners=captioners, language="ar")
    make_captions(german, texts_by_key(german, {f"image-{n}": [f"eins {n}", f"zwei {n}"] for n in (8, 7, 6)}))
    make_captions(arabic, texts_by_key(arabic, {"image-8": ["صورة"], "image-7": ["كلب"]}))
    return project


class TestOrder:
    def test_images_come_by_position_languages_by_tag_and_authors_by_pseudonym(self, project):
        order = [(row["image"], row["language"], row["author"]) for row in rows(project)]
        assert [key for key, tag, author in order] == ["image-8"] * 3 + ["image-7"] * 3 + ["image-6"] * 2
        assert [tag for key, tag, author in order] == ["ar", "de", "de", "ar", "de", "de", "de", "de"]
        assert all(a < b for (i, s, a), (j, t, b) in pairwise(order) if (i, s) == (j, t))

    def test_the_bytes_do_not_depend_on_the_database(self, project):
        pseudonyms = {
            text.split()[0]: pseudonym(project, author)
            for text, author in Caption.objects.values_list("text", "author")
        }
        german = sorted(("eins", "zwei"), key=lambda word: pseudonyms[word])
        expected = "".join(
            f'{{"image/key": "image-{n}", "ar": {{"caption": [{arabic}]}}, '
            f'"de": {{"caption": ["{german[0]} {n}", "{german[1]} {n}"]}}}}\n'
            for n, arabic in ((8, '"صورة"'), (7, '"كلب"'), (6, ""))
        )
        assert exported(project, "xm3600") == expected

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_row_is_written_as_json_dumps_would_and_the_same_each_time(self, project):
        for line in exported(project).split("\n")[:-1]:
            assert line == json.dumps(json.loads(line), ensure_ascii=False)
        for layout in LAYOUTS:
            assert exported(project, layout) == exported(project, layout)

    def test_it_goes_on_from_one_chunk_to_the_next_without_loss(self, project, monkeypatch):
        whole = exported(project)
        monkeypatch.setattr(exports, "IMAGES_AT_ONCE", 1)
        monkeypatch.setattr(downloads, "PIECE_BYTES", 1)
        assert exported(project) == whole
        CollectionImage.objects.update(position=1)
        assert len(rows(project)) == 8


class TestWhatIsInIt:
    def test_a_project_without_captions_is_empty_and_xm3600_leaves_out_images_without_any(self, collection):
        round = make_round(collection=collection, captioners=[make_captioner(collection)])
        assert exported(round.project, "xm3600") == exported(round.project, "jsonl") == ""
        assert exported(round.project, "csv").count("\n") == 1
        make_captions(round, texts_by_key(round, {"image-7": ["Ein Bild"]}))
        assert exported(round.project, "xm3600") == '{"image/key": "image-7", "de": {"caption": ["Ein Bild"]}}\n'

    def test_what_people_submit_comes_out_with_how_they_rated_and_when(self):
        round = make_round(images=1)
        ann = make_annotator(round, "ann")
        submit_captions(round, ann, "  Ein Bild in Gru\u0308n")
        read = make_translation(round.project, language="de", revision=2)
        CaptionBatch.objects.update(guidelines_language="de", rating_translation=read)
        (row,) = rows(round.project)
        assert list(row) == list(COLUMNS)
        english = round.tasks.get().english
        assert row == {
            "image": round.collection.entries.get().key,
            "language": "de",
            "caption": "Ein Bild in Grün 1",
            "caption_as_typed": "  Ein Bild in Gru\u0308n 1",
            "author": pseudonym(round.project, ann.pk),
            "guidelines_version": 1,
            "guidelines_language": "de",
            "guidelines_revision": 2,
            "writing_language": "",
            "writing_revision": None,
            "english_model": english.model.name,
            "english_caption": english.text,
            "english_rating": "GOOD",
            "warnings": [],
            "rated_at": "2026-03-02T09:00:00.000Z",
            "submitted_at": "2026-03-02T09:00:00.000Z",
            "rating_ms": 0,
            "writing_ms": 0,
            **dict.fromkeys(ORIGIN_COLUMNS, ""),
        }

    def test_every_layout_says_where_an_image_was_taken_and_for_what_it_was_chosen(self):
        round = make_round(images=2)
        submit_captions(round, make_annotator(round), "Ein Bild")
        chosen, other = (entry.image for entry in round.collection.entries.all())
        place(chosen, "DE", "DE-BY", continent="EU")
        choose(round.project, "de", {chosen: PlaceLevelChoice.REGION})
        place(chosen, "FR", continent="EU")
        place(other, "PL", continent="EU")
        key = dict(round.collection.entries.values_list("image_id", "key"))
        found = {row["image"]: [row[column] for column in ORIGIN_COLUMNS] for row in rows(round.project)}
        origin = ["DE", "DE-BY", "EU", "de", "region", "made-table-1", "made-1"]
        assert found == {key[chosen.pk]: origin, key[other.pk]: ["PL", "", "EU", "", "", "", "made-1"]}
        lines = {line["image/key"]: line for line in map(json.loads, exported(round.project, "xm3600").splitlines())}
        assert [lines[key[chosen.pk]][column.replace("_", "/", 1)] for column in ORIGIN_COLUMNS] == origin
        assert [name for name in lines[key[other.pk]] if "/" in name] == [
            *("image/key", "image/countries", "image/continent", "image/borders")
        ]

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_times_are_in_milliseconds_however_the_database_writes_them(self):
        round = make_round(images=1)
        submit_captions(round, make_annotator(round), "Ein Bild")
        for microsecond in (0, 1, 999, 1000, 100_000, 120_000, 123_456, 999_999):
            moment = NOW.replace(microsecond=microsecond)
            Caption.objects.update(submitted_at=moment)
            (row,) = rows(round.project)
            assert row["submitted_at"] == as_iso(moment), microsecond

    def test_drafts_and_late_captions_are_left_out(self):
        round = make_round(images=1)
        ann = make_annotator(round)
        batch = take(round, ann)
        write(batch, ann, "Ein Bild von etwas")
        assert rows(round.project) == []
        batches.submit_batch(batch_id=batch.pk, person=ann, now=NOW + DAY * 2)
        assert Caption.objects.get().state == "late"
        for layout in LAYOUTS:
            assert "Ein Bild" not in exported(round.project, layout)

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_captions_of_other_projects_and_of_pilots_are_left_out(self, project):
        pilot = make_round(project=project, kind=RoundKind.PILOT, language="fr", images=1)
        other = make_round(images=1)
        for round in (pilot, other):
            submit_captions(round, make_annotator(round), "Une image de chien")
        assert {row["language"] for row in rows(project)} == {"ar", "de"}

    def test_what_is_submitted_meanwhile_is_left_out_and_nobody_is_named(self, project):
        assert rows(project, until=NOW - timedelta(seconds=1)) == []
        people = [author for caption in Caption.objects.select_related("author") for author in [caption.author]]
        for layout in LAYOUTS:
            text = exported(project, layout)
            assert not any(person.username in text or person.email in text for person in people)

    def test_captions_of_an_image_taken_out_of_the_collection_are_still_there(self, project, monkeypatch):
        monkeypatch.setattr(exports, "IMAGES_AT_ONCE", 1)
        gone = list(Image.objects.filter(entries__key__in=["image-8", "image-7"]).order_by("sha256"))
        CollectionImage.objects.filter(image__in=gone).delete()
        assert list(dict.fromkeys(row["image"] for row in rows(project))) == [
            "image-6",
            *(image.sha256 for image in gone),
        ]

    def test_a_person_has_another_pseudonym_in_another_project_and_keeps_those_of_older_files(self, project, settings):
        other = make_project()
        assert pseudonym(project, 1) != pseudonym(other, 1)
        assert pseudonym(project, 1) != pseudonym(project, 2)
        assert pseudonym(project, 1) == pseudonym(project, 1)
        settings.SECRET_KEY = "a key"
        assert pseudonym(Project(pk=7), 12) == "pe2e9402b9c97"


def cell_of(value: object) -> str:
    return "" if value is None else str(value)


class TestCsv:
    def test_it_has_the_same_rows_as_jsonl_when_read_back(self, collection):
        typed = ["=1+1", "' quoted", 'say "hi"; x,y', " \ttab\nand line\r\nend ", "ａ＝", "平仮名"]
        round = make_round(collection=collection, captioners=[make_captioner(collection, text="-english")])
        make_captions(round, texts_by_key(round, {"image-7": typed}))
        data = exported(round.project, "csv")
        assert data.startswith("\ufeff")
        reader = csv.reader(io.StringIO(data.removeprefix("\ufeff"), newline=""))
        assert tuple(next(reader)) == COLUMNS
        back = [dict(zip(COLUMNS, map(plain_cell, cells), strict=True)) for cells in reader]
        expected = [
            {name: " ".join(value) if name == "warnings" else cell_of(value) for name, value in row.items()}
            for row in rows(round.project)
        ]
        assert back == expected
        assert {row["caption_as_typed"] for row in back} == set(typed)

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_nasty_texts_come_out_as_the_csv_and_json_modules_write_them(self, collection):
        round = make_round(collection=collection, captioners=[make_captioner(collection, text='"a", b')])
        captions = [text for text in NASTY if text.strip()]
        make_captions(round, texts_by_key(round, {"image-7": captions}))
        file = io.StringIO()
        file.write("\ufeff")
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(COLUMNS)
        for row in rows(round.project):
            writer.writerow(csv_safe((row | {"warnings": " ".join(row["warnings"])}).values()))
        assert exported(round.project, "csv") == file.getvalue()
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows(round.project)]
        assert exported(round.project) == "".join(lines)
        assert sorted(row["caption_as_typed"] for row in rows(round.project)) == sorted(captions)

    @pytest.mark.parametrize("text", SIDE_BY_SIDE)
    def test_what_a_spreadsheet_could_take_for_a_formula_gets_an_apostrophe(self, text):
        assert safe_cell(text) == "'" + text
        assert plain_cell(safe_cell(text)) == text

    @pytest.mark.parametrize("text", ["", "1", "a=b", "Ein Bild", " x", "平仮名", "\u200fصورة", '"=1"'])
    def test_other_text_stays_as_it_is(self, text):
        assert safe_cell(text) == text == plain_cell(text)

    def test_no_cell_of_a_file_begins_like_a_formula(self, collection):
        round = make_round(collection=collection, captioners=[make_captioner(collection, text="=english")])
        make_captions(round, texts_by_key(round, {"image-7": SIDE_BY_SIDE}))
        CollectionImage.objects.filter(key="image-7").update(key='=HYPERLINK("x")')
        data = exported(round.project, "csv").removeprefix("\ufeff")
        for cells in csv.reader(io.StringIO(data, newline="")):
            assert not any(cell.strip("\u200b ")[:1] in tuple("=+-@\t\r|%＝＋－＠−") for cell in cells if cell.strip())


class TestCost:
    @pytest.mark.long(reason="it measures memory; that images are read in chunks is asked above and below")
    def test_it_holds_few_captions_in_memory_at_a_time(self):
        few, many = (self._peak_bytes(images) for images in (300, 2400))
        assert many < few * 1.5 + 200_000
        assert many < 8_000_000

    def _peak_bytes(self, images: int) -> int:
        collection = make_keyed_collection([f"key-{n}" for n in range(images)])
        round = make_round(collection=collection, captioners=[make_captioner(collection)], replication=8)
        make_captions(round, {pk: [f"Ein Bild {n} " * 5 for n in range(8)] for pk in images_of(collection)})
        wish = ExportWish(round.project, "captions", "jsonl", LATER)
        count, peak = peak_of(lambda: sum(piece.count(b"\n") for piece in export(wish)))
        assert count == images * 8
        return peak

    def test_queries_are_for_chunks_not_for_captions(self, project):
        assert len(queries_of(lambda: exported(project))) <= 7


@pytest.mark.sqlite
class TestXm3600:
    def test_the_real_captions_come_out_as_they_went_in(self):
        captions = published("xm3600/captions_6languages.jsonl").open(encoding="utf-8")
        lines = [json.loads(line) for line in captions][::FEWER]
        collection = make_keyed_collection([line["image/key"] for line in lines])
        captioners, project = [make_captioner(collection)], make_project()
        for tag in sorted(set(lines[0]) - {"image/key"}):
            round = make_round(
                project=project, collection=collection, captioners=captioners, language=tag, replication=4
            )
            texts = zip(images_of(collection), (line[tag]["caption"] for line in lines), strict=True)
            make_captions(round, dict(texts))
        back = [json.loads(line) for line in exported(project, "xm3600").split("\n")[:-1]]
        assert [list(line) for line in back] == [list(line) for line in lines]
        for exported_line, original in zip(back, lines, strict=True):
            assert _comparable(exported_line) == _comparable(original)


def _comparable(line: dict[str, Any]) -> dict[str, Any]:
    """In which order the captions of an image come is not told; all are stored in NFC."""
    return {
        name: value
        if name == "image/key"
        else {key: Counter(unicodedata.normalize("NFC", text) for text in texts) for key, texts in value.items()}
        for name, value in line.items()
    }


class TestCommand:
    def test_it_writes_a_file(self, project, tmp_path, capsys):
        path = tmp_path / "captions.jsonl"
        call_command("export", "lions", "--what", "captions", "--format", "xm3600", "--output", str(path))
        assert path.read_text(encoding="utf-8") == exported(project, "xm3600")
        assert list(tmp_path.iterdir()) == [path]

    def test_it_writes_to_standard_output(self, project, capfdbinary):
        call_command("export", "lions", "--what", "captions", "--format", "csv")
        sys.stdout.flush()
        assert capfdbinary.readouterr().out.decode() == exported(project, "csv")

    def test_an_unknown_project_and_a_folder_that_is_not_there_are_said(self, project, tmp_path):
        with pytest.raises(CommandError, match=r"no project 'tigers'.*lions"):
            call_command("export", "tigers", "--what", "captions", "--format", "csv")
        with pytest.raises(CommandError, match="cannot be written"):
            call_command(
                "export", "lions", "--what", "captions", "--format", "csv", "--output", str(tmp_path / "no" / "file")
            )

    def test_an_export_that_breaks_off_leaves_the_old_file(self, project, tmp_path, monkeypatch):
        path = tmp_path / "captions.jsonl"
        path.write_text("old")

        def breaking(*args, **options):
            yield "image-8", "de"
            raise ConnectionError("the database went away")

        monkeypatch.setattr(exports, "_rows", breaking)
        with pytest.raises(ConnectionError):
            write_whole(path, export(ExportWish(project, "captions", "csv", LATER)))
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]
