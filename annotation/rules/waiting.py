"""What a round waits for, in a few words, and whether the manager, the people or nobody has to act."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.rules.campaign import (
    ACCEPTED,
    CLOSED,
    MAIN,
    OPEN,
    PILOT,
    PLANNED,
    REJECTED,
    SKIPPED,
    UNDECIDED,
    VERIFICATION,
    CampaignStep,
    RoundAction,
    pilots,
    verification_of,
    verified_by,
    why_not,
)

STANDSTILL_DAYS = 3
"""(ours) Days without a submission, and without a batch assigned, after which an open round stands still."""


class WaitsFor(TextChoices):
    YOU = "you", gettext_lazy("You")
    PEOPLE = "people", gettext_lazy("People")
    NOTHING = "nothing", gettext_lazy("Nothing")


class WaitingPage(TextChoices):
    """The page where it is done."""

    LANGUAGE = "language"
    INVITE = "invite"
    SETTINGS = "settings"
    CAPTIONS = "captions"


@dataclass(frozen=True, kw_only=True)
class RoundFacts:
    """The figures of a round. `able` and `invited` count people; `batches` are unfinished and within their deadline.

    Of a pilot, `batches` includes those of its rating.
    """

    wanted: int = 0
    done: int = 0
    assigned: int = 0
    free: int = 0
    to_correct: int = 0
    batches: int = 0
    able: int = 0
    invited: int = 0
    idle_days: int = 0
    is_paused: bool = False
    awaits_tasks: bool = False

    @property
    def missing(self) -> int:
        return max(0, self.wanted - self.done)


@dataclass(frozen=True)
class RoundWaiting:
    """`alike` says the same of several rounds where `what` has a number of its own for each."""

    who: WaitsFor
    what: str
    where: WaitingPage = WaitingPage.LANGUAGE
    alike: str = ""

    @property
    def short(self) -> str:
        return self.alike or self.what


def waiting(step: CampaignStep, steps: Sequence[CampaignStep], facts: RoundFacts) -> RoundWaiting:
    """Return what `step`, one of the `steps` of a language, waits for."""
    if step.state == PLANNED:
        return _planned(step, steps)
    if step.state == OPEN:
        return _open(step, facts)
    if step.state == CLOSED:
        return _closed(step, steps, facts)
    return _decided(step, steps, facts)


def _planned(step: CampaignStep, steps: Sequence[CampaignStep]) -> RoundWaiting:
    if why_not(RoundAction.OPEN, step, steps) is None:
        return RoundWaiting(WaitsFor.YOU, _open_it(step, steps))
    last = next(reversed(pilots(steps)), None)
    if step.kind == MAIN and (last is None or last.state == REJECTED):
        number = last.number + 1 if last else 1
        return RoundWaiting(WaitsFor.YOU, _("Plan pilot %(number)d") % {"number": number})
    of = verified_by(step, steps)
    before = of if of and of.kind == PILOT else last
    if step.kind == VERIFICATION and (of is None or of.kind == MAIN):
        return RoundWaiting(WaitsFor.NOTHING, _("After the main round"))
    return RoundWaiting(WaitsFor.NOTHING, _("After pilot %(number)d") % {"number": before.number if before else 1})


def _open_it(step: CampaignStep, steps: Sequence[CampaignStep]) -> str:
    of = verified_by(step, steps)
    if step.kind == PILOT:
        return _("Open pilot %(number)d") % {"number": step.number}
    if step.kind == MAIN:
        return _("Open the main round")
    if of and of.kind == PILOT:
        return _("Open the rating of pilot %(number)d") % {"number": of.number}
    return _("Open the verification")


def _open(step: CampaignStep, facts: RoundFacts) -> RoundWaiting:
    is_rating = step.kind == VERIFICATION
    if facts.awaits_tasks:
        return RoundWaiting(WaitsFor.NOTHING, _("Being set up"))
    if not facts.wanted:
        return RoundWaiting(WaitsFor.YOU, _("Nothing to rate") if is_rating else _("No English captions"))
    if not facts.missing:
        return RoundWaiting(WaitsFor.YOU, _("Close it: all is submitted"))
    if facts.is_paused:
        return RoundWaiting(WaitsFor.YOU, _("Resume it: paused"), WaitingPage.SETTINGS)
    if facts.free and not facts.able and not facts.assigned:
        if facts.invited:
            text = ngettext("%(number)d invited, nobody joined", "%(number)d invited, nobody joined", facts.invited)
            return RoundWaiting(WaitsFor.PEOPLE, text % {"number": facts.invited}, WaitingPage.INVITE)
        text = _("Nobody can rate") if is_rating else _("Nobody can write")
        return RoundWaiting(WaitsFor.YOU, text, WaitingPage.INVITE)
    if not facts.assigned and facts.idle_days >= STANDSTILL_DAYS:
        text = ngettext("Stands still for %(number)d day", "Stands still for %(number)d days", facts.idle_days)
        return RoundWaiting(WaitsFor.YOU, text % {"number": facts.idle_days}, alike=_("Stand still"))
    if facts.to_correct and facts.missing == facts.to_correct:
        text = ngettext("%(number)d caption to rewrite", "%(number)d captions to rewrite", facts.to_correct)
        return RoundWaiting(WaitsFor.PEOPLE, text % {"number": facts.to_correct}, WaitingPage.CAPTIONS)
    if is_rating:
        text = ngettext("%(number)d rating missing", "%(number)d ratings missing", facts.missing)
        return RoundWaiting(WaitsFor.PEOPLE, text % {"number": facts.missing})
    text = ngettext("%(number)d caption missing", "%(number)d captions missing", facts.missing)
    return RoundWaiting(WaitsFor.PEOPLE, text % {"number": facts.missing})


def _closed(step: CampaignStep, steps: Sequence[CampaignStep], facts: RoundFacts) -> RoundWaiting:
    of = verified_by(step, steps)
    if of and of.kind == PILOT:
        return RoundWaiting(WaitsFor.NOTHING, _("Decided with pilot %(number)d") % {"number": of.number})
    rating = verification_of(step, steps) if step.kind == PILOT else None
    if rating and rating.state == OPEN:
        return RoundWaiting(WaitsFor.PEOPLE, _("Its captions are being rated"))
    if facts.batches:
        text = ngettext("%(number)d batch unfinished", "%(number)d batches unfinished", facts.batches)
        return RoundWaiting(WaitsFor.PEOPLE, text % {"number": facts.batches})
    if step.kind == PILOT:
        return RoundWaiting(WaitsFor.YOU, _of_pilot(step, rating))
    return RoundWaiting(WaitsFor.YOU, _("Accept the main round") if step.kind == MAIN else _("Accept the verification"))


def _of_pilot(step: CampaignStep, rating: CampaignStep | None) -> str:
    number = {"number": step.number}
    if rating is None:
        return _("Plan a rating of pilot %(number)d") % number
    if rating.state == PLANNED:
        return _("Open the rating of pilot %(number)d") % number
    return _("Decide pilot %(number)d") % number


def _decided(step: CampaignStep, steps: Sequence[CampaignStep], facts: RoundFacts) -> RoundWaiting:
    if step.kind == MAIN and facts.missing and why_not(RoundAction.REOPEN, step, steps) is None:
        text = ngettext("Reopen: %(number)d caption missing", "Reopen: %(number)d captions missing", facts.missing)
        return RoundWaiting(WaitsFor.YOU, text % {"number": facts.missing}, alike=_("Reopen: captions missing"))
    is_finished = not any(other.state in UNDECIDED for other in steps)
    if is_finished and step.state == ACCEPTED and step.kind != PILOT:
        return RoundWaiting(WaitsFor.NOTHING, _("Everything is decided"))
    return RoundWaiting(WaitsFor.NOTHING, "" if step.state == SKIPPED else _("Decided"))
