"""What every answer tells browsers of how to treat it, whoever made it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db
ADDRESSES = ["/", "/static/css/base.css", "/static/img/logo.svg", "/nothing", "/api/v1/nothing/", "/healthz"]


@pytest.fixture(params=ADDRESSES)
def answer(request: pytest.FixtureRequest, client: Client) -> Any:
    return client.get(request.param, headers={"Origin": "https://evil.example"})


@pytest.mark.long(reason="at least three others run each of its lines")
def test_every_answer_has_the_policy_and_is_what_it_says_it_is(answer: Any):
    policy = dict(part.split(" ", 1) for part in answer["Content-Security-Policy"].split("; "))
    assert {policy[name] for name in ("object-src", "base-uri", "frame-ancestors")} == {"'none'"}
    assert policy["default-src"] == policy["script-src"] == policy["style-src"] == "'self'"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin"


def test_no_answer_is_for_pages_of_other_origins(answer: Any):
    assert "Access-Control-Allow-Origin" not in answer
    assert not answer.cookies or all(cookie["samesite"] == "Lax" for cookie in answer.cookies.values())


def test_no_page_may_use_what_none_of_ours_asks_for(answer: Any):
    policy = answer["Permissions-Policy"].split(", ")
    assert {"camera=()", "microphone=()", "geolocation=()", "payment=()", "usb=()"} <= set(policy)
    assert not [feature for feature in policy if feature.startswith("clipboard")]
