"""The report on turns for a terminal: one figure a line, with its meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.utils.translation import gettext as _

from crosslens_metrics.reports.figures import percent_text
from crosslens_metrics.sampling.intervals import Interval
from gapgame.rules.figures import EqualSamples, ResampledFigure, TurnMean, TurnReason, TurnShare, UndefinedFigure
from gapgame.rules.report import EqualOutcomes, EqualSize, GameReport, GroupOutcomes, TurnOutcomes
from gapgame.rules.turns import OUTCOMES

LABEL_WIDTH = 24
MAX_GROUPS = 50


def report_lines(report: GameReport) -> Iterator[str]:
    yield _("Turns: %(turns)s. Turns that count: %(counted)s.") % {"turns": report.turns, "counted": report.counted}
    yield _("Turns left out by the first rule that applies (in brackets: all turns to which the rule applies):")
    for applied in report.filters:
        number = _("kept") if applied.is_kept else str(applied.left_out)
        yield _line(str(applied.rule), f"{number} ({applied.matched})", applied.says)
    yield ""
    designs = report.overall.designs
    yield _("First 95%% interval of a share: %(says)s") % {"says": designs["interval_of_shares"].words}
    yield _("First 95%% interval of a mean: %(says)s") % {"says": designs["interval_of_means"].words}
    if "over_players" in designs:
        yield _("Second 95%% interval: %(says)s") % {"says": designs["over_players"].words}
    yield from _outcome_lines(_("All splits"), report.overall)
    for split in report.splits:
        yield from _outcome_lines(split.split, split.figures)
    yield from _equal_size_lines(report.equal_size)
    yield from _equal_sample_lines(report.equal_samples)
    for name, groups in report.by.items():
        yield from _group_lines(name, groups)
    yield ""
    yield str(report.signature)


def _outcome_lines(title: str, figures: TurnOutcomes) -> Iterator[str]:
    yield ""
    players = _("unknown") if figures.players is None else figures.players
    yield (
        f"{title} (" + _("turns: %(turns)s, players: %(players)s") % {"turns": figures.turns, "players": players} + ")"
    )
    for name, share in figures.outcomes.items():
        yield _line(name, share_text(share))
    if missing := _missing_everywhere(figures):
        yield _line(_("similarity"), mean_text(missing))
        return
    for similarity in figures.similarity:
        label = _("similarity %(attempt)s") % {"attempt": similarity.attempt}
        yield _line(label, mean_text(similarity.all), _("all guesses, where the word itself counts 1"))
        yield _line("", mean_text(similarity.inexact), _("wrong guesses"))


def _missing_everywhere(figures: TurnOutcomes) -> UndefinedFigure | None:
    """Return why no attempt has a mean, if the reason is the same for all."""
    means = {mean for similarity in figures.similarity for mean in (similarity.all, similarity.inexact)}
    mean = means.pop()
    return mean if not means and isinstance(mean, UndefinedFigure) else None


def share_text(share: TurnShare | UndefinedFigure) -> str:
    if isinstance(share, UndefinedFigure):
        return f"– {share.message}"
    both = _both(share.interval, share.over_players, ".2f")
    return f"{percent_text(share.percent, 2)}% ({share.count}/{share.total})  {both}"


def mean_text(mean: TurnMean | UndefinedFigure) -> str:
    if isinstance(mean, UndefinedFigure):
        return f"– {mean.message}"
    return f"{mean.mean:.4f} ({mean.count})  {_both(mean.interval, mean.over_players, '.4f')}"


def _both(interval: Interval | UndefinedFigure, over_players: Interval | UndefinedFigure, form: str) -> str:
    """Return both intervals; the second is left out if no player is known."""
    if over_players == UndefinedFigure(TurnReason.NO_PLAYERS):
        return interval_text(interval, form)
    return f"{interval_text(interval, form)}  {interval_text(over_players, form)}"


def interval_text(interval: Interval | UndefinedFigure, form: str) -> str:
    if isinstance(interval, UndefinedFigure):
        return f"[–: {interval.message}]"
    return f"[{interval.low:{form}}, {interval.high:{form}}]"


def _equal_size_lines(equal: EqualSize | UndefinedFigure) -> Iterator[str]:
    yield ""
    if isinstance(equal, UndefinedFigure):
        yield _("Splits of equal size") + f": – {equal.message}"
        return
    yield _(
        "Splits of equal size (turns from each: %(size)s; draws without replacement: %(resamples)s): mean and middle "
        "95%% of the draws"
    ) % {"size": equal.size, "resamples": equal.resamples}
    for figures in (equal.overall, *equal.splits):
        yield _line(figures.split or _("All splits"), _equal_figures(figures))


def _equal_sample_lines(equal: EqualSamples | UndefinedFigure) -> Iterator[str]:
    yield ""
    if isinstance(equal, UndefinedFigure):
        yield _("Equal samples of splits and attempts") + f": – {equal.message}"
        return
    yield _(
        "Equal samples of splits and attempts (guesses of each attempt in each split: %(size)s; draws without "
        "replacement: %(resamples)s): mean similarity and middle 95%% of the draws"
    ) % {"size": equal.size, "resamples": equal.resamples}
    for figures in (equal.overall, *equal.splits):
        yield _line(figures.split or _("All splits"), "; ".join(_equal_similarities(figures.similarity)))


def _equal_figures(figures: EqualOutcomes) -> str:
    parts = [f"{name} {_resampled(resampled, '.2f')}" for name, resampled in figures.outcomes.items()]
    return "; ".join([*parts, *_equal_similarities(figures.similarity)])


def _equal_similarities(similarity: Iterable[ResampledFigure | UndefinedFigure]) -> list[str]:
    return [
        _("similarity %(attempt)s") % {"attempt": attempt} + f" {_resampled(resampled, '.4f')}"
        for attempt, resampled in enumerate(similarity, start=1)
        if not isinstance(resampled, UndefinedFigure)
    ]


def _resampled(resampled: ResampledFigure, form: str) -> str:
    return f"{resampled.mean:{form}} {interval_text(resampled.interval, form)}"


def _group_lines(name: str, groups: tuple[GroupOutcomes, ...]) -> Iterator[str]:
    yield ""
    yield _(
        "By %(name)s: turns, percentages of outcomes with exact 95%% confidence intervals, mean similarity per attempt"
    ) % {"name": name}
    for group in groups[:MAX_GROUPS]:
        shares = "  ".join(
            f"{percent_text(group.percent[outcome])} {interval_text(group.intervals[outcome], '.1f')}"
            for outcome in OUTCOMES
        )
        means = "  ".join(
            "–" if mean is None else f"{mean:.3f} ({number})"
            for mean, number in zip(group.similarity, group.guesses, strict=True)
        )
        yield f"  {group.name or _('unknown'):<{LABEL_WIDTH}}{group.turns:>7}  {shares}  {means}"
    if len(groups) > MAX_GROUPS:
        yield "  " + _("and %(number)s more (use --json to see all).") % {"number": len(groups) - MAX_GROUPS}


def _line(label: str, value: str, meaning: str = "") -> str:
    return f"  {label:<{LABEL_WIDTH}} {value}" + (f"  {meaning}" if meaning else "")
