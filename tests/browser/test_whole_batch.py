"""A whole batch of fifteen against the real server, which is killed while somebody types, and a session that ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotation.models import CaptionState
from tests.browser.annotator import barriers, source_of
from tests.browser.real_server import ENGLISH, IMAGES, PASSWORD, RealServer

KILLED_AT, SIGNED_OUT_AT = 5, 9

ARABIC = "قطة صغيرة تجلس على كرسي خشبي قرب النافذة رقم"
JAPANESE = "窓のそばの木の椅子に小さな猫が座っている、その"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RealServer]:
    server = RealServer(tmp_path / "var")
    yield server
    server.kill()


def sign_in(page: Page) -> None:
    page.get_by_role("textbox").first.fill("writer")
    page.locator("input[type=password]").fill(PASSWORD)
    page.keyboard.press("Enter")


def state_of(page: Page, text: str) -> None:
    expect(page.locator("#write [data-state]").first).to_contain_text(text)


def rate_all(page: Page) -> None:
    expect(page.get_by_text(ENGLISH).first).to_be_visible()
    expect(page.locator(".rate__item.is-current")).to_be_visible()  # the script is at work
    for number in range(1, IMAGES + 1):
        page.keyboard.press(str(1 + number % 5))
        expect(page.locator("[data-rated-count]")).to_have_text(str(number))
    page.get_by_role("button", name="Continue to writing").click()
    page.locator("dialog button[value=open]").click()
    page.wait_for_url(re.compile("/write/"))


def write(page: Page, server: RealServer, position: int, text: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"{position} of {IMAGES}")
    box = page.locator("#text")
    half = len(text) // 2
    if position == KILLED_AT:
        box.press_sequentially(text[:half])
        state_of(page, "Saved")
        server.kill()
        box.press_sequentially(text[half:])
        state_of(page, "Offline, kept on this device")
        assert server.ask("SELECT text FROM annotation_captionitem WHERE position = ?", position) == [(text[:half],)]
        server.start()
        state_of(page, "Saved")
    elif position == SIGNED_OUT_AT:
        box.press_sequentially(text[:half])
        state_of(page, "Saved")
        server.ask("DELETE FROM people_session")
        box.press_sequentially(text[half:])
        state_of(page, "Signed out: kept on this device")
        page.get_by_role("link", name="Sign in again").click()
        sign_in(page)
        page.wait_for_url(re.compile("/write/"))
        if not page.url.endswith(f"/write/{position}/"):
            page.goto(f"{page.url.rsplit('/write/', 1)[0]}/write/{position}/")
        expect(page.locator("#text")).to_have_value(text)
        state_of(page, "Saved")
    else:
        box.fill(text)
        state_of(page, "Saved")
    page.locator("#text").press("Enter")


@pytest.mark.long(reason="test_long_way.py goes the same way in Arabic")
@pytest.mark.parametrize(("language", "words", "direction"), [("ar", ARABIC, "rtl"), ("ja", JAPANESE, "ltr")])
def test_a_whole_batch_loses_nothing_to_a_killed_server_and_an_ended_session(
    language: str, words: str, direction: str, server: RealServer, page: Page
) -> None:
    made = server.prepare(language)
    server.start()
    texts = [f"{words} {number}" for number in range(1, IMAGES + 1)]
    page.goto(f"{server.address}/work/")
    sign_in(page)
    page.get_by_role("button", name="Take a batch").click()
    rate_all(page)

    assert page.locator("#text").evaluate("box => [box.lang, box.dir]") == [language, direction]
    for position, text in enumerate(texts, start=1):
        write(page, server, position, text)

    page.wait_for_url(re.compile("/review/"))
    assert barriers(page) == []
    page.get_by_role("main").get_by_role("button", name="Submit").click()
    page.wait_for_url(re.compile("/done/"))
    submitted = server.ask(
        "SELECT caption.text, caption.state FROM annotation_caption AS caption JOIN annotation_captionitem AS item"
        " ON item.assignment_id = caption.item_id WHERE caption.round_id = ? ORDER BY item.position",
        made["round"],
    )
    assert submitted == [(text, CaptionState.COUNTED) for text in texts]
    ratings = server.ask("SELECT rating FROM annotation_captionitem ORDER BY position")
    assert len(ratings) == IMAGES
    assert all(rating for (rating,) in ratings)


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
def test_screen_1_is_gone_from_the_browser(server: RealServer, page: Page) -> None:
    server.prepare("de")
    server.start()
    page.goto(f"{server.address}/work/")
    sign_in(page)
    page.get_by_role("button", name="Take a batch").click()
    expect(page.get_by_text(ENGLISH).first).to_be_visible()
    rating_page = page.url
    second_tab = page.context.new_page()
    second_tab.goto(rating_page)
    expect(second_tab.get_by_text(ENGLISH).first).to_be_visible()
    stale_form = second_tab.context.request
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")

    rate_all(page)

    expect(second_tab.get_by_text(ENGLISH)).to_have_count(0)
    before = server.ask("SELECT rating FROM annotation_captionitem ORDER BY position")
    stale: dict[str, str | float | bool] = {f"rating-{position}": "BAD" for position in range(1, IMAGES + 1)}
    stale["csrfmiddlewaretoken"] = token
    answer = stale_form.post(rating_page, form=stale, headers={"Referer": rating_page})
    assert ENGLISH not in answer.text()
    assert server.ask("SELECT rating FROM annotation_captionitem ORDER BY position") == before
    page.go_back()
    page.wait_for_load_state("networkidle")
    assert ENGLISH not in source_of(page)
    page.goto(rating_page)
    assert ENGLISH not in source_of(page)
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert ENGLISH not in kept
