"""An annotator with a batch of four images, at either screen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import CaptionBatch, CaptionItem
from core.people.models import User
from tests.browser.annotator import make_images, open_writing, sign_in, take_batch
from tests.factories import make_annotator, make_round

ENGLISH = "english caption"
SAVED = re.compile("Saved")
MARK = "window.isThePageThatWasOpened = true"
IS_SAME_PAGE = "window.isThePageThatWasOpened === true"
HAS_FOCUS = "document.activeElement.id === 'text'"
CAT = "猫が寝ている"


@dataclass
class Desk:
    address: str
    annotator: User
    batch: CaptionBatch

    @property
    def rating(self) -> str:
        return f"{self.address}/batches/{self.batch.pk}/rate/"

    def writing(self, position: int) -> str:
        return f"{self.address}/batches/{self.batch.pk}/write/{position}/"

    def item(self, position: int) -> CaptionItem:
        return CaptionItem.objects.get(batch=self.batch, position=position)


@pytest.fixture
def desk(live_server: Any, context: BrowserContext) -> Desk:
    round = make_round(images=4, language="ja")
    make_images(round.collection)
    annotator = make_annotator(round, "aki")
    sign_in(context, annotator, live_server.url)
    return Desk(live_server.url, annotator, take_batch(round, annotator))


@pytest.fixture
def writing(desk: Desk, page: Page) -> Desk:
    """At the first image of screen 2."""
    open_writing(desk.batch, desk.annotator)
    page.goto(desk.writing(1))
    return desk


@pytest.fixture
def turner(writing: Desk, page: Page) -> Desk:
    page.evaluate(MARK)
    return writing


def expect_image(page: Page, desk: Desk, number: int, text: str = "") -> None:
    page.wait_for_url(desk.writing(number))
    expect(page).to_have_title(f"Image {number} of 4 · Crosslens")
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"{number} of 4")
    expect(page.locator(".steps [aria-current=step]")).to_have_text(re.compile(f"Image {number}"))
    expect(page.locator("#text")).to_have_value(text)
    expect(page.locator("#zoom-link")).to_have_attribute("href", re.compile(image_of(desk, number)))
    assert page.evaluate(IS_SAME_PAGE)


def image_of(desk: Desk, number: int) -> str:
    return str(desk.item(number).image.public_id)


def state(page: Page) -> Any:
    return page.locator("#write [data-state]").first


def expect_stored(page: Page, desk: Desk, texts: dict[int, str]) -> None:
    """Saves follow the person: wait for the server to have them."""
    for _attempt in range(200):
        if all(desk.item(number).text == text for number, text in texts.items()):
            return
        page.wait_for_timeout(100)
    raise AssertionError({number: desk.item(number).text for number in texts})
