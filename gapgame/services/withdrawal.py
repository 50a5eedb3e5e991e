"""What happens to turns when a player withdraws consent or deletes their account."""

from __future__ import annotations

from datetime import datetime
from uuid import uuid4

from core.people.models import Project, User
from gapgame.models import Player, PlayerStatus, Season
from gapgame.services.ranking import give_ranks


def withdraw_answers(*, project: Project, person: User, keeps_answers: bool, now: datetime) -> int:
    """Unless turns are kept, remove the player from every leaderboard and the turns from reports and files.

    Returns how many turns that were. They stay stored. Closed seasons are ranked again.
    """
    if keeps_answers:
        return 0
    removed = 0
    for season in Season.objects.filter(project=project, players__user=person).order_by("pk"):
        locked = Season.objects.select_for_update(no_key=True).get(pk=season.pk)
        player = Player.objects.select_for_update(no_key=True).get(season=locked, user=person)
        if player.status == PlayerStatus.WITHDRAWN:
            continue
        player.status, player.is_on_leaderboard = PlayerStatus.WITHDRAWN, False
        player.save(update_fields=["status", "is_on_leaderboard"])
        removed += player.turns
        if locked.closed_at is not None:
            give_ranks(season=locked)
    return removed


def forget(*, person: User, now: datetime) -> None:
    """Free the nicknames of `person`, and remove them from leaderboards; ranks stay."""
    for player in Player.objects.filter(user=person).order_by("season", "pk").select_for_update(no_key=True):
        player.nickname, player.is_on_leaderboard = f"deleted-{uuid4().hex[:12]}", False
        player.save(update_fields=["nickname", "is_on_leaderboard"])
