"""Looking through a release in a browser: on a phone from right to left, and on a desk."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from annotation.services.caption_imports import import_captions
from annotation.services.releases import build
from tests.annotation.released import KEYS, UNTIL, Campaign
from tests.annotation.sites import placed
from tests.browser.annotator import barriers, make_images
from tests.browser.conftest import Visit
from tests.factories import NOW

pytestmark = pytest.mark.django_db(transaction=True)

HINDI, JAPANESE = "एक छोटा बंदरगाह", "夕方の小さな港。"


@pytest.fixture
def campaign(media: Path) -> Campaign:
    campaign = Campaign()
    make_images(campaign.collection)
    said = {"image/key": KEYS[1], "hi": {"caption": [HINDI]}, "ja": {"caption": [JAPANESE]}}
    import_captions(
        project=campaign.project,
        collection=campaign.collection,
        file=io.BytesIO(json.dumps(said).encode()),
        source="made",
        by=campaign.manager,
        now=NOW,
    )
    made = campaign.start()
    build(release_id=made.pk, clock=lambda: UNTIL)
    made.refresh_from_db()
    placed(made)
    return campaign


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
@pytest.mark.parametrize(("width", "interface"), [(1366, "en"), (390, "ar")])
def test_a_release_is_filtered_and_searched_and_one_image_is_read_in_all_languages(
    live_server: Any, visit: Visit, campaign: Campaign, width: int, interface: str
) -> None:
    campaign.manager.interface_language = interface
    campaign.manager.save()
    page = visit(campaign.manager, java_script_enabled=width > 390, viewport={"width": width, "height": 844})
    address = f"{live_server.url}/projects/{campaign.project.slug}/releases/1/images/"

    def show(**filters: str) -> None:
        page.goto(address)
        for name, value in filters.items():
            if name == "text":
                page.locator("#text").fill(value)
            else:
                page.locator(f"#{name}").select_option(value)
        with page.expect_navigation():
            page.locator("form.ask button").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    show(language="ar")
    expect(page.locator(".caption").first).to_have_css("direction", "rtl")
    expect(page.locator(".caption:not([lang=ar])")).to_have_count(0)
    for filters in ({"place": "IN-WB"}, {"place": "IN"}, {"level": "region"}, {"chosen": "de"}):
        show(**filters)
        expect(page.locator(".cards a[href$='/images/1/']")).to_have_count(1)
        expect(page.locator(".cards .card")).to_have_count(1)
    for tag, text in (("ar", "ميناء"), ("hi", "बंदरगाह"), ("ja", "小さな港")):
        show(language=tag, text=text)
        expect(page.locator(f".caption[lang={tag}]").first).to_contain_text(text)
    assert width == 390 or barriers(page) == []

    page.locator("a[href*='/images/random/']").click()
    expect(page).to_have_url(f"{address}2/")
    expect(page.get_by_text(HINDI)).to_have_attribute("lang", "hi")
    expect(page.get_by_text(JAPANESE)).to_have_attribute("lang", "ja")
    languages = set(page.locator(".caption").evaluate_all("captions => captions.map(caption => caption.lang)"))
    assert languages == {"ar", "de", "en", "fr", "hi", "ja"}
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert width == 390 or barriers(page) == []
