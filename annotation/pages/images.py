"""Images as pages show them, with their captions in all languages: those of a release, and one of a project."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator

from annotation.formats.release_index import IndexedImage, IndexQuery, ReleaseIndex
from annotation.models import Caption
from annotation.rules.release_places import CONTINENT, codes_of, place_name
from core.images.models import CollectionImage, Image
from core.images.selectors import ServedImage, served_image
from core.languages.models import Language
from core.people.models import Project, User
from core.people.permissions import usable_in
from research.inference.models import ModelCaption
from research.selection.models import ImagePlace, PlaceLevelChoice
from research.selection.selectors.chosen import chosen_of

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


def wanted_of(query: Mapping[str, str]) -> IndexQuery:
    """Read the filters of an address."""
    names = ("language", "chosen", "place", "level")
    return IndexQuery(
        **{name: query.get(name, "") for name in names}, text=query.get("text", "").strip()[:MAX_SEARCH_CHARACTERS]
    )


def images_page(index: ReleaseIndex, viewer: User, *, wanted: IndexQuery, number: str) -> dict[str, Any]:
    """Prepare a page of the images that are wanted, with their captions in the language asked for or that match."""
    page: Page[int] = Paginator(index.numbers(wanted), PER_PAGE).get_page(number)
    counts = index.languages()
    names = _names([*counts, *index.chosen()])
    levels: Mapping[str, str] = {value: str(label) for value, label in PlaceLevelChoice.choices}
    return {
        "wanted": wanted,
        "languages": [(tag, f"{names[tag]} ({count})") for tag, count in counts.items()],
        "chosen": [(tag, f"{names[tag]} ({count})") for tag, count in index.chosen().items()],
        "places": sorted(
            ((code, f"{place_name(code)} ({count})") for code, count in index.places().items()),
            key=lambda place: (not place[0].startswith(CONTINENT), "-" in place[0], place[1]),
        ),
        "levels": [(level, f"{levels[level]} ({count})") for level, count in index.levels().items()],
        "page": page,
        "images": _shown(index.images(list(page)), viewer, wanted),
    }


def image_page(index: ReleaseIndex, viewer: User, *, number: int) -> dict[str, Any] | None:
    """Prepare the page of an image, or None if the release has no such number."""
    images = index.images([number])
    if not images:
        return None
    image = images[0]
    return {
        "shown": _shown(images, viewer, None)[0],
        "places": [(code, place_name(code)) for code in codes_of(image.regions, image.countries, image.continent)],
        "chosen_for": _names([image.chosen_for])[image.chosen_for] if image.chosen_for else "",
        "level": str(dict(PlaceLevelChoice.choices).get(image.level, "")),
        "before": number - 1,
        "after": number + 1 if index.images([number + 1]) else 0,
    }


def project_image_page(entry: CollectionImage, project: Project, viewer: User) -> dict[str, Any]:
    """Prepare the page of an image of a project, with everything that people and models have written about it."""
    chosen = chosen_of(project, [entry.image_id]).get(entry.image_id)
    place = ImagePlace.objects.filter(image=entry.image_id).first()
    codes = codes_of(place.regions.split(), place.countries.split(), place.continent) if place else []
    beside = CollectionImage.objects.filter(collection=entry.collection_id).select_related("image")
    people = Caption.objects.counted().filter(image=entry.image_id, round__project=project)
    models = ModelCaption.objects.filter(usable_in(project, "model__"), image=entry.image_id).select_related("model")
    written = [(one.round.language_id, one) for one in people.select_related("round").order_by("pk")]
    made = [(one.language_id, one) for one in models.order_by("model__name", "pk")]
    return {
        "entry": entry,
        "served": served_image(entry.image, viewer),
        "places": [place_name(code) for code in codes],
        "chosen_for": Language.objects.get(pk=chosen.language_id).name if chosen else "",
        "level": str(PlaceLevelChoice(chosen.level).label) if chosen else "",
        "languages": _spoken([*written, *made]),
        "before": beside.filter(position__lt=entry.position).order_by("-position").first(),
        "after": beside.filter(position__gt=entry.position).order_by("position").first(),
    }


def _shown(images: Sequence[IndexedImage], viewer: User, wanted: IndexQuery | None) -> list[ShownImage]:
    """Show all captions, or with `wanted` only those in its language, or with its text."""
    stored = {image.sha256: image for image in Image.objects.filter(sha256__in=[image.sha256 for image in images])}
    languages = Language.objects.in_bulk({caption.language for image in images for caption in image.captions})
    return [
        ShownImage(
            image,
            served_image(stored[image.sha256], viewer) if image.sha256 in stored else None,
            _spoken([(one.language, one) for one in image.captions if wanted is None or wanted.has(one)], languages),
        )
        for image in images
    ]


def _spoken(
    captions: Sequence[tuple[str, Any]], languages: Mapping[str, Language] | None = None
) -> list[LanguageCaptions]:
    """Sort captions, each with the tag of its language, by the name of the language."""
    known = Language.objects.in_bulk({tag for tag, _ in captions}) if languages is None else languages
    by_tag: dict[str, list[Any]] = {}
    for tag, caption in captions:
        by_tag.setdefault(tag, []).append(caption)
    spoken = [
        LanguageCaptions(tag, known[tag].name if tag in known else tag, known.get(tag), of_tag)
        for tag, of_tag in by_tag.items()
    ]
    return sorted(spoken, key=lambda one: (one.name, one.tag))


def _names(tags: Iterable[str]) -> dict[str, str]:
    languages = Language.objects.in_bulk(tags)
    return {tag: languages[tag].name if tag in languages else tag for tag in tags}
