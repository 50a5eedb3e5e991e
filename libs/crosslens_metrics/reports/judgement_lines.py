"""Reports on judgements as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crosslens_metrics.messages import gettext as _
from crosslens_metrics.messages import ngettext
from crosslens_metrics.reports.comparison_figures import (
    BOUNDS,
    AlphaFigure,
    ComparisonOutcome,
    GainFigure,
    ImageCounts,
    ImagePart,
    RaterFigures,
    ReportedFigures,
    SeveralTests,
    SignTest,
    TrialShare,
    UndefinedComparison,
    bound_message,
)
from crosslens_metrics.reports.comparisons import (
    ModelRanking,
    PooledGain,
    RankedComponent,
    RankedModel,
    RankedPair,
)
from crosslens_metrics.reports.figures import CERTAIN, percent_text, rounded_number, signed_points
from crosslens_metrics.reports.gain_figures import WIDTH_POINTS, several_tests
from crosslens_metrics.sampling.intervals import LEVEL, Interval

LABEL_WIDTH = 24
VALUE_WIDTH = 34
MIN_P = 0.0001


def report_lines(report: ReportedFigures) -> Iterator[str]:
    """All figures of one comparison."""
    yield f"  {report.signature}"
    yield from _outcome_lines(report.outcome)
    precision = report.precision
    yield line(
        _("Images for ± %(points).0f points") % {"points": WIDTH_POINTS / 2},
        precision
        if isinstance(precision, UndefinedComparison)
        else _("%(images)s, %(more)s more than now") % vars(precision),
        _(
            "for a 95%% confidence interval of the gain %(width).0f points wide, if the share of each outcome "
            "stays the same"
        )
        % {"width": WIDTH_POINTS},
    )
    to_see = precision if isinstance(precision, UndefinedComparison) else precision.to_see
    yield line(
        _("Images needed"),
        to_see if isinstance(to_see, UndefinedComparison) else str(to_see),
        _(
            "for an 80%% chance that the interval of the gain with these raters leaves out zero, if the gain is what "
            "was seen"
        )
        % {},
    )
    gain = report.outcome.gain
    if isinstance(gain, GainFigure) and not isinstance(gain.other_raters, UndefinedComparison):
        yield line("  " + _("other raters"), gain.other_raters.images, _("for the interval with other raters"))
    alpha = report.alpha
    yield line(
        _("Ordinal alpha"),
        alpha if isinstance(alpha, UndefinedComparison) else _alpha(alpha),
        _(
            "agreement over images that two or more raters judged, with these raters: 1 is full, 0 is chance; then how "
            "many pairs of judgements of an image are on the same side"
        ),
    )
    if not isinstance(alpha, UndefinedComparison):
        others = alpha.other_raters
        yield line(
            "  " + _("other raters"),
            others if isinstance(others, UndefinedComparison) else _alpha_interval(others),
            _and_words(_("its interval"), others),
        )
    yield line(
        _("Judgements"),
        _("%(number)s, plus %(apart)s set aside") % {"number": report.judgements, "apart": report.set_aside},
        _("how many count, and how many do not"),
    )
    yield line(
        _("Scores"),
        "  ".join(f"{score:+}: {count}" if score else f"0: {count}" for score, count in report.distribution.items()),
        _("how often raters gave each score, test against base"),
    )
    yield line(_("Left preferred"), _share(report.left), _("of the judgements that prefer a side; half means no bias"))
    yield line(
        _("Repeats: same answer"), _share(report.flips.same), _("of pairs shown again, with the same sign as before")
    )
    yield line(
        _("Repeats: opposite answer"), _share(report.flips.opposite), _("of pairs shown again, with the opposite sign")
    )
    yield line(
        _("Seconds"),
        report.seconds
        if isinstance(report.seconds, UndefinedComparison)
        else f"{report.seconds.median:.1f} [{report.seconds.quartiles.low:.1f}, {report.seconds.quartiles.high:.1f}]"
        f" ({report.seconds.judgements})",
        _("median time per judgement, and interquartile range"),
    )
    if report.raters:
        yield ""
        yield _("Raters: judgements, left preferred, repeats with the same and the opposite answer, median seconds")
        yield from (_rater_line(rater) for rater in report.raters)
    for region in report.regions:
        yield ""
        yield _("Region %(region)s") % {"region": region.region or _("unknown")}
        yield from _outcome_lines(region.outcome)
    if len(report.regions) > 1:
        figures = [(region.outcome.gain, region.outcome.sign_test) for region in report.regions]
        yield ""
        yield _("All regions")
        yield from tests_lines(*(several_tests(figures, corrected=corrected) for corrected in (False, True)))


def unlike_lines(unlike: Sequence[str]) -> Iterator[str]:
    """Why figures side by side should not be compared, if they should not."""
    if unlike:
        yield "  " + _("These should not be compared, because they differ in %(parts)s.") % {"parts": "; ".join(unlike)}


def tests_lines(plain: Sequence[SeveralTests], corrected: Sequence[SeveralTests]) -> Iterator[str]:
    """How many of several comparisons seem to differ, and how many do if chance had as many tries."""
    for label, name in ((_("Sign test"), "sign_test"), ("  " + _("other raters"), "other_raters")):
        below = [
            sum((p := getattr(one, name)) is not None and p < 1 - LEVEL for one in tests)
            for tests in (plain, corrected)
        ]
        yield line(
            label,
            _("p < 0.05 in %(number)s of %(all)s, %(corrected)s by Holm")
            % {"number": below[0], "all": len(plain), "corrected": below[1]},
            _("Holm’s method corrects for all of them: one of twenty is below 0.05 by chance alone"),
        )


def pooled_lines(pooled: PooledGain, *, incomplete: int) -> Iterator[str]:
    yield f"  {pooled.signature}"
    yield from unlike_lines(pooled.unlike)
    yield line(
        _("Outcomes"),
        _("%(outcomes)s (images: %(images)s)") % vars(pooled),
        _("one per image and comparison; comparisons: %(number)s") % {"number": pooled.comparisons},
    )
    yield line(_("Incomplete"), str(incomplete), _("incomplete ones are not part of any percentage"))
    if pooled.shared_raters:
        yield line(
            _("Shared raters"),
            str(pooled.shared_raters),
            _("names in several comparisons, taken to be one person each; give different people different names"),
        )
    yield from _gain_lines(pooled.gain)
    mean = pooled.random_effects
    yield line(
        _("Random effects"),
        mean
        if isinstance(mean, UndefinedComparison)
        else f"{signed_points(mean.points)} {_interval_text(mean.interval, '+z.1f')}",
        _and_words(
            _("points, mean over comparisons"), mean if isinstance(mean, UndefinedComparison) else mean.interval
        ),
    )
    yield line(_("Sign test"), _sign_test(pooled.sign_test), _("over images, by the sign of the sum of their outcomes"))


def ranking_lines(ranking: ModelRanking) -> Iterator[str]:
    if len(ranking.components) > 1:
        yield _(
            "The models fall into groups that were never compared with each other, even indirectly. Each group "
            "has its own ranking, and strengths in different groups cannot be compared."
        )
    for component in ranking.components:
        yield _("Strengths of the models (Bradley-Terry): a lead of 1 means odds of 2.7 to 1 of winning an image")
        yield f"  {component.signature}"
        yield from unlike_lines(component.unlike)
        yield from _design_lines(component)
        yield from (_model_line(model) for model in component.models)
        yield ""
        yield _(
            "Pairs: lead with its intervals, the p-value corrected for all pairs (%(pairs)s), and images needed beyond "
            "the current %(images)s to separate them"
        ) % {"pairs": len(component.pairs), "images": component.images}
        yield from (_pair_line(pair) for pair in component.pairs)


def line(label: str, value: str | UndefinedComparison, meaning: str) -> str:
    """The reason in place of a value that is not there."""
    if isinstance(value, UndefinedComparison):
        return f"  {label:<{LABEL_WIDTH}} {_('undefined')}: {value.message} ({meaning})"
    return f"  {label:<{LABEL_WIDTH}} {value:<{VALUE_WIDTH}}  {meaning}"


def _interval_text(interval: Interval | UndefinedComparison, form: str) -> str:
    """An interval, or a mark for one that is undefined where its figure is defined."""
    if isinstance(interval, UndefinedComparison):
        return f"[{_('no interval')}: {interval.message}]"
    return f"[{interval.low:{form}}, {interval.high:{form}}]"


def _outcome_lines(outcome: ComparisonOutcome) -> Iterator[str]:
    images = outcome.images
    yield line(
        _("Images"),
        _("%(denominator)s complete, %(incomplete)s incomplete")
        % {"denominator": images.complete, "incomplete": images.incomplete},
        _("incomplete ones are not part of any percentage") + _lacking(images),
    )
    if images.counted_similar:
        unseen = ngettext(
            "%(number)s pair with equal captions counts as SIMILAR without being shown.",
            "%(number)s pairs with equal captions count as SIMILAR without being shown.",
            images.counted_similar,
        )
        yield line(_("Equal captions"), str(images.counted_similar), unseen % {"number": images.counted_similar})
    if images.beyond_replication:
        yield line(
            _("Beyond replication"),
            str(images.beyond_replication),
            _("images with more judgements than required; all count"),
        )
    yield line(_("WINS"), _part(outcome.wins), _("images where most raters prefer the test caption"))
    yield line(_("LOSSES"), _part(outcome.losses), _("images where most raters prefer the base caption"))
    yield from _gain_lines(outcome.gain)
    yield line(
        _("Sign test"),
        _sign_test(outcome.sign_test),
        _("how likely a split at least this uneven is by chance alone, with these raters"),
    )


def _lacking(images: ImageCounts) -> str:
    counts = [f"{count} × {number}" for number, count in images.incomplete_by_judgements.items() if count]
    return " " + _("(images × judgements: %(counts)s)") % {"counts": ", ".join(counts)} if counts else ""


def _alpha(alpha: AlphaFigure) -> str:
    value, interval = rounded_number(alpha.value, 3, ends=CERTAIN), _alpha_interval(alpha.interval)
    return f"{value} {interval} ({alpha.images}), {percent_text(alpha.same_side)}%"


def _alpha_interval(interval: Interval | UndefinedComparison) -> str:
    if isinstance(interval, UndefinedComparison):
        return _interval_text(interval, "")
    low, high = (rounded_number(bound, 3, ends=CERTAIN) for bound in (interval.low, interval.high))
    return f"[{low}, {high}]"


def _part(part: ImagePart) -> str | UndefinedComparison:
    return (
        part.percent
        if isinstance(part.percent, UndefinedComparison)
        else f"{percent_text(part.percent)}% ({part.count})"
    )


def _gain_lines(gain: GainFigure | UndefinedComparison) -> Iterator[str]:
    """The gain with these raters, and with other raters like them; the primary one is marked."""
    label = _("WINS − LOSSES")
    if isinstance(gain, UndefinedComparison):
        yield line(label, gain, _("points"))
        return
    others = gain.other_raters
    mark = " (" + _("primary") + ")"
    yield line(
        label,
        f"{signed_points(gain.points)} {_interval_text(gain.interval, '+z.1f')}"
        + (mark if gain.primary == "interval" else ""),
        _and_words(_("points"), gain.interval),
    )
    yield line(
        "  " + _("other raters"),
        others
        if isinstance(others, UndefinedComparison)
        else f"{signed_points(gain.points)} {_interval_text(others.interval, '+z.1f')}, {_p(others.p)}"
        + (mark if gain.primary == "other_raters" else ""),
        _and_words(_("the same"), others if isinstance(others, UndefinedComparison) else others.interval),
    )


def _and_words(meaning: str, interval: Interval | UndefinedComparison) -> str:
    """What a figure means, and what its interval generalises to where there is one."""
    return f"{meaning}; {interval.design.words}" if isinstance(interval, Interval) and interval.design else meaning


def _p(p: float) -> str:
    return f"p = {p:.4f}" if p >= MIN_P else f"p < {MIN_P}"


def _sign_test(test: SignTest | UndefinedComparison) -> str | UndefinedComparison:
    if isinstance(test, UndefinedComparison):
        return test
    return _("%(p)s, %(decided)s decided") % {"p": _p(test.p), "decided": test.decided}


def _share(share: TrialShare | UndefinedComparison) -> str | UndefinedComparison:
    if isinstance(share, UndefinedComparison):
        return share
    return f"{percent_text(share.percent)}% {_interval_text(share.interval, '.1f')} ({share.total})"


def _rater_line(rater: RaterFigures) -> str:
    cells = [
        "–" if isinstance(figure, UndefinedComparison) else str(_share(figure))
        for figure in (rater.left, rater.flips.same, rater.flips.opposite)
    ]
    seconds = "–" if isinstance(rater.seconds_median, UndefinedComparison) else f"{rater.seconds_median:.1f}"
    left, same, opposite = cells
    return f"  {rater.rater:<{LABEL_WIDTH}}{rater.judgements:>7}  {left:<28}  {same:<26}  {opposite:<26}  {seconds}"


def _design_lines(component: RankedComponent) -> Iterator[str]:
    """What the intervals of a ranking generalise to, and which of the two decides."""
    figures: list[RankedModel | RankedPair] = [*component.pairs, *component.models]
    for label, intervals in (
        (_("Intervals"), [one.interval for one in figures]),
        (_("other raters"), [one.other_raters for one in figures]),
    ):
        designs = [one.design for one in intervals if isinstance(one, Interval) and one.design]
        if designs:
            yield f"  {label}: {designs[0].words}"
    yield "  " + _(
        "Separable: with other raters like these, or “with these raters” where these do not show how others differ"
    )


def _model_line(model: RankedModel) -> str:
    if isinstance(model.strength, UndefinedComparison):
        return line(model.model, model.strength, _("strength"))
    mark = f"  ({bound_message(model.bound)})" if model.bound in BOUNDS else ""
    others = f"{_('other raters')} {_interval_text(model.other_raters, '+z.3f')}"
    interval = _interval_text(model.interval, "+z.3f")
    return f"  {model.model:<{LABEL_WIDTH}}  {model.strength:+z.3f} {interval}  {others}{mark}"


def _pair_line(pair: RankedPair) -> str:
    verdict = pair.verdict
    if pair.is_separable_by_these_alone:
        verdict += f" ({_('with these raters: separable')})"
    if isinstance(pair.more_images, UndefinedComparison):
        # What leaves it without an interval is said there.
        why = "" if isinstance(pair.interval, UndefinedComparison) else pair.more_images.message
        verdict = ": ".join(filter(None, (verdict, why)))
    elif pair.more_images:
        verdict += ": " + _("%(more)s more for an 80%% chance") % {"more": pair.more_images}
    difference = f"{pair.difference:.3f} {_interval_text(pair.interval, '+z.3f')}"
    others = f"{_('other raters')} {_interval_text(pair.other_raters, '+z.3f')}"
    p = "" if isinstance(pair.p_holm, UndefinedComparison) else _("Holm %(p)s") % {"p": _p(pair.p_holm)}
    return f"  {pair.stronger} > {pair.weaker}:  {difference}  {others}  {p}  {verdict}".rstrip()
