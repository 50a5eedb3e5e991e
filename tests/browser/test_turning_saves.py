"""Screen 2 turns before the server has the text: saves follow in order and once, and what is refused comes back."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from annotation.models import CaptionItem
from core.allocation.models import Assignment, AssignmentState
from tests.browser.desk import CAT, HAS_FOCUS, Desk, expect_image, expect_stored, state
from tests.browser.desk import desk as desk
from tests.browser.desk import turner as turner
from tests.browser.desk import writing as writing
from tests.browser.phone import until

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_conflict_stops_the_turn_and_is_gone_with_its_image(
    turner: Desk, page: Page, context: BrowserContext
) -> None:
    other = context.new_page()
    other.goto(turner.writing(1))
    other.fill("#text", "一番目")
    expect(state(other)).to_have_text("Saved")
    page.fill("#text", "二番目")
    page.keyboard.press("Enter")
    expect(page.locator("[data-conflict]")).to_be_visible()
    page.keyboard.press("Enter")
    page.locator(".steps a").nth(2).click()
    page.wait_for_timeout(300)
    expect_image(page, turner, 1, "二番目")
    page.get_by_role("button", name="Keep mine").click()
    expect(page.locator("[data-conflict]")).to_be_hidden()
    page.keyboard.press("Enter")
    expect_image(page, turner, 2)
    expect_stored(page, turner, {1: "二番目"})


def test_a_text_in_conflict_is_there_again_after_the_page_was_left(
    turner: Desk, page: Page, context: BrowserContext
) -> None:
    """The other tab, once its text was saved, has forgotten what this device kept for the image."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/draft/", hold)
    with page.expect_request("**/draft/"):
        page.fill("#text", "二番目")
    other = context.new_page()
    other.goto(turner.writing(1))
    other.fill("#text", "一番目")
    expect(state(other)).to_have_text("Saved")
    held[0].continue_()
    expect(page.locator("[data-conflict]")).to_be_visible()
    page.unroute("**/draft/")
    page.reload()
    expect(page.locator("[data-conflict-mine]")).to_have_text("二番目")
    page.get_by_role("button", name="Keep mine").click()
    expect_stored(page, turner, {1: "二番目"})


def test_a_text_that_nobody_touched_gives_way_to_what_another_tab_has_saved(
    turner: Desk, page: Page, context: BrowserContext
) -> None:
    page.fill("#text", "一番目")
    expect(state(page)).to_have_text("Saved")
    expect(page.locator("[data-kept]")).to_be_visible()
    other = context.new_page()
    other.goto(turner.writing(1))
    other.fill("#text", "二番目")
    expect(state(other)).to_have_text("Saved")
    with page.expect_response("**/draft/") as answered:
        page.locator(".steps a").nth(1).click()
    assert answered.value.status == 409
    expect_image(page, turner, 2)
    page.get_by_role("button", name="Review all", exact=True).click()
    page.wait_for_url("**/review/")
    expect(page.locator("[data-conflict]:visible")).to_have_count(0)
    assert turner.item(1).text == "二番目"


def test_the_next_image_is_there_at_once_and_captions_follow_in_order_and_once(turner: Desk, page: Page) -> None:
    sent: list[str] = []
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        sent.append(route.request.url.split("/")[-3])
        if held:
            return route.continue_()
        return held.append(route)

    expect(page.locator("[data-kept]")).to_be_visible()
    page.route("**/draft/", hold_the_first)
    for number in (1, 2, 3):
        page.keyboard.insert_text(f"{CAT}{number}")
        page.keyboard.press("Enter")
        expect_image(page, turner, number + 1)
        until(page, "document.querySelector('#zoom-link img').naturalWidth > 0")
    expect(page.locator(".steps .is-done")).to_have_count(3)
    expect(page.locator("[data-waiting]")).to_be_hidden()
    assert [turner.item(number).text for number in (1, 2, 3)] == ["", "", ""]
    held[0].continue_()
    expect_stored(page, turner, {number: f"{CAT}{number}" for number in (1, 2, 3)})
    assert sent == ["1", "2", "3"]
    assert [turner.item(number).revision for number in (1, 2, 3)] == [1, 1, 1]


def test_a_caption_that_the_server_refuses_comes_back_once_nobody_types(turner: Desk, page: Page) -> None:
    """Only spaces and hidden characters: that is for the server to find."""
    held: list[Route] = []

    def hold_saves(route: Route) -> None:
        if route.request.method == "POST" and not held:
            held.append(route)
        else:
            route.continue_()

    expect(page.locator("[data-kept]")).to_be_visible()
    page.route("**/batches/**", hold_saves)
    page.fill("#text", "\u3164")
    page.keyboard.press("Enter")
    expect_image(page, turner, 2)
    # The refusal comes in the middle of a word.
    page.keyboard.type("犬")
    held[0].continue_()
    page.keyboard.type("が")
    expect_image(page, turner, 1, "\u3164")
    expect(page.get_by_role("alert")).to_contain_text("only spaces or control characters")
    expect(page.get_by_role("alert")).to_be_in_viewport()
    assert page.evaluate(HAS_FOCUS)
    page.fill("#text", CAT)
    page.keyboard.press("Enter")
    expect_image(page, turner, 2, "犬が")
    expect_stored(page, turner, {1: CAT, 2: "犬が"})


@pytest.mark.parametrize("is_told_there", [False, True])
def test_a_text_of_an_image_that_is_gone_is_shown_with_the_reason_and_holds_nobody_up(
    turner: Desk, page: Page, is_told_there: bool
) -> None:
    """The image was reported in another tab: its writer gets the text, and is not led back to a page that is gone."""
    expect(page.locator("[data-kept]")).to_be_visible()
    Assignment.objects.filter(item=turner.item(1)).update(state=AssignmentState.REPORTED)
    page.fill("#text", CAT)
    if is_told_there:
        expect(state(page)).to_have_text("This image is no longer assigned to you. View the batch")
    page.keyboard.press("Enter")
    gone = page.locator("[data-gone]")
    expect(gone).to_contain_text("This image is no longer assigned to you.")
    expect(gone.locator(".stored")).to_have_text(CAT)
    expect_image(page, turner, 2)
    assert turner.item(1).text == ""
    # Each text that is written for it has its own notice, and closing one leaves the others.
    page.locator(".steps a").first.click()
    expect_image(page, turner, 1)
    page.fill("#text", f"{CAT}二")
    page.locator(".steps a").nth(1).click()
    expect(gone).to_have_count(2)
    gone.filter(has_text=f"{CAT}二").get_by_role("button", name="Close").click()
    page.wait_for_url(turner.writing(2))
    # Until it is closed it is there, also on the review.
    page.get_by_role("button", name="Review all", exact=True).click()
    page.wait_for_url("**/review/")
    expect(gone.locator(".stored")).to_have_text(CAT)
    gone.get_by_role("button", name="Close").click()
    page.goto(turner.writing(2))
    expect(page.locator("[data-kept]")).to_be_visible()
    expect(gone).to_have_count(0)


def test_a_text_that_was_changed_elsewhere_comes_back_to_be_chosen(turner: Desk, page: Page) -> None:
    expect(page.locator("[data-kept]")).to_be_visible()
    CaptionItem.objects.filter(pk=turner.item(1).pk).update(text="別の端末", revision=1)
    page.fill("#text", CAT)
    page.keyboard.press("Enter")
    expect(page.locator("[data-conflict]")).to_be_visible()
    expect_image(page, turner, 1, CAT)
    page.get_by_role("button", name="Keep mine").click()
    expect_stored(page, turner, {1: CAT})
