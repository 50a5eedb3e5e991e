"""What tests of the game in a browser share: a season that is on, with images, and a player who sits down to it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone
from playwright.sync_api import Locator, Page, ViewportSize, expect

from gapgame.models import ItemImage, Player, Season, Turn
from tests.browser.annotator import AWAKE, paint, sign_in
from tests.factories import make_player, make_season

PHONE: ViewportSize = {"width": 390, "height": 844}
# What an on-screen keyboard leaves of it.
ABOVE_KEYBOARD: ViewportSize = {"width": 390, "height": 430}


@dataclass
class Table:
    """A player's turn, in a browser at `page`."""

    address: str
    player: Player
    page: Page

    @property
    def url(self) -> str:
        return f"{self.address}/game/{self.player.season.slug}/"

    def turn(self) -> Turn:
        """The one that is on the page."""
        address = str(self.page.locator("#turn").get_attribute("data-url"))
        return Turn.objects.select_related("item").get(pk=address.rstrip("/").rpartition("/")[2])

    def guess(self, word: str) -> None:
        """Type and press Enter, and be there when it is answered."""
        before = self.page.locator("#turn").get_attribute("data-guesses")
        self.page.locator("#guess").fill(word)
        self.page.keyboard.press("Enter")
        expect(self.page.locator("#turn")).not_to_have_attribute("data-guesses", str(before))

    def go_on(self) -> None:
        self.page.locator(AWAKE).wait_for()
        self.page.keyboard.press("Enter")

    def expect_state(self, state: str) -> None:
        expect(self.page.locator("#turn")).to_have_attribute("data-state", state)


def make_game(**fields: Any) -> Season:
    """A season that is on now, with images that can be seen; every word is "cat"."""
    now = timezone.now()
    season = make_season(**({"starts_at": now - timedelta(days=1), "ends_at": now + timedelta(days=1)} | fields))
    make_images(season)
    return season


def make_images(season: Season) -> None:
    shown = ItemImage.objects.filter(item__item_set=season.item_set).select_related("image")
    paint([one.image for one in shown])


def sit_down(
    page: Page, season: Season, address: str, name: str, *, language: str | None = None, has_scripts: bool = True
) -> Table:
    """Begin a batch by its button, as somebody new; the page's script has begun its work."""
    table = Table(address, make_player(season, name), page)
    sign_in(page.context, table.player.user, address)
    if language:
        page.context.add_cookies([{"name": "django_language", "value": language, "url": address}])
    page.goto(table.url)
    page.locator("form[action$='/batch/'] button").first.click()
    expect(page.locator("#sound" if has_scripts else "#turn")).to_be_visible()
    return table


def guesses(page: Page) -> Locator:
    """Find the guesses that are answered: one that is only sent is shown already, and no other is taken meanwhile."""
    return page.locator(".turn .guess:not(.is-sent)")


def images(page: Page) -> Locator:
    return page.locator(".turn .hint img")
