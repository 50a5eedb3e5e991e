"""The figures of a report, and why one may have no value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from crosslens_metrics.messages import gettext
from crosslens_metrics.messages import gettext_noop as _
from crosslens_metrics.ranking import StrengthBound
from crosslens_metrics.reports.figures import AbsentFigure, ReportFigure
from crosslens_metrics.sampling.intervals import Interval, share_interval
from crosslens_metrics.sampling.significance import sign_test
from crosslens_metrics.signatures import Signature
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason


class ComparisonReason(StrEnum):
    """Reasons that only a report knows, besides those of `crosslens_metrics.undefined.UndefinedReason`."""

    NO_SIDE_PREFERRED = "no_side_preferred"
    NO_REPEATS = "no_repeats"
    NO_TIMES = "no_times"


MESSAGES: dict[UndefinedReason | ComparisonReason, str] = {
    UndefinedReason.NO_IMAGES: _("No image has all its judgements yet."),
    UndefinedReason.NO_DECIDED: _("No image has a majority for either model, so there is nothing to test."),
    UndefinedReason.ONE_DECIDED: _("One image alone has a majority for a model, too few to go by."),
    UndefinedReason.FEW_WINS: _("Fewer than 5 wins either way link it with the others, too few for an interval."),
    UndefinedReason.ONE_COMPARISON: _("There is no mean over comparisons: only one has images with all judgements."),
    UndefinedReason.ONE_RATER: _("All judgements are by one rater, so they do not show how raters differ."),
    UndefinedReason.MORE_RATERS: _("More images by the same raters would not be enough: it takes more raters."),
    UndefinedReason.NO_VARIATION: _("All resamples of the images give the same figure, so they show no uncertainty."),
    UndefinedReason.NO_PAIR_OF_RATINGS: _("No image was judged by two raters, so agreement cannot be measured."),
    UndefinedReason.ALL_RATINGS_EQUAL: _(
        "All judgements are the same, so agreement cannot be distinguished from chance."
    ),
    UndefinedReason.RESAMPLES_UNDEFINED: _(
        "There are too few images: the figure is undefined in some bootstrap resamples."
    ),
    UndefinedReason.UNIT_NEEDED: _(
        "Without one of the raters or images the figure is undefined, so they do not show how others differ."
    ),
    UndefinedReason.MODELS_NOT_CONNECTED: _("Some models were never compared with the others, even indirectly."),
    UndefinedReason.MODEL_NEVER_LOSES: _(
        "Some models never lost an image to the others, so their lead cannot be measured."
    ),
    UndefinedReason.NO_MODELS: _("There are no models to rank."),
    UndefinedReason.STRENGTH_UNBOUNDED: _(
        "One side won every image, so the judgements cannot say how large the lead is."
    ),
    UndefinedReason.GROUP_UNBOUNDED: _(
        "Every comparison between its group and other models is one-sided, so the judgements cannot say how large the "
        "lead is."
    ),
    UndefinedReason.NOT_COMPARED: _(
        "The two were never compared, and judgements against other models cannot say how large the lead is."
    ),
    UndefinedReason.NOT_CONVERGED: _("The estimation of the strengths did not converge."),
    UndefinedReason.NO_DIFFERENCE: _("The images show no difference that more images could confirm."),
    ComparisonReason.NO_SIDE_PREFERRED: _("No judgement with a known side prefers one."),
    ComparisonReason.NO_REPEATS: _("No pair was shown a second time to the same rater."),
    ComparisonReason.NO_TIMES: _("No judgement says how long it took."),
}


BOUNDS: dict[StrengthBound, str] = {
    StrengthBound.NEVER_LOST: _("never lost"),
    StrengthBound.NEVER_WON: _("never won"),
    StrengthBound.GROUP: _("won all or lost all against each model outside its group"),
}
"""Marks of models whose strength only the prior keeps finite."""


def bound_message(bound: StrengthBound) -> str:
    """The mark of a model, or nothing where judgements bound its strength."""
    return gettext(BOUNDS[bound]) if bound in BOUNDS else ""


@dataclass(frozen=True)
class UndefinedComparison(AbsentFigure):
    messages = MESSAGES
    reason: UndefinedReason | ComparisonReason


value_or_reason = UndefinedComparison.value_or_reason


@dataclass(frozen=True)
class ImagePart(ReportFigure):
    """Some of the images of the denominator."""

    count: int
    percent: float | UndefinedComparison


@dataclass(frozen=True)
class TrialShare(ReportFigure):
    """A share of trials with its exact (Clopper-Pearson) 95% interval, both in percent."""

    count: int
    total: int
    percent: float
    interval: Interval


@dataclass(frozen=True)
class WithOtherRaters(ReportFigure):
    """The interval of a gain over other images and other raters, in percentage points, and the p-value of no gain.

    `to_see` is how many images an 80% chance takes that it leaves out zero, if the gain is what was seen.
    """

    interval: Interval
    p: float
    to_see: int | UndefinedComparison

    @property
    def images(self) -> str | UndefinedComparison:
        """`to_see` as text, where too few raters are an answer."""
        if isinstance(self.to_see, int):
            return str(self.to_see)
        is_none = self.to_see.reason == UndefinedReason.MORE_RATERS
        return gettext("none: more raters are needed") if is_none else self.to_see


@dataclass(frozen=True)
class GainFigure(ReportFigure):
    """WINS − LOSSES in percentage points, with the published 95% interval, over images and with these raters."""

    points: float
    interval: Interval | UndefinedComparison
    other_raters: WithOtherRaters | UndefinedComparison
    raters: int
    primary: str
    """Which of the two answers the usual question, whether the model is better: `interval` or `other_raters`."""


@dataclass(frozen=True)
class SeveralTests(ReportFigure):
    """p-values of one of several comparisons, with these raters and with others; None where there is none."""

    sign_test: float | None
    other_raters: float | None


@dataclass(frozen=True)
class MeanGain(ReportFigure):
    """The mean gain over comparisons, each with a true gain of its own, in percentage points."""

    points: float
    interval: Interval


@dataclass(frozen=True)
class SignTest(ReportFigure):
    p: float
    decided: int


def sign_test_of(wins: int, losses: int, *, images: int) -> SignTest:
    """Raises UndefinedFigureError where there are no images, or none is decided."""
    if not images:
        raise UndefinedFigureError(UndefinedReason.NO_IMAGES, "No image is complete.")
    return SignTest(sign_test(wins, losses), wins + losses)


@dataclass(frozen=True)
class GainPrecision(ReportFigure):
    """How many images, and how many more than now, an interval of `width_points` takes.

    `to_see` is how many an 80% chance takes that the interval with these raters leaves out zero, if the gain is what
    was seen.
    """

    width_points: float
    images: int
    more: int
    to_see: int | UndefinedComparison


@dataclass(frozen=True)
class ImageCounts(ReportFigure):
    """`denominator` = complete + counted_similar; beside it `incomplete` images, by how many judgements they have."""

    denominator: int
    complete: int
    counted_similar: int
    incomplete: int
    incomplete_by_judgements: Mapping[int, int]
    beyond_replication: int
    """Complete images with more judgements than asked for, all of which count."""


@dataclass(frozen=True)
class AlphaFigure(ReportFigure):
    """Ordinal Krippendorff's alpha over the images that two raters or more judged, incomplete ones included (ours).

    `interval` is over images, with these raters. `same_side` is how many percent of the pairs of judgements of an image
    prefer the same caption, or both neither.
    """

    images: int
    value: float
    same_side: float
    interval: Interval | UndefinedComparison
    other_raters: Interval | UndefinedComparison


@dataclass(frozen=True)
class JudgingTimes(ReportFigure):
    judgements: int
    median: float
    quartiles: Interval


@dataclass(frozen=True)
class FlipShares(ReportFigure):
    """Of repeats: how many have the same sign (a tie is one) as the first time, and how many the opposite."""

    same: TrialShare | UndefinedComparison
    opposite: TrialShare | UndefinedComparison


@dataclass(frozen=True)
class RaterFigures(ReportFigure):
    rater: str
    judgements: int
    left: TrialShare | UndefinedComparison
    """Of the judgements that prefer a side, how many prefer the left one."""
    flips: FlipShares
    seconds_median: float | UndefinedComparison


@dataclass(frozen=True)
class ComparisonOutcome(ReportFigure):
    """The gain over some images."""

    images: ImageCounts
    wins: ImagePart
    losses: ImagePart
    neither: ImagePart
    gain: GainFigure | UndefinedComparison
    sign_test: SignTest | UndefinedComparison
    anytime_interval: Interval | UndefinedComparison
    """Of the gain, in points: it holds however often somebody looks while judgements come in."""


@dataclass(frozen=True)
class RegionOutcome(ReportFigure):
    """`region` is empty for images whose region is unknown."""

    region: str
    outcome: ComparisonOutcome


@dataclass(frozen=True)
class ReportedFigures(ReportFigure):
    signature: Signature
    """Two reports may be compared where `signatures.differences` finds nothing."""
    judgements: int
    set_aside: int
    """Judgements that were made and do not count."""
    outcome: ComparisonOutcome
    precision: GainPrecision | UndefinedComparison
    alpha: AlphaFigure | UndefinedComparison
    distribution: Mapping[int, int]
    """How many judgements gave each score."""
    left: TrialShare | UndefinedComparison
    flips: FlipShares
    seconds: JudgingTimes | UndefinedComparison
    raters: tuple[RaterFigures, ...]
    regions: tuple[RegionOutcome, ...]


@dataclass(frozen=True)
class ComparisonSummary(ReportFigure):
    """What a table of many comparisons shows of one: the same figures as in its report."""

    outcome: ComparisonOutcome
    alpha: float | UndefinedComparison


def share_of_trials(count: int, total: int, missing: ComparisonReason) -> TrialShare | UndefinedComparison:
    if not total:
        return UndefinedComparison(missing)
    interval = share_interval(count, total)
    return TrialShare(count, total, 100 * count / total, Interval(100 * interval.low, 100 * interval.high))
