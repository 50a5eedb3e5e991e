"""Signatures of panels, addresses to return to, and pay."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from office.recruitment.rules.panels import is_genuine, return_address, signature_of
from office.recruitment.rules.pay import pay_for

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
BODY = b'{"status": "RETURNED"}'
SENT = str(int(NOW.timestamp()))
# printf '%s%s' 1772442000 '{"status": "RETURNED"}' | openssl dgst -sha256 -hmac secret -binary | base64
GOLDEN = "q4QNpVxSNlSIF/8YKCjOk9tEf2L065CQRl5lI6TL3HM="


def test_the_signature_is_the_one_that_openssl_makes():
    assert signature_of(BODY, timestamp=SENT, secret="secret") == GOLDEN


@pytest.mark.parametrize(
    ("changed", "is_right"),
    [
        ({}, True),
        ({"body": BODY + b" "}, False),
        ({"secret": "other"}, False),
        ({"secret": ""}, False),
        ({"signature": ""}, False),
        ({"signature": "not base64!"}, False),
        ({"timestamp": "soon"}, False),
        ({"now": NOW + timedelta(minutes=4)}, True),
        ({"now": NOW + timedelta(minutes=6)}, False),
        ({"now": NOW - timedelta(minutes=6)}, False),
    ],
)
def test_only_what_the_panel_signed_a_moment_ago_is_genuine(changed: dict[str, Any], is_right: bool):
    values: dict[str, Any] = {
        "timestamp": SENT,
        "signature": GOLDEN,
        "secret": "secret",
        "now": NOW,
        "body": BODY,
    } | changed
    assert is_genuine(values.pop("body"), **values) is is_right


def test_no_secret_means_no_event_even_if_it_is_signed_with_none():
    signature = signature_of(BODY, timestamp=SENT, secret="")
    assert not is_genuine(BODY, timestamp=SENT, signature=signature, secret="", now=NOW)


def test_the_panels_names_are_put_into_the_address_escaped():
    template = "https://x.example/credit?code={person}&s={session}"
    assert return_address(template, person="a&b=c", session="é") == "https://x.example/credit?code=a%26b%3Dc&s=%C3%A9"


@pytest.mark.parametrize(
    ("minutes", "hourly", "bonus"),
    [(0, None, "0"), (20, "9.00", "0"), (10, "18.00", "0"), (30, "6.00", "1.50"), (25.001, "7.20", "0.76")],
)
def test_pay_is_the_reward_over_active_time(minutes: float, hourly: str | None, bonus: str):
    pay = pay_for(active_ms=round(minutes * 60_000), reward=Decimal(3), rate=Decimal(9))
    assert (pay.hourly and str(pay.hourly), pay.bonus) == (hourly, Decimal(bonus))
    assert pay.is_underpaid is (Decimal(bonus) > 0)
