"""The quality table of a project: by language, the results of its verification and of its pilots' ratings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.models import Round, RoundFigures, RoundKind, RoundState
from core.languages.models import Language
from core.people.models import Project
from crosslens_metrics.quality import LEVELS
from crosslens_metrics.sampling.designs import Factor, Method, SamplingDesign
from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.undefined import UndefinedReason

SHARES = ("good", "medium", "bad", "not_enough_info")
"""Of all verified captions."""
JUDGED_SHARES = ("good_judged", "medium_judged", "bad_judged")
"""Of the verified captions that have a level other than NOT-ENOUGH-INFO."""
APPENDIX_COUNTS = (
    *("drawn", "ratings_left_out", "verified_ratings", "not_enough_info_ratings"),
    *("pairs", "same_level", "pairs_judged", "same_level_judged"),
)
"""What the appendix of a paper says beside the table; in none of the figures that were stored by Crosslens 0.2."""
QUALITY = "quality"
"""The key of `verification_figures.figures_of` among the figures of a round."""
AGAINST_OTHERS, OVER_AUTHORS, ALPHA_INTERVAL = "against_others", "over_authors", "alpha_interval"
"""Keys within it that figures do not have which were stored by Crosslens 0.2."""


@dataclass(frozen=True)
class ShareOfCaptions:
    """A share of verified captions; no value while there are none.

    `interval` is over captions of these authors; `over_authors`, over other authors like these, may say why there is
    none, and is None of figures that were stored without.
    """

    count: int
    value: float | None
    interval: Interval | None
    over_authors: Interval | UndefinedReason | None = None


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
    def alpha(self) -> float | None:
        return self.figures.get("alpha")

    @property
    def alpha_interval(self) -> Interval | None:
        """Over other captions and other reviewers; None where it is undefined, or was stored without."""
        found = _interval_of(self.figures.get(ALPHA_INTERVAL))
        return found if isinstance(found, Interval) else None

    @property
    def alpha_undefined(self) -> str:
        return str(self.figures.get("alpha_undefined", ""))

    @property
    def levels(self) -> dict[str, int]:
        counts = self.figures.get("levels", {})
        return {level: int(counts.get(level, 0)) for level in LEVELS}

    @property
    def counts(self) -> Mapping[str, int]:
        """Numbers by APPENDIX_COUNTS; none of figures that were stored without."""
        return {name: self.figures[name] for name in APPENDIX_COUNTS} if "drawn" in self.figures else {}

    @property
    def reviewers(self) -> Sequence[Mapping[str, Any]]:
        """Each person's ratings against the median of the others: `quality.confusions`. Stored without: none."""
        return self.figures.get(AGAINST_OTHERS, [])

    @property
    def authors(self) -> int | None:
        """How many people wrote the verified captions; None where some captions have no known author."""
        authors = self.figures.get("authors", [])
        return len(authors) if sum(author["verified"] for author in authors) == self.verified else None

    @property
    def designs(self) -> dict[str, SamplingDesign]:
        """What intervals generalise to: `interval` and `over_authors` of shares, and `alpha_interval`."""
        if not self.reviewers:
            return {}
        reviewers = {Factor.REVIEWER: len(self.reviewers)}
        authors = {Factor.AUTHOR: self.authors} if self.authors else {}
        designs = {"interval": SamplingDesign(Method.WILSON, {Factor.CAPTION: self.verified}, authors | reviewers)}
        if self.authors and self.authors > 1:
            designs[OVER_AUTHORS] = SamplingDesign(Method.JACKKNIFE, authors, reviewers)
        if self.alpha_interval:
            varies = {Factor.CAPTION: self.verified, Factor.REVIEWER: len(self.reviewers)}
            designs[ALPHA_INTERVAL] = SamplingDesign(Method.JACKKNIFE, varies, authors)
        return designs

    @property
    def is_of_pilot(self) -> bool:
        return self.round.verifies is not None and self.round.verifies.kind == RoundKind.PILOT

    def share(self, name: str) -> ShareOfCaptions:
        """Return one of SHARES or JUDGED_SHARES."""
        share = self.figures.get(name)
        if not share or share["share"] is None:
            return ShareOfCaptions(0, None, None)
        of_captions, over_authors = Interval(share["low"], share["high"]), _interval_of(share.get(OVER_AUTHORS))
        return ShareOfCaptions(share["count"], share["share"], of_captions, over_authors)


def _interval_of(stored: Mapping[str, Any] | None) -> Interval | UndefinedReason | None:
    if not stored:
        return None
    return UndefinedReason(stored["undefined"]) if "undefined" in stored else Interval(**stored)


@dataclass(frozen=True)
class QualityTable:
    """Of each language its verification, None until it is planned, and then its pilots, beginning with the first."""

    languages: Sequence[tuple[Language, QualityRow | None]]
    is_stale: bool

    @property
    def rows(self) -> list[QualityRow]:
        return [row for _, row in self.languages if row]


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
    languages: list[tuple[Language, QualityRow | None]] = []
    for language in Language.objects.filter(pk__in=tags).order_by("english_name", "pk"):
        of_main = [row for row in rows[language.pk] if not row.is_of_pilot]
        # The last one, if the main round was verified again.
        languages.append((language, of_main[-1] if of_main else None))
        languages += [(language, row) for row in rows[language.pk] if row.is_of_pilot]
    return QualityTable(languages, is_stale)


def _in_table(round: Round) -> tuple[str, str, bool, int]:
    number = round.verifies.number if round.verifies else 0
    return (round.language.english_name, round.language_id, QualityRow(round, {}).is_of_pilot, number)
