"""Choosing a level in a browser: nothing stands over the levels, and no key rates but a level's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from annotation.services import verification
from core.people.models import User
from tests.annotation.verifying import make_captioned_round, make_reviewer, make_verification
from tests.browser.annotator import covered, make_images, sign_in, take_batch
from tests.factories import make_annotator, make_round

pytestmark = pytest.mark.django_db(transaction=True)

ITEMS = 3
PHONES: list[ViewportSize] = [{"width": 390, "height": 664}, {"width": 360, "height": 640}]
LAPTOP: ViewportSize = {"width": 1366, "height": 768}
CURRENT = re.compile("is-current")


@dataclass
class Desk:
    url: str
    person: User


@pytest.fixture
def rating(live_server: Any) -> Desk:
    """Screen 1 of a batch."""
    round = make_round(images=ITEMS, language="ar")
    make_images(round.collection)
    annotator = make_annotator(round, "amal")
    return Desk(f"{live_server.url}/batches/{take_batch(round, annotator).pk}/rate/", annotator)


@pytest.fixture
def verifying(live_server: Any) -> Desk:
    """Captions that others wrote."""
    verified, _ = make_captioned_round(images=ITEMS, captions=1, language="ar")
    make_images(verified.collection)
    round = make_verification(verified)
    rater = make_reviewer(round, "rae")
    batch = verification.take_batch(round=round, person=rater, now=timezone.now(), rng=Random(1))
    assert batch is not None
    return Desk(f"{live_server.url}/ratings/{batch.pk}/", rater)


@pytest.fixture(params=["rating", "verifying"])
def desk(request: pytest.FixtureRequest, context: BrowserContext) -> Desk:
    desk: Desk = request.getfixturevalue(request.param)
    sign_in(context, desk.person, desk.url)
    return desk


def phone(browser: Browser, desk: Desk, viewport: ViewportSize) -> Page:
    context = browser.new_context(locale="en-GB", reduced_motion="reduce", viewport=viewport, has_touch=True)
    sign_in(context, desk.person, desk.url)
    page = context.new_page()
    page.goto(desk.url)
    return page


@pytest.mark.parametrize("viewport", PHONES, ids=str)
def test_on_a_phone_nothing_stands_over_a_level_two_taps_hit_nothing_else_and_the_next_caption_is_in_view(
    desk: Desk, browser: Browser, viewport: ViewportSize
) -> None:
    page = phone(browser, desk, viewport)
    assert covered(page, ".level") == []
    page.locator("#item-1 .level").last.scroll_into_view_if_needed()
    box = page.locator("#item-1 .level").last.bounding_box()
    assert box is not None
    for _tap in range(2):
        page.touchscreen.tap(box["x"] + 80, box["y"] + box["height"] / 2)
        page.wait_for_timeout(350)
    expect(page.locator("[data-rated-count]")).to_have_text("1")
    expect(page.locator("#item-1 input:checked")).to_have_value("NOT-ENOUGH-INFO")
    expect(page.locator("details[open], dialog[open], .is-missing")).to_have_count(0)
    # The next one is in view as a whole.
    expect(page.locator("#item-2")).to_have_class(CURRENT)
    for part in page.locator("#item-2 :is(img, [data-english], .level)").all():
        expect(part).to_be_in_viewport(ratio=0.99)
    page.context.close()


@pytest.mark.long(reason="one more way of a page that other tests drive")
@pytest.mark.parametrize("language", ["en", "ar"])
def test_on_a_laptop_the_meaning_of_each_level_is_in_view(desk: Desk, page: Page, language: str) -> None:
    page.set_viewport_size(LAPTOP)
    page.context.add_cookies([{"name": "django_language", "value": language, "url": desk.url}])
    page.goto(desk.url)
    page.locator("#item-2").scroll_into_view_if_needed()
    for meaning in page.locator(".guidance dd").all():
        expect(meaning).to_be_in_viewport(ratio=0.99)
    side = page.locator(".rate__side")
    assert side.evaluate("side => side.scrollHeight - side.clientHeight") <= 0


def test_tab_leads_to_the_levels_of_a_caption_and_arrows_from_level_to_level_and_rate_nothing(
    desk: Desk, page: Page
) -> None:
    page.goto(desk.url)
    levels = page.locator("#item-1 input")
    page.locator("#item-1 .rate__zoom").focus()
    page.keyboard.press("Tab")
    expect(levels.first).to_be_focused()
    for key, place in (("ArrowDown", 1), ("ArrowRight", 2), ("ArrowUp", 1), ("ArrowLeft", 0), ("ArrowUp", 4)):
        page.keyboard.press(key)
        expect(levels.nth(place)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("input[type=radio]:checked")).to_have_count(0)
    page.keyboard.press("Tab")
    expect(page.locator("#item-2 .rate__zoom")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(levels.nth(4)).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    expect(page.locator("#item-1 input:checked")).to_have_value("EXCELLENT")
    expect(page.locator("#item-1 [data-state]")).to_have_text(re.compile("Saved"))
    expect(page.locator("#item-2")).to_have_class(CURRENT)
    page.locator("#item-2 .rate__zoom").focus()
    page.keyboard.press("Tab")
    expect(page.locator("#item-2 input").first).to_be_focused()


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_levels_key_does_not_rate_a_caption_that_is_out_of_sight(desk: Desk, page: Page) -> None:
    page.set_viewport_size(PHONES[0])
    page.goto(desk.url)
    page.keyboard.press("2")
    expect(page.locator("#item-1 [data-english]")).to_be_in_viewport()
    expect(page.locator("input[type=radio]:checked")).to_have_count(0)
    page.keyboard.press("2")
    expect(page.locator("#item-1 input:checked")).to_have_value("GOOD")


def test_keys_pressed_one_after_the_other_rate_one_caption_each(desk: Desk, page: Page) -> None:
    page.emulate_media(reduced_motion="no-preference")
    page.goto(desk.url)
    for key in "123":
        page.keyboard.press(key)
    expect(page.locator("[data-rated-count]")).to_have_text("3")


@pytest.mark.long(reason="one more way of a page that other tests drive")
@pytest.mark.parametrize("viewport", PHONES[:1], ids=str)
def test_a_tap_enlarges_the_image_and_rates_nothing(desk: Desk, browser: Browser, viewport: ViewportSize) -> None:
    page = phone(browser, desk, viewport)
    for item in ("#item-2", "#item-1"):
        link = page.locator(f"{item} [data-enlarge]")
        link.tap()
        shown = page.locator("#zoom img")
        expect(shown).to_be_visible()
        assert shown.evaluate("image => image.src") == link.evaluate("link => link.href")
        page.locator("#zoom [data-zoom=close]").tap()
        expect(page.locator("#zoom")).to_be_hidden()
        expect(link).to_be_focused()
    expect(page.locator("input[type=radio]:checked")).to_have_count(0)


def test_choices_are_undone_one_by_one_by_key_and_by_button(desk: Desk, page: Page) -> None:
    page.goto(desk.url)
    undo = page.locator("#undo")
    expect(undo).to_be_hidden()
    page.keyboard.press("3")
    expect(page.locator("#item-2")).to_have_class(CURRENT)
    page.keyboard.press("4")
    page.locator("#item-1 .level").nth(0).click()
    expect(page.locator("#item-3")).to_have_class(CURRENT)

    page.keyboard.press("u")
    expect(page.locator("#item-1 input").nth(2)).to_be_checked()
    undo.click()
    expect(page.locator("#item-2")).to_have_class(CURRENT)
    expect(page.locator("#item-2 input:checked")).to_have_count(0)
    expect(page.locator("#item-2 [data-state]")).to_have_text("Undone")
    expect(page.locator("[data-rated-count]")).to_have_text("1")
    page.keyboard.press("u")
    expect(undo).to_be_hidden()
    expect(page.locator("#item-1 [data-state]")).to_have_text("Undone")
    page.reload()
    expect(page.locator("input[type=radio]:checked")).to_have_count(0)
