"""The reports on a file of judgements: each comparison, those of the same two models together, and all models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from crosslens_metrics.formats.judgements import FileComparison, JudgementFile
from crosslens_metrics.gains import DecidedImages
from crosslens_metrics.messages import gettext as _
from crosslens_metrics.reports.comparison import build_report, decided
from crosslens_metrics.reports.comparison_figures import ReportedFigures, SeveralTests
from crosslens_metrics.reports.comparisons import ModelContest, ModelRanking, PooledGain, pool, rank_models
from crosslens_metrics.reports.figures import ReportFigure
from crosslens_metrics.reports.gain_figures import several_tests
from crosslens_metrics.reports.judgement_lines import (
    pooled_lines,
    ranking_lines,
    report_lines,
    tests_lines,
    unlike_lines,
)
from crosslens_metrics.signatures import Signature, differences

MAX_ALIKE_SHOWN = 5


@dataclass(frozen=True)
class PooledReport(ReportFigure):
    """Of all comparisons of one base and one test model, or of all of the file where it names no models.

    `comparisons` are those that have outcomes.
    """

    base_model: str
    test_model: str
    comparisons: tuple[str, ...]
    incomplete: int
    """Images that lack judgements, of all comparisons of the two models."""
    figures: PooledGain


@dataclass(frozen=True)
class FileReport(ReportFigure):
    """`unlike` says in what the comparisons differ, so that their figures should not be compared."""

    comparisons: tuple[tuple[FileComparison, ReportedFigures], ...]
    unlike: tuple[str, ...]
    pooled: tuple[PooledReport, ...]
    ranking: ModelRanking | None
    """None where fewer models have outcomes than take a ranking."""
    ignored_columns: tuple[str, ...]
    alike_images: tuple[tuple[str, str], ...]

    def _tests(self, *, corrected: bool) -> tuple[SeveralTests, ...]:
        outcomes = [report.outcome for _comparison, report in self.comparisons]
        return several_tests([(outcome.gain, outcome.sign_test) for outcome in outcomes], corrected=corrected)

    def as_json(self) -> dict[str, Any]:
        comparisons = [
            {
                "comparison": comparison.name,
                "base_model": comparison.base_model,
                "test_model": comparison.test_model,
                "gold": comparison.gold,
                "duplicates": comparison.duplicates,
                "repeats_without_first": comparison.repeats_without_first,
                "report": report.as_json(),
                "p_holm": p_holm.as_json(),
            }
            for (comparison, report), p_holm in zip(self.comparisons, self._tests(corrected=True), strict=True)
        ]
        return super().as_json() | {"comparisons": comparisons}

    def lines(self) -> Iterator[str]:
        for comparison, report in self.comparisons:
            yield _title(comparison)
            yield from _notes(comparison)
            yield from report_lines(report)
            yield ""
        if len(self.comparisons) > 1:
            yield _("All comparisons")
            yield from unlike_lines(self.unlike)
            yield from tests_lines(self._tests(corrected=False), self._tests(corrected=True))
            yield ""
        for pooled in self.pooled:
            models = _models(pooled.base_model, pooled.test_model)
            yield _("All comparisons%(of)s: %(names)s") % {"of": models, "names": ", ".join(pooled.comparisons)}
            yield from pooled_lines(pooled.figures, incomplete=pooled.incomplete)
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

    - `replication`: how many judgements an image needs.
    - `resamples`: of the bootstrap.
    """
    reports = []
    outcomes: list[tuple[FileComparison, DecidedImages]] = []
    signatures: dict[str, Signature] = {}
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
        reports.append((comparison, report))
        signatures[comparison.name] = report.signature
        incomplete[comparison.name] = report.outcome.images.incomplete
        outcomes.append((comparison, decided(comparison.judged, replication=replication, similar=comparison.equal)))
    contests = [
        ModelContest(comparison.base_model, comparison.test_model, part, signatures[comparison.name])
        for comparison, part in outcomes
        if comparison.base_model
    ]
    return FileReport(
        comparisons=tuple(reports),
        unlike=tuple(differences(*signatures.values())),
        pooled=tuple(_pooled(outcomes, signatures, incomplete, seed, resamples)),
        ranking=rank_models(contests),
        ignored_columns=judgements.ignored_columns,
        alike_images=judgements.alike_images,
    )


def _equal_by_region(comparison: FileComparison) -> dict[str, int]:
    return dict(Counter(map(comparison.region_of.__getitem__, comparison.equal))) if comparison.region_of else {}


def _pooled(
    outcomes: list[tuple[FileComparison, DecidedImages]],
    signatures: Mapping[str, Signature],
    incomplete: Mapping[str, int],
    seed: int,
    resamples: int,
) -> Iterator[PooledReport]:
    """Pool comparisons of the same two models, whichever is the base; judgements on different scales stay apart."""
    by_models: dict[tuple[str, str, int], list[tuple[FileComparison, DecidedImages]]] = {}
    for comparison, part in outcomes:
        base, test, points = comparison.base_model, comparison.test_model, comparison.judged.scale.points
        is_turned = (test, base, points) in by_models and base != test
        by_models.setdefault((test, base, points) if is_turned else (base, test, points), []).append(
            (comparison, part.turned() if is_turned else part)
        )
    for (base, test, _points), parts in by_models.items():
        if len(parts) > 1:
            names = tuple(comparison.name for comparison, part in parts if len(part.outcome))
            signed = [signatures[comparison.name] for comparison, _part in parts]
            pooled = pool([part for _, part in parts], seed=seed, resamples=resamples, signatures=signed)
            lacking = sum(incomplete[comparison.name] for comparison, _ in parts)
            yield PooledReport(base, test, names, lacking, pooled)


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
