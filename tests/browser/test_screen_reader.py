"""A whole batch as a screen reader has it: by the keyboard alone, by roles, names and what is said meanwhile."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, CDPSession, Page, expect

from annotation.models import CaptionItem, Stage
from gapgame.services import playing
from tests.browser import gaming, judging
from tests.browser.annotator import AWAKE, make_images, sign_in, take_batch
from tests.browser.desk import Desk
from tests.factories import make_annotator, make_round

pytestmark = pytest.mark.django_db(transaction=True)

SIZE = 3
# What live regions said, in order: what changes in one that is there, and alerts that come.
LISTEN = """
  globalThis.heard = [];
  const LIVE = "[role=status], [role=alert], [aria-live=polite]";
  new MutationObserver((changes) => {
    const parts = changes.flatMap(({ target, addedNodes }) => [target, ...addedNodes]);
    const regions = parts.map((part) => (part.nodeType === 1 ? part : part.parentElement)?.closest(LIVE));
    for (const region of new Set(regions)) {
      const text = region?.textContent.trim().replace(/\\s+/g, " ");
      if (text && region.checkVisibility()) heard.push(text);
    }
  }).observe(document, { childList: true, characterData: true, subtree: true });
"""
NAMED = {"button", "link", "textbox", "radio", "checkbox", "progressbar", "image", "dialog", "navigation"}


class Reader:
    """What the accessibility tree of Chromium has of a page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.session: CDPSession = page.context.new_cdp_session(page)
        page.add_init_script(LISTEN)

    def nodes(self) -> list[dict[str, Any]]:
        """All that is not ignored: its role, name and description, and what else is true of it."""
        found = []
        for node in self.session.send("Accessibility.getFullAXTree")["nodes"]:
            if not node["ignored"]:
                state = {one["name"]: one["value"].get("value") for one in node.get("properties", [])}
                named = {name: node.get(name, {}).get("value", "") for name in ("role", "name", "description", "value")}
                found.append(state | named)
        return found

    def focused(self) -> dict[str, Any]:
        return next(node for node in reversed(self.nodes()) if node.get("focused"))

    def check(self) -> None:
        """See that the page has one first heading, and a name for all that can be named."""
        nodes = self.nodes()
        headings = [node for node in nodes if node["role"] == "heading" and node.get("level") == 1]
        assert len(headings) == 1
        assert [node["role"] for node in nodes].count("main") == 1
        assert [node["role"] for node in nodes if node["role"].lower() in NAMED and not node["name"].strip()] == []

    def names(self, role: str) -> list[str]:
        return [str(node["name"]) for node in self.nodes() if node["role"] == role]

    def tab_to(self, role: str, name: str) -> dict[str, Any]:
        for _press in range(40):
            self.page.keyboard.press("Tab")
            node = self.focused()
            if node["role"] == role and re.search(name, node["name"]):
                return node
        raise AssertionError(f"Tab never leads to the {role} “{name}”")

    def hears(self, text: str) -> None:
        """Wait until it is said, and forget what was said until then."""
        for _attempt in range(100):
            if any(text in said for said in self.page.evaluate("heard")):
                return self.page.evaluate("heard.length = 0")
            self.page.wait_for_timeout(100)
        raise AssertionError(f"“{text}” is never said: {self.page.evaluate('heard')}")


@pytest.fixture
def desk(live_server: Any, context: BrowserContext) -> Desk:
    round = make_round(images=SIZE, batch_size=SIZE, language="ja")
    make_images(round.collection)
    annotator = make_annotator(round, "aki")
    sign_in(context, annotator, live_server.url)
    return Desk(live_server.url, annotator, take_batch(round, annotator))


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
def test_a_batch_is_rated_written_and_submitted_by_keyboard_and_by_what_is_said(desk: Desk, page: Page) -> None:
    reader = Reader(page)
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(desk.rating)
    reader.check()
    for number in range(1, SIZE + 1):
        if number > 1:
            assert reader.focused()["name"] == f"Image {number} of {SIZE}"
        reader.tab_to("radio", ".")
        page.keyboard.press("ArrowDown")
        assert (reader.focused()["role"], reader.focused()["checked"]) == ("radio", "false")
        assert reader.focused()["description"]
        page.keyboard.press("Space")
        expect(page.locator("[data-rated-count]")).to_have_text(str(number))
        page.locator(AWAKE).wait_for()
    reader.hears("All captions are rated")
    assert (reader.focused()["role"], reader.focused()["name"]) == ("button", "Continue to writing")
    page.keyboard.press("Enter")
    (dialog,) = [node for node in reader.nodes() if node["role"] == "dialog"]
    assert dialog["name"]
    assert reader.focused()["role"] == "button"
    page.keyboard.press("Enter")
    page.wait_for_url(desk.writing(1))

    for number in range(1, SIZE + 1):
        reader.check()
        field = reader.focused()
        assert (field["role"], field["name"].split()[:3]) == ("textbox", ["Caption", "in", "Japanese"])
        assert "Write one sentence" in field["description"]
        if number == 1:
            page.keyboard.press("Enter")
            reader.hears("This is empty. Write a caption.")
            assert reader.focused()["description"].startswith("This is empty.")
        page.keyboard.insert_text(f"窓辺の椅子で白い猫が{number}匹、丸くなって寝ている")
        page.keyboard.press("Enter")
        if number < SIZE:
            reader.hears(f"Image {number + 1} of {SIZE}")
    page.wait_for_url("**/review/")
    reader.check()
    assert list(CaptionItem.objects.filter(batch=desk.batch).values_list("is_autosaved", flat=True)) == [False] * SIZE
    reader.tab_to("button", "^Submit")
    page.keyboard.press("Enter")
    page.wait_for_url("**/done/")
    reader.check()
    expect(page.get_by_role("heading", level=1)).to_have_text("Submitted. Thank you!")
    desk.batch.refresh_from_db()
    assert desk.batch.stage == Stage.SUBMITTED


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
def test_a_batch_of_pairs_is_judged_by_keyboard_and_by_what_is_said(live_server: Any, page: Page) -> None:
    reader = Reader(page)
    desk = judging.sit_down(page, judging.make_pairs(SIZE), live_server.url, "ria")
    for number in range(1, SIZE + 1):
        reader.check()
        assert reader.names("region") == ["Left", "Right"]
        assert "Your answer" in reader.names("group")
        if number > 1:
            assert reader.focused()["name"] == "Which caption describes it better?"
        page.locator(AWAKE).wait_for()
        if number == SIZE:
            reader.tab_to("button", "^Undo the last answer$")
            page.keyboard.press("Enter")
            reader.hears(f"Your last answer was undone. Answer again. Pair {number - 1} of {SIZE}")
            page.locator(AWAKE).wait_for()
            reader.tab_to("button", "^Right is better$")
            page.keyboard.press("Enter")
            reader.hears(f"Pair {number} of {SIZE}")
            page.locator(AWAKE).wait_for()
        reader.tab_to("button", "^Left is much better$")
        page.keyboard.press("Enter")
        if number < SIZE:
            reader.hears(f"Pair {number + 1} of {SIZE}")
    expect(page.get_by_role("heading", level=1)).to_have_text("All judged. Thank you!")
    reader.check()
    assert desk.choices() == [3, -2, 3]


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
def test_turns_are_played_by_keyboard_and_by_what_is_said(
    live_server: Any, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playing, "MIN_PAUSE", timedelta(0))
    reader = Reader(page)
    gaming.sit_down(page, gaming.make_game(batch_size=2), live_server.url, "ana")
    for number in (1, 2):
        reader.check()
        assert (reader.focused()["role"], reader.focused()["name"]) == ("textbox", "Your guess")
        assert reader.focused()["description"].startswith("Guess 1 of 3")
        page.keyboard.type("dog")
        page.keyboard.press("Enter")
        reader.hears("dog: closeness 80 of 100. 1 image is shown as a hint.")
        reader.check()
        page.keyboard.type("cat")
        page.keyboard.press("Enter")
        reader.hears("Correct! 90 points.")
        assert reader.focused()["role"] == "button"
        page.locator(AWAKE).wait_for()
        page.keyboard.press("Enter")
        if number == 1:
            reader.hears("Sentence 2 of 2: ")
    expect(page.get_by_role("heading", name="Batch 1 is done!")).to_be_visible()
    reader.check()
