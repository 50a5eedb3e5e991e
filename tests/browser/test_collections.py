"""A collection in a browser: files and folders dropped, what is left out and why, and many images edited at once."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, Page, expect

from core.images import tasks
from core.images.models import Collection, Image, ImportOutcome, ImportRow
from core.people.models import User
from office.imports.tasks import run_import
from tests.browser.annotator import barriers, make_images, sign_in
from tests.browser.conftest import Visit
from tests.factories import images_of, make_captioner, make_collection, make_project, make_user
from tests.images.image_files import image_file

pytestmark = pytest.mark.django_db(transaction=True)

DROP = """([selector, files]) => {
  const data = new DataTransfer();
  for (const [name, content] of files) {
    const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
    data.items.add(new File([bytes], name));
  }
  const zone = document.querySelector(selector);
  for (const type of ["dragenter", "dragover", "drop"])
    zone.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


@pytest.fixture
def manager(media: Path, monkeypatch: pytest.MonkeyPatch) -> User:
    manager = make_user("mara")
    make_project(manager=manager)
    monkeypatch.setattr(run_import, "delay", run_import)
    monkeypatch.setattr(tasks.make_sizes, "delay", tasks.make_sizes)
    return manager


@pytest.fixture
def collection(manager: User) -> Collection:
    made = make_collection(4, project=manager.memberships.get().project)
    make_images(made)
    return made


def drop(page: Page, files: dict[str, bytes]) -> None:
    expect(page.locator(".upload__zone")).to_be_visible()
    encoded = [(name, base64.b64encode(content).decode()) for name, content in files.items()]
    page.evaluate(DROP, [".upload__zone", encoded])


def added_names() -> list[str]:
    return list(ImportRow.objects.filter(outcome=ImportOutcome.ADDED).values_list("name", flat=True))


def test_dropped_files_are_listed_checked_and_imported_once(
    live_server: Any, page: Page, context: BrowserContext, manager: User, collection: Collection
) -> None:
    sign_in(context, manager, live_server.url)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{live_server.url}/collections/{collection.slug}/")
    page.get_by_role("link", name="Add images").click()
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)

    drop(page, {"a.jpg": image_file(shade=1), "empty.png": b"", "broken.jpg": b"no image"})
    drop(page, {"a.jpg": image_file(shade=2), "b.jpg": image_file(shade=3), "c.jpg": image_file(shade=4)})

    files = page.locator(".upload__file")
    expect(files).to_have_count(6)
    expect(files.filter(has_text="empty.png")).to_contain_text("Left out: the file is empty")
    expect(files.filter(has_text="a.jpg").nth(1)).to_contain_text("Left out: added already")
    files.filter(has_text="c.jpg").get_by_role("button", name="Remove").click()
    expect(page.locator(".upload__total")).to_contain_text("3 files")
    assert barriers(page) == []

    page.get_by_role("button", name="Preview").dblclick()
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("link", name="a.jpg, broken.jpg, b.jpg").click()
    expect(page.get_by_role("row").filter(has_text="broken.jpg")).to_contain_text("Not imported")
    assert added_names() == ["a.jpg", "b.jpg"]
    assert [post.count("/import/") for post in posts] == [1, 1]
    assert said == []


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_folder_keeps_its_paths_so_that_its_manifest_fits(
    live_server: Any, page: Page, context: BrowserContext, manager: User, collection: Collection, tmp_path: Path
) -> None:
    folder = tmp_path / "harbours"
    for name, shade in (("north/1.jpg", 1), ("south/1.jpg", 2)):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(image_file(shade=shade))
    (folder / ".DS_Store").write_bytes(b"x")
    lines = [{"file": f"{part}/1.jpg", "key": part, "licence": "CC0 1.0"} for part in ("north", "south")]
    (folder / "manifest.jsonl").write_text("\n".join(map(json.dumps, lines)))
    sign_in(context, manager, live_server.url)
    page.goto(f"{live_server.url}/projects/{collection.project.slug}/import/")

    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a folder").click()
    chooser.value.set_files(folder)
    expect(page.locator(".upload__file")).to_have_count(3)
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="harbours")).to_contain_text("Images")

    added = dict(collection.entries.filter(key__in=["north", "south"]).values_list("key", "image__licence"))
    assert added == {"north": "CC0 1.0", "south": "CC0 1.0"}


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_an_upload_that_fails_says_so_and_can_be_tried_again(
    live_server: Any, page: Page, context: BrowserContext, manager: User, collection: Collection
) -> None:
    sign_in(context, manager, live_server.url)
    page.goto(f"{live_server.url}/projects/{collection.project.slug}/import/")
    drop(page, {"a.jpg": image_file(shade=1)})
    page.route("**/import/", lambda route: route.abort())
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("The upload was interrupted.")
    page.unroute("**/import/")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="a.jpg")).to_contain_text("Images")
    assert added_names() == ["a.jpg"]


@pytest.mark.long(reason="the plain form, which tests without a browser submit")
def test_the_form_works_without_scripts(live_server: Any, visit: Visit, manager: User, collection: Collection) -> None:
    page = visit(manager, java_script_enabled=False)
    page.goto(f"{live_server.url}/collections/{collection.slug}/")
    page.get_by_role("link", name="Add images").click()
    file: Any = {"name": "a.jpg", "mimeType": "image/jpeg", "buffer": image_file(shade=1)}
    page.get_by_label("Files", exact=True).set_input_files(file)
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="a.jpg")).to_contain_text("Images")
    assert added_names() == ["a.jpg"]


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_images_without_a_licence_are_found_by_the_warning_and_edited_at_once(
    live_server: Any, page: Page, context: BrowserContext, manager: User, collection: Collection
) -> None:
    lacking = images_of(collection)[:3]
    Image.objects.filter(pk__in=lacking).update(licence="")
    make_captioner(collection, "Alpha", project=collection.project)
    sign_in(context, manager, live_server.url)
    page.goto(f"{live_server.url}/collections/{collection.slug}/")
    expect(page.get_by_text("3 images have no licence: releases will refuse them.")).to_be_visible()
    page.get_by_role("link", name="Show images without a licence").click()
    expect(page.locator("main .grid > li")).to_have_count(3)
    page.get_by_role("checkbox", name="Choose all on this page").check()
    page.locator("main .grid input[name=image]").first.uncheck()
    assert barriers(page) == []

    page.get_by_role("button", name="Edit chosen images").click()
    expect(page.get_by_role("heading", name="Edit 2 images")).to_be_visible()
    page.get_by_label("Change the licence and its address").check()
    page.get_by_label("Licence", exact=True).fill("CC BY 4.0")
    assert barriers(page) == []
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Change 2 images?")).to_be_visible()
    assert barriers(page) == []
    page.get_by_role("button", name="Change 2 images").click()

    expect(page.get_by_text("2 images were changed.")).to_be_visible()
    expect(page.locator("main .grid > li")).to_have_count(1)
    page.locator("main .grid a").first.click()
    expect(page.get_by_role("heading", name="Title, author and licence")).to_be_visible()
    assert barriers(page) == []
    assert set(Image.objects.filter(pk__in=lacking).values_list("licence", flat=True)) == {"", "CC BY 4.0"}


@pytest.mark.parametrize("width", [360, 1366])
def test_the_table_of_all_images_scrolls_in_its_own_box_alone(live_server: Any, browser: Browser, width: int) -> None:
    project = make_project("herons")
    make_collection(3, project=project, is_shared=False)
    page_of = reverse("dashboard:image-list", args=["herons"])
    words = {"title": "Neuschwanstein" * 8, "author": "Lovelace" * 10}
    Image.objects.update(source=f"https://example.org/{'a' * 300}", **words)
    context = browser.new_context(viewport={"width": width, "height": 800})
    sign_in(context, project.created_by, live_server.url)
    page = context.new_page()
    page.goto(live_server.url + page_of)
    expect(page.get_by_text("Lovelace").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    if width == 360:
        assert page.locator("div.table").evaluate("one => one.scrollWidth - one.clientWidth") <= 0
    context.close()
