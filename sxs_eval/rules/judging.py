"""Rules for judgements, from values alone: attention items, lines of gold pairs, who is paused, what looks scripted."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crosslens_metrics.formats.caption_rows import RowReader, caption_text, language_tag
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.hidden_characters import has_hidden
from research.inference.rules.captions import in_another_language

GOLD_PERCENT, REPEAT_PERCENT = 10, 5
"""(ours) What a new comparison begins with: attention items per 100 pairs."""
CHECKS_BEFORE_PAUSE, FAILURES_PERCENT = 15, 40
"""(ours) When a new comparison pauses a rater: above 40% failures among at least 15 attention items.

By the binomial distribution, looked at after each of 90 repeats and without gold pairs, this pauses 1 and 5% of raters
who contradict themselves in 15 and 20% of repeats; with at least 5 items it would be 9 and 18%. It pauses 56% of those
who answer at random on seven points within 30 repeats, 68% within 90, and more than 99% within 90 items of which two
thirds are gold pairs.
"""
MIN_GAP = 5
"""(ours) The fewest trials between a pair and its repeat in one batch."""
READING_S = 1.5
"""Nobody reads two captions, however short, and answers faster than this."""
LETTERS_PER_S, CHARACTERS_PER_S = 50.0, 15.0
"""About three times as fast as people read aloud fluently, for letters and for Chinese and Japanese characters.

Source: S. Trauzettel-Klosinski and K. Dietz (2012), Standardized assessment of reading performance (IReST): 863 letters
a minute on average over 17 languages, 255 characters in Chinese, 357 in Japanese.
"""
DENSE_SCRIPTS = frozenset({"Hani", "Hira", "Kana"})
FAST_ANSWERS, AMONG = 10, 50
STEADY_ANSWERS, STEADY_SPREAD = 30, 0.1


def are_equal(base: str, test: str) -> bool:
    """(ours) Compare captions in NFC, ignoring white space at the ends and its length."""
    return _plain(base) == _plain(test)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


@dataclass(frozen=True)
class PlannedTrial:
    """A trial at one position of a batch: a pair by its index, a gold pair, or the repeat of a pair by its index.

    A repeat whose `pair` is None repeats a judgement from an earlier batch.
    """

    kind: str
    pair: int | None = None


def attention_count(size: int, percent: int, rng: Random) -> int:
    """Return how many attention items a batch of `size` pairs gets: `percent` of the pairs on average."""
    whole, rest = divmod(size * percent, 100)
    return whole + (rng.randrange(100) < rest)


def plan_trials(size: int, *, golds: int, old_repeats: int, new_repeats: int, rng: Random) -> list[PlannedTrial]:
    """Return the order of a batch: `size` pairs with attention items mixed in.

    `old_repeats` are of earlier batches and go anywhere; `new_repeats` are of this batch, as many of them as fit with
    `MIN_GAP` trials in between.
    """
    planned = [PlannedTrial("pair", index) for index in range(size)]
    for extra in [PlannedTrial("gold")] * golds + [PlannedTrial("repeat")] * old_repeats:
        planned.insert(rng.randrange(len(planned) + 1), extra)
    early = [trial for trial in planned[: max(0, len(planned) - MIN_GAP)] if trial.kind == "pair"]
    # From the latest original on, as inserting one behind an earlier original only makes gaps longer.
    for original in sorted(rng.sample(early, min(new_repeats, len(early))), key=planned.index, reverse=True):
        first = planned.index(original) + MIN_GAP + 1
        planned.insert(rng.randrange(first, len(planned) + 1), PlannedTrial("repeat", original.pair))
    return planned


def has_failed(kind: str, score: int, first_score: int | None) -> bool:
    """(ours) Return whether an item failed: the better gold caption was not chosen, or a repeat contradicts."""
    if kind == "gold":
        return score <= 0
    return first_score is not None and score * first_score < 0


def must_pause(failures: Sequence[bool], *, checks_before_pause: int, failures_percent: int) -> bool:
    """Return whether a manager has to look at a rater with these outcomes of attention items."""
    checks = len(failures)
    return checks >= checks_before_pause and 100 * sum(failures) > failures_percent * checks


@dataclass(frozen=True)
class GoldLine:
    """`reference` names the image by key, file name or SHA-256; `had_hidden` counts captions with hidden characters."""

    reference: str
    better: str
    worse: str
    had_hidden: int = 0


def gold_line(value: Any, *, language: str = "") -> GoldLine:
    """Read a line of gold pairs in one `language`, where it is given; a line need not name it.

    Raises LineError with the reason, for the author of the file.
    """
    if not isinstance(value, dict):
        raise LineError(_("This line is not a JSON object with “image”, “better” and “worse”."))
    row = RowReader().row(0, {**value, "caption": ""})
    said = row.captions[0].language
    if said and language and language_tag(said, row.name) != language:
        named = {"named": language_tag(said, row.name), "language": language}
        raise LineError(in_another_language() % named, row.name)
    better, worse = (_caption(value.get(name), name, row.name) for name in ("better", "worse"))
    if are_equal(better, worse):
        raise LineError(_("Both captions are the same, so neither can be the better one."))
    hidden = sum(has_hidden(value[name]) for name in ("better", "worse"))
    return GoldLine(row.name, better, worse, hidden)


def _caption(value: Any, name: str, image: str) -> str:
    try:
        return caption_text(value, image)
    except LineError as refused:
        raise LineError(f"{name}: {refused}", image) from refused


class JudgingScriptRule(TextChoices):
    """(ours) When answers look scripted. Managers see it; nothing is refused, deleted or left out."""

    FAST = "fast", gettext_lazy("Ten or more of 50 answers in a row came faster than anyone can read the two captions")
    STEADY = (
        "steady",
        gettext_lazy(
            "Thirty answers in a row took nearly the same time (standard deviation below 10 percent of the mean)"
        ),
    )


def reading_s(characters: int, scripts: Collection[str]) -> float:
    """Return the fewest seconds in which anybody reads `characters` of two captions and answers.

    `scripts` are the ISO 15924 codes of the language's scripts.
    """
    rate = CHARACTERS_PER_S if DENSE_SCRIPTS & set(scripts) else LETTERS_PER_S
    return max(READING_S, characters / rate)


def rules_broken(
    seconds: Sequence[float], reading: Sequence[float] | float = READING_S
) -> dict[JudgingScriptRule, str]:
    """Return the rules that somebody's answers break, with the evidence.

    `seconds` are the times of the answers, `reading` the fewest seconds that reading each of the pairs takes.
    """
    import numpy as np  # heavy, and a process that starts imports this module
    from numpy.lib.stride_tricks import sliding_window_view

    taken = np.asarray(seconds, dtype=float)
    broken: dict[JudgingScriptRule, str] = {}
    fast = np.flatnonzero(taken < np.asarray(reading, dtype=float))
    if (fast[FAST_ANSWERS - 1 :] - fast[: 1 - FAST_ANSWERS] < AMONG).any():
        broken[JudgingScriptRule.FAST] = f"{len(fast)} / {len(taken)}"
    if len(taken) >= STEADY_ANSWERS:
        rows = sliding_window_view(taken, STEADY_ANSWERS)
        means, spreads = rows.mean(axis=1), rows.std(axis=1)
        steadiest = int((spreads - STEADY_SPREAD * means).argmin())
        if spreads[steadiest] < STEADY_SPREAD * means[steadiest]:
            broken[JudgingScriptRule.STEADY] = f"{means[steadiest]:.2f} s ± {spreads[steadiest]:.2f} s"
    return broken
