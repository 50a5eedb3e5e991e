"""Only what comes from the clipboard, from elsewhere, counts as pasted; only a page out of sight is away."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from core.people.defaults import WRITING_MARKS
from core.people.models import ConsentText
from tests.browser.annotator import AWAKE, SENT, make_images, open_writing, sign_in, take_batch
from tests.browser.desk import Desk, expect_stored
from tests.factories import make_annotator, make_round

pytestmark = pytest.mark.django_db(transaction=True)
PASTE = """text => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const field = document.getElementById("text");
  field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new InputEvent("input", { inputType: "insertFromPaste", bubbles: true }));
}"""
# A keyboard on a screen, dictation or a spell-checker: a whole phrase at once.
INSERT = """text => {
  const field = document.getElementById("text");
  field.setRangeText(text, 0, field.value.length, "end");
  field.dispatchEvent(new InputEvent("input", { inputType: "insertReplacementText", data: text, bubbles: true }));
}"""
HIDE = """ms => {
  const set = (value) => {
    Object.defineProperty(document, "visibilityState", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  };
  const clock = Date.now;
  const now = clock();
  Date.now = () => now;
  set("hidden");
  Date.now = () => now + ms;
  set("visible");
  Date.now = clock;
}"""


@pytest.fixture
def noted(live_server: Any, context: BrowserContext, page: Page) -> Desk:
    round = make_round(images=4, language="ja")
    make_images(round.collection)
    ConsentText.objects.update(body=f"- {WRITING_MARKS}")
    annotator = make_annotator(round, "aki")
    sign_in(context, annotator, live_server.url)
    desk = Desk(live_server.url, annotator, take_batch(round, annotator))
    open_writing(desk.batch, annotator)
    page.goto(desk.writing(1))
    return desk


def test_only_what_comes_from_the_clipboard_is_noted_and_for_the_image_that_is_shown(noted: Desk, page: Page) -> None:
    page.locator("#text").focus()
    page.evaluate(INSERT, "猫がソファーで寝ている")
    page.keyboard.press("Control+A")
    page.keyboard.press("Control+X")
    page.evaluate(PASTE, "猫がソファーで寝ている")
    page.keyboard.press("Enter")
    page.wait_for_url(noted.writing(2))
    page.evaluate(PASTE, "これは別の場所から来た文です")
    page.evaluate(HIDE, 50)
    # Right after a turn, Enter on a text that is saved already is taken for that of a double press.
    page.locator(AWAKE).wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url(noted.writing(3))
    # While the field of an image is open, nothing else of that image is sent.
    page.locator(SENT).wait_for()
    page.keyboard.type("木")
    page.keyboard.press("Alt+ArrowUp")
    page.wait_for_url(noted.writing(2))
    cat, other = "猫がソファーで寝ている", "これは別の場所から来た文です"
    expect_stored(page, noted, {1: cat, 2: other, 3: "木"})
    page.locator(SENT).wait_for()
    found = {n: (noted.item(n).pasted_characters, noted.item(n).longest_absence_ms) for n in (1, 2, 3)}
    assert found == {1: (0, 0), 2: (14, 50), 3: (0, 0)}
