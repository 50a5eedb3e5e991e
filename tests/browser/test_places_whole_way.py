"""From 5,000 made candidates over the real borders to figures in pandas and a folder of pages."""

from __future__ import annotations

import io
import json
import random
import re
import runpy
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import pytest
from django.core.files.storage import default_storage
from playwright.sync_api import Browser, Route

from annotation.models import Release
from annotation.services import caption_imports
from annotation.services.releases import build, start_release
from annotation.services.sites import build_site
from core.images.models import Image
from core.images.rules.sizes import sizes_of
from core.images.services import file_storage
from research.selection.models import SelectedImage
from research.selection.services.selections import confirm_selection
from tests.factories import NOW, make_keyed_collection, make_project
from tests.selection.selecting import make_selection
from tests.servers import ROOT

LANGUAGES = ("ar", "bn", "hi", "ja", "quz", "te")
PER_LANGUAGE = 20
CANDIDATES = 5_000
LARGEST_PAGE = 100_000


def chosen_and_captioned(media: Path) -> Release:
    """Choose images of made places, write two captions of each in two languages, and make a release."""
    rng = random.Random(3600)
    project = make_project("places")
    collection = make_keyed_collection([f"made-{number:04d}" for number in range(CANDIDATES)])
    images = list(Image.objects.order_by("pk"))
    for number, image in enumerate(images):
        # A tenth in and around India, so that its languages compete.
        box = (8, 30, 70, 92) if number % 10 == 0 else (-56, 72, -180, 180)
        image.latitude, image.longitude = round(rng.uniform(*box[:2]), 5), round(rng.uniform(*box[2:]), 5)
        image.sha256, image.author, image.licence = f"{number:064x}", "An Author", "CC BY 4.0"
        image.width, image.height, image.state = 640, 480, "done"
    Image.objects.bulk_update(
        images, ["latitude", "longitude", "sha256", "author", "licence", "width", "height", "state"]
    )
    selection = make_selection(
        project, collection, languages=LANGUAGES, per_language=PER_LANGUAGE, seed=1, name="By place"
    )
    whole = confirm_selection(selection=selection, by=project.created_by, now=NOW)
    lines = []
    for key, language in selection.selected_images.values_list("key", "language"):
        other = LANGUAGES[LANGUAGES.index(language) - 1]
        texts = {tag: {"caption": [f"{tag} {key} {number}" for number in (1, 2)]} for tag in (language, other)}
        lines.append(json.dumps({"image/key": key} | texts))
    caption_imports.import_captions(
        project=project,
        collection=whole,
        file=io.BytesIO("\n".join(lines).encode()),
        source="made",
        by=project.created_by,
        now=NOW,
    )
    for image in Image.objects.filter(collections=whole):
        for size in sizes_of(image.width, image.height):
            file_storage.put(file_storage.size_name(image.public_id, size), b"RIFF....WEBP")
    release = start_release(
        project=project,
        title="By place",
        licence="CC-BY-4.0",
        authors="An Author",
        by=project.created_by,
        now=NOW,
        publish_coordinates=True,
    )
    build(release_id=release.pk, clock=lambda: NOW)
    release.refresh_from_db()
    return release


def as_documented(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run what `docs/places.md` tells a researcher to run, in the folder of a release."""
    guide = (ROOT / "docs" / "places.md").read_text(encoding="utf-8")
    code = re.search(r"## Open a release with pandas\n.*?```python\n(.*?)```", guide, re.DOTALL)
    assert code is not None
    (folder / "documented.py").write_text(code[1], encoding="utf-8")
    monkeypatch.chdir(folder)
    return runpy.run_path("documented.py")


@pytest.mark.django_db(transaction=True)
@pytest.mark.long(reason="5,000 images are located, and every page of a site is opened in a browser")
def test_images_chosen_from_thousands_are_figures_in_pandas_and_a_folder_of_pages(
    media: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, browser: Browser
) -> None:
    release = chosen_and_captioned(media)
    selected = list(SelectedImage.objects.values_list("language", "level", "countries", "regions"))
    assert len(selected) == len(LANGUAGES) * PER_LANGUAGE
    assert {level for _language, level, *_ in selected} >= {"region", "country", "continent"}

    folder = tmp_path / "release"
    folder.mkdir()
    for name in ("images.parquet", "captions.parquet", "levels.csv"):
        with default_storage.open(f"{release.folder}/{name}") as stored:
            (folder / name).write_bytes(stored.read())
    found = as_documented(folder, monkeypatch)
    by_level = Counter((language, level) for language, level, *_ in selected)
    assert found["levels"].to_dict() == by_level
    assert found["by_level"].to_dict() == {key: 2 * count for key, count in by_level.items()}
    by_region: Counter[tuple[str, str]] = Counter()
    for language, _level, _countries, regions in selected:
        for region in regions.split():
            by_region[region, language] += 2
            by_region[region, LANGUAGES[LANGUAGES.index(language) - 1]] += 2
    assert found["by_region"].to_dict() == by_region

    build_site(release=release, folder=tmp_path / "site")
    opened = open_all(tmp_path / "site", browser)
    assert len(opened) > len(selected)
    assert {path.resolve() for path in (tmp_path / "site").rglob("*.html")} == opened


def open_all(site: Path, browser: Browser) -> set[Path]:
    """Open every page that links lead to, without scripts: all that they ask for or link to is in the folder."""
    outside: list[str] = []

    def ask(route: Route) -> None:
        path = path_of(route.request.url)
        if path is None or not path.is_relative_to(site) or not path.is_file():
            outside.append(route.request.url)
        route.continue_()

    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    context.route("**/*", ask)
    page = context.new_page()
    waiting, opened = [site / "index.html"], set()
    while waiting:
        path = waiting.pop()
        if path in opened:
            continue
        opened.add(path)
        assert path.stat().st_size < LARGEST_PAGE, path
        page.goto(path.as_uri(), wait_until="load")
        for link in page.eval_on_selector_all("a[href]", "links => links.map(link => link.href)"):
            if (target := path_of(link)) is None:
                assert link.startswith("https://creativecommons.org/"), link
                continue
            assert target.is_relative_to(site), link
            assert target.is_file(), link
            waiting += [target] if target.suffix == ".html" else []
    context.close()
    assert outside == []
    return opened


def path_of(address: str) -> Path | None:
    parts = urlsplit(address)
    return Path(url2pathname(unquote(parts.path))) if parts.scheme == "file" else None
