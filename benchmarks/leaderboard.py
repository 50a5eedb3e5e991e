"""How long a player's percentage and a page of the leaderboard take: `python -m benchmarks.leaderboard PLAYERS`.

Run in the environment of the database to measure. Half of the players have played one batch or less, so that many have
the very same total; the others are spread. Prints one JSON object.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from datetime import timedelta

import django

django.setup()

from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from benchmarks.game import make_season
from gapgame.models import Access, Player, Season
from gapgame.rules.percentiles import LEVELS
from gapgame.selectors.percentiles import counts_of, percent_of
from gapgame.services.closing import GRACE, close_season
from gapgame.services.ranking import credit

TIMES = 300
TENTH = 100_000


def fill(season: Season, players: int) -> None:
    """Invented players in SQL: every other one with a few tenths of a point, the others up to a thousand points."""
    numbers = (
        f"(SELECT generate_series(1, {players}) AS n) AS numbers"
        if connection.vendor == "postgresql"
        else f"(WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {players}) SELECT n FROM c)"
    )
    flag = "TRUE" if connection.vendor == "postgresql" else "1"
    no = "FALSE" if connection.vendor == "postgresql" else "0"
    total = f"CASE WHEN n %% 2 = 0 THEN (n %% 37) * {TENTH} ELSE (CAST(n AS BIGINT) * 7919) %% 1000000000 END"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO people_user (id, username, first_name, last_name, email, password, is_staff, is_active,"
            " is_superuser, date_joined, reads_english, interface_language)"
            f" SELECT 1000 + n, 'p' || n, '', '', '', '!', {no}, {flag}, {no}, %s, {no}, '' FROM {numbers}",
            [timezone.now()],
        )
        cursor.execute(
            "INSERT INTO gapgame_player (season_id, user_id, nickname, is_on_leaderboard, joined_at, total, reached_at,"
            " turns, turns_checked, streak, best_streak, is_marked, status)"
            f" SELECT %s, 1000 + n, 'p' || n, {flag}, %s, {total}, %s, 2000, 2000, 0, 0, {no}, 'playing'"
            f" FROM {numbers}",
            [season.pk, timezone.now(), timezone.now()],
        )
        for level in LEVELS:
            cursor.execute(
                "INSERT INTO gapgame_scorecount (season_id, level, stretch, players)"
                " SELECT season_id, %s, total >> %s, count(*) FROM gapgame_player GROUP BY season_id, total >> %s",
                [level, level, level],
            )
        cursor.execute("ANALYZE")


def timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - began)


def summary(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    found = {"median_ms": statistics.median(ordered), "p95_ms": ordered[int(0.95 * len(ordered)) - 1]}
    return {name: round(value, 2) for name, value in found.items()}


def main() -> None:
    players = int(sys.argv[1])
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    season = make_season("ranks", 1, 10)
    fill(season, players)
    rng = random.Random(1)
    sample = [Player.objects.get(user_id=1000 + rng.randrange(1, players + 1)) for _ in range(TIMES)]
    found: dict[str, object] = {"database": connection.vendor, "players": players}
    found["percent"] = summary([timed(lambda: percent_of(player)) for player in sample])  # noqa: B023
    plain = [timed(lambda: _counted(player)) for player in sample[:20]]  # noqa: B023
    found["plain_count"] = summary(plain)
    assert counts_of(season.pk, sample[0].total) == _counted(sample[0])
    now = timezone.now()
    found["credit"] = summary([timed(lambda: _credit(player, rng.randrange(10**6))) for player in sample])  # noqa: B023
    ends_at = now - GRACE
    Season.objects.filter(pk=season.pk).update(ends_at=ends_at, starts_at=ends_at - timedelta(1), access=Access.OPEN)
    found["close_s"] = round(timed(lambda: close_season(season_id=season.pk, now=now)) / 1000, 1)
    print(json.dumps(found), file=sys.stderr)
    client = Client(headers={"host": "127.0.0.1"})
    address = "/game/ranks/leaderboard/"
    assert client.get(address, secure=True).status_code == 200
    pages = [rng.randrange(1, players // 50) for _ in range(TIMES)]
    found["leaderboard"] = summary([timed(lambda: client.get(address, {"page": page}, secure=True)) for page in pages])  # noqa: B023
    print(json.dumps(found))


def _counted(player: Player) -> tuple[int, int]:
    """The same by counting rows, as it would be without the kept counts."""
    scored = Player.objects.filter(season=player.season_id, turns__gte=1)
    return scored.filter(total__lt=player.total).count(), scored.count()


def _credit(player: Player, score: int) -> None:
    with transaction.atomic():
        locked = Player.objects.select_for_update(no_key=True).get(pk=player.pk)
        credit(player=locked, score=score, is_found=True, reached_at=timezone.now())


if __name__ == "__main__":
    main()
