"""Batches, turns, guesses and skips of a player, and the end of a season, when all are scored and ranked."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import groupby
from random import Random
from typing import Literal
from uuid import UUID

from django.db import transaction
from django.db.models import Subquery
from django.urls import reverse

from core.compiled_query import CompiledQuery, save_columns
from core.conversation.rules import MessageOrigin
from core.conversation.selectors import is_held, is_reported_by
from core.conversation.services import ask_managers
from core.people.models import User
from core.people.services import audit_log
from core.people.services.members import lock_person
from crosslens_metrics.hidden_characters import visible_text
from gapgame.models import (
    UNFINISHED,
    Attempt,
    GameBatch,
    GapItem,
    ItemImage,
    Player,
    Season,
    SeasonLanguage,
    SkipReason,
    Turn,
    TurnOutcome,
)
from gapgame.permissions import may_play
from gapgame.rules import play as rules
from gapgame.rules.play import MIN_PAUSE
from gapgame.services.ranking import add_to_total, check_players, give_ranks
from research.inference.selectors.word_vectors import vectors_of

SEEDS = 2**62
MAX_NOTE_CHARACTERS = 500

# Every guess asks these four: saves 1.2 ms.
PLAYER = CompiledQuery(
    lambda turn, person: Player.objects.select_for_update(no_key=True).filter(
        pk=Subquery(Turn.objects.filter(pk=turn).values("player")), user=person
    ),
    turn=UUID,
    person=int,
)
TURN = CompiledQuery(lambda turn: Turn.objects.filter(pk=turn), turn=UUID)
SEASON = CompiledQuery(lambda season: Season.objects.filter(pk=season), season=int)
ATTEMPTS = CompiledQuery(lambda turn: Attempt.objects.filter(turn=turn).order_by("number"), turn=UUID)
GRACE = timedelta(seconds=10)
"""A guess that arrived before the cut-off is stored by then, however busy the server is."""
PLAYERS_AT_ONCE = 500


class PlayError(Exception):
    """A step of the game is not allowed; nothing was changed."""


class NotPlayingError(PlayError):
    """The season has not begun or is over, or the person no longer takes part."""


class GuessTooSoonError(PlayError):
    """A guess came sooner than a person can make one; it cost no attempt."""


class StaleTurnError(PlayError):
    """The turn is further than the request assumes: a double click, or another device."""


class InvalidGuessError(PlayError):
    """The guess is empty, too long, or was made in this turn before; it cost no attempt."""


class UnfinishedBatchError(PlayError):
    """The last batch must be finished before the next."""


class NoSentencesLeftError(PlayError):
    """The player has had every sentence in this language."""


def take_batch(*, player_id: int, user: User, language: str, now: datetime, rng: Random) -> GameBatch:
    """Draw the player's next sentences: for each, a split and then one of its items, both uniformly.

    Raises NotPlayingError, UnfinishedBatchError or NoSentencesLeftError. Raises SeasonLanguage.DoesNotExist: the season
    is not played in `language`.
    """
    with transaction.atomic():
        # This keeps a simultaneous draw in another season from drawing the same.
        lock_person(user)
        player = _locked_player(player_id, user)
        season = player.season
        if not may_play(user, season, now):
            raise NotPlayingError
        played = SeasonLanguage.objects.get(season=season, language=language)
        if Turn.objects.filter(player=player, outcome__in=UNFINISHED).exists():
            raise UnfinishedBatchError
        items = _draw(player, user, language, season.batch_size, rng)
        if not items:
            raise NoSentencesLeftError
        batch = GameBatch.objects.create(
            player=player,
            language_id=language,
            signature=played.signature,
            number=player.batches.count() + 1,
            taken_at=now,
        )
        Turn.objects.bulk_create(
            Turn(player=player, batch=batch, item_id=item, position=position, seed=rng.randrange(SEEDS))
            for position, item in enumerate(items, start=1)
        )
    return batch


def _draw(player: Player, user: User, language: str, size: int, rng: Random) -> list[int]:
    # In other seasons too: the player has seen their words.
    seen = Turn.objects.filter(player__user=player.user_id).values("item")
    items = GapItem.objects.filter(item_set=player.season.item_set_id, language=language, is_used=True)
    is_unwanted = is_held(player.season.project_id, "image", "item__language") | is_reported_by(user, "image")
    unwanted = ItemImage.objects.filter(is_unwanted).values("item")
    rows = items.exclude(pk__in=seen).exclude(pk__in=unwanted).order_by("split", "pk").values_list("split", "pk")
    pools = [[item for _, item in of_split] for _, of_split in groupby(rows, key=lambda row: row[0])]
    drawn: list[int] = []
    while pools and len(drawn) < size:
        pool = rng.choice(pools)
        chosen = rng.randrange(len(pool))
        pool[chosen], pool[-1] = pool[-1], pool[chosen]
        drawn.append(pool.pop())
        if not pool:
            pools.remove(pool)
    return drawn


def open_turn(
    *, player_id: int, user: User, now: datetime, shown: UUID | None = None, shown_for: timedelta = timedelta(0)
) -> Turn | None:
    """Return the turn in progress, or open the next sentence of the batch; None when the batch is done.

    `shown` is the turn that the player's device got ahead and has shown for `shown_for`: it is believed as far back as
    the moment of the fetch.

    Raises NotPlayingError.
    """
    with transaction.atomic():
        turn = _next_turn(player_id, user, now)
        if turn is not None and turn.outcome == TurnOutcome.WAITING:
            opened_at = now
            if turn.pk == shown and turn.fetched_at is not None:
                opened_at -= min(shown_for, max(now - turn.fetched_at, timedelta(0)))
            turn.outcome, turn.opened_at, turn.shown_at = TurnOutcome.OPEN, opened_at, opened_at
            turn.save(update_fields=["outcome", "opened_at", "shown_at"])
    return turn


def fetch_turn(*, player_id: int, user: User, now: datetime) -> Turn | None:
    """Return the next sentence, for the player's device to keep until it is wanted. It goes on waiting.

    None while a turn is in progress, and when the batch is done.

    Raises NotPlayingError.
    """
    with transaction.atomic():
        turn = _next_turn(player_id, user, now)
        if turn is None or turn.outcome != TurnOutcome.WAITING:
            return None
        if turn.fetched_at is None:
            turn.fetched_at = now
            turn.save(update_fields=["fetched_at"])
    return turn


def _next_turn(player_id: int, user: User, now: datetime) -> Turn | None:
    player = _locked_player(player_id, user)
    if not may_play(user, player.season, now):
        raise NotPlayingError
    turns = Turn.objects.filter(player=player, outcome__in=UNFINISHED).select_related("item__language")
    # Alphabetically, "open" comes before "waiting".
    turn = turns.order_by("outcome", "batch__number", "position").first()
    if turn is not None:
        turn.player = player
    return turn


def make_guess(*, turn_id: UUID, user: User, number: int, guess: str, now: datetime) -> Turn:
    """Take `guess` as attempt `number` of the player's own turn.

    `now` is when the guess arrived: at the cut-off or later it does not count.

    Raises NotPlayingError, GuessTooSoonError, StaleTurnError or InvalidGuessError, Turn.DoesNotExist.
    """
    guess = " ".join(visible_text(guess).split())
    if not guess or len(guess) > rules.MAX_GUESS_CHARACTERS:
        raise InvalidGuessError
    asked = Turn.objects.select_related("item__language", "batch", "player__season").get(pk=turn_id, player__user=user)
    # Nothing is computed for a refused guess: the time it takes might reveal whether it is the word, for free.
    _check(asked, number, now)
    if not may_play(user, asked.player.season, now):
        raise NotPlayingError
    # Before the transaction: the vectors are on disk, and on SQLite a transaction blocks all other writers.
    word, language = asked.item.word, asked.item.language_id
    similarity, has_vector = similarity_of(guess, word, asked.batch.signature, language=language)
    with transaction.atomic():
        turn = _locked_turn(turn_id, user)
        turn.item, turn.batch = asked.item, asked.batch
        _check(turn, number, now)
        earlier = ATTEMPTS.rows(turn=turn_id) if number > 1 else []
        if any(rules.is_exact(guess, attempt.guess, language=language) for attempt in earlier):
            raise InvalidGuessError
        attempt = Attempt.objects.create(
            turn=turn,
            number=number,
            guess=guess,
            similarity=similarity,
            score=rules.attempt_score(number, similarity),
            has_vector=has_vector,
            made_at=now,
        )
        turn.attempts_made, turn.shown_at, turn.made = number, now, [*earlier, attempt]
        # Another word may have the very same vector; only the word itself ends the turn.
        if rules.is_exact(guess, word, language=language):
            finish(turn=turn, outcome=TurnOutcome(f"attempt_{number}"), attempts=turn.made, now=now)
        elif number == rules.ATTEMPTS:
            finish(turn=turn, outcome=TurnOutcome.FAILED, attempts=turn.made, now=now)
        else:
            save_columns(turn, "attempts_made", "shown_at")
    return turn


def similarity_of(guess: str, word: str, signature: str, *, language: str) -> tuple[int, bool]:
    """Return how similar `guess` is, in millionths, and whether it has a vector."""
    if rules.is_exact(guess, word, language=language):
        return rules.MICRO, True
    vectors = vectors_of(signature)
    similarity = vectors.similarity(guess, word)
    has_vector = similarity is not None or vectors.vector(guess) is not None
    return rules.similarity_in_millionths(similarity or 0.0), has_vector


def _check(turn: Turn, number: int, now: datetime) -> None:
    season = turn.player.season
    if turn.outcome != TurnOutcome.OPEN or number != turn.attempts_made + 1:
        raise StaleTurnError
    if season.closed_at is not None or not season.starts_at <= now < season.ends_at:
        raise NotPlayingError
    if turn.shown_at is not None and now - turn.shown_at < MIN_PAUSE:
        raise GuessTooSoonError


def skip(*, turn_id: UUID, user: User, reason: SkipReason, note: str = "", now: datetime) -> Turn:
    """Skip a sentence with a reason, which managers see. It scores nothing, whatever was guessed.

    They can answer the note, which is a message to them.

    Raises NotPlayingError or StaleTurnError, Turn.DoesNotExist.
    """
    note = visible_text(note.replace("\0", "")).strip()[:MAX_NOTE_CHARACTERS]
    with transaction.atomic():
        # The thread is locked before the player; the note of a skip that is refused goes with the transaction.
        if note:
            _write_note(turn_id, user, note, now)
        turn = _locked_turn(turn_id, user)
        season = turn.player.season
        if turn.outcome != TurnOutcome.OPEN:
            raise StaleTurnError
        if not may_play(user, season, now):
            raise NotPlayingError
        _end_skipped(turn, now, reason, note)
    return turn


def skip_reported(turn_id: UUID, user: User, _position: int, now: datetime) -> bool:
    """Skip the sentence of a turn when its player reports an image of it; call within a transaction.

    The report has the reason. Return False if the turn is over or play has stopped: then the guesses count.

    Raises Turn.DoesNotExist.
    """
    turn = _locked_turn(turn_id, user)
    if turn.outcome == TurnOutcome.OPEN and may_play(user, turn.player.season, now):
        _end_skipped(turn, now)
    return turn.outcome == TurnOutcome.SKIPPED


def _end_skipped(turn: Turn, now: datetime, reason: SkipReason | Literal[""] = "", note: str = "") -> None:
    turn.outcome, turn.finished_at = TurnOutcome.SKIPPED, now
    turn.skip_reason, turn.skip_note = reason, note
    turn.save(update_fields=["outcome", "finished_at", "skip_reason", "skip_note"])


def open_after(turn_id: UUID, user: User, now: datetime) -> str:
    """Open the sentence that comes after a turn; return its address, or that of the season when there is none."""
    player = Player.objects.select_related("season").get(all_turns=turn_id, user=user)
    try:
        turn = open_turn(player_id=player.pk, user=user, now=now)
    except NotPlayingError:
        turn = None
    if turn is None:
        return reverse("gapgame:season-show", args=[player.season.slug])
    return reverse("gapgame:turn-show", args=[turn.pk])


def _write_note(turn_id: UUID, user: User, note: str, now: datetime) -> None:
    turns = Turn.objects.select_related("player__season__project", "item__language")
    turn = turns.get(pk=turn_id, player__user=user)
    ask_managers(
        project=turn.player.season.project,
        person=user,
        text=note,
        quote=f"{turn.item.before}_____{turn.item.after}",
        origin=MessageOrigin.SKIPPED_SENTENCE,
        language=turn.item.language,
        now=now,
    )


def finish(*, turn: Turn, outcome: TurnOutcome, attempts: Iterable[Attempt], now: datetime) -> None:
    """Score a turn once, with its player locked: the best of its attempts is added to the total."""
    made = list(attempts)
    turn.outcome, turn.finished_at = outcome, now
    turn.score = rules.turn_score(attempt.score for attempt in made)
    save_columns(turn, "outcome", "finished_at", "score", "attempts_made", "shown_at")
    reached_at = max((attempt.made_at for attempt in made), default=now)
    is_solved = outcome in (TurnOutcome.ATTEMPT_1, TurnOutcome.ATTEMPT_2, TurnOutcome.ATTEMPT_3)
    add_to_total(player=turn.player, score=turn.score, is_found=is_solved, reached_at=reached_at)


def _locked_player(player_id: int, user: User) -> Player:
    return _with_season(Player.objects.select_for_update(no_key=True).get(pk=player_id, user=user))


def _locked_turn(turn_id: UUID, user: User) -> Turn:
    """Return a turn after locking its player, who alone changes it: player first, as everywhere."""
    player = PLAYER.first(turn=turn_id, person=user.pk)
    if player is None:
        raise Turn.DoesNotExist
    turn = TURN.get(turn=turn_id)
    turn.player = _with_season(player)
    return turn


def _with_season(player: Player) -> Player:
    # After locking: changes made while this waited count.
    player.season = SEASON.get(season=player.season_id)
    return player


def close_overdue(*, now: datetime) -> int:
    """Close every season whose cut-off has passed; return how many were closed."""
    overdue = Season.objects.filter(closed_at=None, ends_at__lte=now - GRACE)
    for season in overdue:
        close_season(season_id=season.pk, now=now)
    return len(overdue)


def is_overdue(season: Season, *, now: datetime) -> bool:
    return season.closed_at is None and now >= season.ends_at + GRACE


def close_season(*, season_id: int, now: datetime) -> None:
    """Score turns in progress from the guesses before the cut-off, then rank; safe to interrupt and repeat.

    Raises ValueError: the cut-off, with the grace for what is being written, has not passed.
    """
    season = Season.objects.get(pk=season_id)
    if season.closed_at is not None:
        return
    if now < season.ends_at + GRACE:
        raise ValueError(f"Season {season.slug} ends at {season.ends_at.isoformat()}; now it is {now.isoformat()}.")
    open_turns = Turn.objects.filter(player__season=season, outcome=TurnOutcome.OPEN)
    while players := list(open_turns.order_by("player").values_list("player", flat=True)[:PLAYERS_AT_ONCE]):
        for player in players:
            _cut_off(player, season)
    check_players(season_id=season.pk, now=now)
    with transaction.atomic():
        season = Season.objects.select_for_update(no_key=True).get(pk=season_id)
        if season.closed_at is None:
            give_ranks(season=season)
            season.closed_at = now
            season.save(update_fields=["closed_at"])
            audit_log.record(project=season.project, action="season.closed", about=season.slug, by=None, now=now)


def _cut_off(player_id: int, season: Season) -> None:
    with transaction.atomic():
        player = Player.objects.select_for_update(of=("self",), no_key=True).select_related("season").get(pk=player_id)
        turn = Turn.objects.filter(player=player, outcome=TurnOutcome.OPEN).first()
        if turn is None:
            return
        turn.player = player
        attempts: list[Attempt] = list(turn.attempts.all())
        finish(turn=turn, outcome=TurnOutcome.CUT_OFF, attempts=attempts, now=season.ends_at)
