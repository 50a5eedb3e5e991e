"""Tables of the figures of comparisons, as CSV and LaTeX."""

from __future__ import annotations

import re

import pytest

from research.inference.models import CaptioningModel
from sxs_eval.formats.figure_tables import COLUMNS as TABLE_COLUMNS
from sxs_eval.formats.figure_tables import TableLayout, table, tex
from sxs_eval.models import Comparison
from tests.factories import (
    make_captioner,
    make_collection,
    make_comparison,
    make_project,
)
from tests.sxs_eval.downloaded import cells, make_judged
from tests.sxs_eval.judged import judged_once, report, results

pytestmark = pytest.mark.django_db


@pytest.fixture
def comparison(made_once) -> Comparison:
    return made_once(make_judged)


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
