"""Screen 2 turns from image to image without loading a page: the focus, the address, the texts and the time on task."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, Request, Route, expect

from annotation.models import CaptionItem, Rating
from annotation.services import batches
from core.allocation.models import Assignment, AssignmentState, Batch
from core.people.models import Session
from tests.browser.annotator import AWAKE, covered, open_writing, sign_in, source_of
from tests.browser.desk import (
    CAT,
    ENGLISH,
    HAS_FOCUS,
    IS_SAME_PAGE,
    MARK,
    Desk,
    expect_image,
    expect_stored,
    image_of,
    state,
)
from tests.browser.desk import desk as desk
from tests.browser.desk import turner as turner
from tests.browser.desk import writing as writing

pytestmark = pytest.mark.django_db(transaction=True)


def forget_kept_pages(page: Page) -> None:
    """What was kept for times without a network would do as well."""
    expect(page.locator("[data-kept]")).to_be_visible()
    page.evaluate("caches.keys().then((names) => Promise.all(names.map((name) => caches.delete(name))))")


def test_a_turn_keeps_the_page_the_focus_and_the_field_and_saves_the_text_first(turner: Desk, page: Page) -> None:
    field = page.locator("#text").element_handle()
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request) if request.is_navigation_request() else None)
    page.fill("#text", CAT)
    page.get_by_role("button", name="Next image").click()
    expect_image(page, turner, 2)
    expect_stored(page, turner, {1: CAT})
    assert page.evaluate("field => field === document.getElementById('text')", field)
    assert page.evaluate(HAS_FOCUS)
    expect(page.locator(".steps .is-done")).to_have_count(1)
    expect(page.locator("[data-written-count]")).to_have_text("1")
    expect(page.locator("#status")).to_contain_text("Image 2 of 4")
    expect(page.get_by_role("button", name="Previous")).to_be_visible()
    page.keyboard.type(f"{CAT}二")
    page.keyboard.press("Enter")
    expect_image(page, turner, 3)
    page.keyboard.type(f"{CAT}三")
    page.keyboard.press("Alt+ArrowDown")
    expect_image(page, turner, 4)
    expect(page.get_by_role("button", name="Review all captions")).to_be_visible()
    expect(page.get_by_role("button", name="Review all", exact=True)).to_be_hidden()
    page.keyboard.press("Alt+ArrowUp")
    expect_image(page, turner, 3, f"{CAT}三")
    page.locator(".steps a").first.click()
    expect_image(page, turner, 1, CAT)
    expect(page.get_by_role("button", name="Previous")).to_be_hidden()
    assert page.evaluate(HAS_FOCUS)
    assert asked == []


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_the_focus_stays_where_fingers_tap_and_no_keyboard_comes_up_by_itself(
    browser: Any, live_server: Any, desk: Desk
) -> None:
    open_writing(desk.batch, desk.annotator)
    context = browser.new_context(has_touch=True, is_mobile=True, viewport={"width": 390, "height": 664})
    sign_in(context, desk.annotator, live_server.url)
    page = context.new_page()
    page.goto(desk.writing(1))
    page.evaluate(MARK)
    page.locator(".steps a").nth(1).tap()
    expect_image(page, desk, 2)
    assert not page.evaluate(HAS_FOCUS), "nobody asked for a keyboard on the screen"
    page.locator("#text").tap()
    page.evaluate("document.getElementById('text').addEventListener('blur', () => (window.wasLeft = true))")
    for number in (2, 3):
        page.keyboard.type(f"{CAT} {number}")
        page.get_by_role("button", name="Next image").tap()
        expect_image(page, desk, number + 1)
    page.locator(".steps a").nth(1).tap()
    expect_image(page, desk, 2, f"{CAT} 2")
    assert page.evaluate(HAS_FOCUS)
    assert page.evaluate("window.wasLeft === undefined"), "the keyboard stays up"
    context.close()


def test_a_save_brings_the_page_after_the_next_so_that_none_is_asked_for(turner: Desk, page: Page) -> None:
    forget_kept_pages(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if re.search(r"/write/\d+/$", request.url) else None)
    for number in (1, 2, 3):
        page.fill("#text", f"{CAT}{number}")
        # A writer who is quicker than the answer to a save has the page asked for.
        with page.expect_response(lambda response: response.request.method == "POST") as saved:
            page.keyboard.press("Enter")
        expect_image(page, turner, number + 1)
        saved.value.finished()
    assert asked == []


def test_back_and_forward_turn_too_and_save_what_is_typed(turner: Desk, page: Page) -> None:
    for number in (1, 2):
        page.fill("#text", f"{CAT}{number}")
        page.keyboard.press("Enter")
        expect_image(page, turner, number + 1)
    page.fill("#text", f"{CAT}3")
    page.go_back()
    expect_image(page, turner, 2, f"{CAT}2")
    expect_stored(page, turner, {3: f"{CAT}3"})
    page.evaluate("history.go(-1)")
    expect_image(page, turner, 1, f"{CAT}1")
    page.evaluate("history.go(2)")
    expect_image(page, turner, 3, f"{CAT}3")
    page.evaluate("history.back(); setTimeout(() => history.back(), 5)")
    expect_image(page, turner, 1, f"{CAT}1")
    page.reload()
    expect(page.locator("#text")).to_have_value(f"{CAT}1")


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_the_next_image_is_there_before_it_is_asked_for(turner: Desk, page: Page) -> None:
    page.wait_for_load_state("networkidle")
    page.fill("#text", CAT)
    expect(state(page)).to_have_text("Saved")
    page.route("**/write/2/", lambda route: route.abort())
    page.route(f"**/{image_of(turner, 2)}/**", lambda route: route.abort())
    page.keyboard.press("Enter")
    expect_image(page, turner, 2)
    assert page.evaluate("document.querySelector('#zoom-link img').naturalWidth") > 0


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_each_image_has_its_own_time_on_task(turner: Desk, page: Page) -> None:
    page.keyboard.type("猫が", delay=800)
    page.keyboard.press("Enter")
    expect_image(page, turner, 2)
    page.keyboard.type("猫がいる", delay=800)
    page.keyboard.press("Enter")
    expect_image(page, turner, 3)
    first, second = turner.item(1).writing_ms, turner.item(2).writing_ms
    assert 500 <= first < second <= 10_000
    page.locator(".steps a").first.click()
    expect_image(page, turner, 1, "猫が")
    page.wait_for_timeout(600)
    page.keyboard.press("Enter")
    expect_image(page, turner, 2, "猫がいる")
    assert turner.item(1).writing_ms > first
    assert turner.item(2).writing_ms == second


def test_on_a_phone_the_image_the_field_and_the_button_are_in_view_together(turner: Desk, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 664})
    for number in (1, 2):
        expect_image(page, turner, number)
        for part in ("#zoom-link img", "#text", ".write__actions .button--primary"):
            expect(page.locator(part)).to_be_in_viewport(ratio=0.99)
        page.keyboard.insert_text(CAT)
        page.keyboard.press("Enter")


@pytest.mark.parametrize("said", ["reported", "gone", "late"])
def test_on_a_phone_a_notice_leaves_the_field_in_view(turner: Desk, page: Page, said: str) -> None:
    page.set_viewport_size({"width": 390, "height": 664})
    expect(page.locator("[data-kept]")).to_be_visible()
    if said == "gone":
        Assignment.objects.filter(item=turner.item(1)).update(state=AssignmentState.REPORTED)
        page.fill("#text", CAT)
        page.keyboard.press("Enter")
        notice = page.locator("[data-gone]")
        expect(notice.locator(".stored")).not_to_be_visible()
    elif said == "reported":
        page.get_by_role("button", name="Report or ask").click()
        page.get_by_label("It cannot be described").check()
        page.get_by_role("button", name="Report and skip").click()
        notice = page.locator(".messages .notice")
    else:
        Batch.objects.filter(pk=turner.batch.lease_id).update(deadline=timezone.now() - timedelta(minutes=1))
        page.reload()
        notice = page.locator("[data-swap=late] .notice")
    expect(notice).to_be_in_viewport(ratio=0.99)
    for part in ("#text", ".write__actions .button--primary"):
        expect(page.locator(part)).to_be_in_viewport(ratio=0.99)
    assert page.evaluate(
        "document.getElementById('text').getBoundingClientRect().bottom"
        " <= document.querySelector('.write__bar').getBoundingClientRect().top"
    )
    if said == "gone":
        notice.locator("summary").click()
        expect(notice.locator(".stored")).to_have_text(CAT)


def test_nothing_moves_when_the_image_comes(turner: Desk, page: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.set_viewport_size({"width": 390, "height": 664})
    page.route("**/images/**", hold)
    page.reload(wait_until="domcontentloaded")
    image, field = page.locator("#zoom-link img"), page.locator("#text")
    expect(image).to_have_js_property("naturalWidth", 0)
    before = field.bounding_box()
    for route in held:
        route.continue_()
    page.unroute("**/images/**")
    expect(image).not_to_have_js_property("naturalWidth", 0)
    assert field.bounding_box() == before


def test_what_is_typed_while_the_page_turns_is_for_the_next_image(turner: Desk, page: Page) -> None:
    def be_slow(route: Route) -> None:
        answer = route.fetch()
        page.keyboard.type("犬が")
        route.fulfill(response=answer)

    page.keyboard.type(CAT)
    expect(state(page)).to_have_text("Saved")
    page.route("**/write/1/draft/", be_slow, times=1)
    page.keyboard.press("Enter")
    expect_image(page, turner, 2, "犬が")
    page.keyboard.type("いる")
    expect(state(page)).to_have_text("Saved")
    assert (turner.item(1).text, turner.item(2).text) == (CAT, "犬がいる")


def test_warnings_leave_the_field_and_the_way_on_in_view_on_a_small_phone(turner: Desk, page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    page.fill("#text", "cat\u200b")
    expect(page.locator("[data-warnings] li")).to_have_count(3)
    for part in page.locator("#text, [data-warnings] li, .write__actions .button--primary").all():
        expect(part).to_be_in_viewport(ratio=0.99)
    assert covered(page, "#text") == []


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_warnings_counters_and_errors_are_those_of_the_image(turner: Desk, page: Page) -> None:
    page.fill("#text", "猫")
    expect(page.locator("[data-warnings] li")).to_have_count(1)
    page.fill("#text", "猫" * 950)
    expect(page.locator("[data-counter]")).to_have_text("Characters left: 50")
    page.keyboard.press("Enter")
    expect_image(page, turner, 2)
    expect(page.locator("[data-counter]")).to_be_hidden()
    expect(state(page)).to_have_text("")
    # Right after a turn, a second press is taken for that of a double one.
    page.locator(AWAKE).wait_for()
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("This is empty. Write a caption.")
    expect(page.locator("#text")).to_have_attribute("aria-describedby", "error how")
    page.locator(".steps a").first.click()
    expect_image(page, turner, 1, "猫" * 950)
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator("[data-counter]")).to_be_visible()
    page.fill("#text", "猫" * 1001)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("This is too long")
    page.fill("#text", "\u3164")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("only spaces or control characters")
    page.fill("#text", "猫")
    page.keyboard.press("Enter")
    expect_image(page, turner, 2)


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_text_that_another_device_changed_meanwhile_is_shown_soon(turner: Desk, page: Page) -> None:
    page.wait_for_load_state("networkidle")
    CaptionItem.objects.filter(pk=turner.item(2).pk).update(text="別の端末", revision=1)
    page.clock.install()
    page.clock.fast_forward(60_000)
    page.fill("#text", CAT)
    page.keyboard.press("Enter")
    expect_image(page, turner, 2, "別の端末")
    page.fill("#text", "別の端末で")
    expect(state(page)).to_have_text("Saved")


@pytest.mark.long(reason="one more way of a page that other tests drive")
@pytest.mark.parametrize("how", ["signed out", "returned"])
def test_anything_unexpected_is_loaded_as_a_page(turner: Desk, page: Page, how: str) -> None:
    """The text is saved; then, before the page of the other image is answered, it has become another one."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    def change(save: Route) -> None:
        answer = save.fetch()
        if how == "signed out":
            Session.objects.all().delete()
        else:
            batches.return_batch(batch_id=turner.batch.pk, person=turner.annotator, now=timezone.now())
        save.fulfill(response=answer)
        held.pop().continue_()

    forget_kept_pages(page)
    page.fill("#text", CAT)
    expect(state(page)).to_have_text("Saved")
    page.route("**/write/3/", hold, times=1)
    page.route("**/draft/", change, times=1)
    page.locator(".steps a").nth(2).click()
    page.wait_for_url("**/accounts/login/**" if how == "signed out" else f"**/batches/{turner.batch.pk}/")
    assert not page.evaluate(IS_SAME_PAGE)


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_page_in_another_language_is_loaded_whole(turner: Desk, page: Page, context: BrowserContext) -> None:
    page.fill("#text", CAT)
    context.add_cookies([{"name": settings.LANGUAGE_COOKIE_NAME, "value": "ar", "url": turner.address}])
    page.locator(".steps a").nth(2).click()
    page.wait_for_url(turner.writing(3))
    expect(page.locator("html")).to_have_attribute("lang", "ar")
    assert not page.evaluate(IS_SAME_PAGE)
    assert turner.item(1).text == CAT


def test_nothing_of_screen_1_comes_in_while_one_turns(desk: Desk, page: Page) -> None:
    open_writing(desk.batch, desk.annotator)
    CaptionItem.objects.filter(batch=desk.batch).update(rating=Rating.BAD)
    came: list[str] = []
    page.on("response", lambda answer: came.append(answer.url) if "/write/" in answer.url else None)
    page.goto(desk.writing(1))
    page.evaluate(MARK)
    for number in range(1, 4):
        page.fill("#text", f"{CAT}{number}")
        page.keyboard.press("Enter")
        expect_image(page, desk, number + 1)
        assert ENGLISH not in source_of(page)
    assert len(came) > 4
    assert not any("/rate/" in url for url in came)
    assert page.locator("text=BAD").count() == 0
