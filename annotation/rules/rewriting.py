"""Why a returned caption can no longer be rewritten, as its author reads it."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

PLACE_IS_TAKEN = _("Other people described this image while you were away, so this caption is no longer needed.")
ROUND_IS_OVER = _("This round is over and another one follows, so this caption is no longer needed.")
HINDRANCES = {
    "paused": _("A manager has paused your work in this language. Copy your text, then contact a manager."),
    "excluded": _(
        "A manager has decided that your captions in this language do not count. Copy your text, then contact a "
        "manager."
    ),
    "gone": _(
        "You are not an annotator of this project, or have not agreed to its newest consent text. Copy your text, then "
        "check under My work what is missing."
    ),
}
