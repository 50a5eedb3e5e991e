"""What every answer tells browsers of how to treat it, whoever made it."""

from __future__ import annotations

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db
ADDRESSES = ["/", "/static/css/base.css", "/static/img/logo.svg", "/nothing", "/api/v1/nothing/", "/healthz"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_answer_has_the_policy_and_is_what_it_says_it_is(client: Client, address: str):
    answer = client.get(address)

    policy = dict(part.split(" ", 1) for part in answer["Content-Security-Policy"].split("; "))
    assert {policy[name] for name in ("object-src", "base-uri", "frame-ancestors")} == {"'none'"}
    assert policy["default-src"] == policy["script-src"] == policy["style-src"] == "'self'"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin"


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_answer_is_for_pages_of_other_origins(client: Client, address: str):
    answer = client.get(address, headers={"Origin": "https://evil.example"})

    assert "Access-Control-Allow-Origin" not in answer
    assert not answer.cookies or all(cookie["samesite"] == "Lax" for cookie in answer.cookies.values())


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_page_may_use_what_none_of_ours_asks_for(client: Client, address: str):
    policy = client.get(address)["Permissions-Policy"].split(", ")

    assert {"camera=()", "microphone=()", "geolocation=()", "payment=()", "usb=()"} <= set(policy)
    assert not [feature for feature in policy if feature.startswith("clipboard")]
