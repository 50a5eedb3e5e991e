"""The figures of all comparisons of a project as a table for a paper: CSV, and LaTeX for the package booktabs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from core.people.models import Project
from crosslens_metrics.gains import MIN_RATERS
from crosslens_metrics.reports.comparison import METHOD, VERSION
from crosslens_metrics.reports.comparison_figures import (
    GainFigure,
    MeanGain,
    SignTest,
    UndefinedComparison,
    WithOtherRaters,
)
from crosslens_metrics.reports.figures import CERTAIN, percent_text, rounded_number, signed_points
from crosslens_metrics.sampling.intervals import Interval
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter
from sxs_eval.selectors.across import SEED, ComparisonResult, OverallResults, interval_of, other_raters_of
from sxs_eval.selectors.results import RESAMPLES, looks_before
from tabular.downloads import CSV_TYPE, cells_of, csv_lines, stamp

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
IntervalOf = Callable[[GainFigure | UndefinedComparison], Interval | UndefinedComparison | None]
INTERVALS: Mapping[str, IntervalOf] = {"interval": interval_of, "other_raters": other_raters_of}
"""By their names in `GainFigure.primary`."""
METHOD_NAME = f"{METHOD}/{VERSION}"


class TableLayout(TextChoices):
    CSV = "csv", _("Table (CSV)")
    TEX = "tex", _("Table (LaTeX)")

    @property
    def content_type(self) -> str:
        return CSV_TYPE if self is TableLayout.CSV else "application/x-tex; charset=utf-8"


def _language(row: ComparisonResult) -> str:
    return row.comparison.language_id if row.comparison else f"pooled over {len(row.comparisons)}"


def _seed(row: ComparisonResult) -> int:
    return row.comparison.seed if row.comparison else SEED


def _bound(row: ComparisonResult, name: str, of: IntervalOf = interval_of) -> float | None:
    interval = of(row.gain)
    return getattr(interval, name) if isinstance(interval, Interval) else None


def _method(row: ComparisonResult) -> str | None:
    interval = interval_of(row.gain)
    return str(interval.design.method) if isinstance(interval, Interval) and interval.design else None


def _anytime_bound(row: ComparisonResult, name: str) -> float | None:
    return getattr(row.anytime_interval, name) if isinstance(row.anytime_interval, Interval) else None


def _reasons(row: ComparisonResult) -> str:
    return "; ".join(f"{name}: {figure.reason}" for name, figure in row.undefined.items())


COLUMNS: Mapping[str, Callable[[ComparisonResult], Any]] = {
    "comparison": lambda row: row.comparison and row.comparison.pk,
    "base_model": lambda row: row.base,
    "test_model": lambda row: row.test,
    "language": _language,
    "images": lambda row: row.images,
    "outcomes": lambda row: row.outcomes,
    "incomplete": lambda row: row.incomplete,
    "counted_similar": lambda row: row.counted_similar,
    "set_aside": lambda row: row.set_aside,
    "wins": lambda row: row.wins,
    "losses": lambda row: row.losses,
    "wins_percent": lambda row: row.percent(row.wins),
    "losses_percent": lambda row: row.percent(row.losses),
    "gain": lambda row: row.gain.points if isinstance(row.gain, GainFigure) else None,
    "gain_low": lambda row: _bound(row, "low"),
    "gain_high": lambda row: _bound(row, "high"),
    "gain_method": _method,
    "other_raters_low": lambda row: _bound(row, "low", other_raters_of),
    "other_raters_high": lambda row: _bound(row, "high", other_raters_of),
    "other_raters_p": lambda row: (
        row.gain.other_raters.p
        if isinstance(row.gain, GainFigure) and isinstance(row.gain.other_raters, WithOtherRaters)
        else None
    ),
    "mean_gain": lambda row: row.random_effects.points if isinstance(row.random_effects, MeanGain) else None,
    "mean_gain_low": lambda row: row.random_effects.interval.low if isinstance(row.random_effects, MeanGain) else None,
    "mean_gain_high": lambda row: (
        row.random_effects.interval.high if isinstance(row.random_effects, MeanGain) else None
    ),
    "raters": lambda row: row.gain.raters if isinstance(row.gain, GainFigure) else None,
    "shared_raters": lambda row: None if row.comparison else row.shared_raters,
    "p": lambda row: row.sign_test.p if isinstance(row.sign_test, SignTest) else None,
    "p_holm": lambda row: row.corrected and row.corrected.sign_test,
    "other_raters_p_holm": lambda row: row.corrected and row.corrected.other_raters,
    "alpha": lambda row: row.alpha if isinstance(row.alpha, float) else None,
    "undefined": _reasons,
    "planned_images": lambda row: row.planned_images,
    "looks": lambda row: row.comparison and looks_before(row.comparison, row.planned_images),
    "chosen_by": lambda row: row.comparison.chosen_by if row.comparison else "",
    "source": lambda row: row.comparison.source if row.comparison else "",
    "anytime_low": lambda row: _anytime_bound(row, "low"),
    "anytime_high": lambda row: _anytime_bound(row, "high"),
    "replication": lambda row: row.comparison and row.comparison.replication,
    "scale": lambda row: row.comparison and row.comparison.scale,
    "seed": _seed,
    "resamples": lambda row: RESAMPLES,
    "method": lambda row: METHOD_NAME,
    "signature": lambda row: row.signature,
}
"""Numbers as they were computed; `undefined` names the reasons for missing ones."""


def table_name(project: Project, layout: TableLayout, until: datetime, images: ImageFilter = ALL_IMAGES) -> str:
    return f"{project.slug}-comparisons{images.in_file_names()}-{stamp(until)}.{layout}"


def table(overall: OverallResults, layout: TableLayout) -> str:
    rows = [*overall.results, *overall.pooled]
    if layout is TableLayout.TEX:
        return "".join(_as_tex(rows, overall))
    return "".join(csv_lines(COLUMNS, (row.values() for row in cells_of(COLUMNS, rows))))


def _as_tex(rows: Sequence[ComparisonResult], overall: OverallResults) -> Iterator[str]:
    seeds = ", ".join(dict.fromkeys(str(_seed(row)) for row in rows)) or "none"
    replications = dict.fromkeys(str(row.comparison.replication) for row in rows if row.comparison)
    yield (
        f"% {METHOD_NAME}; replication {', '.join(replications) or 'none'}; {RESAMPLES} bootstrap resamples of images "
        f"(exact where they are few); seeds {seeds} (row by row); -- is undefined\n"
    )
    yield "% Needs \\usepackage{booktabs}\n"
    yield (
        "% Intervals hold for other images with these raters, as published, or with other raters like them; "
        f"* is the one to rely on, from {MIN_RATERS} raters on the latter; p is with these raters, "
        "Holm allows for all comparisons\n"
    )
    yield "\\begin{tabular}{lllrrrrrrlllll}\n\\toprule\n"
    yield (
        "& & & & & & & & \\multicolumn{2}{c}{95\\% interval} & & & \\\\\n"
        "Base & Test & Language & Raters & Images & Incomplete & WINS & LOSSES & $\\Delta$SxS & these raters & "
        "other raters & $p$ & Holm & $\\alpha$ \\\\\n\\midrule\n"
    )
    is_pooled = False
    for row in rows:
        if row.comparison is None and not is_pooled:
            is_pooled = True
            yield "\\midrule\n"
        yield " & ".join(_tex_cells(row)) + " \\\\\n"
    yield "\\bottomrule\n\\end{tabular}\n"
    if overall.unlike:
        yield f"% rows should not be compared, because they differ in {'; '.join(overall.unlike)}\n"
    if overall.are_images_apart:
        yield "% some images lack judgements, so rows are not all over the same images yet\n"
    for number, row in enumerate(rows, start=1):
        yield f"% row {number}: {row.signature}\n"
        if row.unlike:
            yield f"% row {number}: its comparisons differ in {'; '.join(row.unlike)}\n"
        if row.comparison is None:
            yield f"% row {number}: percentages of {row.outcomes} outcomes, one per image and comparison\n"
        if reasons := _reasons(row):
            yield f"% row {number}: undefined {reasons}\n"


def _tex_cells(row: ComparisonResult) -> Iterator[str]:
    yield from (tex(text) for text in (row.base, row.test, _language(row)))
    yield str(row.gain.raters) if isinstance(row.gain, GainFigure) else "--"
    yield str(row.images)
    yield str(row.incomplete)
    for count in (row.wins, row.losses):
        percent = row.percent(count)
        yield "--" if percent is None else percent_text(percent)
    yield f"${signed_points(row.gain.points)}$" if isinstance(row.gain, GainFigure) else "--"
    yield from (_tex_interval(row, name, interval) for name, interval in INTERVALS.items())
    yield "--" if isinstance(row.sign_test, UndefinedComparison) else _tex_p(row.sign_test.p)
    holm = row.corrected.sign_test if row.corrected else None
    yield "" if holm is None else _tex_p(holm)
    yield "--" if isinstance(row.alpha, UndefinedComparison) else _tex_alpha(row.alpha)


def _tex_interval(row: ComparisonResult, name: str, of: IntervalOf) -> str:
    """Before all planned images are complete none is marked, as on pages."""
    interval = of(row.gain)
    if not isinstance(interval, Interval):
        return "--"
    is_complete = not row.incomplete if row.planned_images is None else row.images >= row.planned_images
    mark = "$^{*}$" if isinstance(row.gain, GainFigure) and row.gain.primary == name and is_complete else ""
    return f"[${signed_points(interval.low)}$, ${signed_points(interval.high)}$]{mark}"


def _tex_alpha(alpha: float | None) -> str:
    return "" if alpha is None else f"${rounded_number(alpha, 3, ends=CERTAIN)}$"


def _tex_p(p: float) -> str:
    return f"${p:.4f}$" if p >= 0.0001 else "$<0.0001$"


def tex(text: str) -> str:
    """Escape `text` for LaTeX."""
    return "".join(character if character.isprintable() else " " for character in text).translate(TEX_ESCAPES)
