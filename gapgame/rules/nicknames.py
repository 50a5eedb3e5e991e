"""Valid nicknames for the leaderboard."""

from __future__ import annotations

import unicodedata

from django.utils.translation import gettext as _

SHORTEST, LONGEST = 2, 24
# Controls, invisible characters, those that change others' direction, surrogates, private use, unassigned.
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn"}
# Some scripts need them inside words.
JOINERS = {"\u200c", "\u200d"}


class NicknameError(ValueError):
    """A nickname is not valid; the message says why."""


def clean_nickname(nickname: str) -> str:
    """
    Raises
    ------
    NicknameError
    """
    cleaned = " ".join(unicodedata.normalize("NFKC", nickname).split())
    if any(unicodedata.category(sign) in HIDDEN and sign not in JOINERS for sign in cleaned):
        raise NicknameError(_("Use only visible characters in your nickname."))
    if not SHORTEST <= len(cleaned) <= LONGEST or not any(sign.isalnum() for sign in cleaned):
        raise NicknameError(
            _("Enter %(shortest)d to %(longest)d characters, at least one of them a letter or digit.")
            % {"shortest": SHORTEST, "longest": LONGEST}
        )
    if "@" in cleaned:
        raise NicknameError(_("Do not use @ in your nickname: it will be public, so it must not be an e-mail address."))
    return cleaned
