"""A rater's answers in a browser: three raters to the end of a comparison, and what must never happen to an answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from core.allocation.models import Assignment, AssignmentState
from sxs_eval.models import Comparison, Judgement
from sxs_eval.services import judging as services
from tests.browser.annotator import AWAKE, SENT, covered, sign_in, source_of
from tests.browser.judging import PHONE, Desk, captions, hold_first, make_pairs, noted, number, sit_down

pytestmark = pytest.mark.django_db(transaction=True)

CHOICES = (3, 2, 1, 0, -1, -2, -3)
SMALL_PHONE = {"width": 360, "height": 640}


@pytest.fixture
def comparison() -> Comparison:
    return make_pairs()


@pytest.fixture
def desk(live_server: Any, page: Page, comparison: Comparison) -> Desk:
    return sit_down(page, comparison, live_server.url, "ria")


def by_keyboard(page: Page, choice: int) -> None:
    page.keyboard.press(str(CHOICES.index(choice) + 1))


def by_touch(page: Page, choice: int) -> None:
    page.locator(f".answer[value='{choice}']").tap()


def by_form(page: Page, choice: int) -> None:
    page.locator(f".answer[value='{choice}']").click()


def judge_all(desk: Desk, prefer: str, press: Callable[[Page, int], None]) -> dict[str, int]:
    """Answer every pair so that the caption of `prefer` wins, by 1, 2, 3, 1...; returns the expected score by image."""
    page, expected = desk.page, {}
    size = desk.batch.judgements.count()
    for turn in range(size):
        expect(number(page)).to_have_text(f"Pair {turn + 1} of {size}")
        page.locator(AWAKE).wait_for()
        left, right = captions(page)
        degree = turn % 3 + 1
        press(page, degree if left.startswith(prefer) else -degree)
        key = left.rpartition(" of ")[2]
        assert right.endswith(key)
        expected[key] = degree if prefer == "test" else -degree
    expect(page.get_by_role("heading", name="All judged")).to_be_visible()
    return expected


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
def test_three_raters_judge_every_pair_by_keys_by_touch_and_without_scripts(
    live_server: Any, browser: Browser, comparison: Comparison
) -> None:
    ways: list[tuple[str, str, dict[str, Any], Callable[[Page, int], None]]] = [
        ("kim", "test", {}, by_keyboard),
        ("tia", "base", {"viewport": PHONE, "has_touch": True, "is_mobile": True}, by_touch),
        ("flo", "test", {"java_script_enabled": False}, by_form),
    ]
    expected: dict[str, dict[str, int]] = {}
    for name, prefer, options, press in ways:
        context = browser.new_context(locale="en-GB", reduced_motion="reduce", **options)
        page = context.new_page()
        problems: list[str] = []
        page.on("pageerror", noted(problems))
        desk = sit_down(page, comparison, live_server.url, name)
        expected[name] = judge_all(desk, prefer, press)
        expect(page.get_by_text("No work right now.")).to_be_visible()
        page.get_by_role("button", name="Finish").click()
        expect(page.get_by_text("Thank you! Your answers count.")).to_be_visible()
        context.close()
        assert problems == []
    keys = dict(comparison.collection.entries.values_list("image_id", "key"))
    given: dict[str, dict[str, int | None]] = {name: {} for name in expected}
    for row in Judgement.objects.select_related("pair", "person"):
        assert row.pair is not None
        given[row.person.username][keys[row.pair.image_id]] = row.score
    assert given == expected
    assert Counter(Judgement.objects.values_list("pair_id", flat=True)) == dict.fromkeys(
        comparison.pairs.values_list("pk", flat=True), 3
    )


def test_undo_brings_the_last_pair_back_and_its_comment(desk: Desk, page: Page) -> None:
    seen = captions(page)
    page.get_by_text("Comment (optional)").click()
    page.locator("#comment").press_sequentially("1 and 2 are alike")
    page.keyboard.press("Control+Enter")
    desk.answer("2")
    assert desk.choices() == [2, None, None, None]
    page.keyboard.press("u")
    expect(number(page)).to_have_text("Pair 1 of 4")
    assert captions(page) == seen
    expect(page.locator("#comment")).to_have_value("1 and 2 are alike")
    expect(page.locator("#status")).to_contain_text("undone")
    desk.expect_choices(None, None, None, None)
    page.locator(AWAKE).wait_for()
    desk.answer("7")
    desk.answer("4")
    page.keyboard.press("Backspace")
    expect(number(page)).to_have_text("Pair 2 of 4")
    desk.expect_choices(-3, None, None, None)
    assert Judgement.objects.get(batch=desk.batch, position=1).comment == "1 and 2 are alike"


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_the_last_answer_of_a_batch_can_be_undone_from_the_end(desk: Desk, page: Page) -> None:
    for key in "123":
        desk.answer(key)
    page.keyboard.press("4")
    page.get_by_role("button", name="Undo the last answer").click()
    expect(number(page)).to_have_text("Pair 4 of 4")
    assert desk.choices() == [3, 2, 1, None]


def expect_all_in_view(page: Page) -> None:
    """The captions, what is said and all answers are in the window, and nothing lies over them."""
    seen = ".side, .strip, .answer, [data-notice]"
    for part in page.locator(seen).all():
        expect(part).to_be_in_viewport(ratio=0.99)
    assert covered(page, ".side, .answer") == []


def test_without_a_connection_all_pairs_are_there_and_answers_go_up_in_order_and_once(
    desk: Desk, page: Page, context: BrowserContext
) -> None:
    said, arrived = page.locator("[data-notice]"), list[str]()
    page.set_viewport_size(SMALL_PHONE)  # type: ignore[arg-type]
    page.wait_for_load_state("networkidle")
    page.on("requestfinished", lambda request: arrived.append(f"{request.method} {request.url}"))
    context.set_offline(True)
    expect(said).to_contain_text("No connection. Not saved yet: 0.")
    for turn, key in enumerate("263", start=1):
        page.keyboard.press(key)
        expect(number(page)).to_have_text(f"Pair {turn + 1} of 4")
        expect(said).to_contain_text(f"Not saved yet: {turn}.")
        assert page.evaluate("document.querySelector('.trial__stage img').naturalWidth") > 0
        page.locator(AWAKE).wait_for()
    expect_all_in_view(page)
    page.keyboard.press("1")
    expect(said).to_contain_text("Not saved yet: 4.")
    # Beyond what is here, nothing is taken for this pair a second time.
    page.keyboard.press("4")
    page.locator(".answer").last.click(force=True)
    assert desk.choices() == [None] * 4
    context.set_offline(False)
    expect(page.get_by_role("heading", name="All judged")).to_be_visible()
    assert desk.choices() == [2, -2, 1, 3]
    assert [one for one in arrived if "POST" in one] == [f"POST {desk.url}{number}/" for number in (1, 2, 3, 4)]


def test_a_pair_whose_image_has_not_come_waits_for_the_connection(
    desk: Desk, page: Page, context: BrowserContext
) -> None:
    page.route("**/images/**", lambda route: route.abort())
    page.reload()
    page.wait_for_load_state("networkidle")
    context.set_offline(True)
    expect(page.locator("[data-notice]")).to_contain_text("No connection")
    page.keyboard.press("2")
    expect(page.locator("[data-notice]")).to_contain_text("Not saved yet: 1.")
    page.unroute("**/images/**")
    context.set_offline(False)
    expect(number(page)).to_have_text("Pair 2 of 4")
    desk.expect_choices(2, None, None, None)


def test_that_an_answer_was_late_is_said_while_others_wait_and_leaves_all_answers_in_view(
    desk: Desk, page: Page
) -> None:
    page.set_viewport_size(SMALL_PHONE)  # type: ignore[arg-type]
    page.wait_for_load_state("networkidle")
    held = hold_first(page, "**/judging/*/1/")
    for key in "123":
        page.keyboard.press(key)
        page.locator(AWAKE).wait_for()
    reassigned = desk.batch.judgements.get(position=1).assignment
    Assignment.objects.filter(pk=reassigned.pk).update(state=AssignmentState.REASSIGNED)
    held[0].continue_()
    page.locator(SENT).wait_for()
    expect(page.locator("[data-notice]")).to_contain_text("This answer came after the deadline")
    expect(page.locator("#status")).to_contain_text("This answer came after the deadline")
    expect(number(page)).to_have_text("Pair 4 of 4")
    expect_all_in_view(page)
    assert list(desk.batch.judgements.values_list("choice", "is_late"))[:3] == [(3, True), (2, False), (1, False)]


def test_an_answer_that_another_tab_gave_already_takes_none_of_those_after_it_along(desk: Desk, page: Page) -> None:
    page.wait_for_load_state("load")
    swapped = desk.batch.judgements.get(position=4)
    held = hold_first(page, "**/judging/*/1/")
    for key in "12":
        page.keyboard.press(key)
        page.locator(AWAKE).wait_for()
    services.judge(batch_id=desk.batch.pk, person=desk.rater, position=1, choice=-3, now=timezone.now())
    # As the repeat of a pair that was reported there.
    swapped.test_is_left = not swapped.test_is_left
    swapped.save()
    held[0].continue_()
    desk.expect_choices(-3, 2, None, None)
    expect(page.locator("[data-notice]")).to_contain_text("in another tab")
    expect(number(page)).to_have_text("Pair 3 of 4")
    desk.answer("3")
    assert captions(page) == list(swapped.sides)


def test_the_next_pair_is_there_before_the_server_answered(desk: Desk, page: Page) -> None:
    page.wait_for_load_state("networkidle")
    held = hold_first(page, "**/judging/*/1/")
    page.keyboard.press("2")
    expect(number(page)).to_have_text("Pair 2 of 4")
    assert page.evaluate("document.querySelector('.trial__stage img').naturalWidth") > 0
    expect(page.locator("#trial")).to_be_focused()
    page.locator(AWAKE).wait_for()
    page.keyboard.press("u")
    expect(number(page)).to_have_text("Pair 1 of 4")
    page.locator(AWAKE).wait_for()
    page.keyboard.press("3")
    expect(number(page)).to_have_text("Pair 2 of 4")
    assert desk.choices() == [None] * 4
    held[0].continue_()
    desk.expect_choices(1, None, None, None)


def test_an_answer_that_the_server_refuses_comes_back_with_those_after_it(desk: Desk, page: Page) -> None:
    seen = captions(page)
    page.wait_for_load_state("load")
    held = hold_first(page, "**/judging/*/1/")
    for key in "12":
        page.keyboard.press(key)
        page.locator(AWAKE).wait_for()
    held[0].fulfill(status=422, json={"message": "Not today."})
    expect(number(page)).to_have_text("Pair 1 of 4")
    assert captions(page) == seen
    expect(page.locator("[data-notice]")).to_have_text("Not today.")
    expect(page.locator("[data-notice]")).to_be_in_viewport()
    expect(page.locator("#status")).to_contain_text("Not today.")
    expect(page.locator("#trial")).to_be_focused()
    expect(page.locator(".is-chosen")).to_have_count(0)
    page.locator(AWAKE).wait_for()
    for key in "34":
        desk.answer(key)
    desk.expect_choices(1, 0, None, None)


def test_an_answer_whose_reply_was_lost_counts_once_and_leads_to_the_next_pair(desk: Desk, page: Page) -> None:
    lost: list[object] = []

    def lose_first_reply(route: Route) -> None:
        if lost or route.request.method != "POST":
            return route.continue_()
        lost.append(route.fetch())
        return route.abort()

    page.route("**/judging/**", lose_first_reply)
    desk.answer("3")
    desk.expect_choices(1, None, None, None)


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_an_answer_while_signed_out_waits_until_one_is_signed_in_again(
    desk: Desk, page: Page, context: BrowserContext
) -> None:
    context.clear_cookies(name="sessionid")
    page.keyboard.press("1")
    link = page.locator("[data-notice]").get_by_role("link")
    expect(link).to_have_attribute("href", re.compile("/accounts/login/.*next="))
    assert desk.choices() == [None] * 4
    sign_in(context, desk.rater, desk.address)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(number(page)).to_have_text("Pair 2 of 4")
    desk.expect_choices(3, None, None, None)


def test_a_double_click_or_a_key_held_down_answers_one_pair(desk: Desk, page: Page) -> None:
    page.locator(".answer").first.dblclick()
    expect(number(page)).to_have_text("Pair 2 of 4")
    page.locator(AWAKE).wait_for()
    # The second click of a slow hand comes when the next pair is there already.
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    desk.expect_choices(3, None, None, None)
    # Playwright tells of a key that is held down by repeats of it.
    page.keyboard.down("2")
    page.keyboard.down("2")
    expect(number(page)).to_have_text("Pair 3 of 4")
    page.locator(AWAKE).wait_for()
    page.keyboard.down("2")
    page.keyboard.up("2")
    desk.expect_choices(3, 2, None, None)


def test_a_key_right_after_the_swap_is_not_taken_for_the_next_pair(desk: Desk, page: Page) -> None:
    page.evaluate(
        """new MutationObserver((_, observer) => {
            observer.disconnect();
            dispatchEvent(new KeyboardEvent("keydown", { key: "7", code: "Digit7" }));
        }).observe(document.getElementById("judging"), { childList: true })"""
    )
    desk.answer("1")
    assert desk.choices() == [3, None, None, None]


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_keys_can_be_switched_off_and_do_nothing_in_the_comment(desk: Desk, page: Page) -> None:
    page.get_by_text("Comment (optional)").click()
    page.locator("#comment").press_sequentially("12u")
    page.get_by_role("checkbox").uncheck()
    page.keyboard.press("Enter")
    page.keyboard.press("3")
    desk.expect_choices(None, None, None, None)
    page.locator(".answer").first.click()
    expect(number(page)).to_have_text("Pair 2 of 4")
    expect(page.get_by_role("checkbox")).not_to_be_checked()
    page.reload()
    expect(page.get_by_role("checkbox")).not_to_be_checked()
    page.get_by_role("checkbox").check()
    desk.answer("4")
    assert desk.choices() == [3, 0, None, None]
    assert Judgement.objects.get(batch=desk.batch, position=1).comment == "12u"


@pytest.mark.long(reason="one more way of a page that other tests drive")
@pytest.mark.parametrize(
    ("key", "code", "choice"), [("٣", "Digit3", 1), ("&", "Digit1", 3), ("End", "Numpad1", None), ("ع", "KeyU", None)]
)
def test_digits_of_other_keyboards_answer_too(desk: Desk, page: Page, key: str, code: str, choice: int | None) -> None:
    page.evaluate(
        "([key, code]) => dispatchEvent(new KeyboardEvent('keydown', { key, code, bubbles: true }))", [key, code]
    )
    desk.expect_choices(choice, None, None, None)


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_pair_answered_in_another_tab_leads_to_where_that_one_is(desk: Desk, page: Page) -> None:
    other = page.context.new_page()
    other.goto(desk.url)
    desk.answer("1")
    other.keyboard.press("7")
    expect(number(other)).to_have_text("Pair 2 of 4")
    expect(other.get_by_text("You answered this pair in another tab")).to_be_visible()
    assert desk.choices() == [3, None, None, None]


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_break_leaves_no_caption_behind_and_the_batch_goes_on_where_it_was(desk: Desk, page: Page) -> None:
    desk.answer("1")
    seen = captions(page)
    page.get_by_role("link", name="Take a break").click()
    expect(page.get_by_text("1 of 4 pairs of this batch judged")).to_be_visible()
    assert "caption of" not in page.evaluate("JSON.stringify(localStorage) + JSON.stringify(sessionStorage)")
    page.get_by_role("link", name="Continue").click()
    expect(number(page)).to_have_text("Pair 2 of 4")
    assert captions(page) == seen


def test_a_page_put_aside_holds_no_caption_and_asks_the_server_when_it_comes_back(desk: Desk, page: Page) -> None:
    seen = captions(page)
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    assert captions(page) == ["", ""]
    with page.expect_navigation():
        page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    assert captions(page) == seen


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_what_is_left_in_the_history_asks_the_server_again(desk: Desk, page: Page) -> None:
    for key in "1234":
        page.locator(AWAKE).wait_for()
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="All judged")).to_be_visible()
    page.get_by_role("link", name="Take a break").or_(page.get_by_role("link", name="Crosslens")).first.click()
    page.go_back()
    expect(page.get_by_role("heading", name="All judged")).to_be_visible()
    page.go_back()
    assert "caption of" not in source_of(page)


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_time_at_the_pair_is_sent_with_the_answer(desk: Desk, page: Page) -> None:
    page.mouse.move(200, 200)
    page.wait_for_timeout(1200)
    page.mouse.move(300, 300)
    desk.answer("1")
    desk.answer("1")
    first, second = Judgement.objects.filter(batch=desk.batch, choice__isnull=False)
    assert 1000 <= first.active_ms <= 10_000
    assert 0 < second.active_ms < first.active_ms
