"""Releases as folders of static pages: they open from a disk, say everything without scripts and stay small."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command

from annotation.formats.release_index import IndexQuery, ReleaseIndex, search_form
from annotation.models import Release
from annotation.services.releases import index_path
from annotation.services.sites import ImageFiles, SiteNotPossibleError, build_site
from core.images.models import Image
from core.images.rules.sizes import sizes_of
from core.images.services import file_storage
from tests.annotation.released import KEYS
from tests.annotation.sites import placed

pytestmark = pytest.mark.django_db

LIMIT = 100_000
WEBP = b"RIFF....WEBP"


class Page(HTMLParser):
    """The links, addresses and spoken texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.spoken: list[tuple[str | None, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.links += [value for name in ("href", "src") if (value := values.get(name))]
        if tag == "p" and "lang" in values:
            self.spoken.append((values["lang"], values.get("dir")))


@pytest.fixture
def release(release) -> Release:
    for image in Image.objects.all():
        for size in sizes_of(image.width, image.height):
            file_storage.put(file_storage.size_name(image.public_id, size), WEBP)
    return release


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class TestSite:
    def test_every_link_leads_somewhere_every_page_is_reached_and_none_is_large(self, release, tmp_path):
        build_site(release=placed(release), folder=tmp_path / "site")
        # A web server, which is somebody else, may read it.
        assert (tmp_path / "site").stat().st_mode & 0o777 == 0o755
        pages = list((tmp_path / "site").rglob("*.html"))
        assert len(pages) > len(KEYS)
        for path in pages:
            assert path.stat().st_size < LIMIT
            for link in Page(path.read_text(encoding="utf-8")).links:
                if not link.startswith(("https://creativecommons.org/", "https://example.org/")):
                    assert (path.parent / link).is_file(), (path, link)
        waiting, seen = [tmp_path / "site" / "index.html"], set()
        while waiting:
            path = waiting.pop().resolve()
            if path in seen:
                continue
            seen.add(path)
            links = Page(path.read_text(encoding="utf-8")).links
            waiting += [path.parent / link for link in links if link.endswith(".html") and "://" not in link]
        assert seen == {path.resolve() for path in (tmp_path / "site").rglob("*.html")}

    def test_captions_stand_in_the_page_with_their_language_and_direction(self, release, tmp_path):
        build_site(release=release, folder=tmp_path / "site")
        text = (tmp_path / "site" / "images" / "1.html").read_text(encoding="utf-8")
        assert "Ein Hafen 1" in text
        assert "ميناء صغير 1" in text
        assert {("de", "ltr"), ("ar", "rtl"), ("fr", "ltr"), ("en", "ltr")} == set(Page(text).spoken)
        assert "Model: harbours-blip" in text
        assert "https://creativecommons.org/licenses/by/4.0/" in text

    def test_place_language_and_level_are_said_where_the_release_has_them(self, release, tmp_path):
        build_site(release=placed(release), folder=tmp_path / "site")
        site = tmp_path / "site"
        assert 'href="../levels/region.html"' in (site / "images" / "1.html").read_text(encoding="utf-8")
        assert (site / "places" / "IN-WB.html").is_file()
        assert (site / "places" / "continent-AS.html").is_file()
        assert (site / "map.svg").stat().st_size < LIMIT
        assert "levels" not in (site / "images" / "2.html").read_text(encoding="utf-8")

    @pytest.mark.parametrize("is_published", [False, True])
    def test_a_place_is_a_dot_only_where_coordinates_are_published(self, release, tmp_path, is_published):
        coordinates: Any = {"latitude": 22.5726, "longitude": 88.3639} if is_published else {}
        build_site(release=placed(release, **coordinates), folder=tmp_path / "site")
        text = (tmp_path / "site" / "map.svg").read_text(encoding="utf-8")
        assert text.count("world__dot world__dot--") == is_published

    def test_a_release_without_places_has_no_map_and_no_lists_of_places(self, release, tmp_path):
        build_site(release=release, folder=tmp_path / "site")
        assert not (tmp_path / "site" / "map.svg").exists()
        assert not (tmp_path / "site" / "places").exists()

    def test_the_same_release_gives_the_same_bytes(self, release, tmp_path):
        for name in ("one", "two"):
            default_storage.delete(f"{release.folder}.sqlite3")
            build_site(release=release, folder=tmp_path / name)
        one, two = files(tmp_path / "one"), files(tmp_path / "two")
        assert {name: sha256(data).digest() for name, data in one.items()} == {
            name: sha256(data).digest() for name, data in two.items()
        }

    @pytest.mark.parametrize("image_files", list(ImageFiles))
    def test_images_are_copied_only_if_asked_for(self, release, tmp_path, image_files):
        built = build_site(release=release, folder=tmp_path / "site", image_files=image_files)
        copied = list((tmp_path / "site").rglob("*.webp"))
        text = (tmp_path / "site" / "images" / "1.html").read_text(encoding="utf-8")
        assert (len(copied) > 0) == ("<img" in text) == (image_files == ImageFiles.COPY)
        assert ("at its source" in text) == (image_files == ImageFiles.LINK)
        assert built.without_file == (0 if copied else len(KEYS))

    def test_scripts_of_the_search_have_all_captions(self, release, tmp_path):
        build_site(release=release, folder=tmp_path / "site")
        script = (tmp_path / "site" / "search" / "ar-1.js").read_text(encoding="utf-8")
        rows = json.loads(script.removeprefix("found(").rstrip().removesuffix(");"))
        assert len(rows) == 8
        assert [1, "ميناء صغير 1"] in rows

    def test_long_lists_are_split_by_their_bytes(self, release, tmp_path, monkeypatch):
        monkeypatch.setattr("annotation.services.sites.PAGE_BYTES", 700)
        build_site(release=release, folder=tmp_path / "site")
        text = (tmp_path / "site" / "languages" / "de.html").read_text(encoding="utf-8")
        assert re.search(r'rel="next" href="../languages/de-page-2.html"', text)
        assert "images/1-page-2.html" in (tmp_path / "site" / "images" / "1.html").read_text(encoding="utf-8")

    def test_a_folder_with_files_is_left_as_it_is(self, release, tmp_path):
        folder = tmp_path / "site"
        folder.mkdir()
        (folder / "note.txt").write_text("mine")
        with pytest.raises(SiteNotPossibleError, match="not an empty folder"):
            build_site(release=release, folder=folder)
        assert files(folder) == {"note.txt": b"mine"}

    def test_the_second_page_of_a_country_is_not_the_region_with_that_number(self, release, tmp_path, monkeypatch):
        monkeypatch.setattr("annotation.services.sites.TILES", 1)
        build_site(release=placed(release, images=2, countries="AT", regions="AT-2"), folder=tmp_path / "site")
        places = tmp_path / "site" / "places"
        texts = {name: (places / f"{name}.html").read_text(encoding="utf-8") for name in ("AT", "AT-2", "AT-page-2")}
        assert "images/1.html" in texts["AT"]
        assert "images/1.html" in texts["AT-2"]
        assert "images/2.html" in texts["AT-page-2"]

    def test_nothing_is_left_of_a_site_that_fails(self, release, tmp_path, monkeypatch):
        def fail(*_args: object, **_kwargs: object) -> None:
            raise OSError("disk full")

        monkeypatch.setattr("annotation.services.sites._SiteBuilder._write_search", fail)
        (tmp_path / "site").mkdir()
        with pytest.raises(OSError, match="disk full"):
            build_site(release=release, folder=tmp_path / "site")
        assert {path.name for path in tmp_path.iterdir()} == {"media", "site"}
        assert list((tmp_path / "site").iterdir()) == []

    def test_a_release_whose_files_are_gone_is_refused(self, release, tmp_path):
        default_storage.delete(f"{release.folder}.sqlite3")
        default_storage.delete(f"{release.folder}/images.jsonl")
        with pytest.raises(SiteNotPossibleError, match="no longer in storage"):
            build_site(release=release, folder=tmp_path / "site")


class TestCommand:
    def test_it_says_what_it_wrote(self, release, tmp_path, capsys):
        call_command("build_site", "harbours/1", str(tmp_path / "site"))
        assert "of 4 images" in capsys.readouterr().out
        assert (tmp_path / "site" / "index.html").is_file()

    def test_an_unknown_release_is_refused_with_those_there_are(self, release, tmp_path):
        for name in ("harbours/7", "harbours/x"):
            with pytest.raises(CommandError, match=r"Available releases: harbours/1\."):
                call_command("build_site", name, str(tmp_path / "site"))


class TestIndex:
    def test_search_finds_parts_of_captions_in_any_script_and_form_and_in_one_language(self, release):
        counts = {
            "EIN HAFEN": 4, "hafen 2": 1, "قوارب": 4, "de\u0301ja\u0300": 2, "ＨＡＦＥＮ": 4, "%": 0, "'": 0,
        }  # fmt: skip
        with ReleaseIndex(index_path(release)) as index:
            assert {text: index.count(IndexQuery(text=text)) for text in counts} == counts
            assert index.count(IndexQuery(text="hafen", language="ar")) == 0
            assert index.count(IndexQuery(language="fr")) == 2

    def test_filters_by_place_and_level_hold_together(self, release):
        with ReleaseIndex(index_path(placed(release))) as index:
            assert index.count(IndexQuery(place="IN-WB", level="region", chosen="de")) == 1
            assert index.count(IndexQuery(place="IN", level="country")) == 0
            assert index.count(IndexQuery(place="continent:AS")) == 1

    def test_texts_are_compared_in_one_form(self):
        assert search_form("  Straße\u3000É ") == search_form("STRASSE E\u0301")
        assert search_form("नमस्ते") == "नमस्ते"
