"""A study as Prolific's API takes it, and what it may cost.

Source: https://docs.prolific.com/api-reference (studies, submissions, bonuses). Amounts there are in cents.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.people.rules.pay import CENT

RETURN_ADDRESS = "https://app.prolific.com/submissions/complete?cc="
UNPUBLISHED, ACTIVE, PAUSED = "UNPUBLISHED", "ACTIVE", "PAUSED"
AWAITING_REVIEW, APPROVED = "AWAITING REVIEW", "APPROVED"
RETURN_REASON = "The languages of this study do not match yours."
"""Prolific shows it to people in English, as all of its pages."""


class PanelStep(models.TextChoices):
    MAKE = "make", gettext_lazy("Make the draft")
    PUBLISH = "publish", gettext_lazy("Publish")
    PAUSE = "pause", gettext_lazy("Pause")
    RESUME = "resume", gettext_lazy("Resume")
    STOP = "stop", gettext_lazy("Stop permanently")
    LOOK = "look", gettext_lazy("Ask for the state")
    PLACES = "places", gettext_lazy("Add places")
    PAY = "pay", gettext_lazy("Approve, and pay bonuses")
    RELEASE = "release", gettext_lazy("Prolific did not pay it")


TRANSITIONS = {PanelStep.PAUSE: "PAUSE", PanelStep.RESUME: "START", PanelStep.STOP: "STOP"}
"""What Prolific calls them."""
BEFORE = {PanelStep.PAUSE: (ACTIVE,), PanelStep.RESUME: (PAUSED,), PanelStep.STOP: (ACTIVE, PAUSED)}
"""In which states a study can take them."""


def steps_in(status: str) -> list[PanelStep]:
    """Return the steps that make sense in a state of the study at Prolific; it is empty before there is a draft."""
    if not status:
        return [PanelStep.MAKE]
    if status == UNPUBLISHED:
        return [PanelStep.PUBLISH]
    return [*(step for step, states in BEFORE.items() if status in states), PanelStep.LOOK, PanelStep.PAY]


@dataclass(frozen=True)
class CompletionAddresses:
    """Where people return to, with their codes."""

    done: str
    screened_out: str
    failed: str


def code_in(address: str) -> str:
    """Return the completion code of an address to return to; empty if there is none."""
    return "".join(parse_qs(urlsplit(address).query).get("cc", [""])[:1])


def wrong_with(addresses: CompletionAddresses) -> str | None:
    """Return why no study can be made of these addresses, as a sentence; None if one can."""
    codes = [code_in(one) for one in (addresses.done, addresses.screened_out, addresses.failed) if one]
    if not all(codes) or not addresses.done:
        return _("An address to return to has no completion code. Prolific’s end with ?cc= and the code.")
    if len(set(codes)) < len(codes):
        return _("Two addresses to return to have the same completion code. Give each its own.")
    return None


def completion_codes(addresses: CompletionAddresses) -> list[dict[str, Any]]:
    """Return the codes with what Prolific does when somebody enters them. Whoever is done is approved by us."""
    asks_to_return = {"action": "REQUEST_RETURN", "return_reason": RETURN_REASON}
    review = {"action": "MANUALLY_REVIEW"}
    codes = [
        ("COMPLETED", addresses.done, review),
        ("OTHER", addresses.screened_out, asks_to_return),
        ("FAILED_ATTENTION_CHECK", addresses.failed, review),
    ]
    return [
        {"code": code_in(address), "code_type": kind, "actions": [action]} for kind, address, action in codes if address
    ]


def in_cents(amount: Decimal) -> int:
    return int(amount / CENT)


def from_cents(cents: object) -> Decimal:
    """Read an amount of Prolific's. Fractions of a cent are rounded up, so that no budget is passed by them."""
    return (Decimal(str(cents)) * CENT).quantize(CENT, rounding=ROUND_UP)


def csv_of(bonuses: Iterable[tuple[str, Decimal]]) -> str:
    """Return lines of person or submission and amount, as bonuses are set up."""
    return "\n".join(f"{person},{amount:.2f}" for person, amount in bonuses)
