"""Choosing a level in a browser: nothing stands over the levels, and no key rates but a level's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, ViewportSize, expect

from annotation.services import verification
from core.images.models import Image
from core.people.models import User
from tests.annotation.verifying import make_captioned_round, make_reviewer, make_verification
from tests.browser.annotator import covered, make_images, paint, sign_in, take_batch
from tests.factories import make_annotator, make_round

pytestmark = pytest.mark.django_db(transaction=True)

ITEMS = 3
LET_IT_BE_SEEN_MS = 120
PHONES: list[ViewportSize] = [{"width": 390, "height": 664}, {"width": 360, "height": 640}]
LAPTOP: ViewportSize = {"width": 1366, "height": 768}
CURRENT = re.compile("is-current")


@dataclass
class Desk:
    address: str
    path: str
    person: User

    @property
    def url(self) -> str:
        return self.address + self.path


@pytest.fixture
def rating(live_server: Any) -> Desk:
    """Screen 1 of a batch."""
    round = make_round(images=ITEMS, language="ar")
    make_images(round.collection)
    annotator = make_annotator(round, "amal")
    return Desk(live_server.url, f"/batches/{take_batch(round, annotator).pk}/rate/", annotator)


@pytest.fixture
def verifying(live_server: Any) -> Desk:
    """Captions that others wrote."""
    verified, _ = make_captioned_round(images=ITEMS, captions=1, language="ar")
    make_images(verified.collection)
    round = make_verification(verified)
    rater = make_reviewer(round, "rae")
    batch = verification.take_batch(round=round, person=rater, now=timezone.now(), rng=Random(1))
    assert batch is not None
    return Desk(live_server.url, f"/ratings/{batch.pk}/", rater)


@pytest.fixture(params=["rating", "verifying"])
def desk(request: pytest.FixtureRequest, context: BrowserContext) -> Desk:
    desk: Desk = request.getfixturevalue(request.param)
    sign_in(context, desk.person, desk.address)
    return desk


def phone(browser: Browser, desk: Desk, viewport: ViewportSize) -> Page:
    context = browser.new_context(locale="en-GB", reduced_motion="reduce", viewport=viewport, has_touch=True)
    sign_in(context, desk.person, desk.address)
    page = context.new_page()
    page.clock.install()
    open_first(page, desk)
    return page


def open_first(page: Page, desk: Desk) -> None:
    """The first visit on a small screen: its introduction is read."""
    page.goto(desk.url)
    page.get_by_role("button", name="Continue", exact=True).click()
    expect(page.locator("#item-1")).to_be_visible()


@pytest.mark.parametrize("viewport", PHONES, ids=str)
def test_on_a_first_visit_no_caption_is_rated_unread(desk: Desk, page: Page, viewport: ViewportSize) -> None:
    page.set_viewport_size(viewport)
    page.goto(desk.url)
    # Either the introduction, with the way on in sight, or the image with its caption and all levels; never a part.
    expect(page.locator(".about p").last).to_be_visible()
    expect(page.get_by_role("button", name="Continue", exact=True)).to_be_in_viewport(ratio=0.99)
    expect(page.locator(".level:visible")).to_have_count(0)
    page.keyboard.press("2")
    seen = page.locator("#item-1 :is(img, [data-english], .level)")
    for part in seen.all():
        expect(part).to_be_in_viewport(ratio=0.99)
    assert covered(page, "#item-1 :is(img, [data-english], .level)") == []
    expect(page.locator("input[type=radio]:checked")).to_have_count(0)
    page.get_by_text("Rate the captions").click()
    expect(page.locator(".level:visible")).to_have_count(0)
    page.get_by_role("button", name="Continue", exact=True).click()
    expect(page.get_by_role("group", name="Image 1 of 3")).to_be_focused()
    page.reload()
    expect(seen.first).to_be_in_viewport(ratio=0.99)


def test_on_a_phone_the_thanks_for_a_report_stay_until_another_image_is_shown(desk: Desk, browser: Browser) -> None:
    page = phone(browser, desk, PHONES[1])
    page.keyboard.press("1")
    expect(page.locator("#item-2")).to_have_class(CURRENT)
    page.locator("#item-2").get_by_role("button", name="Report or ask").click()
    page.get_by_label("It is offensive").check()
    page.get_by_role("button", name="Report and skip").click()
    expect(page.locator("#item-3")).to_have_class(CURRENT)
    thanks = page.get_by_text("Reported. Thank you!")
    expect(thanks).to_be_in_viewport()
    page.locator("[data-step='-1']").click()
    expect(thanks).to_have_count(0)
    page.context.close()


@pytest.mark.parametrize("viewport", PHONES, ids=str)
def test_on_a_phone_one_image_is_shown_with_all_of_it_in_view_and_two_taps_hit_nothing_else(
    desk: Desk, browser: Browser, viewport: ViewportSize
) -> None:
    page = phone(browser, desk, viewport)
    expect(page.locator(".rate__item:visible")).to_have_count(1)
    box = page.locator("#item-1 .level").last.bounding_box()
    assert box is not None
    # The second tap comes when the next image has come to the place of this one, and at the same moment.
    page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
    for _tap in range(2):
        page.touchscreen.tap(box["x"] + 80, box["y"] + box["height"] / 2)
        page.clock.run_for(LET_IT_BE_SEEN_MS)
        expect(page.locator("#item-2")).to_have_class(CURRENT)
    page.clock.resume()
    expect(page.locator("[data-rated-count]")).to_have_text("1")
    expect(page.locator("#item-1 input:checked")).to_have_value("NOT-ENOUGH-INFO")
    expect(page.locator("details[open], dialog[open], .is-missing")).to_have_count(0)
    # The next one, how far it is and what can be done are in view, and nothing over them.
    expect(page.locator("#item-2")).to_have_class(CURRENT)
    seen = "#item-2 :is(img, [data-english], .level, #undo, [data-step])"
    for part in page.locator(f"progress, .guidance summary, {seen}").all():
        expect(part).to_be_in_viewport(ratio=0.99)
    assert covered(page, f"progress, .guidance summary, {seen}") == []
    page.get_by_text("What the levels mean").tap()
    expect(page.locator(".guidance dd").first).to_be_in_viewport()
    page.get_by_role("button", name="Previous").tap()
    expect(page.locator("#item-1")).to_be_visible()
    expect(page.locator(".guidance dd").first).to_be_hidden()
    page.context.close()


def test_the_list_fits_on_a_laptop_item_by_item_and_either_view_is_kept_on_the_device(desk: Desk, page: Page) -> None:
    # As high as an image gets: the introduction is open above the first one.
    Image.objects.update(width=480, height=640)
    paint(Image.objects.all())
    page.set_viewport_size(LAPTOP)
    page.goto(desk.url)
    for number in range(1, ITEMS + 1):
        for part in page.locator(f"#item-{number} :is(img, [data-english], .level, .credit)").all():
            expect(part).to_be_in_viewport(ratio=0.99)
        page.keyboard.press("2")
    page.reload()
    summary = page.get_by_text("Rate the captions")
    expect(page.get_by_label("One image at a time")).to_be_hidden()
    summary.click()
    page.get_by_label("One image at a time").check()
    page.get_by_role("button", name="Continue", exact=True).click()
    expect(page.locator(".rate__item:visible")).to_have_count(1)
    page.reload()
    expect(page.locator(".rate__item:visible")).to_have_count(1)
    page.set_viewport_size(PHONES[0])
    summary.click()
    page.get_by_label("One image at a time").uncheck()
    page.reload()
    expect(page.locator(".rate__item:visible")).to_have_count(ITEMS)
    assert covered(page, ".level") == []


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


@pytest.mark.parametrize("viewport", [PHONES[0], LAPTOP], ids=str)
def test_a_whole_batch_is_rated_by_roles_and_the_keyboard_alone(desk: Desk, page: Page, viewport: ViewportSize) -> None:
    page.set_viewport_size(viewport)
    page.goto(desk.url)
    if viewport != LAPTOP:
        tab_to(page, page.get_by_role("button", name="Continue", exact=True))
        page.keyboard.press("Enter")
    said = page.get_by_role("status")
    for number in range(1, ITEMS + 1):
        item = page.get_by_role("group", name=f"Image {number} of {ITEMS}")
        expect(item).to_have_accessible_description(re.compile("."))
        if number > 1:
            expect(item).to_be_focused()
        levels = item.get_by_role("radio")
        tab_to(page, levels.first)
        for key, place in (("ArrowDown", 1), ("ArrowRight", 2), ("ArrowUp", 1), ("ArrowLeft", 0), ("ArrowUp", 4)):
            page.keyboard.press(key)
            expect(levels.nth(place)).to_be_focused()
            expect(levels.nth(place)).to_have_accessible_description(re.compile("."))
        page.keyboard.press("Enter")
        expect(item.get_by_role("radio", checked=True)).to_have_count(0)
        page.keyboard.press("Shift+Tab")
        expect(item.get_by_role("button", name="Report or ask")).to_be_focused()
        page.keyboard.press("Shift+Tab")
        expect(page.get_by_role("link", name=f"Enlarge image {number}")).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Space")
        expect(page.get_by_text(f"{number} of {ITEMS} rated")).to_be_visible()
    go_on = page.get_by_role("button", name=re.compile("Continue to writing|Submit"))
    expect(go_on).to_be_focused()
    expect(said).to_contain_text("All captions are rated")
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("group", name=f"Image {ITEMS} of {ITEMS}")).to_be_focused()
    expect(said).to_contain_text("Undone")
    page.keyboard.press("1")
    expect(go_on).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/write/1/$|/done/$"))


def tab_to(page: Page, where: Locator) -> None:
    for _press in range(20):
        page.keyboard.press("Tab")
        if where.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError(f"Tab never leads to {where}")


def test_the_next_image_is_there_at_once_and_ratings_follow_in_order_and_once(desk: Desk, page: Page) -> None:
    sent: list[str] = []
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        sent.append(f"{route.request.url.rstrip('/').rpartition('/')[2]} {route.request.post_data_json['rating']}")
        if held:
            route.continue_()
        held.append(route)

    page.route(re.compile(f"{desk.path}[0-9]/$"), hold_the_first)
    page.set_viewport_size(PHONES[0])
    open_first(page, desk)
    page.wait_for_load_state("networkidle")
    for key in "123":
        page.keyboard.press(key)
    expect(page.locator("[data-rated-count]")).to_have_text("3")
    assert page.locator("img").evaluate_all("all => all.every((one) => !one.src || one.naturalWidth > 0)")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert sent == ["1 EXCELLENT"]
    held[0].continue_()
    expect(page.locator("[data-state=saved]")).to_have_count(ITEMS)
    assert sent == ["1 EXCELLENT", "2 GOOD", "3 MEDIUM"]


def test_what_the_server_refuses_comes_back_into_sight(desk: Desk, page: Page) -> None:
    page.set_viewport_size(PHONES[0])
    open_first(page, desk)
    page.route(re.compile("/1/$"), lambda route: route.fulfill(status=422, json={"message": "Not today."}), times=1)
    page.keyboard.press("2")
    expect(page.locator("#status")).to_contain_text("Not today.")
    expect(page.get_by_role("group", name="Image 1 of 3")).to_be_focused()
    expect(page.get_by_text("Not today.").first).to_be_in_viewport()
    expect(page.locator("input:checked[type=radio]")).to_have_count(0)
    expect(page.locator("[data-rated-count]")).to_have_text("0")


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_levels_key_does_not_rate_a_caption_that_is_out_of_sight(desk: Desk, page: Page) -> None:
    page.set_viewport_size({"width": 640, "height": 400})
    page.goto(desk.url)
    expect(page.locator("#item-1 [data-english]")).not_to_be_in_viewport()
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
    for item, way in (("#item-2", "Next"), ("#item-1", "Previous")):
        page.get_by_role("button", name=way).tap()
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
