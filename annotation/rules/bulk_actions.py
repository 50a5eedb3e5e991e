"""What a manager can do to several rounds at once."""

from __future__ import annotations

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy, pgettext_lazy

from annotation.rules.campaign import RoundAction


class BulkAction(TextChoices):
    """The actions of a campaign, and those that take no step in it."""

    OPEN = "open", pgettext_lazy("what is done with a round", "Open")
    CLOSE = "close", pgettext_lazy("what is done with a round", "Close")
    ACCEPT = "accept", gettext_lazy("Accept")
    REOPEN = "reopen", gettext_lazy("Open again")
    REJECT = "reject", gettext_lazy("Reject")
    SKIP = "skip", gettext_lazy("Skip")
    RETURN = "return", gettext_lazy("Return unfinished batches")
    SETTINGS = "settings", gettext_lazy("Change settings")
    WRITE = "write", gettext_lazy("Write to their people")
    INVITE = "invite", gettext_lazy("Invite people")

    @property
    def step(self) -> RoundAction | None:
        """The action of a campaign; None if it takes no step."""
        return RoundAction(self.value) if self.value in RoundAction.values else None


OFFERED = (
    BulkAction.OPEN,
    BulkAction.CLOSE,
    BulkAction.ACCEPT,
    BulkAction.REOPEN,
    BulkAction.SETTINGS,
    BulkAction.INVITE,
    BulkAction.WRITE,
)
"""Actions that the overview offers; the others are reached from the page of a language."""
DESTRUCTIVE = frozenset({BulkAction.REJECT, BulkAction.SKIP, BulkAction.RETURN})
