"""Makes the demo's Gap Filling Game: a season that is on, and one that is over with its leaderboard.

A seed decides what its invented players guess. A player who already has a batch of a season gets no more guesses here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from core.languages.models import Language
from core.people.models import Project, User
from gapgame.models import GameBatch, ItemSet, Season, SeasonAccess, Turn, TurnOutcome
from gapgame.permissions import may_play
from gapgame.rules.play import ATTEMPTS
from gapgame.services import playing
from gapgame.services.item_imports import import_path
from gapgame.services.items import create_item_set
from gapgame.services.players import join_season
from gapgame.services.playing import GRACE, close_season
from gapgame.services.seasons import SeasonTerms, SeasonTexts, create_season
from research.inference.models import WordVectorSet
from research.inference.services.word_vectors import import_packaged
from tools.demo import game_items
from tools.demo.captions import Clock, with_sizes

Say = Callable[[str], object]
SEED = 1912
SET_NAME = "Demo sentences"
BATCH_SIZE = 20
ZONE = "Europe/Madrid"
VECTORS = {"en": "glove-6b-50d", "es": "use-multilingual-v3"}
LONG = timedelta(days=14)


class PlayerHabits(NamedTuple):
    """How somebody in the demo plays: how often they know the word, and how long they think."""

    language: str
    nickname: str
    knows: float
    thinks_s: float
    is_on_leaderboard: bool = True


PLAYERS = {
    "pia-en": PlayerHabits("en", "Pia", 0.42, 9.0),
    "pablo-es": PlayerHabits("es", "Pablo", 0.35, 12.0),
    "olga-en": PlayerHabits("en", "Olga the Owl", 0.5, 7.0),
    "tomas-es": PlayerHabits("es", "Tomás", 0.3, 10.0),
    "shy-en": PlayerHabits("en", "Nobody Special", 0.25, 8.0, is_on_leaderboard=False),
}
IN_THE_MIDDLE = "pia-en"

LAST_SEASON = SeasonTexts(
    name="Warm-up season",
    description="A short season to try the game. It is over: see the **leaderboard**.",
    prizes="The winner got a postcard of a lighthouse, the runner-up one of the fog around it.",
)
THIS_SEASON = SeasonTexts(
    name="Demo season",
    description="Sentences in English and Spanish with one missing word. You have three guesses, and photographs help.",
    prizes="Nothing but glory: this is a demo.",
)


def load(
    *,
    project: Project,
    people: Mapping[str, User],
    manager: User,
    unpacked: Path,
    clock: Clock,
    say: Say,
) -> None:
    """Make what is missing of the sentences, the two seasons and the turns played in them."""
    item_set = _items(project, manager, unpacked, clock, say)
    now = clock()
    seasons = Season.objects.filter(project=project, name__in=[LAST_SEASON.name, THIS_SEASON.name])
    # Copied once for both, as that takes seconds.
    vectors = _vectors(now) if seasons.count() < 2 else {}
    over = _season(item_set, LAST_SEASON, manager, vectors, now - 2 * LONG, now - LONG)
    if over.closed_at is None:
        for username in PLAYERS:
            _play_batch(over, people[username], over.starts_at + timedelta(hours=1 + len(username)), stop_at=None)
        close_season(season_id=over.pk, now=max(now, over.ends_at + GRACE))
    on = _season(item_set, THIS_SEASON, manager, vectors, now - timedelta(days=1), now + LONG)
    for username in PLAYERS:
        stop_at = 4 if username == IN_THE_MIDDLE else None
        _play_batch(on, people[username], on.starts_at + timedelta(hours=1 + len(username)), stop_at=stop_at)


def _items(project: Project, manager: User, unpacked: Path, clock: Clock, say: Say) -> ItemSet:
    made = ItemSet.objects.filter(project=project, name=SET_NAME).first()
    item_set = made or create_item_set(project=project, name=SET_NAME, by=manager)
    if item_set.items.count() < len(game_items.items()):
        say("Drawing the game's images ...")
        pictures = game_items.prepared_images(unpacked, game_items.names_of_pictures())
        path = game_items.write(pictures)
        # A sentence whose images are not ready is never drawn.
        with_sizes(partial(import_path, path=path, item_set=item_set), clock=clock)
    return item_set


def _vectors(now: datetime) -> Mapping[str, WordVectorSet]:
    """Return the word vectors that seasons score with, by language."""
    languages = Language.objects.in_bulk(VECTORS)
    return {tag: import_packaged(name=name, language=languages[tag], now=now).vectors for tag, name in VECTORS.items()}


def _season(
    item_set: ItemSet,
    texts: SeasonTexts,
    manager: User,
    vectors: Mapping[str, WordVectorSet],
    starts_at: datetime,
    ends_at: datetime,
) -> Season:
    project = item_set.project
    season = Season.objects.filter(project=project, name=texts.name).first()
    if season is not None:
        return season
    terms = SeasonTerms(
        starts_at=_whole_hour(starts_at),
        ends_at=_whole_hour(ends_at),
        time_zone=ZONE,
        vectors=vectors,
        batch_size=BATCH_SIZE,
        access=SeasonAccess.OPEN,
    )
    return create_season(project=project, item_set=item_set, texts=texts, terms=terms, by=manager, now=terms.starts_at)


def _whole_hour(time: datetime) -> datetime:
    return time.replace(minute=0, second=0, microsecond=0)


def _play_batch(season: Season, user: User, began_at: datetime, *, stop_at: int | None) -> None:
    """Play a batch for somebody who may and never has; leave the turn `stop_at` after its first guess."""
    had_one = GameBatch.objects.filter(player__season=season, player__user=user).exists()
    if had_one or not may_play(user, season, began_at):
        return
    habits = PLAYERS[user.username]
    player = join_season(
        season=season, user=user, nickname=habits.nickname, is_on_leaderboard=habits.is_on_leaderboard, now=began_at
    )
    rng = Random(f"{SEED}:{season.name}:{user.username}")
    playing.take_batch(player_id=player.pk, user=user, language=habits.language, now=began_at, rng=rng)
    now = began_at
    while turn := playing.open_turn(player_id=player.pk, user=user, now=now):
        is_left = turn.position == stop_at
        now = _play_turn(turn, user, habits, now, rng, attempts=1 if is_left else ATTEMPTS)
        if is_left:
            return
        now += timedelta(seconds=rng.uniform(2, 6))


def _play_turn(turn: Turn, user: User, habits: PlayerHabits, now: datetime, rng: Random, *, attempts: int) -> datetime:
    """Guess until the turn is over or `attempts` are made; images help. Return the time then."""
    others = sorted({answer for _, answer, *_ in game_items.SENTENCES[habits.language]} - {turn.item.word})
    guesses = rng.sample(others, attempts)
    for number, guess in enumerate(guesses, start=1):
        now += timedelta(seconds=max(3.0, rng.gauss(habits.thinks_s, 3)))
        is_known = rng.random() < habits.knows + 0.1 * (number - 1) and attempts == ATTEMPTS
        word = turn.item.word if is_known else guess
        turn = playing.make_guess(turn_id=turn.pk, user=user, number=number, guess=word, now=now)
        if turn.outcome != TurnOutcome.OPEN:
            break
    return now
