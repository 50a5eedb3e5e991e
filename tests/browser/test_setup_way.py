"""From an empty database to a release: a manager follows the setup of a project and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import PIL.Image
import pytest
from playwright.sync_api import Browser, Page, expect

from config.celery import app
from tests.browser.annotator import sign_in
from tests.factories import make_user

pytestmark = [
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.long(reason="eleven steps, each with its page"),
]


@pytest.fixture
def page(browser: Browser, live_server: Any, media: Any) -> Iterator[Page]:
    """Somebody who may start projects, in an empty installation whose worker is the web server."""
    app.conf.task_always_eager = True
    context = browser.new_context(base_url=live_server.url, viewport={"width": 1366, "height": 768})
    sign_in(context, make_user("mia", is_staff=True, is_superuser=True), live_server.url)
    yield context.new_page()
    context.close()
    app.conf.task_always_eager = False


IMAGES = 2
MANIFEST = "file,title,author,licence\n" + "".join(f"{n}.png,Picture {n},An Author,CC BY 4.0\n" for n in range(IMAGES))
ENGLISH = "".join(f'{{"image": "{n}.png", "caption": "A picture of something, number {n}."}}\n' for n in range(IMAGES))


def picture(number: int) -> dict[str, Any]:
    content = BytesIO()
    PIL.Image.new("RGB", (320, 240), (40 * number, 90, 160)).save(content, "PNG")
    return {"name": f"{number}.png", "mimeType": "image/png", "buffer": content.getvalue()}


def show(page: Page) -> None:
    print("=====", page.url)
    print(page.locator("main").inner_text())


def follow(page: Page, step: str) -> None:
    """Open the setup and select a step."""
    page.goto("/projects/")
    page.locator(".setup").get_by_role("link", name=step, exact=True).click()


def test_the_setup_leads_from_an_empty_database_to_a_release(page: Page) -> None:
    follow(page, "Images with licences")
    page.get_by_label("Name").fill("Pictures")
    page.get_by_role("button", name="Create collection").click()
    show(page)
    follow(page, "Images with licences")
    show(page)
    page.locator("input[type=file]").first.set_input_files(
        [*map(picture, range(IMAGES)), {"name": "manifest.csv", "mimeType": "text/csv", "buffer": MANIFEST.encode()}]
    )
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("Import of 3 files")).to_be_visible()
    follow(page, "English captions")
    page.locator("input[type=file]").set_input_files(
        {"name": "captions.jsonl", "mimeType": "application/jsonl", "buffer": ENGLISH.encode()}
    )
    page.get_by_label("Model", exact=True).fill("captioner")
    page.get_by_label("Language of the captions").select_option("English")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name=re.compile("Import of"))).to_be_visible()
    follow(page, "Project")
    show(page)
    page.get_by_label("Collection").select_option("Pictures")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Name").fill("Lions")
    page.get_by_label("Swahili").check()
    page.get_by_label("Captions per image").fill("1")
    page.get_by_label("Images per batch").fill("1")
    show(page)
    page.get_by_role("button", name="Create project").click()
    show(page)
    page.goto("/projects/lions/setup/")
    show(page)
    for step in ("Consent text", "Guidelines", "People", "Pilots"):
        page.goto("/projects/lions/setup/")
        link = page.get_by_role("list").get_by_role("link", name=step)
        if link.count():
            link.first.click()
            show(page)
    raise AssertionError
