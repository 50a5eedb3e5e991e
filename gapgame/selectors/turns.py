"""Turns of a season as records, each a line of a file; docs/game-files.md describes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, partial
from itertools import islice
from typing import Any

from django.db.models import Count, QuerySet

from core.images.models import CollectionImage
from core.people.rules.pseudonyms import pseudonym
from gapgame.models import (
    UNFINISHED,
    Attempt,
    CorpusSplit,
    GapItem,
    ItemImage,
    ItemSet,
    Mark,
    Player,
    PlayerStatus,
    Season,
    Turn,
)
from gapgame.rules.play import MICRO

TURNS_AT_ONCE = 2000
COLUMNS = (
    *("turn", "season", "player", "item", "language", "split", "word", "sense", "images", "image"),
    *("opened_at", "finished_at", "outcome", "skip_reason", "score", "attempts", "marks", "set_aside"),
)
"""What a record says."""
SPLITS = {split.value: str(split.label) for split in CorpusSplit}
TURN_COLUMNS = (
    "pk",
    "player",
    "item",
    "batch__language",
    "outcome",
    "score",
    "opened_at",
    "finished_at",
    "skip_reason",
)
ATTEMPT_COLUMNS = ("number", "guess", "similarity", "has_vector")


@dataclass
class _TurnContext:
    """Data shared by many turns, read once. Marks of cleared players are left out, as they are not in force.

    Items are their keys and the rest that a line says about them.
    """

    season: Season
    players: dict[int, tuple[str, bool, frozenset[str]]]
    turn_marks: Mapping[Any, frozenset[str]]
    items: dict[int, tuple[str, dict[str, Any]]] = field(default_factory=dict)


def turn_records(season: Season) -> Iterator[dict[str, Any]]:
    """Yield turns that have ended: player after player, each in order of play, with skipped and invalid ones, but
    without those of players who withdrew their answers.

    A table of scores can be made from them: they are for closed seasons.
    """
    known = _TurnContext(season, players_of(season), _turn_marks(season))
    turns = Turn.objects.filter(player__season=season).exclude(outcome__in=UNFINISHED)
    turns = turns.exclude(player__status=PlayerStatus.WITHDRAWN)
    rows = turns.order_by("player", "batch", "position").values_list(*TURN_COLUMNS)
    stream = rows.iterator(chunk_size=TURNS_AT_ONCE)
    while chunk := list(islice(stream, TURNS_AT_ONCE)):
        yield from _records(known, chunk)


def _records(known: _TurnContext, rows: Sequence[tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    _learn_items(known, {row[2] for row in rows})
    attempts = _attempts({row[0]: row[6] for row in rows})
    for pk, player, item, language, outcome, score, opened_at, finished_at, skip_reason in rows:
        name, is_set_aside, marks = known.players[player]
        key, facts = known.items[item]
        yield {
            "turn": str(pk),
            "season": known.season.slug,
            "player": name,
            "item": key,
            "language": language,
            **facts,
            "opened_at": opened_at.astimezone(UTC).isoformat(),
            "finished_at": finished_at.astimezone(UTC).isoformat(),
            "outcome": outcome,
            "skip_reason": skip_reason,
            "score": score / MICRO,
            "attempts": attempts[pk],
            "marks": sorted(marks | known.turn_marks.get(pk, frozenset())),
            "set_aside": is_set_aside,
        }


def _attempts(opened: Mapping[Any, datetime]) -> Mapping[Any, list[dict[str, Any]]]:
    """Return attempts by turn, each with the seconds since the sentence was opened or the attempt before."""
    attempts: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    before = dict(opened)
    rows = Attempt.objects.filter(turn__in=list(opened)).order_by("number")
    for row in rows.values("turn", "made_at", *ATTEMPT_COLUMNS).iterator(chunk_size=TURNS_AT_ONCE):
        turn, made_at = row["turn"], row["made_at"]
        said = {name: row[name] for name in ATTEMPT_COLUMNS} | {"similarity": row["similarity"] / MICRO}
        attempts[turn].append(said | {"seconds": round((made_at - before[turn]).total_seconds(), 3)})
        before[turn] = made_at
    return attempts


def valid_marks(season: Season) -> QuerySet[Mark]:
    """Return the marks of a season, except those of cleared players."""
    return Mark.objects.filter(player__season=season).exclude(player__status=PlayerStatus.CLEARED).order_by()


def players_of(season: Season) -> dict[int, tuple[str, bool, frozenset[str]]]:
    """Return pseudonym, whether set aside, and the rules by which all of their play is marked, of each player."""
    name_of = cache(partial(pseudonym, season.project))
    marks: dict[int, set[str]] = defaultdict(set)
    for player, rule in valid_marks(season).filter(turn=None).values_list("player", "rule"):
        marks[player].add(rule)
    return {
        player: (name_of(user), status == PlayerStatus.SET_ASIDE, frozenset(marks.get(player, ())))
        for player, user, status in Player.objects.filter(season=season)
        .values_list("pk", "user", "status")
        .iterator(chunk_size=TURNS_AT_ONCE)
    }


def _turn_marks(season: Season) -> Mapping[Any, frozenset[str]]:
    marks: dict[Any, set[str]] = defaultdict(set)
    for turn, rule in valid_marks(season).filter(turn__isnull=False).values_list("turn", "rule"):
        marks[turn].add(rule)
    return {turn: frozenset(rules) for turn, rules in marks.items()}


def _learn_items(known: _TurnContext, items: set[int]) -> None:
    new = items - known.items.keys()
    if not new:
        return
    images = dict(ItemImage.objects.filter(item__in=new).order_by().values_list("item").annotate(Count("pk")))
    first = dict(ItemImage.objects.filter(item__in=new, position=0).order_by().values_list("item", "image"))
    keys = image_keys(known.season.item_set, set(first.values()))
    for item in GapItem.objects.filter(pk__in=new).only("key", "word", "split", "sense"):
        known.items[item.pk] = (
            item.key,
            {
                "split": SPLITS[item.split],
                "word": item.word,
                "sense": item.sense,
                "images": images.get(item.pk, 0),
                # The representative one.
                "image": keys.get(first.get(item.pk, 0), ""),
            },
        )


def image_keys(item_set: ItemSet, images: set[int] | None = None) -> dict[int, str]:
    """Return the keys of all images of a set, or of `images`."""
    entries = CollectionImage.objects.filter(collection=item_set.collection_id).order_by()
    if images is not None:
        entries = entries.filter(image__in=images)
    return dict(entries.values_list("image", "key"))
