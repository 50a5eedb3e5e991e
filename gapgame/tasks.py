"""Background tasks of the game: the rows say what is due."""

from __future__ import annotations

import logging

from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from core.jobs.tasks import shared_task
from crosslens_metrics.formats.word_vectors import WordVectorFileError
from gapgame.models import Season
from gapgame.services import playing, ranking
from research.inference.services.word_vectors import import_packaged

logger = logging.getLogger(__name__)
ASK_AGAIN_S = 30


@shared_task
def sweep_seasons() -> None:
    """Close seasons that have reached their cut-off, and check new play for scripts."""
    now = timezone.now()
    playing.close_overdue(now=now)
    ranking.check_players(now=now)


@shared_task
def close_season(season_id: int) -> None:
    playing.close_season(season_id=season_id, now=timezone.now())


def ask_for_closing(season: Season) -> None:
    """Close a season whose cut-off has passed, in case no sweep comes; many requests queue it once."""
    if not playing.is_overdue(season, now=timezone.now()):
        return
    # Only here, as most processes never come here, and to import it takes long.
    from redis import RedisError

    try:
        is_first = cache.add(f"closing-{season.pk}", True, ASK_AGAIN_S)
    except (RedisError, OSError):
        # The page is shown without the cache, and the season closed once the sweeps are back.
        return
    if is_first:
        transaction.on_commit(lambda: close_season.delay(season.pk), robust=True)


@shared_task
def import_packaged_vectors(name: str) -> None:
    """Do seconds of work with some hundred MB of memory, too much for a page. Repeating it does no harm."""
    try:
        import_packaged(name=name, now=timezone.now())
    except WordVectorFileError as refused:
        logger.warning("The word vectors %s are not imported: %s", name, refused)


def ask_for_packaged_vectors(name: str) -> None:
    transaction.on_commit(lambda: import_packaged_vectors.delay(name), robust=True)
