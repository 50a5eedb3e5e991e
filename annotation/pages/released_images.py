"""The images of a release as pages show them: a grid with filters, and one image with its captions in all languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator

from annotation.formats.release_index import IndexedCaption, IndexedImage, IndexQuery, ReleaseIndex
from annotation.rules.released_places import CONTINENT, place_name
from core.images.models import Image
from core.images.selectors import ServedImage, served_image
from core.languages.models import Language
from core.people.models import User
from research.selection.models import PlaceLevelChoice

PER_PAGE = 24
MAX_SEARCH_CHARACTERS = 200


@dataclass(frozen=True)
class LanguageCaptions:
    """Captions in one language, with text and model; `language` is None if the platform no longer knows it."""

    tag: str
    name: str
    language: Language | None
    captions: Sequence[Any]


@dataclass(frozen=True)
class ShownImage:
    """`served` is None if the image is no longer stored."""

    image: IndexedImage
    served: ServedImage | None
    spoken: Sequence[LanguageCaptions]


@dataclass(frozen=True)
class ImagesPage:
    wanted: IndexQuery
    languages: Sequence[tuple[str, str]]
    chosen: Sequence[tuple[str, str]]
    places: Sequence[tuple[str, str]]
    levels: Sequence[tuple[str, str]]
    page: Page[int]
    images: Sequence[ShownImage]


@dataclass(frozen=True)
class ImagePage:
    shown: ShownImage
    places: Sequence[tuple[str, str]]
    chosen_for: str
    level: str
    before: int
    after: int


def wanted_of(query: Mapping[str, str]) -> IndexQuery:
    """Read the filters of an address."""
    names = ("language", "chosen", "place", "level")
    return IndexQuery(
        **{name: query.get(name, "") for name in names}, text=query.get("text", "").strip()[:MAX_SEARCH_CHARACTERS]
    )


def images_page(index: ReleaseIndex, viewer: User, *, wanted: IndexQuery, number: str) -> ImagesPage:
    """Prepare a page of the images that are wanted, with their captions in the language asked for or that match."""
    page: Page[int] = Paginator(index.numbers(wanted), PER_PAGE).get_page(number)
    counts = index.languages()
    names = _names([*counts, *index.chosen()])
    levels: Mapping[str, str] = {value: str(label) for value, label in PlaceLevelChoice.choices}
    return ImagesPage(
        wanted=wanted,
        languages=[(tag, f"{names[tag]} ({count})") for tag, count in counts.items()],
        chosen=[(tag, f"{names[tag]} ({count})") for tag, count in index.chosen().items()],
        places=sorted(
            ((code, f"{place_name(code)} ({count})") for code, count in index.places().items()),
            key=lambda place: (not place[0].startswith(CONTINENT), "-" in place[0], place[1]),
        ),
        levels=[(level, f"{levels[level]} ({count})") for level, count in index.levels().items()],
        page=page,
        images=_shown(index.images(list(page)), viewer, wanted),
    )


def image_page(index: ReleaseIndex, viewer: User, *, number: int) -> ImagePage | None:
    """Prepare the page of an image, or None if the release has no such number."""
    images = index.images([number])
    if not images:
        return None
    image = images[0]
    continent = [f"{CONTINENT}{image.continent}"] if image.continent else []
    return ImagePage(
        shown=_shown(images, viewer, None)[0],
        places=[(code, place_name(code)) for code in (*image.regions, *image.countries, *continent)],
        chosen_for=_names([image.chosen_for])[image.chosen_for] if image.chosen_for else "",
        level=str(dict(PlaceLevelChoice.choices).get(image.level, "")),
        before=number - 1,
        after=number + 1 if index.images([number + 1]) else 0,
    )


def _shown(images: Sequence[IndexedImage], viewer: User, wanted: IndexQuery | None) -> list[ShownImage]:
    """Show all captions, or with `wanted` only those in its language, or with its text."""
    stored = {image.sha256: image for image in Image.objects.filter(sha256__in=[image.sha256 for image in images])}
    languages = Language.objects.in_bulk({caption.language for image in images for caption in image.captions})
    return [
        ShownImage(
            image,
            served_image(stored[image.sha256], viewer) if image.sha256 in stored else None,
            _spoken([caption for caption in image.captions if wanted is None or wanted.has(caption)], languages),
        )
        for image in images
    ]


def _spoken(captions: Sequence[IndexedCaption], languages: Mapping[str, Language]) -> list[LanguageCaptions]:
    by_tag: dict[str, list[IndexedCaption]] = {}
    for caption in captions:
        by_tag.setdefault(caption.language, []).append(caption)
    spoken = [
        LanguageCaptions(tag, languages[tag].name if tag in languages else tag, languages.get(tag), of_tag)
        for tag, of_tag in by_tag.items()
    ]
    return sorted(spoken, key=lambda one: (one.name, one.tag))


def _names(tags: Sequence[str]) -> dict[str, str]:
    languages = Language.objects.in_bulk(tags)
    return {tag: languages[tag].name if tag in languages else tag for tag in tags}
