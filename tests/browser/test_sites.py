"""The site of a release, opened from a disk: on a phone and on a desk, light and dark, with and without scripts."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image as Pixels
from playwright.sync_api import Browser, Page, expect

from annotation.services.releases import build
from annotation.services.sites import build_site
from core.images.models import Image
from core.images.rules.sizes import sizes_of
from core.images.services import file_storage
from tests.annotation.released import UNTIL, Campaign
from tests.annotation.sites import placed
from tests.browser.annotator import barriers_at

pytestmark = pytest.mark.django_db(transaction=True)


def webp(width: int, height: int) -> bytes:
    file = io.BytesIO()
    Pixels.new("RGB", (width, height), (120, 150, 180)).save(file, "WEBP")
    return file.getvalue()


@pytest.fixture
def site(media: Path, tmp_path: Path) -> Path:
    made = Campaign().start()
    for image in Image.objects.all():
        for size, (width, height) in sizes_of(image.width, image.height).items():
            file_storage.put(file_storage.size_name(image.public_id, size), webp(width, height))
    build(release_id=made.pk, clock=lambda: UNTIL)
    made.refresh_from_db()
    build_site(release=placed(made), folder=tmp_path / "site")
    return tmp_path / "site"


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
def test_a_site_is_read_and_searched_from_a_disk(site: Path, page: Page) -> None:
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None)
    for name in ("index.html", "images/1.html", "languages/ar.html", "search.html"):
        page.goto((site / name).as_uri())
        assert barriers_at(page, 1366, 390) == [], name
    page.get_by_label("Language").select_option("ar")
    page.get_by_label("Text in captions").fill("قوارب")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#results li")).to_have_count(4)
    expect(page.locator("#results p").first).to_have_attribute("dir", "rtl")
    page.locator("#results a").first.click()
    expect(page.get_by_text("قوارب في المساء 1")).to_be_visible()
    page.get_by_role("link", name="Another image").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Image")
    assert said == []


@pytest.mark.long(reason="the plain form, which tests without a browser submit")
def test_a_site_says_without_scripts_where_captions_are(site: Path, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "search.html").as_uri())
    expect(page.locator("#search")).to_be_hidden()
    page.get_by_role("link", name="Arabic").click()
    expect(page.get_by_text("ميناء صغير 1")).to_be_visible()
    context.close()
