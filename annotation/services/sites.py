"""A release as a folder of pages that need no server: every image with its captions, in lists and by search.

The same release gives the same bytes. All addresses are relative, apart from those of licences and sources.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from itertools import islice
from pathlib import Path
from shutil import copyfileobj, rmtree
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _

from annotation.formats.release_index import IndexedImage, IndexQuery, ReleaseIndex
from annotation.models import Release
from annotation.rules.releases import LICENCES, codes_of, place_name
from annotation.services.releases import index_path
from charts.world import LegendEntry, MapPoint, WorldMap, world_map
from core.images.models import Image
from core.images.rules.sizes import sizes_of
from core.images.selectors import SHOWN_SIZE
from core.images.services import file_storage
from core.languages.models import Language
from research.selection.models import PlaceLevelChoice
from tabular.downloads import json_line

PAGE_BYTES = 80_000
"""Of what a page lists; with its frame it stays below 100 kB."""

TILES = 24
MAX_CAPTION_CHARACTERS = 400
"""Characters of a caption in a list; the page of the image has all of it."""

PART_BYTES = 80_000
IMAGES_AT_ONCE = 100
DOCUMENTS = ("README.md", "DATASHEET.md", "LICENSE", "CITATION.cff", "CHANGES.md")


class SiteNotPossibleError(Exception):
    """Says what is in the way and what to do."""


class ImageFiles(StrEnum):
    """Whether images are copied into the folder, linked at their sources, or left out."""

    COPY = "copy"
    LINK = "link"
    NONE = "none"


@dataclass(frozen=True)
class BuiltSite:
    images: int
    pages: int
    without_file: int
    bytes: int


@dataclass(frozen=True)
class ImageFile:
    src: str
    small: str
    width: int
    height: int
    small_width: int
    small_height: int


@dataclass(frozen=True)
class SiteFacet:
    """A link to a list of images."""

    name: str
    address: str
    count: int
    language: Language | None = None


def build_site(*, release: Release, folder: Path, image_files: ImageFiles = ImageFiles.COPY) -> BuiltSite:
    """Write the site into `folder`, which is empty or not there yet: whole, or not at all.

    Raises SiteNotPossibleError.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SiteNotPossibleError(_("%(folder)s is not an empty folder.") % {"folder": folder})
    if not release.checksum:
        raise SiteNotPossibleError(_("Release %(number)d has no files.") % {"number": release.number})
    try:
        path = index_path(release)
    except FileNotFoundError as error:
        raise SiteNotPossibleError(_("The files of the release are no longer in storage.")) from error
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-unfinished-"))
    try:
        with ReleaseIndex(path) as index, translation.override(settings.LANGUAGE_CODE):
            built = _SiteBuilder(release, index, unfinished, image_files).build()
        unfinished.chmod(0o755)
        unfinished.replace(folder)
    except BaseException:
        rmtree(unfinished, ignore_errors=True)
        raise
    return built


class _SiteBuilder:
    def __init__(self, release: Release, index: ReleaseIndex, folder: Path, image_files: ImageFiles) -> None:
        self.release, self.index, self.folder, self.image_files = release, index, folder, image_files
        self.everything = index.numbers(IndexQuery())
        self.languages = Language.objects.in_bulk([*index.languages(), *index.chosen()])
        self.levels: Mapping[str, Any] = dict(PlaceLevelChoice.choices)
        self.found: dict[int, ImageFile] = {}
        self.pages = self.bytes = 0
        self.common = {
            "release": release,
            "licence": LICENCES.get(release.licence),
            "authors": release.authors.split("\n"),
            "images": len(self.everything),
        }

    def build(self) -> BuiltSite:
        for name in ("site.css", "site.js"):
            self._write(name, render_to_string(f"site/{name}"))
        self._copy_documents()
        self._write_images()
        facets = {
            "languages": [self._in_language(tag) for tag in self.index.languages()],
            "chosen": [
                self._listed(f"chosen/{tag}", IndexQuery(chosen=tag), self._name(tag), self._language(tag))
                for tag in self.index.chosen()
            ],
            "levels": [
                self._listed(f"levels/{level}", IndexQuery(level=level), str(self.levels[level]))
                for level in self.index.levels()
            ],
            "places": [
                self._listed(f"places/{code.replace(':', '-')}", IndexQuery(place=code), place_name(code))
                for code in self.index.places()
            ],
        }
        everything = self._listed("all/images", IndexQuery(), _("All images"))
        parts = {facet.address: self._write_search(facet) for facet in facets["languages"] if facet.language}
        search = [(facet, parts[facet.address]) for facet in facets["languages"] if facet.language]
        self._page("search.html", "search", {"search": search})
        about = {"everything": everything, "map": self._write_map(), "documents": self._documents(), **facets}
        self._page("index.html", "index", about | {"first": self.everything[0] if self.everything else 0})
        return BuiltSite(len(self.everything), self.pages, len(self.everything) - len(self.found), self.bytes)

    def _write_images(self) -> None:
        following = self._another()
        every = self.index.each(IndexQuery())
        while images := list(islice(every, IMAGES_AT_ONCE)):
            self._copy_image_files(images)
            for image in images:
                sections = [
                    (len(text.encode()), text)
                    for text in (render_to_string("site/_captions.html", section) for section in self._sections(image))
                ]
                self._image_pages(image, sections, following[image.number])

    def _image_pages(self, image: IndexedImage, sections: Sequence[tuple[int, str]], another: int) -> None:
        parts = list(_packed(sections, len(sections) or 1)) or [[]]
        for number, part in enumerate(parts, start=1):
            self._page(
                f"images/{_numbered(str(image.number), number)}",
                "image",
                {
                    "image": image,
                    "file": self.found.get(image.number),
                    "is_linked": self.image_files == ImageFiles.LINK,
                    "sections": part,
                    "places": [
                        SiteFacet(place_name(code), f"places/{code.replace(':', '-')}.html", 0)
                        for code in codes_of(image.regions, image.countries, image.continent)
                    ],
                    "chosen_for": self._name(image.chosen_for),
                    "level": self.levels.get(image.level, ""),
                    "before": image.number - 1,
                    "after": image.number + 1 if image.number < len(self.everything) else 0,
                    "another": another,
                    "more": f"images/{_numbered(str(image.number), number + 1)}" if number < len(parts) else "",
                },
            )

    def _sections(self, image: IndexedImage) -> Iterator[dict[str, Any]]:
        """Yield captions by language, people's first."""
        tags = sorted({caption.language for caption in image.captions}, key=lambda tag: (self._name(tag), tag))
        for tag in tags:
            captions = [caption for caption in image.captions if caption.language == tag]
            captions.sort(key=lambda caption: caption.model != "")
            yield {"one": self._spoken(tag) | {"captions": captions}}

    def _in_language(self, tag: str) -> SiteFacet:
        facet = self._listed(
            f"languages/{tag}", IndexQuery(language=tag), self._name(tag), self._language(tag), shown=tag
        )
        return replace(facet, count=self.index.languages()[tag])

    def _listed(
        self, stem: str, wanted: IndexQuery, title: str, language: Language | None = None, *, shown: str = ""
    ) -> SiteFacet:
        """Write the pages of a list of images; `shown` is the language whose captions they show."""
        tiles = ((len(tile.encode()), tile) for tile in (self._tile(image, shown) for image in self.index.each(wanted)))
        count, number = 0, 1
        pages = iter(_packed(tiles, TILES))
        page = next(pages, [])
        while page:
            after = next(pages, [])
            before_name = _numbered(stem, number - 1) if number > 1 else ""
            after_name = _numbered(stem, number + 1) if after else ""
            context = {"title": title, "tiles": page, "language": language, "number": number}
            self._page(_numbered(stem, number), "list", context | {"before": before_name, "after": after_name})
            count, page, number = count + len(page), after, number + 1
        return SiteFacet(title, f"{stem}.html", count, language)

    def _tile(self, image: IndexedImage, shown: str) -> str:
        captions = [caption for caption in image.captions if shown and caption.language == shown]
        context = {
            "image": image,
            "file": self.found.get(image.number),
            "captions": captions,
            "clipped": MAX_CAPTION_CHARACTERS,
        }
        return render_to_string("site/_tile.html", context | (self._spoken(shown) if shown else {}))

    def _write_search(self, facet: SiteFacet) -> int:
        """Write the captions of a language as scripts, which a page from a disk may load; return how many."""
        assert facet.language is not None
        tag = facet.language.tag
        rows = (
            [image.number, caption.text]
            for image in self.index.each(IndexQuery(language=tag))
            for caption in image.captions
            if caption.language == tag
        )
        lines = ((len(line.encode()), line) for line in (json_line(row).strip() for row in rows))
        number = 0
        for number, part in enumerate(_packed(lines, PART_BYTES), start=1):
            self._write(f"search/{tag}-{number}.js", "found([\n" + ",\n".join(part) + "\n]);\n")
        return number

    def _write_map(self) -> WorldMap | None:
        """Draw the countries with images, and dots by level where coordinates were published."""
        places = self.index.places()
        countries = [code for code in places if len(code) == 2]
        if not countries:
            return None
        points = [MapPoint(*point[:2], point[2] or "anywhere") for point in self.index.points()]
        summary = _("Countries with images: %(count)d.") % {"count": len(countries)}
        title = _("Where the images were taken")
        legend = [LegendEntry("has", _("Country with images"), False)]
        counts = Counter(point.kind for point in points)
        legend += [
            LegendEntry(level, f"{label} ({counts[level]})", True)
            for level, label in self.levels.items()
            if counts[level]
        ]
        shades = dict.fromkeys(countries, "has")
        drawn = world_map(title=title, summary=summary, shades=shades, points=points, legend=legend)
        self._write("map.svg", render_to_string("site/map.svg", {"map": drawn}))
        return drawn

    def _copy_image_files(self, images: Sequence[IndexedImage]) -> None:
        if self.image_files != ImageFiles.COPY:
            return
        stored = dict(
            Image.objects.filter(sha256__in=[image.sha256 for image in images]).values_list("sha256", "public_id")
        )
        for image in images:
            if image.sha256 not in stored:
                continue
            sizes = sizes_of(image.width, image.height)
            large, small = max(size for size in sizes if size <= SHOWN_SIZE), min(sizes)
            contents = {size: file_storage.read_size(stored[image.sha256], size) for size in {large, small}}
            if any(content is None for content in contents.values()):
                continue
            names = {size: f"files/{image.number}-{size}.webp" for size in contents}
            for size, content in contents.items():
                self._write(names[size], content or b"")
            self.found[image.number] = ImageFile(names[large], names[small], *sizes[large], *sizes[small])

    def _copy_documents(self) -> None:
        for name in self._documents():
            path = self.folder / "about" / name
            path.parent.mkdir(exist_ok=True)
            with default_storage.open(f"{self.release.folder}/{name}") as source, path.open("wb") as target:
                copyfileobj(source, target)
            self.bytes += path.stat().st_size

    def _documents(self) -> list[str]:
        listed = {file["name"] for file in self.release.counts.get("files", [])}
        return [name for name in DOCUMENTS if name in listed]

    def _another(self) -> dict[int, int]:
        """Return for each image another one, so that following them leads through all."""
        order = sorted(
            self.everything, key=lambda number: sha256(f"{self.release.checksum}:{number}".encode()).digest()
        )
        return dict(zip(order, [*order[1:], *order[:1]], strict=True))

    def _language(self, tag: str) -> Language | None:
        return self.languages.get(tag)

    def _name(self, tag: str) -> str:
        return self.languages[tag].name if tag in self.languages else tag

    def _spoken(self, tag: str) -> dict[str, Any]:
        return {"tag": tag, "name": self._name(tag), "language": self._language(tag)}

    def _page(self, name: str, template: str, context: Mapping[str, Any]) -> None:
        root = "../" * name.count("/")
        text = render_to_string(f"site/{template}.html", {**self.common, **context, "root": root})
        self._write(name, text)
        self.pages += 1

    def _write(self, name: str, content: str | bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(data)
        self.bytes += len(data)


def _packed(items: Iterable[tuple[int, str]], at_most: int) -> Iterator[list[str]]:
    """Split items with their bytes into lists that are neither too long nor too large for a page."""
    waiting: list[str] = []
    size = 0
    for count, item in items:
        if waiting and (len(waiting) == at_most or size + count > PAGE_BYTES):
            yield waiting
            waiting, size = [], 0
        waiting.append(item)
        size += count
    if waiting:
        yield waiting


def _numbered(stem: str, number: int) -> str:
    # Not "-2" alone, as codes of regions end: AT-2 is Carinthia.
    return f"{stem}.html" if number == 1 else f"{stem}-page-{number}.html"
