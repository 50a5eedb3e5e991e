"""Rules for marks: what of the writing of a caption a manager may want to look at. A mark is no proof of anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import TextChoices
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.rules.text_checks import LETTERS_WORTH, NEAR_IDENTICAL, trigram_similarity
from core.languages.rules.scripts import script_of

# (ours) docs/statistics.md says how often each of these is wrong, as far as it could be measured.
MIN_PASTED_CHARACTERS = 20
"""A name or a word is pasted for its spelling."""
MIN_PASTED_SHARE = 0.5
MIN_ABSENCE_MS = 60_000
MAX_LETTERS_PER_S = 10
"""Of active time. People who copy a text type four a second on average; the quickest, ten."""
MIN_LETTERS_TIMED = 20
MS_PER_S = 1000


class MarkKind(TextChoices):
    PASTED = "pasted", _("pasted")
    AWAY = "away", _("long out of sight")
    FAST = "fast", _("very fast")
    ALIKE = "alike", _("like another person’s caption")
    TRANSLATED = "translated", _("like a translation of the English caption")


MEANINGS: dict[str, Promise] = {
    MarkKind.PASTED: _(
        "At least half of the text, and 20 characters or more, came from the clipboard. People also paste what they "
        "wrote elsewhere, for example in a program that checks spelling; how often is not known."
    ),
    MarkKind.AWAY: _(
        "The page was out of sight for a minute or longer while the text was written. That is a call, a locked phone "
        "or a dictionary as well; how often is not known."
    ),
    MarkKind.FAST: _(
        "More than ten letters for each second of active work. Dictated text comes as fast, and so does a text that "
        "was thought out before; how often is not known."
    ),
    MarkKind.ALIKE: _(
        "Almost the words of another person for the same image. Of people who wrote by themselves, up to 1 pair in 100 "
        "is as alike, most of all short captions."
    ),
    MarkKind.TRANSLATED: _(
        "Almost a machine’s translation of the English caption. It is known only where the platform has translated "
        "it, and short captions match by chance; how often was not measured."
    ),
}


@dataclass(frozen=True)
class WrittenCaption:
    """A text with what was noted while it was written: None where its writer has not agreed to that.

    `others` are captions of the same image by other people, `translations` those of its English caption.
    """

    text: str
    writing_ms: int
    pasted_characters: int | None
    longest_absence_ms: int | None
    others: Iterable[str] = ()
    translations: Iterable[str] = ()


def marks_of(written: WrittenCaption) -> list[MarkKind]:
    """Return the marks of a caption, always in the same order."""
    found = {
        MarkKind.PASTED: _is_pasted(written),
        MarkKind.AWAY: (written.longest_absence_ms or 0) >= MIN_ABSENCE_MS,
        MarkKind.FAST: is_fast(written.text, written.writing_ms),
        MarkKind.ALIKE: _is_like_any(written.text, written.others),
        MarkKind.TRANSLATED: _is_like_any(written.text, written.translations),
    }
    return [kind for kind, is_there in found.items() if is_there]


def is_fast(text: str, writing_ms: int) -> bool:
    """Return whether a text has more letters than somebody can type in the active time; False where none was measured.

    A Chinese character counts as three letters, as elsewhere.
    """
    letters = sum(LETTERS_WORTH.get(script_of(character), 1) for character in text if not character.isspace())
    return writing_ms > 0 and letters >= MIN_LETTERS_TIMED and letters * MS_PER_S > MAX_LETTERS_PER_S * writing_ms


def _is_pasted(written: WrittenCaption) -> bool:
    pasted = written.pasted_characters or 0
    return pasted >= MIN_PASTED_CHARACTERS and pasted >= MIN_PASTED_SHARE * len(written.text)


def _is_like_any(text: str, others: Iterable[str]) -> bool:
    return any(trigram_similarity(text, other) >= NEAR_IDENTICAL for other in others)
