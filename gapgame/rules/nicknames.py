"""What a player may be called on the board."""

from __future__ import annotations

import unicodedata

from django.utils.translation import gettext as _

SHORTEST, LONGEST = 2, 24
# Controls, what nobody sees and what turns the writing of others round, surrogates, private use, unassigned.
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn"}
# Some scripts need them inside words.
JOINERS = {"\u200c", "\u200d"}


class NicknameError(ValueError):
    """Why, as a sentence."""


def clean_nickname(nickname: str) -> str:
    """
    Raises
    ------
    NicknameError
    """
    cleaned = " ".join(unicodedata.normalize("NFKC", nickname).split())
    if any(unicodedata.category(sign) in HIDDEN and sign not in JOINERS for sign in cleaned):
        raise NicknameError(_("A nickname has only signs that can be seen."))
    if not SHORTEST <= len(cleaned) <= LONGEST or not any(sign.isalnum() for sign in cleaned):
        raise NicknameError(
            _("A nickname has %(shortest)d to %(longest)d signs, one of them a letter or digit.")
            % {"shortest": SHORTEST, "longest": LONGEST}
        )
    if "@" in cleaned:
        raise NicknameError(_("A nickname is public in the end: it has no @ in it, so that it is no address."))
    return cleaned
