"""How long a player's percentage and a page of the leaderboard take: `python -m benchmarks.leaderboard`.

    python -m benchmarks.leaderboard [--players 1000000]

Run in the environment of the database to measure. Half of the players have played one batch or less, so that many have
the very same total; the others are spread.
"""

from __future__ import annotations

import random
from datetime import timedelta
from functools import partial

import django

django.setup()

from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from benchmarks import seed
from benchmarks.game import make_season
from benchmarks.harness import arguments, summary_of, tell, timed
from gapgame.models import Access, Player, Season
from gapgame.rules.percentiles import LEVELS
from gapgame.selectors.percentiles import counts_of, percent_of
from gapgame.services.closing import GRACE, close_season
from gapgame.services.ranking import credit

TIMES = 300
TENTH = 100_000


def fill(season: Season, players: int) -> None:
    """Invented players in SQL: every other one with a few tenths of a point, the others up to a thousand points."""
    numbers = f"({seed.numbers(players)}) AS numbers"
    total = f"CASE WHEN n %% 2 = 0 THEN (n %% 37) * {TENTH} ELSE (CAST(n AS BIGINT) * 7919) %% 1000000000 END"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO people_user (id, username, first_name, last_name, email, password, is_staff, is_active,"
            " is_superuser, date_joined, reads_english, interface_language)"
            f" SELECT 1000 + n, 'p' || n, '', '', '', '!', %s, %s, %s, %s, %s, '' FROM {numbers}",
            [False, True, False, timezone.now(), False],
        )
        cursor.execute(
            "INSERT INTO gapgame_player (season_id, user_id, nickname, is_on_leaderboard, joined_at, total, reached_at,"
            " turns, turns_checked, streak, best_streak, is_marked, status)"
            f" SELECT %s, 1000 + n, 'p' || n, %s, %s, {total}, %s, 2000, 2000, 0, 0, %s, 'playing' FROM {numbers}",
            [season.pk, True, timezone.now(), timezone.now(), False],
        )
        for level in LEVELS:
            cursor.execute(
                "INSERT INTO gapgame_scorecount (season_id, level, stretch, players)"
                " SELECT season_id, %s, total >> %s, count(*) FROM gapgame_player GROUP BY season_id, total >> %s",
                [level, level, level],
            )
        cursor.execute("ANALYZE")


def main() -> None:
    players = arguments(__doc__, players=1_000_000).players
    seed.migrate()
    season = make_season("ranks", 1, 10)
    fill(season, players)
    rng, now = random.Random(1), timezone.now()
    sample = [Player.objects.get(user_id=1000 + rng.randrange(1, players + 1)) for _ in range(TIMES)]
    percent = summary_of([partial(percent_of, player) for player in sample])
    plain = summary_of([partial(_counted, player) for player in sample[:20]])
    assert counts_of(season.pk, sample[0].total) == _counted(sample[0])
    credited = summary_of([partial(_credit, player, rng.randrange(10**6)) for player in sample])
    ends_at = now - GRACE
    Season.objects.filter(pk=season.pk).update(ends_at=ends_at, starts_at=ends_at - timedelta(1), access=Access.OPEN)
    close_s = round(timed(lambda: close_season(season_id=season.pk, now=now)).wall_s, 1)
    client = Client(headers={"host": "127.0.0.1"})
    address = "/game/ranks/leaderboard/"
    assert client.get(address, secure=True).status_code == 200
    pages = [{"page": rng.randrange(1, players // 50)} for _ in range(TIMES)]
    shown = summary_of([partial(client.get, address, page, secure=True) for page in pages])
    tell(
        {
            "database": connection.vendor,
            "players": players,
            "percent": percent,
            "plain_count": plain,
            "credit": credited,
            "close_s": close_s,
            "leaderboard": shown,
        },
        f"Rank among {players:,} players, {connection.vendor}:\n"
        f"  percentage {percent['median_ms']:.1f} ms, {plain['median_ms'] / percent['median_ms']:.0f} times as fast as "
        f"counting rows ({plain['median_ms']:.0f} ms)\n"
        f"  a page of the leaderboard {shown['median_ms']:.1f} ms; closing the season {close_s} s",
    )


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
