"""What a manager can do to rounds, one or several at once, and what each action does to them."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from annotation.rules.campaign import (
    ACCEPTED,
    MAIN,
    PILOT,
    PLANNED,
    VERIFICATION,
    CampaignStep,
    RoundAction,
    main_of,
    verification_of,
    verified_by,
)


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


def consequence(action: RoundAction, step: CampaignStep, steps: Sequence[CampaignStep]) -> str:
    """Say what `action` makes possible or impossible; it is allowed with `step`."""
    return _SENTENCES[action](step, steps)


def of_batches(number: int) -> str:
    """Say how many batches of a round are unfinished; empty if there are none."""
    text = ngettext("%(number)d batch is unfinished.", "%(number)d batches are unfinished.", number)
    return text % {"number": number} if number else ""


def _open(step: CampaignStep, steps: Sequence[CampaignStep]) -> str:
    if step.kind == MAIN:
        return _("People can then take batches. No more pilots can be planned.")
    of = verified_by(step, steps)
    if of and of.kind == PILOT:
        return _("People can then rate its captions. The pilot can no longer be opened again.")
    return _("People can then rate captions.") if step.kind == VERIFICATION else _("People can then take batches.")


def _close(step: CampaignStep, steps: Sequence[CampaignStep]) -> str:
    of = verified_by(step, steps)
    if of and of.kind == PILOT:
        return _("Nobody gets new batches. You can then accept or reject the pilot.")
    if step.kind == PILOT:
        return _("Nobody gets new batches. You can then have its captions rated.")
    return _("Nobody gets new batches. You can then accept it, or open it again.")


def _reopen(step: CampaignStep, steps: Sequence[CampaignStep]) -> str:
    if step.state == ACCEPTED:
        return _("People can take batches again. You decide about it again later.")
    return _("People can take batches again.")


def _accept(step: CampaignStep, steps: Sequence[CampaignStep]) -> str:
    if step.kind == PILOT:
        return _("You can then open the main round. You cannot undo this.")
    if step.kind == MAIN:
        verification = verification_of(step, steps)
        if verification and verification.state == PLANNED:
            return _("You can then open the verification. Its captions go into the next release.")
        return _("Its captions go into the next release.")
    main = main_of(steps)
    is_last = main is not None and main.state == ACCEPTED
    return _("The language is then finished.") if is_last else _("You cannot undo this.")


def _reject(step: CampaignStep, steps: Sequence[CampaignStep]) -> str:
    return _(
        "You can then plan pilot %(number)d. The captions of pilot %(rejected)d are kept. You cannot undo this."
    ) % {"number": step.number + 1, "rejected": step.number}


def _skip(step: CampaignStep, steps: Sequence[CampaignStep]) -> str:
    if step.kind == PILOT:
        return _("It and its rating are never opened. You cannot undo this.")
    return _("It is never opened. You can plan another one.")


_SENTENCES = {
    RoundAction.OPEN: _open,
    RoundAction.CLOSE: _close,
    RoundAction.REOPEN: _reopen,
    RoundAction.ACCEPT: _accept,
    RoundAction.REJECT: _reject,
    RoundAction.SKIP: _skip,
}
