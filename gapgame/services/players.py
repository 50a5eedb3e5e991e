"""Taking part in a season, under a nickname."""

from __future__ import annotations

from datetime import datetime

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from core.people.models import Role, User
from core.people.selectors.qualification import still_takes_part
from gapgame.models import Player, Season
from gapgame.rules.nicknames import clean_nickname


class JoinError(Exception):
    """Somebody cannot take part; the message says why."""


def join_season(*, season: Season, user: User, nickname: str, is_on_leaderboard: bool, now: datetime) -> Player:
    """Join a season; who has already joined keeps their nickname and settings.

    Raises
    ------
    JoinError
        The season is over, the person is no player of the project, has not agreed to its consent text or not confirmed
        an address where the season asks for one, or somebody has the nickname.
    NicknameError
    """
    if now >= season.ends_at:
        raise JoinError(_("The season has ended."))
    if not still_takes_part(user, season.project_id, Role.PLAYER):
        raise JoinError(_("Only players in the project who have agreed to its consent text can join."))
    if season.needs_address and not user.email:
        raise JoinError(_("Confirm an e-mail address first. This season requires one."))
    nickname = clean_nickname(nickname)
    try:
        with transaction.atomic():
            player, _is_new = Player.objects.get_or_create(
                season=season,
                user=user,
                defaults={"nickname": nickname, "is_on_leaderboard": is_on_leaderboard, "joined_at": now},
            )
    except IntegrityError as error:
        raise JoinError(_("Another player has this nickname. Choose another.")) from error
    return player


def change_player(*, player: Player, nickname: str, is_on_leaderboard: bool) -> Player:
    """Change the nickname, or hide from or show on the leaderboard; at any time, even when it is public.

    Raises
    ------
    JoinError
        Somebody has the nickname.
    NicknameError
    """
    player.nickname, player.is_on_leaderboard = clean_nickname(nickname), is_on_leaderboard
    try:
        with transaction.atomic():
            player.save(update_fields=["nickname", "is_on_leaderboard"])
    except IntegrityError as error:
        raise JoinError(_("Another player has this nickname. Choose another.")) from error
    return player
