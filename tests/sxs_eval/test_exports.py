"""Downloads of judgements: what is in them, in what order, and what they cost."""

from __future__ import annotations

import json
import re
import sys
from datetime import timedelta
from html import unescape

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from core.images.models import CollectionImage
from core.people.rules.pseudonyms import pseudonym
from office.exports.selectors.tables import ExportWish
from office.exports.services.exports import export
from research.inference.models import CaptioningModel
from research.selection.models import PlaceLevelChoice
from research.selection.selectors.image_places import ORIGIN_COLUMNS
from sxs_eval.formats import judgement_export as exports
from sxs_eval.formats.judgement_export import COLUMNS
from sxs_eval.models import Comparison, Judgement, JudgingBatch, RaterStatus, TrialKind
from tabular import downloads
from tabular.downloads import plain_cell
from tests.clients import client_of
from tests.exported import LATER, export_address
from tests.factories import (
    NOW,
    make_comparison,
    make_keyed_collection,
    make_rater,
)
from tests.memory import peak_of
from tests.queries import queries_of
from tests.selection.placing import choose, make_subset, place
from tests.sxs_eval.downloaded import FORMULA, cells, exported, make_judged, rows
from tests.sxs_eval.judged import answer, judge_all, keys_of, take

pytestmark = pytest.mark.django_db
LAYOUTS = ("jsonl", "csv")


@pytest.fixture
def comparison(made_once) -> Comparison:
    return made_once(make_judged)


class TestRows:
    def test_a_row_has_all_that_was_shown_and_said(self, comparison):
        judgement = Judgement.objects.filter(kind=TrialKind.PAIR, score=-3).select_related("pair", "batch__lease").get()
        JudgingBatch.objects.update(instructions_language="de")
        (row,) = [row for row in rows(comparison) if row["kind"] == "pair" and row["score"] == -3]
        assert row == {
            "comparison": comparison.pk,
            "project": comparison.project.slug,
            "language": "de",
            "image": "image-3",
            "region": "Africa",
            "base_model": comparison.base.name,
            "test_model": comparison.test.name,
            "base_caption": judgement.pair.base_caption.text,
            "test_caption": judgement.pair.test_caption.text,
            "kind": "pair",
            "left_is": "test" if judgement.test_is_left else "base",
            "choice": judgement.choice,
            "choice_level": "right much better" if judgement.test_is_left else "left much better",
            "score": -3,
            "level": "MUCH-WORSE",
            "rater": pseudonym(comparison.project, judgement.person_id),
            "comment": "",
            "batch_taken_at": "2026-03-02T09:00:00.000Z",
            "judged_at": downloads.as_iso(judgement.judged_at),
            "seconds": 4.0,
            "counts": True,
            "why_not": "",
            "instructions_version": 1,
            "instructions_language": "de",
            "instructions_revision": None,
            "scale": 7,
            "batch": str(judgement.batch_id),
            "position": judgement.position,
            "replication": 3,
            "seed": 7,
            "planned_images": comparison.pairs.count(),
            "looks": 0,
            "chosen_by": "",
            "source": "",
            "design": f"design|collection:{comparison.collection.slug}|drawn:all|images:all|equal:shown|gold:30"
            "|repeats:30|pause:40/99",
            **dict.fromkeys(ORIGIN_COLUMNS, ""),
        }
        assert list(row) == list(COLUMNS)

    def test_a_row_says_where_its_image_was_taken_and_for_what_it_was_chosen(self, comparison):
        image = comparison.collection.entries.get(key="image-3").image
        place(image, "DE", "DE-BY", continent="EU")
        choose(comparison.project, "de", {image: PlaceLevelChoice.REGION})
        found = {row["image"]: [row[column] for column in ORIGIN_COLUMNS] for row in rows(comparison)}
        assert found.pop("image-3") == ["DE", "DE-BY", "EU", "de", "region", "made-table-1", "made-1"]
        assert {"".join(origin) for origin in found.values()} == {""}

    def test_of_a_gold_pair_the_better_caption_stands_for_the_test_one(self, comparison):
        golds = [row for row in rows(comparison) if row["kind"] == "gold"]
        known = {(gold.better, gold.worse) for gold in comparison.gold_pairs.all()}
        assert golds
        for row in golds:
            assert (row["test_caption"], row["base_caption"]) in known
            assert (row["score"], row["counts"], row["why_not"]) == (3, False, "gold")
            assert row["choice"] == (3 if row["left_is"] == "test" else -3)

    def test_images_come_by_position_and_raters_by_pseudonym(self, comparison):
        exported = rows(comparison)
        places = [int(row["image"].removeprefix("image-")) for row in exported]
        assert places == sorted(places)
        for number in range(1, 9):
            raters = [row["rater"] for row in exported if row["image"] == f"image-{number}"]
            assert raters == sorted(raters)

    def test_what_does_not_count_says_why_not(self, comparison):
        people = sorted({row.person_id for row in Judgement.objects.all()})
        for person, state in zip(people, ("paused", "excluded"), strict=False):
            RaterStatus.objects.create(comparison=comparison, person_id=person, state=state)
        last = Judgement.objects.filter(person=people[2], kind=TrialKind.PAIR).first()
        Judgement.objects.filter(pk=last.pk).update(is_late=True)
        reasons: dict[str, set[str]] = {}
        for row in rows(comparison):
            if row["kind"] != "gold":
                assert row["counts"] is (row["why_not"] == "")
                reasons.setdefault(row["rater"], set()).add(row["why_not"])
        assert [reasons[pseudonym(comparison.project, person)] for person in people] == [
            {"paused"},
            {"excluded"},
            {"", "late"},
        ]

    def test_what_is_not_answered_or_answered_later_is_not_there(self):
        comparison = make_comparison(images=2)
        first, _ = take(comparison, make_rater(comparison)).judgements.select_related("person").order_by("position")
        answer(first, 1)
        assert len(rows(comparison)) == 1
        assert rows(comparison, until=NOW - timedelta(seconds=1)) == []

    def test_an_image_taken_out_of_the_collection_comes_last_under_its_hash(self, comparison, monkeypatch):
        monkeypatch.setattr(exports, "IMAGES_AT_ONCE", 1)
        before = len(rows(comparison))
        gone = CollectionImage.objects.get(key="image-1")
        gone.delete()
        exported = rows(comparison)
        assert len(exported) == before
        assert {row["image"] for row in exported[-3:]} == {gone.image.sha256}

    def test_nobody_is_named(self, comparison):
        people = [row.person for row in Judgement.objects.select_related("person")]
        for layout in LAYOUTS:
            text = exported(comparison, layout=layout)
            assert not any(person.username in text or person.email in text for person in people)

    def test_time_that_was_not_measured_is_left_empty(self):
        comparison = make_comparison(images=1)
        answer(take(comparison, make_rater(comparison)).judgements.select_related("person").get(), 1, active_ms=0)
        assert rows(comparison)[0]["seconds"] is None
        assert cells(exported(comparison, layout="csv"))[0]["seconds"] == ""

    def test_it_goes_on_from_one_chunk_to_the_next_without_loss(self, comparison, monkeypatch):
        whole = {layout: exported(comparison, layout=layout) for layout in LAYOUTS}
        monkeypatch.setattr(exports, "IMAGES_AT_ONCE", 1)
        monkeypatch.setattr(downloads, "PIECE_BYTES", 1)
        assert {layout: exported(comparison, layout=layout) for layout in LAYOUTS} == whole

    def test_the_bytes_do_not_depend_on_the_order_of_rows_in_the_database(self, comparison):
        whole = exported(comparison)
        # Written anew, PostgreSQL keeps a row at another place.
        for row in Judgement.objects.order_by("-pk"):
            Judgement.objects.filter(pk=row.pk).update(comment=row.comment)
        assert exported(comparison) == whole


class TestCsv:
    def test_it_has_the_same_rows_as_jsonl(self, comparison):
        back = cells(exported(comparison, layout="csv"))
        assert len(back) == len(rows(comparison))
        for row, original in zip(back, rows(comparison), strict=True):
            for name, value in original.items():
                text = str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
                assert (plain_cell(row[name]) if isinstance(value, str) else row[name]) == text

    def test_no_text_begins_like_a_formula_and_numbers_stay_numbers(self, comparison):
        CaptioningModel.objects.filter(pk=comparison.base_id).update(name="@base")
        comparison.refresh_from_db()
        back = cells(exported(comparison, layout="csv"))
        assert {row["base_model"] for row in back} == {"'@base"}
        assert "'" + FORMULA in {row["comment"] for row in back}
        assert "-3" in {row["score"] for row in back}


class TestCommand:
    def test_it_writes_one_comparison_or_all_to_a_file(self, comparison, tmp_path):
        other = make_comparison(project=comparison.project, images=1, replication=1)
        judge_all(other, make_rater(other), {keys_of(other)[0]: 1})
        path = tmp_path / "judgements.jsonl"
        call_command("export", comparison.project.slug, what="judgements", format="jsonl", output=path)
        assert path.read_text(encoding="utf-8") == exported(comparison, other)
        call_command(
            "export", comparison.project.slug, what="judgements", format="jsonl", comparison=other.pk, output=path
        )
        assert path.read_text(encoding="utf-8") == exported(other)
        assert list(tmp_path.iterdir()) == [path]

    def test_it_writes_to_standard_output(self, comparison, capfdbinary):
        call_command("export", comparison.project.slug, "--what", "judgements", "--format", "csv")
        sys.stdout.flush()
        assert capfdbinary.readouterr().out.decode() == exported(comparison, layout="csv")

    def test_it_writes_judgements_of_some_images(self, comparison, tmp_path):
        first = comparison.collection.entries.order_by("position").first()
        make_subset(comparison.project, "first", [first.image])
        path = tmp_path / "judgements.jsonl"
        call_command(
            "export",
            comparison.project.slug,
            "--what=judgements",
            "--format=jsonl",
            "--images=subset:first",
            output=path,
        )
        lines = [line.replace("|images:all|", "|images:subset:first|") for line in exported(comparison).splitlines()]
        of_it = [line for line in lines if json.loads(line)["image"] == first.key]
        assert path.read_text(encoding="utf-8").splitlines() == of_it != []
        for images, said in (("in:PL", "No image is left by --images in:PL"), ("subset:none", "no subset “none”")):
            with pytest.raises(CommandError, match=said):
                call_command(
                    "export", comparison.project.slug, "--what=judgements", "--format=jsonl", f"--images={images}"
                )

    def test_what_is_not_there_is_named_with_what_there_is(self, comparison, tmp_path):
        slug = comparison.project.slug
        with pytest.raises(CommandError, match=rf"no project 'tigers'.*{slug}"):
            call_command("export", "tigers", what="judgements", format="csv")
        with pytest.raises(CommandError, match=rf"no comparison 99.*{comparison.pk} \({comparison.test} against "):
            call_command("export", slug, what="judgements", format="csv", comparison=99)
        with pytest.raises(CommandError, match="cannot be written"):
            call_command("export", slug, what="judgements", format="csv", output=tmp_path / "no" / "file")


class TestView:
    def test_a_download_has_the_images_that_the_page_was_asked_for(self, comparison):
        first = comparison.collection.entries.order_by("position").first()
        make_subset(comparison.project, "first", [first.image])
        manager = client_of(comparison.project.created_by)
        report = reverse("sxs_eval:comparison-show", args=[comparison.project.slug, comparison.pk])
        page = manager.get(report, {"images": "subset:first"}).content.decode()
        [link] = re.findall(r'href="([^"]*export/[^"]*judgements[^"]*)"', page)
        form = manager.get(unescape(link)).content.decode()
        assert '<option value="subset:first" selected>' in form
        answer = manager.get(f"{unescape(link)}&format=csv")
        assert f"-judgements-{comparison.pk}-subset-first-" in answer["Content-Disposition"]
        assert {row["image"] for row in cells(answer.getvalue().decode())} == {first.key}
        wrong = manager.get(f"{unescape(link)}&format=csv".replace("first", "none"))
        assert "This project has no subset “none”." in wrong.content.decode()

    def test_the_file_has_the_name_of_the_project_and_is_kept_nowhere(self, client, comparison):
        client.force_login(comparison.project.created_by)
        slug = comparison.project.slug
        response = client.get(export_address(slug, "judgements", comparison=comparison.pk))
        assert re.search(rf'filename="{slug}-judgements-{comparison.pk}-\d+-\d+\.csv"', response["Content-Disposition"])
        assert response["Cache-Control"] == "private, no-store"
        assert response.getvalue().decode() == exported(comparison, layout="csv")

    @pytest.mark.parametrize("asked", ["x", "0", "9" * 5000, "-1", "\x00"])
    def test_a_comparison_that_is_not_there_is_refused(self, client, comparison, asked):
        client.force_login(comparison.project.created_by)
        assert client.get(export_address(comparison.project.slug, "judgements", comparison=asked)).status_code == 422

    def test_an_unknown_format_is_not_found(self, client, comparison):
        client.force_login(comparison.project.created_by)
        assert client.get(reverse("sxs_eval:tables-export", args=[comparison.project.slug, "docx"])).status_code == 404


class TestCost:
    @pytest.mark.long(reason="it measures memory; that rows are read in chunks is asked above and below")
    def test_it_holds_few_judgements_in_memory_at_a_time(self):
        few, many = (self._peak_bytes(images) for images in (200, 1200))
        assert many < few * 1.5 + 300_000

    def _peak_bytes(self, images: int) -> int:
        collection = make_keyed_collection([f"key-{n}" for n in range(images)])
        comparison = make_comparison(collection=collection, replication=1, batch_size=images)
        batch = take(comparison, make_rater(comparison))
        batch.judgements.update(test_is_left=True, choice=1, score=1, judged_at=NOW, comment="Both are fine. " * 5)
        del batch
        wish = ExportWish(comparison.project, "judgements", "jsonl", LATER)
        count, peak = peak_of(lambda: sum(piece.count(b"\n") for piece in export(wish)))
        assert count == images
        return peak

    def test_queries_are_for_chunks_not_for_judgements(self, comparison):
        exported(comparison)  # models and project are loaded once
        assert len(queries_of(lambda: exported(comparison))) <= 14
