"""The report on a season from the database: the figures that `game_report` gives for its exported turns."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import FilteredRelation, Q

from gapgame.models import UNFINISHED, GapItem, ItemImage, PlayerStatus, Season, Turn
from gapgame.rules import turns as rules
from gapgame.rules.play import ATTEMPTS, MICRO
from gapgame.rules.report import BY, GameReport, build_report
from gapgame.selectors.turns import SPLITS, image_keys, players_of, valid_marks

SEED = 0
TURNS_AT_ONCE = 5000
BY_PLAYER = "player"


def report_on(season: Season, *, keep: Collection[str], by: str = "") -> GameReport:
    """Compute all figures, and those of the groups `by`. Single players have none until the season is closed."""
    groups = [by] if by in groups_of(season) else []
    signatures = sorted(set(season.languages.values_list("signature", flat=True)))
    return build_report(turns_of(season), keep=keep, seed=SEED, by=groups, vectors=" ".join(signatures))


def groups_of(season: Season) -> list[str]:
    return [name for name in BY if name != BY_PLAYER or season.closed_at is not None]


def turns_of(season: Season) -> list[rules.PlayedTurn]:
    """Yield turns that have ended, in the order of `turn_records`, so that draws by a seed are the same.

    Each has its attempts in one row, and no times, which take as long to read as all the rest: a player never gets a
    sentence twice. Marked and excluded players are left out only once the season is closed: before, comparing the
    figures from before and after a manager's decision would reveal that player's results.
    """
    is_closed = season.closed_at is not None
    attempts = {
        f"attempt_{number}": FilteredRelation("attempts", condition=Q(attempts__number=number))
        for number in range(1, ATTEMPTS + 1)
    }
    rows = (
        Turn.objects.filter(player__season=season)
        .exclude(outcome__in=UNFINISHED)
        .exclude(player__status=PlayerStatus.WITHDRAWN)
        .annotate(**attempts)
        .order_by("player", "batch", "position")
        .values_list("player", "item", "outcome", *(f"{name}__similarity" for name in attempts))
    )
    players, items, marked = players_of(season), _items(season), _marked_turns(season)
    turns = []
    for player, item, outcome, *similarities in rows.iterator(chunk_size=TURNS_AT_ONCE):
        name, is_set_aside, marks = players[player]
        key, word, split, image, language = items[item]
        turns.append(
            rules.PlayedTurn(
                outcome=outcome,
                split=split,
                item=key,
                word=word,
                player=name,
                image=image,
                language=language,
                similarities=tuple([each / MICRO for each in similarities if each is not None]),
                is_marked=is_closed and (bool(marks) or (player, item) in marked),
                is_set_aside=is_closed and is_set_aside,
            )
        )
    return turns


def _items(season: Season) -> dict[int, tuple[str, str, str, str, str]]:
    """Key, word, split, the key of the representative image, and language."""
    first = dict(ItemImage.objects.filter(item__item_set=season.item_set_id, position=0).values_list("item", "image"))
    keys = image_keys(season.item_set)
    columns = ("pk", "key", "word", "split", "language")
    rows = GapItem.objects.filter(item_set=season.item_set_id).order_by().values_list(*columns)
    return {
        pk: (key, word, SPLITS[split], keys.get(first.get(pk, 0), ""), language)
        for pk, key, word, split, language in rows.iterator(chunk_size=TURNS_AT_ONCE)
    }


def _marked_turns(season: Season) -> set[tuple[int, int]]:
    """By player and item, which have one turn."""
    return set(valid_marks(season).filter(turn__isnull=False).values_list("player", "turn__item"))
