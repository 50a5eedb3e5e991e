"""Passkeys in Chromium, with a device of the tests that answers as a telephone with a fingerprint does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, expect

from core.people.models import User
from tests.browser.annotator import barriers_at, scrolls_sideways
from tests.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD = "seven tall giraffes"
LOGIN, INDEX, ADD = reverse("account_login"), reverse("mfa_index"), reverse("mfa_add_webauthn")
OUTSIDE = re.compile("^(?!.*(login|2fa))")
UNUSABLE = "Passkeys do not work in this browser, or not at this address."
TELEPHONE = {"protocol": "ctap2", "transport": "internal", "automaticPresenceSimulation": True}
FINGERPRINT = {"hasResidentKey": True, "hasUserVerification": True, "isUserVerified": True}


@pytest.fixture
def ann() -> User:
    user = make_user("ann", email="ann@example.org")
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.fixture
def context(browser: Browser, live_server: Any) -> Iterator[BrowserContext]:
    options: dict[str, Any] = {"reduced_motion": "reduce", "locale": "en-GB", "viewport": {"width": 390, "height": 800}}
    context = browser.new_context(base_url=live_server.url, **options)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture
def device(context: BrowserContext, page: Page) -> CDPSession:
    session = context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    return session


def plug_in(device: CDPSession) -> str:
    options = {**TELEPHONE, **FINGERPRINT}
    return str(device.send("WebAuthn.addVirtualAuthenticator", {"options": options})["authenticatorId"])


def sign_in(page: Page) -> None:
    page.goto(LOGIN)
    page.get_by_label("User name or e-mail address").fill("ann")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def sign_out(page: Page) -> None:
    page.context.clear_cookies()
    page.goto(LOGIN)


def test_a_passkey_is_added_signs_in_stands_beside_the_password_and_is_removed(
    ann: User, page: Page, device: CDPSession
) -> None:
    broken: list[str] = []
    page.on("console", lambda message: broken.append(message.text) if message.type == "error" else None)
    phone = plug_in(device)
    sign_in(page)
    page.wait_for_url(OUTSIDE)
    page.goto(ADD)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.get_by_label("Name").fill("My phone")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_text("Passkey added.")).to_be_visible()
    page.goto(INDEX)
    expect(page.get_by_role("heading", name="My phone")).to_be_visible()
    assert barriers_at(page, 390, 1366) == []
    assert not scrolls_sideways(page)

    sign_out(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.wait_for_url(OUTSIDE)

    sign_out(page)
    sign_in(page)
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url(OUTSIDE)

    page.goto(INDEX)
    page.get_by_role("link", name=re.compile("^Remove")).click()
    page.get_by_role("link", name="Use a passkey").click()
    page.get_by_role("button", name="Use a passkey").click()
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Passkey removed.")).to_be_visible()
    assert not Authenticator.objects.exists()

    sign_out(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_text("This passkey is not known here. Sign in another way.")).to_be_visible()
    device.send("WebAuthn.clearCredentials", {"authenticatorId": phone})
    device.send("WebAuthn.removeVirtualAuthenticator", {"authenticatorId": phone})
    assert broken == []


def test_whoever_cancels_is_told_and_may_try_again(page: Page, device: CDPSession) -> None:
    phone = plug_in(device)
    device.send("WebAuthn.setUserVerified", {"authenticatorId": phone, "isUserVerified": False})
    page.goto(LOGIN)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert")).to_have_text("No passkey was used. Try again.")
    expect(page.get_by_role("button", name="Sign in with a passkey")).to_be_enabled()


def test_where_browsers_have_no_passkeys_the_pages_say_so(ann: User, page: Page, live_server: Any) -> None:
    """An address in numbers is one of these places."""
    page.goto(live_server.url.replace("localhost", "127.0.0.1") + LOGIN)
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert")).to_have_text(UNUSABLE)
