"""`correlate`: which evaluations are points, what intervals hold for, and differences of metrics."""

from __future__ import annotations

import csv
import io
import json
from itertools import combinations

import numpy as np
import pytest
from django.core.management import CommandError

from tests.commands import output_of

MODELS, LANGUAGES = "ABCDE", ("de", "es", "fr")


def make_rows() -> list[dict[str, object]]:
    """All pairs of five models in three languages; `near` is nearer to people than `far`."""
    rng = np.random.default_rng(3)
    quality = rng.normal(size=(3, 5))
    near, far = (quality + size * rng.normal(size=quality.shape) for size in (0.3, 1.5))
    rows: list[dict[str, object]] = []
    for place, language in enumerate(LANGUAGES):
        for base, test in combinations(range(5), 2):
            gain, *differences = (round(float(of[place, test] - of[place, base]), 4) for of in (quality, near, far))
            models = {"base_model": MODELS[base], "test_model": MODELS[test]}
            about = {"language": language, "images": 100 + len(rows), "chosen_by": ""}
            rows.append(models | about | {"gain": gain, "near": differences[0], "far": differences[1]})
    return rows


@pytest.fixture
def rows() -> list[dict[str, object]]:
    return make_rows()


@pytest.fixture
def table(tmp_path):
    def write(rows, *, without=()):
        out = io.StringIO()
        columns = [name for name in rows[0] if name not in without]
        writer = csv.DictWriter(out, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
        file = tmp_path / "table.csv"
        file.write_text(out.getvalue(), encoding="utf-8")
        return file

    return write


def text_of(file, *arguments, metrics=("near",)):
    return output_of("correlate", file, "--human", "gain", "--resamples", "100", *arguments, "--metric", *metrics)


def report_of(file, *arguments, metrics=("near",)):
    return json.loads(text_of(file, "--json", *arguments, metrics=metrics))


def figures_of(report, metric="near"):
    return report["parts"][0]["metrics"][metric]


def test_the_first_interval_is_over_models_and_says_so(rows, table):
    report = report_of(table(rows))
    found = figures_of(report)
    assert (found["models"], found["languages"], found["degrees_of_freedom"]) == (5, 3, 4)
    assert found["design"]["words"] == (
        "generalises to other models like these, with these 3 languages (jackknife with Student’s t)"
    )
    pearson = found["pearson"]
    assert pearson["interval"]["low"] < pearson["over_evaluations"]["low"] < pearson["value"]
    assert pearson["test"] == {
        "p": pytest.approx(1 / 120),
        "holm": pytest.approx(1 / 120),
        "smallest": 1 / 120,
        "permutations": 120,
        "is_exact": True,
    }
    text = text_of(table(rows))
    assert "near: In brackets: 95% interval, generalises to other models like these" in text
    assert "4 degrees of freedom." in text
    assert "with 5 models no p-value below 0.0083 is possible." in text
    assert "Over evaluations: 95% interval, generalises to other evaluations, if none shares a model" in text
    assert report["notes"] == []


def test_columns_that_are_missing_are_told_and_those_asked_for_are_needed(rows, table):
    notes = report_of(table(rows, without=["base_model", "images"]))["notes"]
    assert "There are no columns base_model and test_model, so intervals are over evaluations" in notes[0]
    assert notes[1] == "There is no column images, so no evaluation is left out for having too few."
    bare = figures_of(report_of(table(rows, without=["base_model"])))
    assert bare["pearson"]["interval"] is None
    assert "design" not in bare
    notes = report_of(table(rows, without=["language"]))["notes"]
    assert notes == ["There is no column language: all evaluations are taken to be in one language."]
    with pytest.raises(CommandError, match="no column “first”"):
        report_of(table(rows), "--base-model", "first")
    with pytest.raises(CommandError, match="there is no column “images”"):
        report_of(table(rows, without=["images"]), "--weights", "images")
    renamed = [{"system": row["base_model"]} | row for row in rows]
    assert report_of(table(renamed, without=["base_model"]), "--base-model", "System")["notes"] == []


def test_a_row_names_two_models(rows, table):
    rows[3]["test_model"], rows[4]["test_model"] = "", rows[4]["base_model"]
    with pytest.raises(CommandError, match=r"(?s)Line 5: Name both models.*Line 6: . is compared with itself"):
        report_of(table(rows))


def test_evaluations_of_few_images_are_no_points(rows, table):
    rows[0]["images"], rows[1]["images"], rows[2]["images"] = 29, "", 30
    report = report_of(table(rows))
    assert figures_of(report)["evaluations"] == 28
    assert report["left_out"]["near"] == {"repeated": 0, "missing": 0, "few_images": 2, "chosen": 0}
    assert report["notes"] == ["2 of 30 evaluations have fewer than 30 images, and are left out of near."]
    assert figures_of(report_of(table(rows), "--min-images", "0"))["evaluations"] == 30


@pytest.mark.parametrize("is_turned", [False, True])
def test_an_evaluation_that_is_written_again_counts_once(rows, table, is_turned):
    again = [dict(row) for row in rows]
    if is_turned:
        for row in again:
            row["base_model"], row["test_model"] = row["test_model"], row["base_model"]
            row |= {name: -row[name] for name in ("gain", "near", "far")}
    alone, twice = report_of(table(rows)), report_of(table([*rows, *again]))
    assert twice["parts"] == alone["parts"]
    assert twice["left_out"]["near"] == alone["left_out"]["near"] | {"repeated": 30}
    (note,) = twice["notes"]
    assert note.startswith("Two models in a language count once, either way round. Left out are lines that repeat")
    assert ": 32 (line 2), 33 (line 3), " in note
    assert note.endswith(" and 20 more.")
    named = [row | {"comparison": f"c{number}"} for number, row in enumerate([*rows, *again])]
    assert figures_of(report_of(table(named)))["evaluations"] == 60, "Comparisons with names of their own."
    assert figures_of(report_of(table([*rows, *again]), "--as-published"))["evaluations"] == 60


def test_an_evaluation_that_is_written_again_with_other_figures_is_refused(rows, table):
    again = rows[0] | {"near": rows[0]["near"] + 1}
    with pytest.raises(CommandError, match=r"Line 32: B against A is on line 2 already, with another near\. Correct"):
        report_of(table([*rows, again]))
    turned = rows[0] | {"base_model": "B", "test_model": "A"}
    with pytest.raises(CommandError, match="Line 32: A against B is on line 2 already, with another gain"):
        report_of(table([*rows, turned]))


def test_evaluations_that_a_metric_chose_are_no_evidence_for_it(rows, table):
    rows[0]["chosen_by"], rows[1]["chosen_by"], rows[2]["chosen_by"] = "Near", "far, other", "*"
    report = report_of(table(rows), metrics=("near", "far"))
    assert {name: figures_of(report, name)["evaluations"] for name in ("near", "far")} == {"near": 28, "far": 28}
    assert report["differences"][0]["evaluations"] == 27
    assert "2 of 30 evaluations were chosen by near or an unnamed metric, and are left out of it" in report["notes"][0]
    assert figures_of(report_of(table(rows), "--with-chosen"))["evaluations"] == 30


def test_points_count_alike_unless_asked_to_count_by_their_images(rows, table):
    for row in rows:
        row["images"] = 50
    plain, alike = (figures_of(report_of(table(rows), *weights)) for weights in ([], ["--weights", "images"]))
    assert alike["kendall"]["interval"] == pytest.approx(plain["kendall"]["interval"])
    assert alike["pearson"]["over_evaluations"] == pytest.approx(plain["pearson"]["over_evaluations"])
    rows[0]["images"] = 5_000
    weighted = report_of(table(rows), "--weights", "images")
    assert weighted["weights"] == "images"
    assert figures_of(weighted)["pearson"]["value"] != plain["pearson"]["value"]
    assert figures_of(report_of(table(rows)))["pearson"]["value"] == plain["pearson"]["value"]
    assert "count as often as they have complete images; p is" in text_of(table(rows), "--weights", "images")


def test_the_papers_tables_come_out_by_an_option_that_names_itself(rows, table):
    rows[0]["images"], rows[1]["chosen_by"] = 1, "near"
    report = report_of(table(rows), "--as-published")
    found = figures_of(report)
    assert (found["evaluations"], found["points"], report["as_published"]) == (30, 60, True)
    assert found["pearson"]["interval"] is found["pearson"]["test"] is None
    assert found["pearson"]["over_evaluations"]["low"] < found["pearson"]["value"]
    assert report["notes"] == []
    with pytest.raises(CommandError, match="have no weights"):
        report_of(table(rows), "--as-published", "--weights", "images")


def test_two_metrics_are_held_against_each_other_with_holms_correction(rows, table):
    three = [
        row | {"noise": round(float(number), 4)}
        for row, number in zip(rows, np.random.default_rng(1).normal(size=30), strict=True)
    ]
    report = report_of(table(three), metrics=("near", "far", "noise"))
    pairs = [(one["first"], one["second"]) for one in report["differences"]]
    assert pairs == [("near", "far"), ("near", "noise"), ("far", "noise")]
    tests = sorted((one["pearson"]["p"], one["pearson"]["holm"]) for one in report["differences"])
    assert tests[0][1] == pytest.approx(min(1, 3 * tests[0][0]))
    of_each = [figures_of(report, name)["pearson"]["test"] for name in ("near", "far", "noise")]
    least = min(of_each, key=lambda test: test["p"])
    assert least["holm"] == pytest.approx(min(1, 3 * least["p"]))
    near_far = report["differences"][0]["pearson"]
    assert near_far["z"] > 0
    assert near_far["degrees_of_freedom"] == 4
    assert near_far["interval"]["low"] < near_far["z"] < near_far["interval"]["high"]
    text = text_of(table(three), metrics=("near", "far", "noise"))
    assert "Differences of Fisher’s z of two metrics, with 95% intervals, p and Holm’s p over 3 pairs" in text
    assert "  p, Holm" in text
    assert "near - far" in text


def test_what_is_undefined_says_why_and_nothing_is_nan(rows, table):
    german = [row for row in rows if row["language"] == "de" and {row["base_model"], row["test_model"]} <= set("ABC")]
    text = text_of(table(german), metrics=("near", "far"))
    assert "undefined for near, far" in text or "undefined for near: interval of pearson" in text
    assert "Without one of the models" in text
    assert "nan" not in text.lower().replace("unnamed", "")
    exact = [row | {"near": row["gain"]} for row in rows]
    assert "A coefficient of exactly 1 or −1 shows no uncertainty" in text_of(table(exact))


GAIN = "sxs-majority|v:2|scale:{scale}|complete:{images}"
SCORE = "near|v:1|text:{text}|lang:{language}|refs:{refs}"


def signed(rows, *, scale="7", text="icu", refs=""):
    """With signatures; what is given is that of the last row, and references are of its language unless given."""
    for number, row in enumerate(rows):
        is_last = row is rows[-1]
        row["signature"] = GAIN.format(scale=scale if is_last else "7", images=number)
        about = {"text": text if is_last else "icu", "refs": refs if is_last and refs else row["language"]}
        row["near_signature"] = SCORE.format(language=row["language"], **about)
    return rows


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ({}, []),
        ({"scale": "5"}, ["points of the scale: 7 against 5"]),
        ({"text": "ptb"}, ["text and tokens: icu against ptb"]),
        ({"refs": "others"}, ["references: fr against others"]),
    ],
)
def test_evaluations_that_were_not_judged_or_scored_alike_are_named(table, rows, last, said):
    file = table(signed(rows, **last))
    assert report_of(file)["unlike"] == {"near": said}
    note = "Note: evaluations by near should not be compared, because they differ in "
    assert [line.removeprefix(note) for line in text_of(file).splitlines() if note in line] == [
        f"{one}." for one in said
    ]


def test_what_is_no_point_is_not_compared_and_what_is_no_signature_is_refused(table, rows):
    signed(rows, scale="5")
    rows[-1]["images"] = 3
    assert report_of(table(rows))["unlike"] == {"near": []}
    rows[0]["signature"] = "cider-d|1"
    with pytest.raises(CommandError, match=r"Line 2: 'cider-d.1' is no signature"):
        report_of(table(rows))
