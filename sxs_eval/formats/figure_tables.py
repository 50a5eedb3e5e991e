"""The figures of all comparisons of a project as a table for a paper: CSV, and LaTeX for the package booktabs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from core.people.models import Project
from crosslens_metrics.intervals import Interval
from crosslens_metrics.reports.comparison import METHOD, VERSION
from crosslens_metrics.reports.comparison_figures import GainFigure, SignTest, UndefinedComparison
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter
from sxs_eval.selectors.across import SEED, ComparisonResult, OverallResults, PooledResult
from sxs_eval.selectors.results import RESAMPLES
from tabular.downloads import cells_of, stamp, table_lines
from tabular.spreadsheets import CSV_TYPE

TEX_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        # After the end of a row, a bracket would begin an option.
        "[": "{[}",
        "]": "{]}",
    }
)
METHOD_NAME = f"{METHOD}/{VERSION}"


class TableLayout(TextChoices):
    CSV = "csv", _("Table (CSV)")
    TEX = "tex", _("Table (LaTeX)")

    @property
    def content_type(self) -> str:
        return CSV_TYPE if self is TableLayout.CSV else "application/x-tex; charset=utf-8"


@dataclass(frozen=True)
class TableRow:
    """A comparison, or several of the same two models: then it has no number, and `language` counts them."""

    comparison: int | None
    base_model: str
    test_model: str
    language: str
    images: int
    outcomes: int
    """What wins and losses are shares of: for several comparisons, outcomes rather than images."""
    incomplete: int
    counted_similar: int
    set_aside: int
    wins: int
    losses: int
    gain: GainFigure | UndefinedComparison
    sign_test: SignTest | UndefinedComparison
    alpha: float | UndefinedComparison | None
    replication: int | None
    scale: int | None
    seed: int

    @property
    def reasons(self) -> str:
        """Return which figures are undefined, and why."""
        interval = self.gain.interval if isinstance(self.gain, GainFigure) else None
        figures = {"gain": self.gain, "interval": interval, "p": self.sign_test, "alpha": self.alpha}
        return "; ".join(
            f"{name}: {figure.reason}" for name, figure in figures.items() if isinstance(figure, UndefinedComparison)
        )

    @property
    def points(self) -> GainFigure | None:
        return self.gain if isinstance(self.gain, GainFigure) else None

    @property
    def interval(self) -> Interval | None:
        return self.points.interval if self.points and isinstance(self.points.interval, Interval) else None

    def percent(self, count: int) -> float | None:
        return 100 * count / self.outcomes if self.outcomes else None


COLUMNS: Mapping[str, Callable[[TableRow], Any]] = {
    "comparison": lambda row: row.comparison,
    "base_model": lambda row: row.base_model,
    "test_model": lambda row: row.test_model,
    "language": lambda row: row.language,
    "images": lambda row: row.images,
    "outcomes": lambda row: row.outcomes,
    "incomplete": lambda row: row.incomplete,
    "counted_similar": lambda row: row.counted_similar,
    "set_aside": lambda row: row.set_aside,
    "wins": lambda row: row.wins,
    "losses": lambda row: row.losses,
    "wins_percent": lambda row: row.percent(row.wins),
    "losses_percent": lambda row: row.percent(row.losses),
    "gain": lambda row: row.points.points if row.points else None,
    "gain_low": lambda row: row.interval.low if row.interval else None,
    "gain_high": lambda row: row.interval.high if row.interval else None,
    "p": lambda row: row.sign_test.p if isinstance(row.sign_test, SignTest) else None,
    "alpha": lambda row: row.alpha if isinstance(row.alpha, float) else None,
    "undefined": lambda row: row.reasons,
    "replication": lambda row: row.replication,
    "scale": lambda row: row.scale,
    "seed": lambda row: row.seed,
    "resamples": lambda row: RESAMPLES,
    "method": lambda row: METHOD_NAME,
}
"""Numbers as they were computed; `undefined` names the reasons for missing ones."""


def table_name(project: Project, layout: TableLayout, until: datetime, images: ImageFilter = ALL_IMAGES) -> str:
    return f"{project.slug}-comparisons{images.in_file_names()}-{stamp(until)}.{layout}"


def table(overall: OverallResults, layout: TableLayout) -> str:
    rows = [*map(_row, overall.results), *map(_pooled_row, overall.pooled)]
    if layout is TableLayout.TEX:
        return "".join(_as_tex(rows))
    return "".join(table_lines(COLUMNS, cells_of(COLUMNS, rows), as_csv=True))


def _row(result: ComparisonResult) -> TableRow:
    comparison, outcome = result.comparison, result.summary.outcome
    return TableRow(
        comparison=comparison.pk,
        base_model=comparison.base.name,
        test_model=comparison.test.name,
        language=comparison.language_id,
        images=outcome.images.denominator,
        incomplete=outcome.images.incomplete,
        counted_similar=outcome.images.counted_similar,
        set_aside=result.set_aside.total,
        wins=outcome.wins.count,
        losses=outcome.losses.count,
        outcomes=outcome.images.denominator if isinstance(outcome.gain, GainFigure) else 0,
        gain=outcome.gain,
        sign_test=outcome.sign_test,
        alpha=result.summary.alpha,
        replication=comparison.replication,
        scale=comparison.scale,
        seed=comparison.seed,
    )


def _pooled_row(result: PooledResult) -> TableRow:
    pooled = result.pooled
    return TableRow(
        comparison=None,
        base_model=result.base,
        test_model=result.test,
        language=f"pooled over {pooled.comparisons}",
        images=pooled.images,
        incomplete=result.incomplete,
        counted_similar=result.counted_similar,
        set_aside=result.set_aside,
        wins=pooled.wins,
        losses=pooled.losses,
        outcomes=pooled.outcomes,
        gain=pooled.gain,
        sign_test=pooled.sign_test,
        alpha=None,
        replication=None,
        scale=None,
        seed=SEED,
    )


def _as_tex(rows: Sequence[TableRow]) -> Iterator[str]:
    seeds = ", ".join(dict.fromkeys(str(row.seed) for row in rows)) or "none"
    replications = ", ".join(dict.fromkeys(str(row.replication) for row in rows if row.replication)) or "none"
    yield (
        f"% {METHOD_NAME}; replication {replications}; {RESAMPLES} bootstrap resamples of images; "
        f"seeds {seeds} (row by row); -- is undefined\n"
    )
    yield "% Needs \\usepackage{booktabs}\n"
    yield "\\begin{tabular}{lllrrrrlll}\n\\toprule\n"
    yield (
        "Base & Test & Language & Images & Incomplete & WINS & LOSSES & $\\Delta$SxS [95\\% interval] & $p$ & "
        "$\\alpha$ \\\\\n\\midrule\n"
    )
    is_pooled = False
    for row in rows:
        if row.comparison is None and not is_pooled:
            is_pooled = True
            yield "\\midrule\n"
        yield " & ".join(_tex_cells(row)) + " \\\\\n"
    yield "\\bottomrule\n\\end{tabular}\n"
    for number, row in enumerate(rows, start=1):
        if row.comparison is None:
            yield f"% row {number}: percentages of {row.outcomes} outcomes, one per image and comparison\n"
        if row.reasons:
            yield f"% row {number}: undefined {row.reasons}\n"


def _tex_cells(row: TableRow) -> Iterator[str]:
    yield from (tex(text) for text in (row.base_model, row.test_model, row.language))
    yield str(row.images)
    yield str(row.incomplete)
    for count in (row.wins, row.losses):
        yield f"{row.percent(count):.1f}" if row.outcomes else "--"
    yield _tex_gain(row.gain)
    yield _tex_p(row.sign_test)
    yield "" if row.alpha is None else "--" if isinstance(row.alpha, UndefinedComparison) else f"${row.alpha:.3f}$"


def _tex_gain(gain: GainFigure | UndefinedComparison) -> str:
    if isinstance(gain, UndefinedComparison):
        return "--"
    interval = gain.interval
    if isinstance(interval, UndefinedComparison):
        return f"{_points(gain.points)} [--]"
    return f"{_points(gain.points)} [{_points(interval.low)}, {_points(interval.high)}]"


def _points(value: float) -> str:
    # Adding zero removes the sign of a zero.
    return f"${round(value, 1) + 0.0:+.1f}$"


def _tex_p(test: SignTest | UndefinedComparison) -> str:
    if isinstance(test, UndefinedComparison):
        return "--"
    return f"${test.p:.4f}$" if test.p >= 0.0001 else "$<0.0001$"


def tex(text: str) -> str:
    """Escape `text` for LaTeX."""
    return "".join(character if character.isprintable() else " " for character in text).translate(TEX_ESCAPES)
