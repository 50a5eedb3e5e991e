"""The player's page: a sentence, guesses, hints so far, and a position, from which no table can be rebuilt."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import datetime
from random import Random
from uuid import UUID

from django.db import connection
from django.http import Http404
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from core.conversation.permissions import ReportableItem
from core.images.models import Image
from core.images.rules.sizes import sizes_of
from core.people.models import User
from gapgame.models import UNFINISHED, Attempt, ItemImage, Player, ScoreCount, Turn, TurnOutcome
from gapgame.permissions import may_play, turn_for
from gapgame.rules import play as rules
from gapgame.rules.play import LEVELS, percent_below

GLANCE = 2000
"""So many players of one range are counted one by one before the other side of the range is tried."""
ADDRESS_HOURS = 3
"""How long an image's address stays valid beyond its hour."""
IMAGE_SIZE = 800
FOUND = (TurnOutcome.ATTEMPT_1, TurnOutcome.ATTEMPT_2, TurnOutcome.ATTEMPT_3)


def percent_of(player: Player) -> int | None:
    """Return the percentage of players with a scored turn whom `player` is above; None before their own first."""
    if not player.turns:
        return None
    lower, players = counts_of(player.season_id, player.total)
    return percent_below(lower, players)


def counts_of(season_id: int, total: int) -> tuple[int, int]:
    """Count how many players of a season have a lower total than `total`, and all players. Exact and live."""
    rows, values = [], []
    for level, wider in zip(LEVELS, (*LEVELS[1:], None), strict=True):
        # Below the range of the next wider level that has `total`, the wider level counts.
        first = 0 if wider is None else (total >> wider) << (wider - level)
        rows.append("WHEN level = %s AND stretch >= %s AND stretch < %s THEN players")
        values += [level, first, total >> level]
    fine, coarse = LEVELS[0], LEVELS[-1]
    table = connection.ops.quote_name(ScoreCount._meta.db_table)
    with connection.cursor() as cursor:
        # Plain SQL: built by Django it takes three times as long, and every guess that ends a turn waits for it.
        cursor.execute(
            f"SELECT COALESCE(SUM(CASE {' '.join(rows)} ELSE 0 END), 0),"  # noqa: S608
            " COALESCE(SUM(CASE WHEN level = %s AND stretch = %s THEN players ELSE 0 END), 0),"
            " COALESCE(SUM(CASE WHEN level = %s THEN players ELSE 0 END), 0)"
            f" FROM {table} WHERE season_id = %s AND (level = %s"
            + " OR (level = %s AND stretch BETWEEN %s AND %s)" * (len(LEVELS) - 1)
            + ")",
            [
                *values,
                *(fine, total >> fine),
                coarse,
                *(season_id, coarse),
                *(value for which in range(len(LEVELS) - 1) for value in values[3 * which : 3 * which + 3]),
            ],
        )
        below, here, players = map(int, cursor.fetchone())
    return below + _lower_in_stretch(season_id, total, here), players


def _lower_in_stretch(season_id: int, total: int, here: int) -> int:
    """Count, among the `here` players in the range of `total`, those with less.

    Many may have the very same total, below or above; few have it on both sides.
    """
    start = total >> LEVELS[0] << LEVELS[0]
    end = start + (1 << LEVELS[0])
    players = Player.objects.filter(season=season_id, turns__gte=1)
    below, above = players.filter(total__gte=start, total__lt=total), players.filter(total__gte=total, total__lt=end)
    if (few := below[:GLANCE].count()) < GLANCE:
        return few
    if (few := above[:GLANCE].count()) < GLANCE:
        return here - few
    return below.count()


@dataclass(frozen=True)
class ImageHint:
    """An image of a turn. `image` is set once the turn is over: its name, author and licence might reveal the word."""

    src: str
    image: Image | None


@dataclass(frozen=True)
class ScoredGuess:
    """`percent` is the similarity; `points` what the attempt is worth, both of 100 and rounded down."""

    number: int
    text: str
    percent: int
    points: int
    has_vector: bool
    is_near: bool


@dataclass(frozen=True)
class TurnPage:
    """What the player may know of a turn in its present state: `word` is "" until the turn is over.

    `seconds_left` to the cut-off, at least 0. `is_stopped`: the cut-off has passed, and the turn is about to be scored.
    """

    turn: Turn
    before: str
    after: str
    language: str
    direction: str
    guesses: list[ScoredGuess]
    hints: list[ImageHint]
    word: str
    next_number: int
    weight_percent: int
    is_finished: bool
    is_found: bool
    points: int
    seconds_left: int
    is_stopped: bool

    @property
    def state(self) -> str:
        """Name the state for the page's styles and scripts."""
        if not self.is_finished:
            return "stopped" if self.is_stopped else "open"
        if self.is_found:
            return "found"
        return "skipped" if self.turn.outcome == TurnOutcome.SKIPPED else "missed"


@dataclass(frozen=True)
class PlayerScore:
    """The head of the page. `percent`: above how many of all players, None before the first scored turn."""

    player: Player
    points: int
    percent: int | None
    done: int
    size: int


def turn_page(turn: Turn, *, now: datetime) -> TurnPage:
    """Load `turn` with its player, batch, item and the item's language, in two queries at most."""
    is_finished = turn.outcome not in UNFINISHED
    is_word_shown = is_finished and turn.outcome != TurnOutcome.SKIPPED
    guesses = [_guess(attempt) for attempt in turn.made]
    left = max(0, int((turn.player.season.ends_at - now).total_seconds()))
    return TurnPage(
        turn=turn,
        before=turn.item.before,
        after=turn.item.after,
        language=turn.item.language_id,
        direction=turn.item.language.direction,
        guesses=guesses,
        hints=_hints(turn, now, is_word_shown=is_word_shown),
        word=turn.item.word if is_word_shown else "",
        next_number=min(turn.attempts_made + 1, rules.ATTEMPTS),
        weight_percent=rules.WEIGHT_PERCENT[min(turn.attempts_made, rules.ATTEMPTS - 1)],
        is_finished=is_finished,
        is_found=turn.outcome in FOUND,
        points=rules.points_shown(turn.score),
        seconds_left=left,
        is_stopped=not is_finished and turn.player.season.ends_at <= now,
    )


def score_of(player: Player, turn: Turn | None) -> PlayerScore:
    size = Turn.objects.filter(batch=turn.batch_id).count() if turn else 0
    done = (turn.position - (turn.outcome in UNFINISHED)) if turn else 0
    return PlayerScore(player, rules.points_shown(player.total), percent_of(player), done, size)


def _guess(attempt: Attempt) -> ScoredGuess:
    return ScoredGuess(
        number=attempt.number,
        text=attempt.guess,
        percent=100 * attempt.similarity // rules.MICRO,
        points=rules.points_shown(attempt.score),
        has_vector=attempt.has_vector,
        is_near=rules.is_near_miss(attempt.similarity),
    )


def _hints(turn: Turn, now: datetime, *, is_word_shown: bool) -> list[ImageHint]:
    return [
        ImageHint(image_address(turn, image, now), image if is_word_shown else None) for image in images_shown(turn)
    ]


def images_shown(turn: Turn) -> list[Image]:
    """Return the images that the player of `turn` may see by now, in order; the representative first."""
    is_finished = turn.outcome not in UNFINISHED
    if turn.outcome == TurnOutcome.SKIPPED:
        is_finished = False
    if not turn.attempts_made and not is_finished:
        return []
    images = _images_of(turn.item_id)
    first, others = images[:1], images[1:]
    Random(turn.seed).shuffle(others)
    due = rules.images_shown(turn.attempts_made, len(images), is_finished=is_finished)
    return (first + others)[:due]


def _images_of(item_id: int) -> list[Image]:
    image, entry = (connection.ops.quote_name(model._meta.db_table) for model in (Image, ItemImage))
    query = (
        f"SELECT {image}.* FROM {image} JOIN {entry} ON {entry}.image_id = {image}.id"  # noqa: S608
        f" WHERE {entry}.item_id = %s ORDER BY {entry}.position"
    )
    return list(Image.objects.raw(query, [item_id]))


def image_address(turn: Turn, image: Image, now: datetime) -> str:
    """Sign an image of this turn for some hours; the signature reveals neither the image nor its position."""
    hour = int(now.timestamp()) // 3600
    return reverse("gapgame:image-show", args=[turn.pk, _signature(turn, image, hour)])


def reportable_hint(player: User, turn_id: UUID, position: int) -> ReportableItem:
    """Return one of the images that the player of a turn has seen, by its place among them."""
    turn = turn_for(player, turn_id)
    images = images_shown(turn)
    if not 1 <= position <= len(images):
        raise Http404(_("There is no such page."))
    image, now = images[position - 1], timezone.now()
    return ReportableItem(
        turn.player.season.project,
        turn.item.language,
        image,
        reverse("gapgame:turn-show", args=[turn.pk]),
        is_skipped=turn.outcome == TurnOutcome.OPEN and may_play(player, turn.player.season, now),
        is_played=True,
        src=image_address(turn, image, now),
        beside=[
            reverse("conversation:report-send", args=["turns", turn.pk, number]) for number in range(1, len(images) + 1)
        ],
    )


def image_at(turn: Turn, signature: str, now: datetime) -> Image | None:
    """Return the image that `signature` is for, if it may be seen by now and the address has not expired."""
    hour = int(now.timestamp()) // 3600
    for image in images_shown(turn):
        if signature in (_signature(turn, image, hour - age) for age in range(ADDRESS_HOURS)):
            return image
    return None


def served_size(image: Image) -> int:
    """Return the largest size in the game: it never depends on the screen, so that all players see the same."""
    return max(size for size in sizes_of(image.width, image.height) if size <= IMAGE_SIZE)


def _signature(turn: Turn, image: Image, hour: int) -> str:
    digest = salted_hmac("gapgame.image", f"{turn.pk.hex}:{image.pk}:{hour}", algorithm="sha256").digest()
    return base64.urlsafe_b64encode(digest[:18]).decode()
