"""Taking part in a season, under a valid nickname."""

from __future__ import annotations

import unicodedata
from datetime import datetime

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from core.people.models import Role, User
from core.people.selectors.qualification import still_takes_part
from crosslens_metrics.hidden_characters import has_hidden
from gapgame.models import Player, Season

MIN_NICKNAME_CHARACTERS, MAX_NICKNAME_CHARACTERS = 2, 24
# Controls, surrogates, private use, unassigned.
UNSEEN = {"Cc", "Cs", "Co", "Cn"}


class NicknameError(ValueError):
    """A nickname is not valid; the message says why."""


def clean_nickname(nickname: str) -> str:
    """Raises NicknameError."""
    cleaned = " ".join(unicodedata.normalize("NFKC", nickname).split())
    if has_hidden(cleaned) or any(unicodedata.category(sign) in UNSEEN for sign in cleaned):
        raise NicknameError(_("Use only visible characters in your nickname."))
    if not MIN_NICKNAME_CHARACTERS <= len(cleaned) <= MAX_NICKNAME_CHARACTERS or not any(
        sign.isalnum() for sign in cleaned
    ):
        raise NicknameError(
            _("Enter %(shortest)d to %(longest)d characters, at least one of them a letter or digit.")
            % {"shortest": MIN_NICKNAME_CHARACTERS, "longest": MAX_NICKNAME_CHARACTERS}
        )
    if "@" in cleaned:
        raise NicknameError(_("Do not use @ in your nickname: it will be public, so it must not be an e-mail address."))
    return cleaned


class JoinError(Exception):
    """Somebody cannot take part; the message says why."""


def join_season(*, season: Season, user: User, nickname: str, is_on_leaderboard: bool, now: datetime) -> Player:
    """Join a season; who has already joined keeps their nickname and settings.

    Raises JoinError: the season is over, the person is no player of the project, has not agreed to its consent text or
    not confirmed an address where the season asks for one, or somebody has the nickname. Raises NicknameError.
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

    Raises JoinError: somebody has the nickname. Raises NicknameError.
    """
    player.nickname, player.is_on_leaderboard = clean_nickname(nickname), is_on_leaderboard
    try:
        with transaction.atomic():
            player.save(update_fields=["nickname", "is_on_leaderboard"])
    except IntegrityError as error:
        raise JoinError(_("Another player has this nickname. Choose another.")) from error
    return player
