"""One person's data export, and the images that they may still guess a word of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import F, QuerySet
from django.utils.translation import gettext as _

from core.people.models import User
from core.people.personal_data import ExportPart
from gapgame.models import UNFINISHED, ItemImage, Player, Turn, TurnOutcome
from gapgame.rules.play import MICRO


def data_export(person: User) -> Iterator[ExportPart]:
    yield ExportPart(
        "game-seasons",
        _("Seasons of the game that you took part in, with your nickname and score, and your rank once a "
          "season is closed. Marks for scripted play are not included, as they would help people avoid them."),
        _players(person),
    )  # fmt: skip
    yield ExportPart(
        "game-turns",
        _("Every turn that you finished, with your guesses and the word as the game showed it to you."),
        _turns(person),
    )


def _players(person: User) -> Iterator[dict[str, Any]]:
    players = Player.objects.filter(user=person).select_related("season").order_by("joined_at", "pk")
    for player in players:
        yield {
            "season": player.season.slug,
            "nickname": player.nickname,
            "is_on_leaderboard": player.is_on_leaderboard,
            "joined_at": player.joined_at,
            "total": player.total / MICRO,
            "reached_at": player.reached_at,
            "turns": player.turns,
            "best_streak": player.best_streak,
            "rank": player.rank,
        }


def _turns(person: User) -> Iterator[dict[str, Any]]:
    for turn in _finished(person).iterator(chunk_size=500):
        is_word_shown = turn.outcome != TurnOutcome.SKIPPED
        yield {
            "season": turn.player.season.slug,
            "batch": turn.batch.number,
            "position": turn.position,
            "language": turn.item.language_id,
            "before": turn.item.before,
            "after": turn.item.after,
            "word": turn.item.word if is_word_shown else None,
            "outcome": turn.outcome,
            "score": turn.score / MICRO,
            "opened_at": turn.opened_at,
            "finished_at": turn.finished_at,
            "skip_reason": turn.skip_reason,
            "skip_note": turn.skip_note,
            "guesses": [
                {
                    "guess": attempt.guess,
                    "similarity": attempt.similarity / MICRO if is_word_shown else None,
                    "score": attempt.score / MICRO if is_word_shown else None,
                    "made_at": attempt.made_at,
                }
                for attempt in turn.attempts.all()
            ],
        }


def _finished(person: User) -> QuerySet[Turn]:
    turns = Turn.objects.filter(player__user=person).exclude(outcome__in=UNFINISHED)
    turns = turns.select_related("player__season", "batch", "item").prefetch_related("attempts")
    return turns.order_by("player__joined_at", F("batch__number"), "position")


def assigned_images(person: User) -> QuerySet[ItemImage, int]:
    """Return images of sentences that `person` has yet to guess: captions of them elsewhere may reveal the word.

    Closed seasons are left out: their sentences never come back.
    """
    turns = Turn.objects.filter(player__user=person, player__season__closed_at=None, outcome__in=UNFINISHED)
    return ItemImage.objects.filter(item__in=turns.values("item")).values_list("image", flat=True)
