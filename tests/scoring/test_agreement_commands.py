"""`correlate` and `rank_metrics`: the published tables come out, and files as people write them are read."""

from __future__ import annotations

import csv
import json
import re
from itertools import permutations

import numpy as np
import pytest
from django.core.management import CommandError

from crosslens_metrics.correlations import Coefficient
from crosslens_metrics.formats.problems import FileRefusedError
from crosslens_metrics.formats.tables import parse_table
from crosslens_metrics.model_ranks import TiedRanks, largest_by_chance, rank_agreement
from crosslens_metrics.reports.figures import MESSAGES, percent_text, rounded_number, signed_points
from crosslens_metrics.undefined import UndefinedReason
from tests.commands import output_of
from tests.published import published
from tests.servers import ROOT

EVALUATIONS = """\
test,base,language,Δ SxS,ΔCIDEr,flat,never
b,a,en,2.7,2.6,1,-1
b,a,hi,-1.5,-0.2,1,0
b,a,de,0,0.4,1,-2
c,a,en,4.5,3.1,1,0
c,a,fr,-2.5,0,1,-1
"""


def of_table_2() -> str:
    return output_of(
        *("rank_metrics", published("tables/annotation_free_table2.csv"), "--sums"),
        *("--proposed", "WMDRel", "CLinRel", "CMedRel", "--standard", "BLEU-4", "METEOR", "ROUGE-L", "CIDEr", "BMRC"),
    )


@pytest.fixture
def table(tmp_path):
    def write(content, name="table.csv"):
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    return write


def run_json(name, *arguments):
    return json.loads(output_of(name, *arguments, "--json"))


def correlate(file, *arguments, human="Δ SxS"):
    return run_json("correlate", file, "--human", human, "--no-intervals", "--as-published", *arguments)


def values(report, metric, part=0):
    coefficients = report["parts"][part]["metrics"][metric]
    return {str(name): coefficients[name]["value"] for name in Coefficient}


def expected_rows(name):
    with published(f"tables/{name}").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_draft_table_6_comes_out_of_draft_table_5_digit_by_digit():
    text = output_of(
        *("correlate", published("tables/crossmodal_draft_table5.csv"), "--human", "sxs_gain"),
        *("--metric", "delta_cider_3600", "delta_cider_val", "--no-flip", "--no-intervals"),
    )
    printed = [line.split() for line in text.splitlines()]
    for row in expected_rows("crossmodal_draft_table6_expected.csv"):
        assert list(row.values()) in printed


def test_table_3_comes_out_of_table_2_digit_by_digit():
    text = of_table_2()
    printed = [line.split() for line in text.splitlines()]
    for row in expected_rows("annotation_free_table3_expected.csv"):
        metric = "WMDRel+CLinRel+CMedRel" if row["metric"] == "WCC" else row["metric"]
        assert [metric, *list(row.values())[1:]] in printed
    assert "WMDRel+CLinRel+CMedRel is the column WCC but for rounding, by 0.1 at most." in text
    assert ["Show-Tell", "(COCO-CN)", "4", "5.5", "4", "6", "5"] in [row[:7] for row in printed]


def test_equal_scores_share_the_best_rank_where_that_is_asked_for():
    """Expected: Pearson's correlation by scipy of its own ranks, `rankdata(…, method="min")`."""
    report = run_json(
        *("rank_metrics", published("tables/annotation_free_table2.csv"), "--ties", "competition"),
        *("--proposed", "WMDRel", "CLinRel", "WCC", "--standard", "METEOR", "BLEU-4"),
    )
    assert report["ties"] == "competition"
    assert report["ranks"]["METEOR"] == [1, 3, 2, 4, 5, 5, 8, 7]
    rounded = {name: [round(value, 3) for value in row.values()] for name, row in report["correlations"].items()}
    assert rounded == {"WMDRel": [0.794, 0.929], "CLinRel": [0.867, 0.524], "WCC": [0.965, 0.833]}


def test_a_group_knows_other_names_of_a_language(table):
    file = table("language,x,y\niw,2.7,2.6\nHE,-1.5,-0.2\nde,4.5,3.1\n", "other-names.csv")

    report = correlate(file, "--metric", "y", "--group", "language=he", human="x")

    assert [part["metrics"]["y"]["evaluations"] for part in report["parts"]] == [3, 2, 1]


def test_figures_are_over_all_over_the_group_and_over_the_rest(table):
    report = correlate(table(EVALUATIONS), "--metric", "ΔCIDEr", "--group", "Language=EN,zh,hi")

    assert [part["part"] for part in report["parts"]] == ["all", "group", "rest"]
    found = [part["metrics"]["ΔCIDEr"] for part in report["parts"]]
    assert [(one["evaluations"], one["points"]) for one in found] == [(5, 10), (3, 6), (2, 4)]
    assert report["parts"][1]["name"] == "language is EN, zh, hi"
    assert "No evaluation has language zh." in report["notes"]
    alone = table("x,y\n2.7,2.6\n-1.5,-0.2\n4.5,3.1\n", "group.csv")
    assert values(report, "ΔCIDEr", 1) == values(correlate(alone, "--metric", "y", human="x"), "y")


def test_a_figure_does_not_depend_on_what_else_is_asked_for(table):
    file = table(EVALUATIONS)
    both, one = (
        run_json("correlate", file, "--human", "Δ SxS", "--resamples", "200", "--metric", *metrics)
        for metrics in (["flat", "ΔCIDEr"], ["ΔCIDEr"])
    )
    assert both["parts"][0]["metrics"]["ΔCIDEr"] == one["parts"][0]["metrics"]["ΔCIDEr"]


def test_a_metric_asked_for_twice_is_told_once(table):
    report = correlate(table(EVALUATIONS), "--metric", "ΔCIDEr", "--metric", "δ cider", "flat")
    assert list(report["parts"][0]["metrics"]) == ["ΔCIDEr", "flat"]


def test_what_is_undefined_says_why_and_the_rest_goes_on(table):
    file = table(EVALUATIONS)
    report = correlate(file, "--no-flip", "--metric", "flat", "never", "ΔCIDEr")

    reasons = {value["undefined"] for value in values(report, "flat").values()}
    assert reasons == {UndefinedReason.ALL_VALUES_EQUAL, UndefinedReason.ONE_SIGN_ONLY}
    assert values(report, "never")["matthews"]["undefined"] == UndefinedReason.ONE_SIGN_ONLY
    assert isinstance(values(report, "never")["pearson"], float)
    text = output_of("correlate", file, "--human", "Δ SxS", "--metric", "flat", "ΔCIDEr", "--no-flip", "--no-intervals")
    assert f"undefined for flat: pearson, spearman, kendall. {MESSAGES[UndefinedReason.ALL_VALUES_EQUAL]}" in text
    assert re.search(r"nan", text, re.IGNORECASE) is None


@pytest.mark.parametrize("flip", [[], ["--no-flip"]])
def test_one_evaluation_shows_nothing(table, flip):
    report = correlate(table("x,y\n1,2\n"), "--metric", "y", *flip, human="x")
    assert {value["undefined"] for value in values(report, "y").values()} == {UndefinedReason.TOO_FEW_POINTS}


def test_intervals_hold_what_they_are_of_and_follow_from_the_seed(table):
    file = table("x,y\n" + "".join(f"{i % 7 - 3},{(i * 5) % 11 - 5 + i % 7}\n" for i in range(40)))
    first, again, other = (
        run_json("correlate", file, "--human", "x", "--metric", "y", "--resamples", "300", "--seed", seed)
        for seed in (1, 1, -2)
    )
    assert first == again
    for name in Coefficient:
        one, another = (report["parts"][0]["metrics"]["y"][name] for report in (first, other))
        assert one["over_evaluations"]["low"] < one["value"] < one["over_evaluations"]["high"]
        assert one["over_evaluations"] != another["over_evaluations"] or name == Coefficient.MATTHEWS
        assert one["interval"] is one["test"] is None, "Nothing is known of the models."
    words = "generalises to other evaluations, if none shares a model or a language with another (percentile bootstrap)"
    assert first["intervals"] == {
        "level": 0.95,
        "over_evaluations": {"words": words, "resamples": 300, "seed": 1},
    }


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfx,y\r\n1.5,2\r\n-0.5,0\r\n3,1\r\n",
        "x;y\n1,5;2\n-0,5;0\n3;1\n",
        "x\ty\n1.5\t2\n−0.5\t0\n3\t1\n",
        "x|y\n1.5|2\n-0.5|0\n3|1\n",
        'sep=;\n"x";"y"\n"1.5";"2"\n"-0.5";"0"\n"3";"1"\n',
        'x , "y"\n 1.5 , "2"\n\u2009− 0.5\u202f, "0"\n\n+3, 1e0,\n',
        "X,Y\n1.5%,2\n-0.5 %,0\n3％,1\n",
        "x,y\r1.5,2\r'-0.5,0\r30e-1,1",
        "x,y\n1.5,2\n-0.5,0\n3,1\n".encode("utf-16"),
        'note,x,y\n"a ""b"", c\nd",1.5,2\n,–.5,0\n,3.,1\n',
    ],
)
def test_files_are_read_as_people_write_them(table, content):
    plain = correlate(table("x,y\n1.5,2\n-0.5,0\n3,1\n", "plain.csv"), "--metric", "y", human="x")
    report = correlate(table(content), "--metric", "y", human="x")
    (name,) = report["parts"][0]["metrics"]
    assert values(report, name) == values(plain, "y")


def test_thousands_may_be_parted_by_thin_blanks(table):
    read = parse_table("x,y\n1\u202f234.5,1\n12\u2009345 678,2\n".encode(), asked=["x"])
    assert [str(number) for number in read.numbers(0)] == ["1234.5", "12345678"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x,y\n1,2\n2,abc\n3,4*\n", "Line 3: y is “abc”"),
        ("x,y\n1,2\n2,47.1²\n", "Line 3: y is “47.1²”"),
        ("x,y\n1,2\n2,1 2\n", "Line 3: y is “1 2”"),
        ("x,y\n1,2\n2,inf\n", "Line 3: y is “inf”"),
        ("x,y\n1,2\n2,1e400\n", "Line 3: y is “1e400”"),
        ("x,y\n1,2\n2,\nn/a,4\n", "Line 3: y has no figure"),
        ("x,y\n1,2\n2,\n–,4\n", "Line 4: x has no figure"),
        ("x,y\n1,2%\n2,3\n", "Line 2: y has a percent sign here and none on line 3"),
        ("x;y\n1;1,234\n2;2,345\n", "thousands or decimals"),
        ('x,y\n1,"1,234.5"\n2,1\n', "y is “1,234.5”"),
        ("x,y\n1,2,3\n2,3\n", "Line 2: 3 cells, but the first line names 2"),
        ('x,y\n1,"2\n2,3\n', "a quotation mark is opened and never closed"),
        ("x,y\n", "no row"),
        ("", "empty"),
        (b"x,y\n1,\xff\n", "Line 2: .*UTF-8"),
        ("a,b\n1,2\n", "no column “x”; there are: “a”, “b”"),
        ("x,y,Y \n1,2,3\n", None),
        ("x,y,y\n1,2,3\n", "names the column “y” twice"),
        ("x,Y ,y_\n1,2,3\n", "“y” may be any of several columns"),
    ],
)
def test_a_refusal_says_what_where_and_what_to_do(table, content, message):
    file = table(content)
    if message is None:
        correlate(file, "--metric", "y", human="x")
        return
    with pytest.raises(CommandError, match=message) as refused:
        correlate(file, "--metric", "y", human="x")
    assert str(refused.value).startswith(f"{file}:\n")


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        correlate(tmp_path / "none.csv", "--metric", "y", human="x")


def test_all_problems_of_a_file_are_told_at_once_but_no_more_than_a_screen(table):
    with pytest.raises(CommandError) as refused:
        correlate(table("x,y\n" + "?!,!\n" * 30), "--metric", "y", human="x")
    lines = str(refused.value).splitlines()
    assert len(lines) == 22
    assert lines[-1] == "and 40 more problems."


def test_evaluations_without_a_figure_are_left_out_where_that_is_asked_for(table):
    file = table("x,y,z,g\n1,2,5,a\n2,,1,a\nn/a,3,2,b\n3,5,3,\n-1,0,—,b\n")

    report = correlate(file, "--metric", "y", "z", "--skip-missing", "--group", "g=a", human="x")

    left_out = {"repeated": 0, "missing": 2, "few_images": 0, "chosen": 0}
    assert report["left_out"] == {"y": left_out, "z": left_out}
    assert [part["metrics"]["z"]["evaluations"] for part in report["parts"]] == [3, 2, 1]
    assert "2 of 5 evaluations lack x or y, and are left out of it." in report["notes"]
    assert any("1 evaluations have no g" in note for note in report["notes"])
    kept = correlate(table("x,y\n1,2\n3,5\n-1,0\n", "kept.csv"), "--metric", "y", human="x")
    assert values(report, "y") == values(kept, "y")


def test_points_that_were_flipped_before_are_noticed(table):
    file = table("x,y\n1,2\n-1,-2\n3,0\n-3,0\n")
    assert correlate(file, "--metric", "y", human="x")["notes"] == [
        "The points of y hold all their mirror images already: give --no-flip."
    ]
    assert correlate(file, "--metric", "y", "--no-flip", human="x")["notes"] == []


def test_ties_are_those_of_the_figures_as_written_also_in_sums(table):
    """As floating-point numbers, 0.1 + 0.2 is more than 0.3 + 0."""
    file = table("name,p,q,s\na,0.1,0.2,1\nb,0.3,0,2\nc,1,1,3\n")
    ranks = run_json("rank_metrics", file, "--proposed", "p", "q", "--standard", "s", "--sums")["ranks"]
    assert ranks == {"s": [3, 2, 1], "p": [3, 2, 1], "q": [2, 3, 1], "p+q": [2.5, 2.5, 1]}


def test_what_chance_gives_of_so_few_models_and_so_many_coefficients_is_told(table):
    three = table("model,new,old,flat\na,1,2,1\nb,2,3,1\nc,3,4,1\n")
    asked = ["rank_metrics", three, "--proposed", "new", "--standard", "old", "flat"]
    # Of six orders the straight one and the opposite one are as far from 0.
    chance = run_json(*asked)["chance"]
    assert (chance["p"], chance["smallest"], chance["largest"]) == pytest.approx((1 / 3, 1 / 3, 1))
    assert (chance["coefficients"], chance["permutations"], chance["is_exact"]) == (1, 6, True)
    text = output_of(*asked)
    assert "By chance the coefficient is as far from 0 as 1.000 with p = 0.3333:" in text
    assert "With 3 models no p-value below 0.3333 is possible here." in text
    assert run_json(*asked[:-2], "flat")["chance"]["undefined"] == UndefinedReason.ALL_VALUES_EQUAL
    assert (
        "By chance the largest of these 35 coefficients is as far from 0 as 1.000 with p = 0.0010:\n"
        "  the standard scores of the models change places, in all 40320 ways."
    ) in of_table_2()


@pytest.mark.parametrize("ties", TiedRanks)
def test_the_chance_of_the_best_coefficient_is_that_of_all_orders_tried_one_by_one(ties):
    proposed, standard = np.random.default_rng(4).integers(0, 4, size=(2, 3, 5))

    def largest(order):
        return max(abs(rank_agreement(one, other[list(order)], ties=ties)) for one in proposed for other in standard)

    tried = [largest(order) for order in permutations(range(5))]
    found = largest_by_chance(proposed, standard, ties=ties)
    assert found.coefficients == 9
    assert found.largest == pytest.approx(tried[0])
    assert found.p == pytest.approx(np.mean(np.array(tried) >= tried[0] - 1e-9))


def test_the_best_of_many_metrics_that_know_nothing_is_rarely_called_more_than_chance():
    rng = np.random.default_rng(5)
    scores = rng.random((300, 6, 6))
    found = [largest_by_chance(one[:3], one[3:]) for one in scores]
    assert np.mean([one.p <= 0.05 for one in found]) <= 0.08
    # The control: nine coefficients, each by its own p-value.
    single = [min(largest_by_chance(a[None], b[None]).p for a in one[:3] for b in one[3:]) for one in scores[:60]]
    assert np.mean(np.array(single) <= 0.05) > 0.15
    many = largest_by_chance(rng.random((2, 12)), rng.random((2, 12)))
    assert (many.permutations, many.is_exact, many.smallest) == (9_999, False, 1 / 10_000)


def test_models_are_named_by_their_column_else_by_their_line(table):
    content = "p,system,model,s\n1,k,a,2\n2,l,b,1\n"
    for arguments, names in (([], ["a", "b"]), (["--model", "System"], ["k", "l"])):
        report = run_json("rank_metrics", table(content), "--proposed", "p", "--standard", "s", *arguments)
        assert report["models"] == names
        assert report["correlations"] == {"p": {"s": -1.0}}
    bare = run_json("rank_metrics", table("p,s\n1,2\n2,1\n"), "--proposed", "p", "--standard", "s")
    assert bare["models"] == ["line 2", "line 3"]


def test_models_without_a_score_are_refused_or_left_out_of_everything(table):
    file = table("model,p,q,s\na,1,3,1\nb,,2,2\nc,3,1,3\n")
    asked = ["rank_metrics", file, "--proposed", "p", "q", "--standard", "s"]
    with pytest.raises(CommandError, match="Line 3: p has no score"):
        output_of(*asked)
    report = run_json(*asked, "--skip-missing", "--sums")
    assert (report["models"], report["left_out"]) == (["a", "c"], ["b"])
    assert report["ranks"]["q"] == [1, 2]
    assert report["correlations"]["p+q"]["s"]["undefined"] == UndefinedReason.ALL_VALUES_EQUAL
    assert "undefined for p+q with s" in output_of(*asked, "--skip-missing", "--sums")


def test_too_many_sums_are_refused(table):
    names = [f"m{number}" for number in range(11)]
    file = table(",".join([*names, "s"]) + "\n" + "\n".join(",".join(["1"] * 12) for _ in range(2)))
    with pytest.raises(CommandError, match="10 proposed metrics at most, not 11"):
        output_of("rank_metrics", file, "--proposed", *names, "--standard", "s", "--sums")


def test_a_value_of_a_group_may_hold_a_comma(table):
    file = table('model,x,y\n"A, large",1,2\nB,2,1\n"A, large",3,4\nA,4,3\n')
    report = correlate(file, "--metric", "y", "--group", 'model="A, large", B', human="x")

    assert [part["metrics"]["y"]["evaluations"] for part in report["parts"]] == [4, 3, 1]
    assert report["notes"] == []


@pytest.mark.parametrize("option", ["language", "language=", "=zh", "language= , "])
def test_a_group_is_a_column_and_its_values(table, option):
    with pytest.raises(CommandError, match="a column and its values"):
        correlate(table(EVALUATIONS), "--metric", "flat", "--group", option)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        *((0.125, 2, "0.13"), (-0.125, 2, "-0.13"), (0.285, 2, "0.29"), (-0.001, 2, "0.00")),
        *((1.0, 3, "1.000"), (1e-9, 4, "0.0000")),
    ],
)
def test_halves_are_rounded_away_from_zero_and_zero_has_no_sign(value, digits, text):
    assert rounded_number(value, digits) == text


def test_what_is_near_an_end_of_its_scale_is_not_printed_as_the_end():
    assert [percent_text(100 * right / 3000) for right in (3000, 2999, 1, 0)] == ["100.0", "99.97", "0.03", "0.0"]
    assert [signed_points(points) for points in (100, 99.97, -99.97, -0.04)] == ["+100.0", "+99.97", "-99.97", "+0.0"]
    assert [rounded_number(r, 2, ends=(-1, 1)) for r in (1, 1 - 1e-15, 0.9996, -0.999)] == [
        "1.00",
        "1.00",
        "0.9996",
        "-0.999",
    ]


def test_a_column_is_found_whatever_its_capitals_and_blanks_unless_two_could_be_meant():
    read = parse_table("∆ CIDEr,delta cider,Delta_CIDEr\n1,2,3\n".encode(), asked=[])
    assert read.place("δcider") == 0
    assert read.place("delta cider") == 1
    with pytest.raises(FileRefusedError, match="any of several"):
        read.place("DELTA CIDER")


def test_the_examples_of_the_guide_are_what_is_printed():
    guide = (ROOT / "docs" / "researchers.md").read_text(encoding="utf-8")
    printed = [
        output_of(
            *("correlate", published("tables/crossmodal_draft_table5.csv"), "--human", "sxs_gain", "--no-flip"),
            *("--metric", "delta_cider_3600", "delta_cider_val", "--as-published"),
        ),
        of_table_2(),
    ]
    for text, start, end in zip(
        printed, ("  evaluations", "  WMDRel"), ("  matthews", "  WMDRel+CLinRel+CMedRel"), strict=True
    ):
        lines = text.splitlines()
        first = next(place for place, line in enumerate(lines) if line.startswith(start + " "))
        last = next(place for place, line in enumerate(lines) if line.startswith(end + " "))
        assert "\n".join(lines[first - 1 : last + 1]) in guide


def test_every_reason_has_words():
    assert all(str(message).endswith(".") for message in MESSAGES.values())
