"""The long way through a batch of 15, against the platform's own web server, with all that may happen in between.

The database is looked into from outside: what was shown as saved must be there after every mishap, letter for letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Error, Page, Playwright, expect

from tests.browser.annotator import barriers_at, source_of
from tests.browser.phone import kill_browser
from tests.browser.real_server import IMAGES, PASSWORD, RealServer

ENGLISH = "english caption"
STATE = "#write .state[data-state]"
WITHIN_MS = 20_000
LEVELS = ["EXCELLENT", "GOOD", "MEDIUM", "BAD", "NOT-ENOUGH-INFO"]
# A page that waited for the back button is there without a load; it loads itself anew.
SETTLE_MS = 1_000
STORED = """async () => {
    const kept = [JSON.stringify(localStorage), JSON.stringify(sessionStorage)];
    for (const { name } of await indexedDB.databases()) {
        const database = await new Promise((resolve) => {
            indexedDB.open(name).onsuccess = ({ target }) => resolve(target.result);
        });
        for (const store of database.objectStoreNames)
            kept.push(await new Promise((resolve) => {
                const all = database.transaction(store).objectStore(store).getAll();
                all.onsuccess = () => resolve(JSON.stringify(all.result));
            }));
    }
    return kept.join();
}"""

ARABIC = [
    f"قِطٌّ صغيرٌ رقم {number} ينام على كرسي خشبي، بجانب نافذة 'مفتوحة' <{number}>" for number in range(1, IMAGES + 1)
]
# Composed and decomposed letters, wide and half-wide ones: kept as they were typed.
JAPANESE = [f"{number}番目の猫が、窓辺の椅子でﾈﾑって\u304b\u3099いる。" for number in range(1, IMAGES + 1)]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    made = RealServer(tmp_path_factory.mktemp("whole-batch") / "var")
    made.fill()
    made.start()
    yield made
    made.kill()


@pytest.fixture
def keys(page: Page, installation: RealServer) -> Keys:
    page.set_default_timeout(WITHIN_MS)
    return Keys(page, installation)


class Keys:
    """Somebody who has no mouse."""

    def __init__(self, page: Page, installation: RealServer) -> None:
        self.page = page
        self.installation = installation
        self.press = page.keyboard.press

    def tab_to(self, selector: str) -> None:
        """Press Tab until what `selector` means has the focus, and see that the focus shows."""
        for _ in range(60):
            self.press("Tab")
            if self.page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"{selector} cannot be reached with Tab on {self.page.url}")

    def open(self, selector: str, address: str | re.Pattern[str]) -> None:
        self.tab_to(selector)
        self.press("Enter")
        self.page.wait_for_url(address)

    def sign_in(self, name: str, then: str | re.Pattern[str]) -> None:
        """On the page for it."""
        self.tab_to("#id_login")
        self.page.keyboard.type(name)
        self.tab_to("#id_password")
        self.page.keyboard.type(PASSWORD)
        self.press("Enter")
        self.page.wait_for_url(then)

    def begin(self, name: str) -> str:
        """Sign in and take a batch; returns its address."""
        self.page.goto(self.installation.address)
        self.open('main a[href*="/login/"]', re.compile("/accounts/login/"))
        self.sign_in(name, re.compile("/work/"))
        self.open('form[action$="/take/"] button', re.compile("/rate/$"))
        return self.page.url.removesuffix("rate/")

    def rate_all(self) -> list[str]:
        """One key for each; returns the ratings."""
        for number in range(IMAGES):
            self.press(str(1 + number % 5))
        expect(self.page.locator("[data-rated-count]")).to_have_text(str(IMAGES))
        expect(self.page.locator(".rate__item [data-state=saved]")).to_have_count(IMAGES)
        return [LEVELS[number % 5] for number in range(IMAGES)]

    def go_on_to_writing(self, batch: str) -> None:
        expect(self.page.locator("#rate [name=open]")).to_be_focused()
        self.press("Enter")
        expect(self.page.locator("#confirm")).to_be_visible()
        self.press("Enter")
        self.page.wait_for_url(f"{batch}write/1/")

    def write(self, text: str) -> None:
        expect(self.page.locator("#text")).to_be_focused()
        self.page.keyboard.type(text)

    def go_on_from(self, batch: str, position: int) -> None:
        self.press("Enter")
        self.page.wait_for_url(f"{batch}write/{position + 1}/" if position < IMAGES else f"{batch}review/")

    def submit(self, batch: str) -> None:
        self.open('form[action$="/submit/"] button', f"{batch}done/")

    def wait_until_kept(self, name: str, position: int, text: str) -> None:
        """By the server. A page that came with the newest text has nothing to say about it."""
        for _ in range(WITHIN_MS // 100):
            if self.installation.drafts_of(name)[position - 1] == text:
                return
            self.page.wait_for_timeout(100)
        assert self.installation.drafts_of(name)[position - 1] == text

    def state(self, name: str) -> None:
        expect(self.page.locator(STATE).first).to_have_attribute("data-state", name)


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
def test_a_batch_in_arabic_by_keyboard_alone_with_a_killed_server_and_a_expired_session(
    keys: Keys, page: Page, installation: RealServer
) -> None:
    batch = keys.begin("amal")
    assert page.locator("html").get_attribute("dir") == "rtl"
    ratings = keys.rate_all()
    keys.go_on_to_writing(batch)
    mishaps: dict[int, Callable[[str], None]] = {
        5: lambda text: _with_a_killed_server(keys, text),
        10: lambda text: _with_a_expired_session(keys, text),
    }
    for position, text in enumerate(ARABIC, start=1):
        assert page.locator("#text").evaluate("field => [field.lang, field.dir]") == ["ar", "rtl"]
        mishaps.get(position, keys.write)(text)
        keys.go_on_from(batch, position)
        keys.wait_until_kept("amal", position, text)
        assert installation.drafts_of("amal")[:position] == ARABIC[:position]
    assert page.locator(".captions .caption").all_text_contents() == ARABIC
    keys.submit(batch)
    assert installation.captions_of("amal") == ARABIC
    assert installation.ratings_of("amal") == ratings


def _with_a_killed_server(keys: Keys, text: str) -> None:
    """kill -9 in the middle of typing; the rest is typed without a server, and the page left and opened again."""
    half, installation, page = len(text) // 2, keys.installation, keys.page
    keys.write(text[:half])
    keys.state("saved")
    page.keyboard.type(text[half : half + 3])
    installation.kill()
    assert installation.drafts_of("amal")[4].startswith(text[:half])
    page.keyboard.type(text[half + 3 :])
    keys.state("offline")
    installation.start()
    page.reload()
    expect(page.locator("#text")).to_have_value(text)
    keys.wait_until_kept("amal", 5, text)


def _with_a_expired_session(keys: Keys, text: str) -> None:
    page, address = keys.page, keys.page.url
    keys.write(text[:10])
    keys.state("saved")
    keys.installation.sign_everybody_out()
    page.keyboard.type(text[10:])
    keys.state("signed-out")
    assert keys.installation.drafts_of("amal")[9] == text[:10]
    keys.open(f"{STATE} a", re.compile("/accounts/login/"))
    keys.sign_in("amal", re.compile(f"{re.escape(address)}$|/write/"))
    assert page.url == address
    expect(page.locator("#text")).to_have_value(text)
    keys.wait_until_kept("amal", 10, text)


@pytest.mark.long(reason="test_annotator_frontend.py has compositions, and the test before a whole batch")
def test_a_batch_in_japanese_with_an_input_method_a_killed_server_and_reloads(
    keys: Keys, page: Page, installation: RealServer
) -> None:
    batch = keys.begin("aki")
    assert page.locator("html").get_attribute("dir") == "ltr"
    ratings = keys.rate_all()
    keys.go_on_to_writing(batch)
    for position, text in enumerate(JAPANESE, start=1):
        expect(page.locator("#text")).to_be_focused()
        _compose(page, text[:4])
        if position == 7:
            keys.state("saved")
            installation.kill()
            _compose(page, text[4:])
            keys.state("offline")
            assert installation.drafts_of("aki")[6] == text[:4]
            installation.start()
            keys.state("saved")
        elif position == 9:
            _compose(page, text[4:])
            page.reload()
            expect(page.locator("#text")).to_have_value(text)
            keys.wait_until_kept("aki", 9, text)
        else:
            _compose(page, text[4:])
        page.wait_for_timeout(150)  # the Enter that ends a composition goes nowhere; nor does one right after it
        keys.go_on_from(batch, position)
    assert installation.drafts_of("aki") == JAPANESE
    keys.submit(batch)
    assert installation.captions_of("aki") == JAPANESE
    assert installation.ratings_of("aki") == ratings


def _compose(page: Page, text: str) -> None:
    """Type as with an input method: what it shows changes until the choice is made."""
    keyboard = page.context.new_cdp_session(page)
    for shown in ("ね", text[:1], text):
        keyboard.send("Input.imeSetComposition", {"text": shown, "selectionStart": 0, "selectionEnd": len(shown)})
    keyboard.send("Input.insertText", {"text": text})
    keyboard.detach()


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """A folder in which a browser keeps what it keeps from one start to the next."""
    return tmp_path / "profile"


def _start_browser(playwright: Playwright, profile: Path, arguments: dict[str, Any]) -> BrowserContext:
    arguments = {name: value for name, value in arguments.items() if name in ("executable_path", "args", "headless")}
    # As people have it: pages wait for the back button.
    return playwright.chromium.launch_persistent_context(
        profile, ignore_default_args=["--disable-back-forward-cache"], locale="en-GB", **arguments
    )


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
def test_what_was_typed_survives_a_crash_of_the_browser_and_screen_1_does_not_come_back(
    playwright: Playwright, browser_type_launch_args: dict[str, Any], profile: Path, installation: RealServer
) -> None:
    context = _start_browser(playwright, profile, browser_type_launch_args)
    keys = Keys(context.pages[0], installation)
    page = keys.page
    batch = keys.begin("bahar")
    assert ENGLISH in source_of(page)
    other = context.new_page()
    other.goto(f"{batch}rate/")
    assert ENGLISH in source_of(other)
    page.bring_to_front()
    ratings = keys.rate_all()
    stale = _without_scripts(context, f"{batch}rate/")
    keys.go_on_to_writing(batch)

    other.wait_for_url(f"{batch}write/1/")
    assert ENGLISH not in source_of(other)
    other.close()
    page.wait_for_load_state("networkidle")
    assert ENGLISH not in page.evaluate(STORED)
    for step in (-1, -1, 1, 1):
        with suppress(Error):  # The page may go before it can answer.
            page.evaluate("step => history.go(step)", step)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(SETTLE_MS)
        assert ENGLISH not in source_of(page)
        assert not page.url.endswith("/rate/")

    stale.locator("#item-1 input").last.check(force=True)
    stale.get_by_role("button", name="Save ratings").click()
    stale.wait_for_url(f"{batch}write/1/")
    assert ENGLISH not in source_of(stale)
    assert installation.ratings_of("bahar") == ratings
    stale.close()

    page.goto(f"{batch}write/1/")
    context.set_offline(True)
    page.fill("#text", ARABIC[0])
    keys.state("offline")
    page.wait_for_timeout(SETTLE_MS)
    kill_browser(profile)
    context = _start_browser(playwright, profile, browser_type_launch_args)
    keys = Keys(context.pages[0], installation)
    keys.page.goto(f"{batch}write/1/")
    if "/login/" in keys.page.url:
        keys.sign_in("bahar", f"{batch}write/1/")
    expect(keys.page.locator("#text")).to_have_value(ARABIC[0])
    keys.wait_until_kept("bahar", 1, ARABIC[0])
    context.close()


def _without_scripts(context: BrowserContext, address: str) -> Page:
    """The same person's page, in a tab whose scripts do nothing: no word from other tabs reaches it."""
    plain = context.new_page()
    session = context.new_cdp_session(plain)
    session.send("Emulation.setScriptExecutionDisabled", {"value": True})
    plain.goto(address)
    return plain


@pytest.mark.long(reason="test_annotator_frontend.py looks at the same pages, from left to right")
def test_no_page_on_the_way_has_barriers_in_a_right_to_left_interface(
    keys: Keys, page: Page, installation: RealServer
) -> None:
    """Of axe-core, on a phone and on a desk, in light and dark."""
    page.goto(installation.address)
    _look_for_barriers(page, direction="ltr")
    page.goto(f"{installation.address}/accounts/login/")
    _look_for_barriers(page, direction="ltr")
    keys.sign_in("dalia", re.compile("/work/"))
    for path in ("/work/", "/projects/postcards/guidelines/", "/profile/", "/work/history/"):
        page.goto(installation.address + path)
        _look_for_barriers(page)
    page.goto(f"{installation.address}/work/")
    keys.open('form[action$="/take/"] button', re.compile("/rate/$"))
    _look_for_barriers(page)
    batch = page.url.removesuffix("rate/")
    page.goto(f"{batch}return/")
    _look_for_barriers(page)
    page.goto(f"{batch}rate/")
    keys.rate_all()
    keys.go_on_to_writing(batch)
    for position, text in enumerate(ARABIC, start=1):
        keys.write(text)
        if position == 2:
            keys.state("saved")
            _look_for_barriers(page)
        keys.go_on_from(batch, position)
    _look_for_barriers(page)
    keys.submit(batch)
    _look_for_barriers(page)


def _look_for_barriers(page: Page, *, direction: str = "rtl") -> None:
    assert page.locator("html").get_attribute("dir") == direction
    assert barriers_at(page, 390, 1280) == [], page.url
