"""The annotator's two screens in a browser: keys, compositions, saving, and what is left of screen 1."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import OperationalError
from playwright.sync_api import BrowserContext, Page, Route, expect

from annotation.models import CaptionItem, Rating
from annotation.services import batches
from core.allocation.models import Assignment, AssignmentState
from tests.browser.annotator import (
    barriers,
    barriers_at,
    make_images,
    open_writing,
    sign_in,
    source_of,
    take_batch,
    weight_of,
)
from tests.browser.desk import ENGLISH, SAVED, Desk, state
from tests.browser.desk import desk as desk
from tests.browser.desk import writing as writing
from tests.browser.judging import hold_first
from tests.factories import make_annotator, make_round
from tests.tiers import is_long

pytestmark = pytest.mark.django_db(transaction=True)


def rate_all(page: Page) -> None:
    for key in "1234":
        page.keyboard.press(key)
    expect(page.locator("[data-rated-count]")).to_have_text("4")


def test_one_key_rates_a_caption_and_the_next_unrated_one_comes_into_view(desk: Desk, page: Page) -> None:
    page.goto(desk.rating)
    page.keyboard.press("2")
    expect(page.locator("#item-2")).to_have_class(re.compile("is-current"))
    expect(page.locator("#item-2")).to_be_in_viewport(ratio=0.5)
    expect(page.locator("#item-1 [data-state]")).to_have_text(SAVED)
    assert desk.item(1).rating == "GOOD"


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_scripts_send_what_they_have_under_the_names_that_cookies_have_over_tls(
    desk: Desk, page: Page, context: BrowserContext, settings: Any
) -> None:
    settings.CSRF_COOKIE_NAME, settings.CSRF_COOKIE_SECURE = "__Host-csrftoken", True
    context.add_cookies([{"name": "csrftoken", "value": "x" * 32, "url": desk.rating}])
    page.goto(desk.rating)
    page.keyboard.press("4")
    expect(page.locator("#item-1 [data-state]")).to_have_text(SAVED)
    assert desk.item(1).rating


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_the_browser_knows_every_feature_that_the_policy_turns_off(desk: Desk, page: Page) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(desk.rating)
    assert [text for text in said if "Permissions-Policy" in text] == []


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_the_keys_can_be_switched_off_and_leave_no_rating_then(desk: Desk, page: Page) -> None:
    page.goto(desk.rating)
    page.get_by_label("Press 1 to 5").uncheck()
    page.keyboard.press("2")
    assert page.locator("input[type=radio]:checked").count() == 0


def test_going_on_before_all_are_rated_leads_to_the_one_that_is_not(desk: Desk, page: Page) -> None:
    page.goto(desk.rating)
    page.keyboard.press("1")
    page.get_by_role("button", name="Continue to writing").click(force=True)
    expect(page.locator("#item-2")).to_have_class(re.compile("is-missing"))
    expect(page.locator("#confirm")).not_to_be_visible()


def test_screen_1_is_left_neither_in_the_history_nor_on_the_device_nor_in_another_tab(
    desk: Desk, page: Page, context: BrowserContext
) -> None:
    page.goto(desk.rating)
    other = context.new_page()
    other.goto(desk.rating)
    rate_all(page)
    page.get_by_role("button", name="Continue to writing").click()
    page.locator("#confirm [value=open]").click()
    page.wait_for_url(desk.writing(1))
    other.wait_for_url(desk.writing(1))
    assert [item.rating for item in desk.batch.items.all()] == ["EXCELLENT", "GOOD", "MEDIUM", "BAD"]
    assert ENGLISH not in page.evaluate("JSON.stringify(localStorage) + JSON.stringify(sessionStorage)")
    page.go_back()
    assert ENGLISH not in source_of(page)


def test_a_rating_made_without_a_connection_is_sent_when_there_is_one(
    desk: Desk, page: Page, context: BrowserContext
) -> None:
    page.set_viewport_size({"width": 390, "height": 664})
    page.goto(desk.rating)
    page.get_by_role("button", name="Continue", exact=True).click()
    page.wait_for_load_state("networkidle")
    notice = page.locator(".is-current [data-notice]")
    context.set_offline(True)
    expect(notice).to_contain_text("No connection. Not saved yet: 0.")
    page.keyboard.press("5")
    # The next image is there, and says it where the eyes are.
    expect(page.locator("#item-2 img")).to_be_visible()
    assert page.locator("#item-2 img").evaluate("image => image.naturalWidth")
    expect(notice).to_contain_text("No connection. Not saved yet: 1.")
    expect(notice).to_be_in_viewport()
    context.set_offline(False)
    expect(page.locator("#item-1 [data-state]")).to_have_text(SAVED)
    expect(notice).to_be_empty()
    assert desk.item(1).rating == "NOT-ENOUGH-INFO"


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_rating_of_an_image_that_is_gone_leads_to_those_that_are_left(desk: Desk, page: Page) -> None:
    page.goto(desk.rating)
    Assignment.objects.filter(item=desk.item(1)).update(state=AssignmentState.REPORTED)
    held = hold_first(page, "**/rate/1/")
    with page.expect_request("**/rate/1/"):
        page.keyboard.press("1")
    page.keyboard.press("2")
    held[0].continue_()
    expect(page.get_by_text("This image is no longer assigned to you.")).to_be_visible()
    expect(page.locator(".rate__item")).to_have_count(3)
    assert [desk.item(position).rating for position in (1, 2)] == ["", Rating.GOOD]


def test_who_rates_is_told_that_the_server_has_no_room_and_the_rating_is_sent_again(desk: Desk, page: Page) -> None:
    page.goto(desk.rating)
    told = "The server has no space left."
    page.route("**/rate/1/", lambda route: route.fulfill(status=507, json={"message": told}), times=1)
    page.keyboard.press("5")
    expect(page.locator(".is-current [data-notice]")).to_have_text(told)
    expect(page.locator("#item-1 [data-state]")).to_have_text(SAVED)
    assert desk.item(1).rating == "NOT-ENOUGH-INFO"


@pytest.mark.long(reason="one more way of a page that other tests drive")
@pytest.mark.parametrize("told", ["The server has no space left.", "Not saved yet: you are signed out."])
def test_who_cannot_go_on_to_writing_is_told_why_and_stays(
    desk: Desk, page: Page, context: BrowserContext, told: str
) -> None:
    page.goto(desk.rating)
    rate_all(page)
    [session] = [one for one in context.cookies() if one["name"] == settings.SESSION_COOKIE_NAME]
    if "signed out" in told:
        context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    else:
        page.route("**/rate/", lambda route: route.fulfill(status=507, json={"message": told}), times=1)
    page.get_by_role("button", name="Continue to writing").click()
    page.locator("#confirm [value=open]").click()
    expect(page.locator("#confirm [data-problem]")).to_contain_text(told)
    expect(page.locator("[data-english]").first).not_to_be_empty()
    context.add_cookies(
        [{name: session[name] for name in ("name", "value", "domain", "path")}]  # type: ignore[list-item]
    )
    page.locator("#confirm [value=open]").click()
    page.wait_for_url(desk.writing(1))


def test_the_enter_that_ends_a_composition_does_not_go_to_the_next_image(writing: Desk, page: Page) -> None:
    page.focus("#text")
    keyboard = page.context.new_cdp_session(page)
    keyboard.send("Input.imeSetComposition", {"text": "ねこ", "selectionStart": 2, "selectionEnd": 2})
    for kind in ("rawKeyDown", "keyUp"):
        keyboard.send(
            "Input.dispatchKeyEvent",
            {"type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 229, "nativeVirtualKeyCode": 13},
        )
    keyboard.send("Input.insertText", {"text": "猫"})
    expect(state(page)).to_have_text(SAVED)
    assert page.url == writing.writing(1)
    assert page.input_value("#text") == "猫"

    page.keyboard.press("Enter")
    page.wait_for_url(writing.writing(2))
    assert writing.item(1).text == "猫"


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_an_enter_told_of_after_the_composition_ended_does_not_go_on_either(writing: Desk, page: Page) -> None:
    page.fill("#text", "猫")
    # Safari's order: compositionend comes before the keydown of the Enter that caused it.
    page.evaluate(
        """() => {
            const field = document.getElementById("text");
            field.dispatchEvent(new CompositionEvent("compositionstart"));
            field.dispatchEvent(new CompositionEvent("compositionend", { data: "猫" }));
            const how = { key: "Enter", keyCode: 229, bubbles: true, cancelable: true };
            field.dispatchEvent(new KeyboardEvent("keydown", how));
        }"""
    )
    page.wait_for_timeout(700)
    assert page.url == writing.writing(1)


def test_a_line_break_from_a_keyboard_on_the_screen_goes_to_the_next_image(writing: Desk, page: Page) -> None:
    page.fill("#text", "猫が寝ている")
    page.evaluate(
        """document.getElementById("text").dispatchEvent(
            new InputEvent("beforeinput", { inputType: "insertLineBreak", bubbles: true, cancelable: true }))"""
    )
    page.wait_for_url(writing.writing(2))


def test_what_is_typed_without_a_connection_is_kept_and_sent_from_a_new_page(
    writing: Desk, page: Page, context: BrowserContext
) -> None:
    context.set_offline(True)
    page.fill("#text", "窓辺の猫")
    expect(state(page)).to_have_text("Offline, kept on this device")
    page.close()
    context.set_offline(False)
    assert writing.item(1).text == ""

    later = context.new_page()
    later.goto(writing.writing(1))
    expect(later.locator("#text")).to_have_value("窓辺の猫")
    expect(state(later)).to_have_text(SAVED)
    assert writing.item(1).text == "窓辺の猫"
    assert not later.evaluate("Object.keys(localStorage).some((key) => key.startsWith('crosslens.draft/'))")


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_what_finds_no_room_on_the_server_is_kept_and_sent_again(
    writing: Desk, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, tries = batches.save_draft, []

    def full_at_first(*arguments: Any, **named: Any) -> Any:
        tries.append(arguments)
        if len(tries) == 1:
            raise OperationalError("full") from psycopg.errors.DiskFull("could not extend file")
        return save(*arguments, **named)

    monkeypatch.setattr(batches, "save_draft", full_at_first)
    page.fill("#text", "窓辺の猫")

    expect(state(page)).to_contain_text("no space left")
    assert "窓辺" in page.evaluate("JSON.stringify(localStorage)")
    expect(state(page)).to_have_text(SAVED)
    assert writing.item(1).text == "窓辺の猫"


def test_what_is_typed_while_signed_out_is_kept_until_one_signs_in_again(
    writing: Desk, page: Page, context: BrowserContext
) -> None:
    context.clear_cookies(name="sessionid")
    page.fill("#text", "窓辺の猫")
    expect(state(page).get_by_role("link")).to_have_attribute("href", re.compile("/accounts/login/.*next="))
    sign_in(context, writing.annotator, writing.address)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(state(page)).to_have_text(SAVED)
    assert writing.item(1).text == "窓辺の猫"


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_saved_text_whose_answer_was_lost_is_no_conflict(writing: Desk, page: Page) -> None:
    lost: list[object] = []

    def lose_first_answer(route: Route) -> None:
        if lost:
            return route.continue_()
        lost.append(route.fetch())
        return route.abort()

    page.route("**/draft/", lose_first_answer)
    page.fill("#text", "猫")
    expect(state(page)).to_have_text("Offline, kept on this device")
    page.fill("#text", "猫が寝ている")
    expect(state(page)).to_have_text(SAVED)
    assert writing.item(1).text == "猫が寝ている"


@pytest.mark.parametrize(("choice", "kept"), [("Keep mine", "二番目"), ("Use the saved text", "一番目")])
def test_a_text_changed_in_two_tabs_is_shown_twice_to_choose_from(
    writing: Desk, page: Page, context: BrowserContext, choice: str, kept: str
) -> None:
    other = context.new_page()
    other.goto(writing.writing(1))
    page.fill("#text", "一番目")
    expect(state(page)).to_have_text(SAVED)
    other.fill("#text", "二番目")
    conflict = other.locator("[data-conflict]")
    expect(conflict).to_contain_text("一番目")
    expect(conflict).to_contain_text("二番目")
    assert barriers(other) == []
    other.get_by_role("button", name=choice).click()
    expect(state(other)).to_have_text(SAVED)
    expect(other.locator("#text")).to_have_value(kept)
    assert writing.item(1).text == kept


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_an_empty_caption_is_not_left_with_enter_and_it_is_said_why(writing: Desk, page: Page) -> None:
    page.focus("#text")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("This is empty. Write a caption.")
    page.keyboard.type("猫が寝ている")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator("#text")).not_to_have_attribute("aria-invalid", "true")
    expect(state(page)).to_have_text(SAVED)
    page.reload()
    expect(page.locator("#text")).to_have_value("猫が寝ている")
    expect(page.locator("[data-conflict]")).to_be_hidden()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.keyboard.press("Enter")
    page.wait_for_url(writing.writing(2))


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_the_image_opens_large_and_closes_by_keyboard(writing: Desk, page: Page) -> None:
    page.locator("#zoom-link").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#zoom")).to_be_visible()
    page.keyboard.press("+")
    assert "scale(1.4)" in page.locator("#zoom img").get_attribute("style")
    page.keyboard.press("Escape")
    expect(page.locator("#zoom")).not_to_be_visible()
    expect(page.locator("#zoom-link")).to_be_focused()


SWIPE = """([from, to]) => {
    const figure = document.querySelector(".write__figure");
    const touch = (x) => new Touch({ identifier: 1, target: figure, clientX: x, clientY: 200 });
    figure.dispatchEvent(new TouchEvent("touchstart", { touches: [touch(from)], changedTouches: [touch(from)] }));
    figure.dispatchEvent(new TouchEvent("touchend", { touches: [], changedTouches: [touch(to)] }));
}"""


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_swiping_the_image_leads_to_the_one_beside_it(writing: Desk, page: Page) -> None:
    page.fill("#text", "猫が寝ている")
    page.evaluate(SWIPE, [300, 100])
    page.wait_for_url(writing.writing(2))
    page.evaluate(SWIPE, [100, 120])
    page.evaluate(SWIPE, [100, 300])
    page.wait_for_url(writing.writing(1))
    expect(page.locator("#text")).to_have_value("猫が寝ている")


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_the_field_grows_with_its_text(writing: Desk, page: Page) -> None:
    height = "document.getElementById('text').offsetHeight"
    before = page.evaluate(height)
    page.fill("#text", "窓辺の椅子で猫が寝ている。" * 30)
    assert page.evaluate(height) > before * 1.5


def test_time_on_task_is_sent_with_the_text(writing: Desk, page: Page) -> None:
    page.focus("#text")
    page.keyboard.type("猫が", delay=1200)
    page.keyboard.press("Enter")
    page.wait_for_url(writing.writing(2))
    assert 500 <= writing.item(1).writing_ms <= 10_000


def test_the_annotators_pages_have_no_barriers(desk: Desk, page: Page, pytestconfig: pytest.Config) -> None:
    widths = (1280, 390) if is_long(pytestconfig) else (1280,)
    for path in ("/work/", f"/batches/{desk.batch.pk}/rate/", f"/batches/{desk.batch.pk}/return/", "/work/history/"):
        page.goto(desk.address + path)
        assert barriers_at(page, *widths) == [], path
    open_writing(desk.batch, desk.annotator)
    for path in (f"/batches/{desk.batch.pk}/write/2/", f"/batches/{desk.batch.pk}/review/"):
        page.goto(desk.address + path)
        assert barriers_at(page, *widths) == [], path


def test_a_page_of_the_annotator_is_light_and_asks_nobody_else(desk: Desk, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for path in (desk.rating, f"{desk.address}/work/"):
        asked.clear()
        page.goto(path)
        page.wait_for_load_state("networkidle")
        assert all(url.startswith((desk.address, "data:")) for url in asked)
        assert len([url for url in asked if "/images/" not in url]) <= 14


def test_the_pages_of_a_batch_weigh_less_than_60_kb_besides_its_images(
    live_server: Any, context: BrowserContext
) -> None:
    round = make_round(images=15, batch_size=15, language="te")
    make_images(round.collection)
    annotator = make_annotator(round, "anna")
    sign_in(context, annotator, live_server.url)
    context.add_cookies([{"name": settings.LANGUAGE_COOKIE_NAME, "value": "te", "url": live_server.url}])
    batch = take_batch(round, annotator)
    page = context.new_page()
    for path in (f"/batches/{batch.pk}/{screen}/" for screen in ("rate", "write/1", "review")):
        if "write" in path:
            open_writing(batch, annotator)
            CaptionItem.objects.filter(batch=batch).update(text="గడ్డి మీద పరుగెత్తే గోధుమ రంగు కుక్క")
        assert weight_of(page, live_server.url + path) < 60_000, path
