"""The quality table of a project: by language, the results of its verification and of its pilots' ratings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.models import Round, RoundFigures, RoundKind, RoundState
from core.languages.models import Language
from core.people.models import Project
from crosslens_metrics.intervals import Interval
from crosslens_metrics.quality import LEVELS

QUALITY = "quality"
"""The key of `verification_figures.figures_of` among the figures of a round."""


@dataclass(frozen=True)
class ShareOfCaptions:
    """Shares of all verified captions; no value while there are none."""

    count: int
    value: float | None
    interval: Interval | None


@dataclass(frozen=True)
class CaptionReviewer:
    """One person's ratings against the median of all reviewers of a caption: `crosslens_metrics.quality.confusions`."""

    person_id: int
    verdicts: int
    agreed: int
    not_enough_info: int
    confusion: Sequence[Sequence[int]]

    @property
    def agreement(self) -> float:
        return self.agreed / self.verdicts


@dataclass(frozen=True)
class QualityRow:
    """A round of verification, with its figures as they were last computed."""

    round: Round
    figures: Mapping[str, Any]

    @property
    def images(self) -> int | None:
        """Images of the sampled captions; None of figures that were stored without."""
        return self.figures.get("images")

    @property
    def sampled(self) -> int:
        return int(self.figures.get("sampled", 0))

    @property
    def verified(self) -> int:
        return int(self.figures.get("verified", 0))

    @property
    def verdicts(self) -> int:
        return int(self.figures.get("verdicts", 0))

    @property
    def good(self) -> ShareOfCaptions:
        return self._share("good")

    @property
    def medium(self) -> ShareOfCaptions:
        return self._share("medium")

    @property
    def bad(self) -> ShareOfCaptions:
        return self._share("bad")

    @property
    def not_enough_info(self) -> ShareOfCaptions:
        return self._share("not_enough_info")

    @property
    def alpha(self) -> float | None:
        return self.figures.get("alpha")

    @property
    def alpha_undefined(self) -> str:
        return str(self.figures.get("alpha_undefined", ""))

    @property
    def levels(self) -> dict[str, int]:
        counts = self.figures.get("levels", {})
        return {level: int(counts.get(level, 0)) for level in LEVELS}

    @property
    def reviewers(self) -> list[CaptionReviewer]:
        return [
            CaptionReviewer(
                person_id=row["person"],
                verdicts=row["verdicts"],
                agreed=row["agreed"],
                not_enough_info=row["not_enough_info"],
                confusion=row["confusion"],
            )
            for row in self.figures.get("raters", [])
        ]

    def _share(self, name: str) -> ShareOfCaptions:
        share = self.figures.get(name)
        if not share or share["share"] is None:
            return ShareOfCaptions(0, None, None)
        return ShareOfCaptions(share["count"], share["share"], Interval(share["low"], share["high"]))


@dataclass(frozen=True)
class LanguageQuality:
    """A language of a project. `verification` is None until it is planned; `pilots` begin with the first."""

    language: Language
    verification: QualityRow | None
    pilots: Sequence[QualityRow]

    @property
    def rows(self) -> list[QualityRow]:
        return [*([self.verification] if self.verification else []), *self.pilots]


@dataclass(frozen=True)
class QualityTable:
    languages: Sequence[LanguageQuality]
    is_stale: bool

    @property
    def rows(self) -> list[QualityRow]:
        return [row for language in self.languages for row in language.rows]


def rounds_of_verification(project: Project) -> list[Round]:
    """Order rounds as in the table: by the language's English name, the main round's before those of pilots."""
    verifying = Round.objects.filter(project=project, kind=RoundKind.VERIFICATION).exclude(state=RoundState.SKIPPED)
    rounds = list(verifying.select_related("language", "verifies", "pool"))
    return sorted(rounds, key=_in_table)


def quality_table(project: Project, figures: Mapping[int, Mapping[str, Any]] | None = None) -> QualityTable:
    """Read the figures from the background's results, or from `figures` by round, without reading answers."""
    rounds = rounds_of_verification(project)
    kept = RoundFigures.objects.filter(round__in=rounds).only("is_stale", "figures", "computed_at")
    is_stale = figures is None and any(one.is_stale for one in kept)
    if figures is None:
        figures = {one.pk: one.figures.get(QUALITY, {}) for one in kept}
    rows = defaultdict(list)
    for round in rounds:
        rows[round.language_id].append(QualityRow(round, figures.get(round.pk, {})))
    tags = Round.objects.filter(project=project).values("language")
    return QualityTable(
        [
            _language(language, rows[language.pk])
            for language in Language.objects.filter(pk__in=tags).order_by("english_name", "pk")
        ],
        is_stale,
    )


def _language(language: Language, rows: Sequence[QualityRow]) -> LanguageQuality:
    mains = [row for row in rows if not _is_of_pilot(row.round)]
    return LanguageQuality(
        language=language,
        # The last one, if the main round was verified again.
        verification=mains[-1] if mains else None,
        pilots=[row for row in rows if _is_of_pilot(row.round)],
    )


def _is_of_pilot(round: Round) -> bool:
    return round.verifies is not None and round.verifies.kind == RoundKind.PILOT


def _in_table(round: Round) -> tuple[str, str, bool, int]:
    number = round.verifies.number if round.verifies else 0
    return (round.language.english_name, round.language_id, _is_of_pilot(round), number)
