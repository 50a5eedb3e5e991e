"""The rater's page in a browser: its images, either direction, any width, no barriers, little to load."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from sxs_eval.models import Judgement
from tests.browser.annotator import AWAKE, barriers_at, weight_of
from tests.browser.judging import PHONE, Desk, captions, make_pairs, sit_down
from tests.tiers import is_long

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk(live_server: Any, page: Page) -> Desk:
    return sit_down(page, make_pairs(), live_server.url, "ria")


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_images_are_there_before_their_pairs(desk: Desk, page: Page) -> None:
    page.wait_for_load_state("networkidle")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for key in "123":
        desk.answer(key)
        assert page.evaluate("document.querySelector('.trial__stage img').naturalWidth") > 0
    assert [url for url in asked if "/images/" in url] == []


def test_a_comment_is_there_again_after_the_answer_before_it_was_undone(desk: Desk, page: Page) -> None:
    desk.answer("1")
    page.get_by_text("Comment (optional)").click()
    page.locator("#comment").fill("Both name the wrong boat.")
    page.keyboard.press("Escape")
    desk.answer("u")
    expect(page.locator("#comment")).to_have_value("")
    desk.answer("2")
    expect(page.locator("#comment")).to_have_value("Both name the wrong boat.")


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_the_image_of_each_pair_opens_large_and_keys_answer_nothing_meanwhile(desk: Desk, page: Page) -> None:
    for _pair in range(2):
        large = page.locator("#zoom-link").get_attribute("href")
        page.locator("#zoom-link").click()
        expect(page.locator("#zoom img")).to_have_attribute("src", re.compile(re.escape(str(large))))
        page.keyboard.press("+")
        assert "scale(1.4)" in str(page.locator("#zoom img").get_attribute("style"))
        page.keyboard.press("1")
        page.keyboard.press("Escape")
        expect(page.locator("#zoom")).not_to_be_visible()
        expect(page.locator("#zoom-link")).to_be_focused()
        desk.answer("4")
    assert desk.choices() == [0, 0, None, None]


@pytest.mark.parametrize("viewport", [PHONE, {"width": 1366, "height": 900}])
def test_left_stays_left_and_everything_is_in_view_when_the_page_reads_from_right_to_left(
    live_server: Any, page: Page, viewport: Any
) -> None:
    page.set_viewport_size(viewport)
    comparison = make_pairs(2, language="ar")
    desk = sit_down(page, comparison, live_server.url, "layla", interface_language="ar")
    page.context.add_cookies([{"name": "django_language", "value": "ar", "url": live_server.url}])
    page.goto(desk.url)
    assert page.evaluate("document.documentElement.dir") == "rtl"
    left, right = (box.bounding_box() for box in page.locator(".side").all())
    answers = [box.bounding_box() for box in page.locator(".answer").all()]
    assert left["x"] + left["width"] <= right["x"]
    assert left["y"] == right["y"]
    assert [box["x"] for box in answers] == sorted(box["x"] for box in answers)
    assert min(min(box["width"], box["height"]) for box in answers) >= 44
    for part in (".side >> nth=0", ".side >> nth=1", ".strip"):
        expect(page.locator(part)).to_be_in_viewport(ratio=0.99)
    expect(page.locator(".trial__stage")).to_be_in_viewport(ratio=0.99)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]

    row = Judgement.objects.get(batch=desk.batch, position=1)
    assert captions(page)[0].startswith("test" if row.test_is_left else "base")
    page.locator(".answer").first.click()
    expect(page.locator("[data-undo]")).to_be_visible()
    desk.expect_choices(3, None)
    row.refresh_from_db()
    assert (row.choice, row.score) == (3, 3 if row.test_is_left else -3)


def test_the_raters_pages_have_no_barriers(desk: Desk, page: Page, pytestconfig: pytest.Config) -> None:
    widths = (1280, 390, 320) if is_long(pytestconfig) else (1280,)
    slug = desk.batch.comparison.project.slug
    for path in ("/compare/", f"/judging/{desk.batch.pk}/return/", f"/projects/{slug}/instructions/"):
        page.goto(desk.address + path)
        assert barriers_at(page, *widths) == [], path
    page.goto(desk.url)
    page.get_by_text("Comment (optional)").click()
    page.locator("#question").click()
    desk.answer("1")
    assert barriers_at(page, *widths) == []
    for key in "234":
        page.locator(AWAKE).wait_for()
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="All judged")).to_be_visible()
    assert barriers_at(page, *widths) == []


def test_the_page_of_a_whole_batch_is_light_and_asks_nobody_else(live_server: Any, page: Page) -> None:
    desk = sit_down(page, make_pairs(images=24, batch_size=24), live_server.url, "ria")
    page.context.add_cookies([{"name": settings.LANGUAGE_COOKIE_NAME, "value": "te", "url": live_server.url}])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    assert 5_000 < weight_of(page, desk.url) < 40_000
    assert all(url.startswith((desk.address, "data:")) for url in asked)
    assert len({url for url in asked if url.startswith(desk.address) and "/images/" not in url}) <= 12
