"""Valid nicknames for the leaderboard."""

from __future__ import annotations

import unicodedata

from django.utils.translation import gettext as _

from crosslens_metrics.hidden_characters import has_hidden

MIN_NICKNAME_CHARACTERS, MAX_NICKNAME_CHARACTERS = 2, 24
# Controls, surrogates, private use, unassigned.
UNSEEN = {"Cc", "Cs", "Co", "Cn"}


class NicknameError(ValueError):
    """A nickname is not valid; the message says why."""


def clean_nickname(nickname: str) -> str:
    """
    Raises
    ------
    NicknameError
    """
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
