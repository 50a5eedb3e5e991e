"""What every test in a browser may ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from core.people.models import User
from tests import servers
from tests.browser import firefox, webkit
from tests.browser.annotator import sign_in
from tests.browser.windows import Profile, Window
from tests.tiers import some

expect.set_options(timeout=20_000)
"""In milliseconds: far beyond what a page takes, for machines that do much else at the same time."""

Visit = Callable[..., Page]
Opener = Callable[[Profile], AbstractContextManager[Window]]


@pytest.fixture(params=some(["webkit", "firefox"], short=1, reason="only WebKit has gone another way than Chromium"))
def opened(request: pytest.FixtureRequest) -> Opener:
    """`opened(profile)`: a window of WebKit or of Firefox."""
    browser = {"webkit": webkit, "firefox": firefox}[request.param]
    if not browser.is_installed():
        servers.missing(browser.PACKAGES)
    opener: Opener = browser.opened
    return opener


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return Profile(tmp_path / "profile")


@pytest.fixture
def window(opened: Opener, profile: Profile, live_server: Any) -> Iterator[Window]:
    with opened(profile) as window:
        yield window


@pytest.fixture
def visit(browser: Browser, live_server: Any) -> Iterator[Visit]:
    """`visit(user, **options)`: a page in a context of Chromium of their own, which has these options, signed in.

    `None` is a visitor. Nothing moves, so that colours are those of the scheme as soon as that is another.
    """
    contexts: list[BrowserContext] = []

    def visit(user: User | None, **options: Any) -> Page:
        contexts.append(browser.new_context(**{"base_url": live_server.url, "reduced_motion": "reduce"} | options))
        if user:
            sign_in(contexts[-1], user, live_server.url)
        return contexts[-1].new_page()

    yield visit
    for context in contexts:
        context.close()
