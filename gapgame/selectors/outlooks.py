"""How long a batch takes other players, which is said before one is taken, and what the player did so far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, DurationField, Exists, F, Max, OuterRef, QuerySet, Sum, Value, Window
from django.db.models.functions import Least, RowNumber

from core.allocation.rules.outlooks import BatchOutlook, MeasuredPace, TimedWork, pace_of_others
from core.languages.models import Language
from core.people.models import User
from gapgame.models import UNFINISHED, GameBatch, GapItem, Season, SeasonLanguage, Turn, TurnOutcome
from gapgame.rules.play import BREAK

MAX_BATCHES = 50
"""(ours) A pace is taken from so many people's newest finished batches in a season's language, as a page waits."""

SeasonKey = tuple[int, str]
"""A season and the tag of a language."""
PlayTimes = Mapping[SeasonKey, Mapping[int, TimedWork]]
"""What people played, by person."""


@dataclass(frozen=True)
class PlayedLanguage:
    """A language of a season, and what a batch in it would be."""

    language: Language
    outlook: BatchOutlook


def add_languages(seasons: Collection[Season], viewer: User | AnonymousUser) -> None:
    """Give each of `seasons` its languages as `played`; three queries, however many these are."""
    own = _times(Turn.objects.filter(player__season__in=seasons, player__user=viewer.pk)) if viewer.pk else {}
    paces, about, person = _paces(seasons), {season.pk: season for season in seasons}, viewer.pk
    in_all = {season: _pace_in_all_languages(paces, season, person) for season in about}
    found: dict[int, list[PlayedLanguage]] = defaultdict(list)
    for played in SeasonLanguage.objects.filter(season__in=about).select_related("language"):
        season, key = about[played.season_id], (played.season_id, played.language_id)
        outlook = BatchOutlook(
            size=season.batch_size,
            deadline=season.ends_at,
            pace=pace_of_others(paces.get(key, {}), person) or in_all[season.pk],
            # Rates are for captions and comparisons.
            pay=None,
            own=sum(own.get(key, {}).values(), TimedWork()),
        )
        found[season.pk].append(PlayedLanguage(played.language, outlook))
    for season in seasons:
        season.played = found[season.pk]  # type: ignore[attr-defined]


def _pace_in_all_languages(times: PlayTimes, season: int, person: int | None) -> MeasuredPace | None:
    of_all: dict[int, TimedWork] = defaultdict(TimedWork)
    for (played, _tag), people in times.items():
        for one, time in people.items() if played == season else ():
            of_all[one] += time
    return pace_of_others(of_all, person, in_all_languages=True)


def _paces(seasons: Collection[Season]) -> PlayTimes:
    # Nothing comes after a season, and then everybody looks at its page.
    batches = GameBatch.objects.filter(player__season__in=seasons, player__season__closed_at=None)
    finished = batches.exclude(Exists(Turn.objects.filter(batch=OuterRef("pk"), outcome__in=UNFINISHED)))
    of_each = finished.order_by().values("player", "language").annotate(newest=Max("pk")).values("newest")
    newest_first = Window(RowNumber(), partition_by=[F("player__season"), F("language")], order_by=F("pk").desc())
    newest = GameBatch.objects.filter(pk__in=of_each).annotate(place=newest_first).filter(place__lte=MAX_BATCHES)
    return _times(Turn.objects.filter(batch__in=newest.values("pk")))


def _times(turns: QuerySet[Turn]) -> PlayTimes:
    """Sum finished turns and how long they were open; one left open counts until a break would begin."""
    length = Least(F("finished_at") - F("opened_at"), Value(BREAK, DurationField()), output_field=DurationField())
    finished = turns.exclude(outcome__in=UNFINISHED).order_by()
    times: dict[SeasonKey, dict[int, TimedWork]] = defaultdict(dict)
    for season, tag, person, answers, spent in finished.values_list(
        "player__season", "batch__language", "player__user"
    ).annotate(Count("pk"), spent=Sum(length, default=timedelta(0))):
        times[season, tag][person] = TimedWork(answers, spent // timedelta(milliseconds=1))
    return times


def played_by_all(season: Season, language: str) -> tuple[int, int]:
    """Count the sentences in use in a language that somebody has played in a season, not skipped, and all in use."""
    items = GapItem.objects.filter(item_set=season.item_set_id, language=language, is_used=True)
    turns = Turn.objects.filter(item=OuterRef("pk"), player__season=season)
    # To count the distinct items of all turns takes a hundred times as long.
    played = items.filter(Exists(turns.exclude(outcome__in=[*UNFINISHED, TurnOutcome.SKIPPED])))
    return played.count(), items.count()
