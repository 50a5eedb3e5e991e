"""What a figure's rows are drawn from, what of it varies in the question that is asked, and what its interval says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from crosslens_metrics.messages import gettext, ngettext
from crosslens_metrics.messages import gettext_noop as _


class Factor(StrEnum):
    """What rows are drawn from."""

    IMAGE = "image"
    RATER = "rater"
    AUTHOR = "author"
    CAPTION = "caption"
    REVIEWER = "reviewer"
    PLAYER = "player"
    TURN = "turn"
    ITEM = "item"
    WORD = "word"
    MODEL = "model"
    LANGUAGE = "language"
    EVALUATION = "evaluation"
    COMPARISON = "comparison"


class Method(StrEnum):
    """How an interval was computed."""

    BOOTSTRAP = "bootstrap"
    CLOPPER_PEARSON = "clopper-pearson"
    WILSON = "wilson"
    DECIDED = "clopper-pearson-decided"
    STUDENT = "student"
    JACKKNIFE = "jackknife-t"
    TWO_WAY = "two-way-t"
    UNANIMOUS = "clopper-pearson-units"
    RANDOM_EFFECTS = "random-effects-t"
    ANYTIME = "confidence-sequence"


METHODS: Mapping[Method, str] = {
    Method.BOOTSTRAP: _("percentile bootstrap"),
    Method.CLOPPER_PEARSON: _("Clopper–Pearson"),
    Method.WILSON: _("Wilson"),
    Method.DECIDED: _("Clopper–Pearson, of images decided and wins among them"),
    Method.STUDENT: _("Student’s t"),
    Method.JACKKNIFE: _("jackknife with Student’s t"),
    Method.TWO_WAY: _("two-way clustering with Student’s t"),
    Method.UNANIMOUS: _("Clopper–Pearson, because all or nearly all agree"),
    Method.RANDOM_EFFECTS: _("random effects, Hartung–Knapp"),
    Method.ANYTIME: _("confidence sequence"),
}


OTHERS: Mapping[Factor, str] = {
    Factor.IMAGE: _("other images"),
    Factor.RATER: _("other raters like these"),
    Factor.AUTHOR: _("other authors like these"),
    Factor.CAPTION: _("other captions"),
    Factor.REVIEWER: _("other reviewers like these"),
    Factor.PLAYER: _("other players like these"),
    Factor.TURN: _("other turns"),
    Factor.ITEM: _("other items like these"),
    Factor.WORD: _("other words like these"),
    Factor.MODEL: _("other models like these"),
    Factor.LANGUAGE: _("other languages like these"),
    Factor.COMPARISON: _("other comparisons like these"),
    Factor.EVALUATION: _("other evaluations, if none shares a model or a language with another"),
}


def _these(factor: Factor, number: int) -> str:
    words = {
        Factor.IMAGE: ngettext("this image", "these %(number)s images", number),
        Factor.RATER: ngettext("this rater", "these %(number)s raters", number),
        Factor.AUTHOR: ngettext("this author", "these %(number)s authors", number),
        Factor.CAPTION: ngettext("this caption", "these %(number)s captions", number),
        Factor.REVIEWER: ngettext("this reviewer", "these %(number)s reviewers", number),
        Factor.PLAYER: ngettext("this player", "these %(number)s players", number),
        Factor.TURN: ngettext("this turn", "these %(number)s turns", number),
        Factor.ITEM: ngettext("this item", "these %(number)s items", number),
        Factor.WORD: ngettext("this word", "these %(number)s words", number),
        Factor.MODEL: ngettext("this model", "these %(number)s models", number),
        Factor.LANGUAGE: ngettext("this language", "these %(number)s languages", number),
        Factor.COMPARISON: ngettext("this comparison", "these %(number)s comparisons", number),
        Factor.EVALUATION: ngettext("this evaluation", "these %(number)s evaluations", number),
    }
    return words[factor] % {"number": number}


@dataclass(frozen=True)
class SamplingDesign:
    """Units by factor: those of `varies` stand for others like them, those of `fixed` for themselves alone."""

    method: Method
    varies: Mapping[Factor, int]
    fixed: Mapping[Factor, int] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """What an interval of this design generalises to, without a full stop."""
        values = {
            "others": _listed([gettext(OTHERS[factor]) for factor in self.varies]),
            "these": _listed([_these(factor, number) for factor, number in self.fixed.items()]),
            "method": gettext(METHODS[self.method]),
        }
        if not self.fixed:
            return gettext("generalises to %(others)s (%(method)s)") % values
        return gettext("generalises to %(others)s, with %(these)s (%(method)s)") % values

    def as_json(self) -> dict[str, object]:
        return {
            "method": str(self.method),
            "varies": {str(factor): number for factor, number in self.varies.items()},
            "fixed": {str(factor): number for factor, number in self.fixed.items()},
            "words": self.words,
        }


def _listed(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return gettext("%(first)s and %(last)s") % {"first": ", ".join(words[:-1]), "last": words[-1]}
