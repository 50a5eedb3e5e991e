"""The reports on a file of judgements: each comparison, those of the same two models together, and all models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from crosslens_metrics.formats.judgements import FileComparison, JudgementFile
from crosslens_metrics.messages import gettext as _
from crosslens_metrics.reports.comparison import DecidedImages, build_report, decided
from crosslens_metrics.reports.comparison_figures import ReportedFigures
from crosslens_metrics.reports.comparison_text import pooled_lines, ranking_lines, report_lines
from crosslens_metrics.reports.comparisons import ModelContest, ModelRanking, PooledGain, pool, rank_models

MAX_ALIKE_SHOWN = 5


@dataclass(frozen=True)
class ComparisonReport:
    comparison: FileComparison
    report: ReportedFigures


@dataclass(frozen=True)
class PooledReport:
    """Of all comparisons of one base and one test model, or of all of the file where it names no models.

    `comparisons` are those that have outcomes.
    """

    base_model: str
    test_model: str
    comparisons: tuple[str, ...]
    pooled: PooledGain
    incomplete: int
    """Images that lack judgements, of all comparisons of the two models."""


@dataclass(frozen=True)
class FileReport:
    comparisons: tuple[ComparisonReport, ...]
    pooled: tuple[PooledReport, ...]
    ranking: ModelRanking | None
    """None where fewer models have outcomes than take a ranking."""
    ignored_columns: tuple[str, ...]
    alike_images: tuple[tuple[str, str], ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "comparisons": [
                {
                    "comparison": part.comparison.name,
                    "base_model": part.comparison.base_model,
                    "test_model": part.comparison.test_model,
                    "gold": part.comparison.gold,
                    "duplicates": part.comparison.duplicates,
                    "repeats_without_first": part.comparison.repeats_without_first,
                    "report": part.report.as_json(),
                }
                for part in self.comparisons
            ],
            "pooled": [
                {
                    "base_model": part.base_model,
                    "test_model": part.test_model,
                    "comparisons": list(part.comparisons),
                    "incomplete": part.incomplete,
                    "figures": part.pooled.as_json(),
                }
                for part in self.pooled
            ],
            "ranking": None if self.ranking is None else self.ranking.as_json(),
            "ignored_columns": list(self.ignored_columns),
            "alike_images": [list(names) for names in self.alike_images],
        }

    def lines(self) -> Iterator[str]:
        for part in self.comparisons:
            yield _title(part.comparison)
            yield from _notes(part.comparison)
            yield from report_lines(part.report)
            yield ""
        for pooled in self.pooled:
            models = _models(pooled.base_model, pooled.test_model)
            yield _("All comparisons%(of)s: %(names)s") % {"of": models, "names": ", ".join(pooled.comparisons)}
            yield from pooled_lines(pooled.pooled, incomplete=pooled.incomplete)
            yield ""
        if self.ranking is not None:
            yield _("All models")
            yield from ranking_lines(self.ranking)
            yield ""
        if self.ignored_columns:
            yield _("Columns not read: %(names)s") % {"names": ", ".join(self.ignored_columns)}
        if self.alike_images:
            names = "; ".join(f"{one}, {other}" for one, other in self.alike_images[:MAX_ALIKE_SHOWN])
            message = _(
                "Counted as different images: %(names)s (pairs of such names: %(count)s). If two are one image, give "
                "it one name."
            )
            yield message % {"names": names, "count": len(self.alike_images)}


def report_on(judgements: JudgementFile, *, seed: int, replication: int, resamples: int) -> FileReport:
    """Everything that can be said of a file.

    Parameters
    ----------
    judgements : JudgementFile
    seed : int
    replication : int
        How many judgements an image needs.
    resamples : int
        Of the bootstrap.

    Returns
    -------
    FileReport
    """
    reports = []
    outcomes: list[tuple[FileComparison, DecidedImages]] = []
    incomplete: dict[str, int] = {}
    for comparison in judgements.comparisons:
        report = build_report(
            comparison.judged,
            seed=seed,
            replication=replication,
            repeats=comparison.repeats,
            region_of=comparison.region_of,
            set_aside=comparison.set_aside,
            counted_similar=len(comparison.equal),
            counted_similar_in=_equal_by_region(comparison),
            resamples=resamples,
        )
        reports.append(ComparisonReport(comparison, report))
        incomplete[comparison.name] = report.outcome.images.incomplete
        outcomes.append((comparison, decided(comparison.judged, replication=replication, similar=comparison.equal)))
    contests = [
        ModelContest(comparison.base_model, comparison.test_model, part)
        for comparison, part in outcomes
        if comparison.base_model
    ]
    return FileReport(
        comparisons=tuple(reports),
        pooled=tuple(_pooled(outcomes, incomplete, seed, resamples)),
        ranking=rank_models(contests, seed=seed, resamples=resamples),
        ignored_columns=judgements.ignored_columns,
        alike_images=judgements.alike_images,
    )


def _equal_by_region(comparison: FileComparison) -> dict[str, int]:
    return dict(Counter(map(comparison.region_of.__getitem__, comparison.equal))) if comparison.region_of else {}


def _pooled(
    outcomes: list[tuple[FileComparison, DecidedImages]], incomplete: dict[str, int], seed: int, resamples: int
) -> Iterator[PooledReport]:
    by_models: dict[tuple[str, str], list[tuple[FileComparison, DecidedImages]]] = {}
    for comparison, part in outcomes:
        by_models.setdefault((comparison.base_model, comparison.test_model), []).append((comparison, part))
    for (base, test), parts in by_models.items():
        if len(parts) > 1:
            names = tuple(comparison.name for comparison, part in parts if len(part.outcome))
            pooled = pool([part for _, part in parts], seed=seed, resamples=resamples)
            lacking = sum(incomplete[comparison.name] for comparison, _ in parts)
            yield PooledReport(base, test, names, pooled, lacking)


def _title(comparison: FileComparison) -> str:
    name = _("Comparison %(name)s") % {"name": comparison.name} if comparison.name else _("Comparison")
    return name + _models(comparison.base_model, comparison.test_model)


def _models(base: str, test: str) -> str:
    return " (" + _("%(test)s against %(base)s") % {"test": test, "base": base} + ")" if base else ""


def _notes(comparison: FileComparison) -> Iterator[str]:
    """What is in the file and not in the figures."""
    if comparison.duplicates:
        yield "  " + _("Identical lines counted once: %(number)s") % {"number": comparison.duplicates}
    if comparison.gold:
        yield "  " + _("Judgements of gold pairs, not part of any figure: %(number)s") % {"number": comparison.gold}
    if comparison.repeats_without_first:
        yield "  " + _("Repeats without a first judgement, not part of any figure: %(number)s") % {
            "number": comparison.repeats_without_first
        }
