"""The gallery and a trial in a browser: images that follow come without a new page, and so does the end of a trial."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from core.images.models import CollectionImage
from core.images.services import file_storage
from core.people.models import Membership, Role, User
from research.inference.models import CaptioningModel, ModelCaption, Run
from research.inference.selectors import gallery as selectors
from research.inference.services.executor import execute_run
from tests.browser.annotator import barriers, make_images, sign_in, too_narrow
from tests.browser.conftest import Visit
from tests.factories import make_captioner, make_collection, make_project, make_user
from tests.images.image_files import image_file

pytestmark = pytest.mark.django_db(transaction=True)

JAPANESE, ARABIC, STABILISER = "ソファの上の猫", "قطة على أريكة", "a cat on a sofa"


@pytest.fixture
def researcher() -> User:
    person, collection = make_user("res"), make_collection(images=7)
    Membership.objects.create(project=make_project(), user=person, role=Role.RESEARCHER)
    make_images(collection)
    alpha = make_captioner(collection, "Alpha", text="Alpha says")
    pivot = CaptioningModel.objects.create(is_shared=True, name="Beta", is_pivot=True)
    for entry in collection.entries.all():
        for tag, text in (("ja", JAPANESE), ("ar", ARABIC)):
            about = {"image_id": entry.image_id, "language_id": tag, "text": text}
            ModelCaption.objects.create(model=pivot, stabiliser=STABILISER, **about)
            ModelCaption.objects.create(model=alpha, **about)
    return person


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_images_follow_in_place_and_a_stabiliser_is_shown_when_asked_for(
    live_server: Any, page: Page, context: BrowserContext, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "MAX_IMAGES", 4)
    sign_in(context, researcher, live_server.url)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{live_server.url}/models/gallery/")
    page.get_by_text("Languages:").click()
    page.get_by_role("checkbox", name="English").uncheck()
    page.get_by_role("button", name="Show").click()
    images = page.locator(".gallery__image")
    expect(images).to_have_count(4)
    address = page.url
    assert "language=ar" in address
    assert "language=en" not in address

    page.get_by_role("link", name="More images").click()
    expect(images).to_have_count(7)
    expect(images.nth(4)).to_be_focused()
    assert page.url == address
    expect(page.get_by_role("link", name="More images")).to_have_count(0)
    caption = images.nth(6).get_by_text(ARABIC).last
    assert caption.evaluate("element => getComputedStyle(element).direction") == "rtl"
    expect(page.get_by_text(STABILISER).first).to_be_hidden()
    images.first.get_by_text("Stabiliser").first.click()
    expect(page.get_by_text(STABILISER).first).to_be_visible()
    assert (barriers(page), said) == ([], [])


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_trial_is_followed_to_its_end(
    live_server: Any, page: Page, context: BrowserContext, researcher: User
) -> None:
    model = CaptioningModel.objects.create(is_shared=True, name="Colours", backend="palette")
    sign_in(context, researcher, live_server.url)
    page.goto(f"{live_server.url}/models/{model.pk}/try/")
    entry = CollectionImage.objects.select_related("image")[0]
    file_storage.put(entry.image.original, image_file())
    page.get_by_label("Key or file name").fill(entry.key)
    page.get_by_role("checkbox", name="Arabic").check()
    page.get_by_role("button", name="Try the model").click()
    expect(page.get_by_role("progressbar")).to_be_visible()

    execute_run(run_id=Run.objects.get().pk, worker="bench-1", clock=timezone.now)

    # Nobody loads the page: it asks for itself.
    expected = Run.objects.get().trial_captions["ar"]["text"]
    expect(page.locator('.gallery__caption[lang="ar"]')).to_have_text(expected, timeout=20_000)
    assert barriers(page) == []


@pytest.mark.long(reason="the plain form, which tests without a browser submit")
def test_without_javascript_images_follow_on_the_next_page_and_nothing_is_wider_than_the_screen(
    live_server: Any, visit: Visit, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "MAX_IMAGES", 4)
    page = visit(researcher, java_script_enabled=False)
    page.goto(f"{live_server.url}/models/gallery/")
    assert too_narrow(page, 1366, 390) == []
    page.get_by_role("link", name="More images").click()
    expect(page.locator(".gallery__image")).to_have_count(3)
    assert too_narrow(page, 1366, 390) == []
    page.get_by_role("link", name="Earlier images").click()
    expect(page.locator(".gallery__image")).to_have_count(4)
    expect(page.get_by_role("link", name="Earlier images")).to_have_count(0)
