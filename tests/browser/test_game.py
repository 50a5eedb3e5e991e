"""Whole turns in a browser, to each outcome and in each way of playing; and what must never happen to a guess."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, Response, Route, expect

from gapgame.models import Attempt, Season, Turn, TurnOutcome
from gapgame.services import playing
from gapgame.services.playing import GRACE, close_season
from tests.browser.annotator import AWAKE, source_of
from tests.browser.gaming import PHONE, Table, guesses, images, make_game, sit_down

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def _at_any_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "MIN_PAUSE", timedelta(0))


@pytest.fixture
def season() -> Season:
    return make_game(batch_size=5)


@pytest.fixture
def table(live_server: Any, page: Page, season: Season, _at_any_pace: None) -> Table:
    return sit_down(page, season, live_server.url, "ana")


def outcomes(table: Table) -> list[str]:
    return list(table.player.all_turns.order_by("position").values_list("outcome", flat=True))


def test_a_batch_is_played_to_each_outcome_with_the_keyboard_alone(table: Table, page: Page) -> None:
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    expect(page.locator("#guess")).to_be_focused()
    expect(images(page)).to_have_count(0)
    table.guess("CAT ")
    table.expect_state("found")
    expect(page.locator(".sentence mark")).to_have_text("cat")
    expect(page.locator(".result")).to_contain_text("Found at the first guess!")
    table.go_on()

    table.expect_state("open")
    expect(page.locator("#guess")).to_be_focused()
    table.guess("dog")
    expect(guesses(page)).to_contain_text(["closeness 80 of 100"])
    expect(guesses(page)).to_contain_text(["So close!"])
    expect(images(page)).to_have_count(1)
    table.guess("cat")
    expect(page.locator(".result__points")).to_contain_text("+90")
    expect(page.locator(".tally__streak")).to_contain_text("2")
    table.go_on()

    table.expect_state("open")
    table.guess("tree")
    table.guess("zxqy")
    expect(guesses(page).last).to_contain_text("not in our word list: scores 0")
    expect(images(page)).to_have_count(3)
    table.guess("cat")
    expect(page.locator(".result__points")).to_contain_text("+80")
    table.go_on()

    table.expect_state("open")
    for word in ("tree", "car", "sky"):
        table.guess(word)
    table.expect_state("missed")
    expect(page.locator(".result")).to_contain_text("The word was cat")
    expect(page.locator(".result__points")).to_contain_text("+54")
    expect(page.locator(".tally__streak")).to_have_count(0)
    table.go_on()

    table.expect_state("open")
    expect(page.locator("#guess")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(page.locator("[data-skip]")).not_to_have_attribute("open", "")
    expect(page.locator("#guess")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("[name=reason]").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type("no verb")
    page.keyboard.press("Enter")
    page.wait_for_url(table.url)

    expect(page.get_by_role("heading", name="Batch 1 is done!")).to_be_visible()
    expect(page.locator(".batch__points")).to_contain_text("324")
    expect(page.locator(".batch__best")).to_contain_text("3 in a row")
    expect(page.locator(".batch__best")).to_contain_text("dog for cat, closeness 80 of 100")
    assert outcomes(table) == ["attempt_1", "attempt_2", "attempt_3", "failed", "skipped"]
    skipped = table.player.all_turns.get(outcome=TurnOutcome.SKIPPED)
    assert (skipped.skip_reason, skipped.skip_note) == ("broken", "no verb")
    table.player.refresh_from_db()
    assert table.player.total == 3_240_000
    assert problems == []


def test_enter_pressed_twice_or_held_down_neither_guesses_twice_nor_leaves_the_result(table: Table, page: Page) -> None:
    page.locator("#guess").fill("cat")
    page.keyboard.down("Enter")
    page.evaluate("() => document.getElementById('guess-form').requestSubmit()")
    table.expect_state("found")
    page.locator(AWAKE).wait_for()
    # Of a key that is still down this is a repetition.
    page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    expect(page.locator("#turn:not([aria-busy])")).to_have_attribute("data-state", "found")
    assert Attempt.objects.count() == 1


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_guess_that_comes_too_soon_waits_and_is_sent_again(live_server: Any, page: Page, season: Season) -> None:
    table = sit_down(page, season, live_server.url, "ana")
    answers: list[int] = []

    def note(response: Response) -> None:
        if "/guess/" in response.url:
            answers.append(response.status)

    page.on("response", note)
    # The sentence was shown this very moment, however long it took the page to come.
    Turn.objects.filter(outcome=TurnOutcome.OPEN).update(shown_at=timezone.now() + timedelta(milliseconds=100))
    table.guess("dog")
    assert answers == [429, 200]
    assert list(Attempt.objects.values_list("number", "guess")) == [(1, "dog")]


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_guess_made_before_is_not_taken_and_what_was_typed_stays(table: Table, page: Page) -> None:
    table.guess("dog")
    page.locator("#guess").fill("Dog")
    page.keyboard.press("Enter")
    expect(page.locator(".turn__messages")).to_contain_text("did not cost an attempt")
    expect(page.locator("#guess")).to_have_value("Dog")
    expect(guesses(page)).to_have_count(1)


def test_without_a_connection_the_word_is_kept_and_sent_once(table: Table, page: Page, context: BrowserContext) -> None:
    context.set_offline(True)
    page.locator("#guess").fill("dog")
    page.keyboard.press("Enter")
    expect(page.locator("[data-state-line]")).to_contain_text("You are offline")
    expect(page.locator("#guess")).to_have_value("dog")
    page.keyboard.press("Enter")
    context.set_offline(False)
    expect(page.locator("#turn")).to_have_attribute("data-guesses", "1")
    expect(guesses(page)).to_have_count(1)
    expect(page.locator("[data-state-line]")).to_be_empty()
    assert Attempt.objects.count() == 1


def find_with_next_ahead(table: Table) -> None:
    """Find the word, and be there when the device has the next sentence."""
    with table.page.expect_response("**/ahead/") as fetched:
        table.guess("cat")
    fetched.value.finished()


def test_without_a_connection_the_next_sentence_is_there_and_its_guess_is_sent_once(
    table: Table, page: Page, context: BrowserContext
) -> None:
    find_with_next_ahead(table)
    context.set_offline(True)
    table.go_on()
    expect(page.locator("#turn h1")).to_have_text("Sentence 2 of 5")
    expect(page.locator("[data-state-line]")).to_contain_text("You are offline")
    page.keyboard.type("dog")
    page.keyboard.press("Enter")
    assert outcomes(table)[:2] == ["attempt_1", "waiting"]
    context.set_offline(False)
    expect(guesses(page)).to_contain_text(["dog"])
    expect(page).to_have_url(re.compile(f"/{table.turn().pk}/$"))
    assert outcomes(table)[:3] == ["attempt_1", "open", "waiting"]
    assert Attempt.objects.count() == 2


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_word_typed_before_the_server_knows_of_its_sentence_is_there_after_a_reload(table: Table, page: Page) -> None:
    find_with_next_ahead(table)
    page.route("**/next/", lambda route: route.abort())
    table.go_on()
    expect(page.locator("#turn h1")).to_have_text("Sentence 2 of 5")
    page.keyboard.type("dog")
    page.reload()
    page.unroute("**/next/")
    table.expect_state("found")
    table.go_on()
    expect(page.locator("#turn h1")).to_have_text("Sentence 2 of 5")
    expect(page.locator("#guess")).to_have_value("dog")
    expect(page.locator("[data-typed]")).to_have_text("dog")


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_sentence_fetched_by_two_tabs_is_one_turn_and_the_later_tab_is_shown_how_far_it_is(
    table: Table, page: Page, context: BrowserContext
) -> None:
    find_with_next_ahead(table)
    other = Table(table.address, table.player, context.new_page())
    with other.page.expect_response("**/ahead/") as fetched:
        other.page.goto(page.url)
    fetched.value.finished()
    other.go_on()
    other.guess("dog")
    table.go_on()
    expect(guesses(page)).to_contain_text(["dog"])
    expect(page.locator("#turn h1")).to_have_text("Sentence 2 of 5")
    find_with_next_ahead(table)
    assert outcomes(table)[:3] == ["attempt_1", "attempt_2", "waiting"]
    # What was fetched and never shown is the next one after a reload as well.
    page.reload()
    table.go_on()
    expect(page.locator("#turn h1")).to_have_text("Sentence 3 of 5")


@contextmanager
def guess_on_its_way(page: Page) -> Iterator[None]:
    """Guess "dog", which is in the list at once; the answer comes when the block ends."""
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    page.route("**/guess/", hold)
    page.locator("#guess").fill("dog")
    with page.expect_request("**/guess/"):
        page.keyboard.press("Enter")
    expect(page.locator(".turn .is-sent")).to_have_text("dog")
    yield
    (held,) = waiting
    held.continue_()
    expect(page.locator("#turn")).to_have_attribute("data-guesses", "1")
    expect(guesses(page)).to_have_count(1)


def test_what_is_typed_while_a_guess_is_on_its_way_stays(table: Table, page: Page) -> None:
    with guess_on_its_way(page):
        page.keyboard.type("elephan")
    page.keyboard.type("t")
    expect(page.locator("#guess")).to_have_value("elephant")
    expect(page.locator("[data-typed]")).to_have_text("elephant")


def test_a_reason_to_skip_that_is_being_written_stays_when_a_guess_is_answered(table: Table, page: Page) -> None:
    with guess_on_its_way(page):
        page.locator("[data-skip] summary").click()
        page.locator("#note").fill("No gap")
    page.keyboard.type("!")
    expect(page.locator("#note")).to_have_value("No gap!")


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_word_that_was_typed_is_there_after_a_reload(table: Table, page: Page) -> None:
    page.locator("#guess").press_sequentially("elephan")
    page.reload()
    expect(page.locator("#guess")).to_have_value("elephan")
    expect(page.locator("[data-typed]")).to_have_text("elephan")


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_second_tab_is_shown_where_the_turn_is(table: Table, page: Page, context: BrowserContext) -> None:
    other = context.new_page()
    other.goto(page.url)
    table.guess("dog")
    Table(table.address, table.player, other).guess("tree")
    expect(other.locator(".turn__messages")).to_contain_text("already made this guess")
    expect(guesses(other)).to_contain_text(["dog"])
    assert list(Attempt.objects.values_list("number", "guess")) == [(1, "dog")]


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_the_cut_off_in_the_middle_of_a_turn_is_counted_down_to_and_then_scored(table: Table, page: Page) -> None:
    table.guess("dog")
    season = table.player.season
    Season.objects.filter(pk=season.pk).update(ends_at=timezone.now() + timedelta(minutes=30))
    page.reload()
    expect(page.locator("[data-left]")).to_contain_text("Play ends in 29:")
    Season.objects.filter(pk=season.pk).update(ends_at=timezone.now() + timedelta(seconds=2))
    page.reload()
    table_state = page.locator("#turn")
    expect(table_state).to_have_attribute("data-state", "stopped")
    expect(page.locator(".result")).to_contain_text("The cut-off has passed")
    expect(page.locator("#guess")).to_be_hidden()
    assert "cat" not in source_of(page)
    season.refresh_from_db()
    close_season(season_id=season.pk, now=season.ends_at + GRACE)
    expect(table_state).to_have_attribute("data-state", "missed")
    expect(page.locator(".result")).to_contain_text("Ended by the cut-off")
    expect(page.locator(".result__points")).to_contain_text("+80")
    table.go_on()
    page.wait_for_url(table.url)
    expect(page.locator(".winner--1")).to_contain_text(table.player.nickname)


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_guess_after_the_cut_off_is_refused_and_the_page_says_why(table: Table, page: Page) -> None:
    Season.objects.update(ends_at=timezone.now() - timedelta(seconds=1))
    page.locator("#guess").fill("dog")
    page.keyboard.press("Enter")
    table.expect_state("stopped")
    expect(page.locator(".result")).to_contain_text("The cut-off has passed")
    assert not Attempt.objects.exists()


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
@pytest.mark.usefixtures("_at_any_pace")
def test_whole_turns_by_touch_and_without_scripts(live_server: Any, browser: Browser, season: Season) -> None:
    ways: dict[str, dict[str, Any]] = {
        "tia": {"viewport": PHONE, "has_touch": True, "is_mobile": True},
        "flo": {"java_script_enabled": False},
    }
    for name, options in ways.items():
        context = browser.new_context(locale="en-GB", reduced_motion="reduce", **options)
        page = context.new_page()
        table = sit_down(page, season, live_server.url, name, has_scripts=name == "tia")
        press = "tap" if name == "tia" else "click"
        for number, words in enumerate((["cat"], ["dog", "cat"], ["tree", "car", "sky"])):
            for count, word in enumerate(words, start=1):
                page.locator("#guess").fill(word)
                getattr(page.locator("#guess-form button"), press)()
                expect(guesses(page)).to_have_count(count)
                if name == "tia" and word == "tree":
                    expect(page.locator("#guess")).to_be_focused()
            table.expect_state("missed" if number == 2 else "found")
            page.locator(AWAKE).wait_for()
            getattr(page.locator("#next-form button"), press)()
            table.expect_state("open")
        page.locator("[data-skip] summary").click()
        page.locator("[value=wrong_image]").check()
        page.get_by_role("button", name="Skip the sentence").click()
        expect(page.locator("#turn h1")).to_have_text("Sentence 5 of 5")
        page.locator("#guess").fill("sky")
        getattr(page.locator("#guess-form button"), press)()
        expect(guesses(page)).to_have_count(1)
        assert outcomes(table) == ["attempt_1", "attempt_2", "failed", "skipped", "open"]
        context.close()
