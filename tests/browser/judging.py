"""What tests of judging in a browser share: a comparison with images, and a rater who sits at a batch of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page, Route, expect

from core.people.models import User
from sxs_eval.models import Comparison, JudgingBatch
from tests.browser.annotator import AWAKE, SENT, make_images, sign_in
from tests.factories import make_comparison, make_rater

PHONE = {"width": 390, "height": 664}


@dataclass
class Desk:
    """A rater's batch, in a browser at `page`."""

    address: str
    rater: User
    batch: JudgingBatch
    page: Page

    @property
    def url(self) -> str:
        return f"{self.address}/judging/{self.batch.pk}/"

    def choices(self) -> list[int | None]:
        return list(self.batch.judgements.values_list("choice", flat=True))

    def expect_choices(self, *choices: int | None) -> None:
        """Answers follow the rater: wait for the server to have them."""
        self.page.locator(SENT).wait_for()
        assert self.choices() == [*choices]

    def answer(self, key: str) -> None:
        """Press `key` and be ready for the next pair, with the answer on the server."""
        before = number(self.page).inner_text()
        self.page.keyboard.press(key)
        expect(number(self.page)).not_to_have_text(before)
        self.page.locator(SENT).wait_for()
        self.page.locator(AWAKE).wait_for()


def number(page: Page) -> Any:
    return page.locator("[data-number]")


def noted(where: list[str]) -> Callable[[object], None]:
    """A handler that keeps in `where` what it is told."""

    def note(event: object) -> None:
        where.append(str(event))

    return note


def hold_first(page: Page, address: str) -> list[Route]:
    """Hold the first request to `address` back; the list has it once it was made."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(address, hold, times=1)
    return held


def captions(page: Page) -> list[str]:
    return page.locator("[data-caption]").all_inner_texts()


def make_pairs(images: int = 4, **fields: Any) -> Comparison:
    comparison = make_comparison(images=images, **fields)
    make_images(comparison.collection)
    return comparison


def sit_down(page: Page, comparison: Comparison, address: str, name: str, **fields: Any) -> Desk:
    """Take a batch by its button, as somebody new."""
    rater = make_rater(comparison, name)
    for field, value in fields.items():
        setattr(rater, field, value)
    rater.save()
    sign_in(page.context, rater, address)
    page.goto(f"{address}/compare/")
    page.locator("form[action$='/take/'] button").click()
    page.wait_for_url("**/judging/**")
    return Desk(address, rater, JudgingBatch.objects.get(lease__person=rater), page)
