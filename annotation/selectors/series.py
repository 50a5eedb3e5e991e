"""Data of plots, from tallies: captions by day, levels by round, lengths by language."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from annotation.models import Round, RoundKind
from annotation.rules.tallies import TallySums
from annotation.selectors.figures import computed_figures, sums_of_rounds
from annotation.selectors.overview import in_campaign
from core.languages.models import Language
from core.people.models import Project

SERIES_COLUMNS = ("captions", "words", "characters", "ratings", "lengths", "days")


@dataclass(frozen=True)
class RoundSeries:
    round: Round
    sums: TallySums

    @property
    def is_rating(self) -> bool:
        return self.round.kind == RoundKind.VERIFICATION


def round_series(project: Project, *, language: Language | None = None) -> list[RoundSeries]:
    """Return rounds with submitted work: by the name of the language, in the order of its campaign."""
    rounds = project.rounds.all() if language is None else project.rounds.filter(language=language)
    sums = sums_of_rounds(rounds, computed_figures(project), columns=SERIES_COLUMNS)
    series = [
        RoundSeries(round, sums[round.pk])
        for round in rounds.filter(pk__in=list(sums)).select_related("language", "verifies")
    ]
    series.sort(key=lambda one: in_campaign(one.round))
    return [one for one in series if one.sums.captions]


def languages_of(project: Project) -> QuerySet[Language]:
    return Language.objects.filter(pk__in=project.rounds.values("language")).order_by("english_name", "pk")
