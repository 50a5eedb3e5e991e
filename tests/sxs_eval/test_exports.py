"""Downloads of judgements and tables: what is in them, in what order, and that figures come out of them again."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from core.images.models import CollectionImage, Image
from core.people.rules.pseudonyms import pseudonym
from office.exports.selectors.tables import ExportWish
from office.exports.services.exports import export
from research.inference.models import CaptioningModel
from research.selection.models import PlaceLevelChoice
from research.selection.selectors.image_places import ORIGIN_COLUMNS
from sxs_eval.formats import judgement_export as exports
from sxs_eval.formats.figure_tables import COLUMNS as TABLE_COLUMNS
from sxs_eval.formats.figure_tables import TableLayout, table, tex
from sxs_eval.formats.judgement_export import COLUMNS
from sxs_eval.models import Comparison, Judgement, JudgingBatch, RaterState, RaterStatus, TrialKind
from tabular import downloads
from tabular.downloads import plain_cell
from tests.clients import client_of
from tests.exported import LATER, export_address, exported_text
from tests.factories import (
    NOW,
    make_captioner,
    make_collection,
    make_comparison,
    make_keyed_collection,
    make_project,
    make_rater,
)
from tests.memory import peak_of
from tests.queries import queries_of
from tests.selection.placing import choose, make_subset, place
from tests.sxs_eval.judged import answer, judge_all, judged_once, keys_of, report, results, take

pytestmark = pytest.mark.django_db
LAYOUTS = ("jsonl", "csv")
FORMULA = '=HYPERLINK("http://example.org";"x")'


def exported(comparison: Comparison, *others: Comparison, layout: str = "jsonl", **options: Any) -> str:
    one = None if others else comparison.pk
    return exported_text(comparison.project, "judgements", layout, comparison=one, **options)


def rows(*comparisons: Comparison, **options) -> list[dict[str, Any]]:
    return [json.loads(line) for line in exported(*comparisons, **options).split("\n")[:-1]]


def cells(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


def figures(path: Path, comparison: Comparison, capsys) -> dict[str, Any]:
    """What `sxs_report` says of a downloaded file."""
    capsys.readouterr()
    options = {"seed": comparison.seed, "replication": comparison.replication}
    call_command("sxs_report", str(path), "--json", **options)
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def comparison(made_once) -> Comparison:
    return made_once(make_judged)


def make_judged() -> Comparison:
    """Eight images, three raters, with gold pairs and repeats; keys run against primary keys, regions are known."""
    collection = make_collection(8)
    for position, entry in enumerate(collection.entries.order_by("-pk"), start=1):
        entry.position, entry.key = position, f"image-{position}"
        entry.save()
        Image.objects.filter(pk=entry.image_id).update(extra={"region": "Africa" if position % 2 else "Asia"})
    shares: dict[str, Any] = {"gold_percent": 30, "repeat_percent": 30, "checks_before_pause": 99}
    comparison = make_comparison(collection=collection, batch_size=8, seed=7, **shares)
    scores = [[3, 2, -1, 0, 1, -2, 3, 0], [1, 2, -3, 0, 2, 0, 3, -1], [-2, 3, -1, 1, 0, -2, 2, 0]]
    for number, line in enumerate(scores):
        wanted = dict(zip(keys_of(comparison), line, strict=True))
        judge_all(comparison, make_rater(comparison), wanted, seed=number, again=-1, comments={"image-1": FORMULA})
    return comparison


class TestRoundTrip:
    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_a_downloaded_file_gives_the_figures_of_the_page_also_where_some_is_set_aside(
        self, comparison, layout, tmp_path, capsys
    ):
        people = list(Judgement.objects.order_by("pk").values_list("person", flat=True).distinct())
        people = sorted(set(people))
        RaterStatus.objects.create(comparison=comparison, person_id=people[0], state=RaterState.PAUSED)
        late = Judgement.objects.filter(person=people[1], kind=TrialKind.PAIR)[:2].values_list("pk", flat=True)
        Judgement.objects.filter(pk__in=list(late)).update(is_late=True)
        path = tmp_path / f"judgements.{layout}"
        path.write_bytes(exported(comparison, layout=layout).encode())
        (reported,) = figures(path, comparison, capsys)["comparisons"]
        own = report(comparison).as_json()
        assert own["set_aside"] > 2
        assert own["flips"]["same"]["total"] > 0
        assert [region["region"] for region in own["regions"]] == ["Africa", "Asia"]
        assert reported["report"] == own
        assert reported["gold"] == Judgement.objects.filter(kind=TrialKind.GOLD).count() > 0

    def test_several_comparisons_come_out_as_the_pooled_rows_say(self, tmp_path, capsys):
        project, collection = make_project("lions"), make_collection(4)
        models = [make_captioner(collection, f"m{n}", language="de") for n in range(2)]
        for seed, scores in enumerate([[3, 1, -1, 0], [1, 2, -1, -1]]):
            judged_once(project, collection, models[0], models[1], scores, seed=seed)
        path = tmp_path / "all.jsonl"
        call_command("export", "lions", what="judgements", format="jsonl", output=path)
        call_command("sxs_report", str(path), "--json", replication=1)
        (pooled,) = json.loads(capsys.readouterr().out)["pooled"]
        (own,) = results(project).pooled
        names = ("images", "outcomes", "wins", "losses")
        assert pooled["figures"] == {
            "signature": str(own.signature),
            "unlike": [],
            "comparisons": len(own.comparisons),
            "shared_raters": 0,
            **{name: getattr(own, name) for name in names},
            "random_effects": own.random_effects.as_json(),
            "gain": own.gain.as_json(),
            "sign_test": own.sign_test.as_json(),
        }
        assert pooled["base_model"] == own.base == "m0"

    def test_images_without_any_judgement_are_all_that_a_file_does_not_know(self, tmp_path, capsys):
        comparison = make_comparison(images=4, replication=1)
        judge_all(comparison, make_rater(comparison), dict(zip(keys_of(comparison)[:3], [3, -1, 2], strict=True)))
        path = tmp_path / "judgements.jsonl"
        path.write_bytes(exported(comparison).encode())
        reported = figures(path, comparison, capsys)["comparisons"][0]["report"]
        own = report(comparison).as_json()
        assert own["outcome"].pop("images")["incomplete"] == 1
        assert reported["outcome"].pop("images")["incomplete"] == 0
        assert reported == own


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
        pieces = export(ExportWish(comparison.project, "judgements", "jsonl", LATER))
        count, peak = peak_of(lambda: sum(piece.count(b"\n") for piece in pieces))
        assert count == images
        return peak

    def test_queries_are_for_chunks_not_for_judgements(self, comparison):
        exported(comparison)  # models and project are loaded once
        assert len(queries_of(lambda: exported(comparison))) <= 14


class TestTables:
    def test_a_row_of_the_csv_has_the_figures_of_the_report(self, comparison):
        (row,) = cells(table(results(comparison.project), TableLayout.CSV))
        own = report(comparison)
        assert list(row) == list(TABLE_COLUMNS)
        assert int(row["wins"]) == own.outcome.wins.count
        assert float(row["gain"]) == own.outcome.gain.points
        assert float(row["gain_low"]) == own.outcome.gain.interval.low
        assert row["gain_method"] == own.outcome.gain.interval.design.method == "clopper-pearson-decided"
        assert float(row["p"]) == own.outcome.sign_test.p
        assert float(row["alpha"]) == own.alpha.value
        assert (row["seed"], row["method"], row["undefined"]) == ("7", "sxs-majority/2", "")

    def test_what_is_undefined_is_empty_and_says_why(self):
        comparison = make_comparison(images=1)
        overall = results(comparison.project)
        (row,) = cells(table(overall, TableLayout.CSV))
        assert (row["gain"], row["gain_low"], row["p"], row["alpha"]) == ("", "", "", "")
        assert row["undefined"] == "gain: no_images; p: no_images; alpha: no_pair_of_ratings"
        text = table(overall, TableLayout.TEX)
        assert "& -- & -- & -- & -- & -- & -- &  & -- \\\\" in text
        assert "% row 1: undefined gain: no_images" in text

    def test_latex_has_a_line_for_each_comparison_and_says_how_it_was_computed(self, comparison):
        CaptioningModel.objects.filter(pk=comparison.base_id).update(name="base_1 & 50% $x$ {\\y} [z] #~^")
        text = table(results(comparison.project), TableLayout.TEX)
        assert text.startswith(
            "% sxs-majority/2; replication 3; 10000 bootstrap resamples of images (exact where they are few); seeds 7 "
        )
        escaped = r"base\_1 \& 50\% \$x\$ \{\textbackslash{}y\} {[}z{]} \#\textasciitilde{}\textasciicircum{}"
        assert escaped + " & " in text
        body = text.split("\\midrule\n")[1].split("\\bottomrule")[0]
        assert body.count("\\\\\n") == 1
        assert len(re.findall(r"(?<!\\)&", body)) == 13
        # Three raters: the interval with these is the one to rely on.
        assert "$]$^{*}$ & [$-53.7$, $+100.0$] & " in body

    def test_latex_of_several_languages_has_pooled_rows_below(self):
        project, collection = make_project(), make_collection(3)
        base, test = (make_captioner(collection, language="de") for _ in range(2))
        for scores in ([1, 2, -1], [1, 1, 0]):
            judged_once(project, collection, base, test, scores)
        text = table(results(project), TableLayout.TEX)
        assert text.count("\\midrule") == 2
        assert f"{base} & {test} & pooled over 2 & 2 & 3 & 0 & 66.7 & 16.7 & $+50.0$ & [$" in text
        assert "% row 3: percentages of 6 outcomes, one per image and comparison" in text
        row = cells(table(results(project), TableLayout.CSV))[-1]
        assert (row["images"], row["outcomes"], row["wins"], row["incomplete"]) == ("3", "6", "4", "0")
        assert row["p_holm"] == ""
        single = cells(table(results(project), TableLayout.CSV))[:2]
        assert [(row["p"], row["p_holm"]) for row in single] == [("1.0", "1.0"), ("0.5", "1.0")]

    def test_a_line_break_in_a_name_ends_no_line(self):
        assert tex("a\nb\r\u2028c") == "a b  c"
