"""What tests in a browser share: images to look at, being signed in, and looking for barriers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from gzip import compress
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any, Literal

from django.utils import timezone
from PIL import Image as Pillow
from playwright.sync_api import BrowserContext, Page, Response, expect

from annotation.models import CaptionBatch, Rating, Round
from annotation.services import batches
from core.images.models import Collection, Image
from core.images.rules.sizes import sizes_of
from core.images.services import file_storage
from core.people.models import User
from tests.clients import client_of

# A page that takes taps and keys: none does right after something came to the place of something else.
AWAKE = "html:not([data-deaf])"
# A page of which the server has all that it sends behind the person.
SENT = "html:not([data-sending])"
AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
# Whatever is all in the window is what a finger meets in its middle.
COVERED = """selector => {
  const covered = new Set();
  for (let top = 0; top < document.documentElement.scrollHeight; top += 40) {
    scrollTo({top, behavior: "instant"});
    for (const one of document.querySelectorAll(selector)) {
      const {x, y, width, height, bottom} = one.getBoundingClientRect();
      if (y < 0 || bottom > innerHeight) continue;
      if (!one.contains(document.elementFromPoint(x + width / 2, y + height / 2))) covered.add(one.textContent);
    }
  }
  return [...covered];
}"""
AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
AXE_RULES_OF_COLOURS = ["color-contrast", "link-in-text-block"]
"""All that the same page can break in dark alone, where nothing but the colours is another."""
LOOKS: list[tuple[Literal["dark", "light"], list[str]]] = [("dark", AXE_RULES_OF_COLOURS), ("light", AXE_RULES)]


def make_images(collection: Collection) -> None:
    """Give the images of `collection` something to be seen, a colour each."""
    paint([entry.image for entry in collection.entries.select_related("image")])


def paint(images: Iterable[Image]) -> None:
    """Give images something to be seen, a colour each."""
    for number, image in enumerate(images):
        colour = (40 + 61 * number % 200, 90 + 37 * number % 150, 60 + 97 * number % 180)
        for size, shape in sizes_of(image.width, image.height).items():
            content = BytesIO()
            Pillow.new("RGB", shape, colour).save(content, "WEBP")
            file_storage.put(file_storage.size_name(image.public_id, size), content.getvalue())


def sign_in(context: BrowserContext, user: User, address: str) -> None:
    client = client_of(user)
    context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": address}])


def take_batch(round: Round, annotator: User) -> CaptionBatch:
    batch = batches.take_batch(round=round, person=annotator, now=timezone.now(), rng=Random(1))
    assert batch is not None
    return batch


def open_writing(batch: CaptionBatch, annotator: User) -> None:
    now = timezone.now()
    positions = batch.items.values_list("position", flat=True)
    ratings = dict.fromkeys(positions, Rating.GOOD)
    batches.save_ratings(batch_id=batch.pk, person=annotator, ratings=ratings, now=now)
    batches.open_writing(batch_id=batch.pk, person=annotator, now=now)


def source_of(page: Page) -> str:
    """The page's HTML once it is there: while another page arrives, Chromium answers with nothing."""
    page.wait_for_load_state("domcontentloaded")
    expect(page.locator("body")).to_be_attached()
    source = page.content()
    assert "</body>" in source
    return source


def covered(page: Page, selector: str) -> list[str]:
    """Texts of elements over which something else lies, however far the page is scrolled."""
    found: list[str] = page.evaluate(COVERED, selector)
    return found


def scrolls_sideways(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def too_narrow(page: Page, *widths: int) -> list[int]:
    """Those of `widths` at which the page is wider than the screen; the last of them stays."""
    found = []
    for width in widths:
        page.set_viewport_size({"width": width, "height": 840})
        found += [width] if scrolls_sideways(page) else []
    return found


def barriers(page: Page, rules: Sequence[str] = AXE_RULES) -> list[str]:
    """What axe-core finds on the page, one line each."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    # Without `resultTypes` it describes all that it finds in order, which takes as long as looking.
    options = {"runOnly": list(rules), "resultTypes": ["violations"], "preload": False}
    report: dict[str, Any] = page.evaluate("options => axe.run(document, options)", options)
    return [f"{one['id']}: {one['nodes'][0]['target']} {one['help']}" for one in report["violations"]]


def check_all(page: Page, addresses: Iterable[str]) -> None:
    """See that no page keeps anybody out, with all its parts open, and that none is wider than the screen."""
    for address in addresses:
        page.goto(address)
        page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
        assert barriers(page) == [], address
        assert not scrolls_sideways(page), address


def barriers_at(page: Page, *widths: int) -> list[str]:
    """What axe-core finds on the page at each of `widths` in light and in dark, and where it is wider than that."""
    found = []
    for width in widths:
        found += [f"wider than {one}" for one in too_narrow(page, width)]
        for scheme, rules in LOOKS:
            page.emulate_media(color_scheme=scheme)
            found += [f"at {width} in {scheme}: {barrier}" for barrier in barriers(page, rules)]
    return found


def weight_of(page: Page, address: str) -> int:
    """Bytes of a page as sent, without its images. The production server compresses static files, too."""
    came: list[Response] = []

    def note(answer: Response) -> None:
        came.append(answer)

    page.on("response", note)
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.remove_listener("response", note)
    parts = [one for one in came if "/static/" in one.url or one.url == address]
    assert len(parts) > 10
    assert all(one.headers.get("content-encoding") == "gzip" for one in parts if "/static/" not in one.url)
    return sum(len(compress(one.body())) for one in parts)
