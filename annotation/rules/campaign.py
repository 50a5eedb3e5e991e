"""Which step of a language may follow which: pilots until one is good enough, the main round, its verification.

Others rate a pilot's captions before it is decided; the decision covers that rating too. Everything is decided from
values: kinds and states are given by their stored names. Steps that are not allowed are answered by a sentence: why,
and what to do first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

PILOT, MAIN, VERIFICATION = "pilot", "main", "verification"
PLANNED, OPEN, CLOSED, ACCEPTED, REJECTED, SKIPPED = "planned", "open", "closed", "accepted", "rejected", "skipped"
UNDECIDED = frozenset({PLANNED, OPEN, CLOSED})

PILOT_IMAGES = 150
VERIFIED_CAPTIONS = 600
REVIEWERS_PER_CAPTION = 3


class UnfinishedBatches(TextChoices):
    """What happens to unfinished batches when a round is closed."""

    LET_FINISH = "let-finish", gettext_lazy("Let people finish them")
    RETURN = "return", gettext_lazy("Return them; people keep their drafts")


class RoundAction(TextChoices):
    OPEN = "open", gettext_lazy("Open")
    CLOSE = "close", gettext_lazy("Close")
    REOPEN = "reopen", gettext_lazy("Open again")
    ACCEPT = "accept", gettext_lazy("Accept")
    REJECT = "reject", gettext_lazy("Reject")
    SKIP = "skip", gettext_lazy("Skip")


@dataclass(frozen=True)
class CampaignStep:
    """A round of a language. `verifies` is the `key` of the round whose captions it rates."""

    key: Hashable
    kind: str
    number: int
    state: str
    verifies: Hashable | None = None


def pilots(steps: Sequence[CampaignStep]) -> list[CampaignStep]:
    return sorted((step for step in steps if step.kind == PILOT), key=lambda step: step.number)


def main_of(steps: Sequence[CampaignStep]) -> CampaignStep | None:
    """Return the last of them, if there are several."""
    mains = [step for step in steps if step.kind == MAIN]
    return max(mains, key=lambda step: step.number, default=None)


def verification_of(step: CampaignStep, steps: Sequence[CampaignStep]) -> CampaignStep | None:
    """Return the round that rates the captions of `step`; a skipped one only if there is no other."""
    verifying = [other for other in steps if other.verifies == step.key]
    return max(verifying, key=lambda other: (other.state != SKIPPED, other.number), default=None)


def verified_by(step: CampaignStep, steps: Sequence[CampaignStep]) -> CampaignStep | None:
    return next((other for other in steps if other.key == step.verifies), None)


def actions_of(step: CampaignStep, steps: Sequence[CampaignStep]) -> list[RoundAction]:
    """Return the actions that are allowed with a round now."""
    return [action for action in RoundAction if why_not(action, step, steps) is None]


def why_not(action: str, step: CampaignStep, steps: Sequence[CampaignStep]) -> str | None:
    """Return why `action` is not allowed with `step` now, and what to do first; None if it is."""
    return _RULES[RoundAction(action)](step, steps)


def why_no_pilot(steps: Sequence[CampaignStep]) -> str | None:
    """Return why no further pilot may be planned now."""
    undecided = [step for step in pilots(steps) if step.state in UNDECIDED]
    if undecided:
        return _("Pilot %(number)d is not decided yet. Accept it, reject it, or skip it first.") % {
            "number": undecided[0].number
        }
    main = main_of(steps)
    if main and main.state != PLANNED:
        return _("The main round has been opened, so you cannot run more pilots.")
    return None


def why_no_verification(step: CampaignStep, steps: Sequence[CampaignStep]) -> str | None:
    """Return why no round may be planned that rates the captions of `step`."""
    if step.kind == VERIFICATION:
        return _("You cannot have ratings rated.")
    if step.state == SKIPPED or (step.kind == PILOT and step.state in (ACCEPTED, REJECTED)):
        return _("This round is already decided.")
    there = verification_of(step, steps)
    if there and there.state != SKIPPED:
        return _("Another round already rates these captions.")
    return None


def _open(step: CampaignStep, steps: Sequence[CampaignStep]) -> str | None:
    if step.state != PLANNED:
        return _("This round has already been opened or skipped.")
    if step.kind == PILOT:
        return why_no_pilot([other for other in steps if other.kind != PILOT or other.number < step.number])
    return _open_main(steps) if step.kind == MAIN else _open_verification(step, steps)


def _open_main(steps: Sequence[CampaignStep]) -> str | None:
    last = next(reversed(pilots(steps)), None)
    if last is None:
        return _("There was no pilot. Plan one, or skip it and give a reason.")
    if last.state == PLANNED:
        return _("Pilot %(number)d is not accepted yet. Accept it first, or skip it and give a reason.") % {
            "number": last.number
        }
    if last.state in UNDECIDED:
        return _("Pilot %(number)d is not accepted yet.") % {"number": last.number}
    if last.state == REJECTED:
        return _("Pilot %(number)d was rejected. Plan another one, or skip it and give a reason.") % {
            "number": last.number
        }
    return None


def _open_verification(step: CampaignStep, steps: Sequence[CampaignStep]) -> str | None:
    verified = verified_by(step, steps)
    if verified is None:
        return _("The round whose captions it rates no longer exists.")
    if verified.kind == PILOT and verified.state != CLOSED:
        return _("Pilot %(number)d is not closed yet. Its captions can be rated once all of them are submitted.") % {
            "number": verified.number
        }
    if verified.kind == MAIN and verified.state != ACCEPTED:
        return _("The main round is not accepted yet.")
    return None


def _close(step: CampaignStep, steps: Sequence[CampaignStep]) -> str | None:
    return None if step.state == OPEN else _("This round is not open.")


def _reopen(step: CampaignStep, steps: Sequence[CampaignStep]) -> str | None:
    if step.kind == MAIN and step.state == ACCEPTED:
        verification = verification_of(step, steps)
        if verification and verification.state == OPEN:
            return _("Its captions are being verified. Close the verification first.")
        return None
    if step.state != CLOSED:
        return _("You can only reopen a round that is closed and not decided.")
    if step.kind == PILOT:
        rating = verification_of(step, steps)
        if rating and rating.state not in (PLANNED, SKIPPED):
            return _("The rating of its captions has started. Decide this pilot, then plan another one.")
    if step.kind == VERIFICATION:
        verified = verified_by(step, steps)
        if verified and verified.kind == MAIN and verified.state != ACCEPTED:
            return _("The main round is not accepted yet.")
    return None


def _accept(step: CampaignStep, steps: Sequence[CampaignStep]) -> str | None:
    if step.state != CLOSED:
        return _("Close the round first.") if step.state == OPEN else _("You can only decide a closed round.")
    if step.kind == VERIFICATION:
        verified = verified_by(step, steps)
        return _("Decided together with the pilot.") if verified and verified.kind == PILOT else None
    if step.kind == PILOT:
        rating = verification_of(step, steps)
        if rating is None or rating.state == PLANNED:
            return _("Its captions have not been rated yet. Have them rated, or skip the rating and give a reason.")
        if rating.state == OPEN:
            return _("Its captions are being rated. Close that round first.")
    return None


def _reject(step: CampaignStep, steps: Sequence[CampaignStep]) -> str | None:
    if step.kind != PILOT:
        return _("You can only reject a pilot. Open this round again to have better captions written.")
    if step.state != CLOSED:
        return _("Close the round first.") if step.state == OPEN else _("You can only decide a closed round.")
    rating = verification_of(step, steps)
    if rating and rating.state == OPEN:
        return _("Its captions are being rated. Close that round first.")
    return None


def _skip(step: CampaignStep, steps: Sequence[CampaignStep]) -> str | None:
    if step.kind == MAIN:
        return _("You cannot skip the main round.")
    return None if step.state == PLANNED else _("You can only skip a round that has not been opened.")


_RULES = {
    RoundAction.OPEN: _open,
    RoundAction.CLOSE: _close,
    RoundAction.REOPEN: _reopen,
    RoundAction.ACCEPT: _accept,
    RoundAction.REJECT: _reject,
    RoundAction.SKIP: _skip,
}


FROM_THE_END = frozenset({RoundAction.REOPEN})
"""Actions on the last round for which they are allowed: what was done last is undone first."""


def in_order(steps: Sequence[CampaignStep]) -> list[CampaignStep]:
    """Pilots, each followed by its rating, then the main round and its verification."""

    def place(step: CampaignStep) -> tuple[bool, int, bool, int]:
        of = verified_by(step, steps) or step
        return (of.kind != PILOT, of.number, step is not of, step.number)

    return sorted(steps, key=place)


def current_round(steps: Sequence[CampaignStep]) -> CampaignStep:
    """Return the round that a language is at: the open one, else the one to decide, the next, or the last."""
    ordered = in_order(steps)
    closed = [step for step in ordered if step.state == CLOSED and not _is_decided_with_its_pilot(step, steps)]
    planned = [step for step in ordered if step.state == PLANNED]
    for candidates in ([step for step in ordered if step.state == OPEN][-1:], closed[:1], planned[:1]):
        if candidates:
            return candidates[0]
    return next((step for step in reversed(ordered) if step.state != SKIPPED), ordered[-1])


def round_to_change(action: RoundAction, steps: Sequence[CampaignStep]) -> CampaignStep | None:
    """Return the round of a language that `action` is allowed with now; None if there is none."""
    ordered = in_order(steps)
    allowed = [step for step in ordered if why_not(action, step, steps) is None]
    if not allowed:
        return None
    return allowed[-1] if action in FROM_THE_END else allowed[0]


def _is_decided_with_its_pilot(step: CampaignStep, steps: Sequence[CampaignStep]) -> bool:
    verified = verified_by(step, steps)
    return step.kind == VERIFICATION and verified is not None and verified.kind == PILOT and verified.state == CLOSED
