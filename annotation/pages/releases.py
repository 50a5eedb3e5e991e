"""A release and its images as pages show them, and an image of a project, with captions in all languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.core.paginator import Page, Paginator
from django.utils.html import format_html
from django.utils.translation import gettext as _

from annotation.formats.release_index import IndexedImage, IndexQuery, ReleaseIndex
from annotation.models import Caption, CaptionState, Release
from annotation.rules.releases import CONTINENT, LICENCES, codes_of, place_name
from annotation.services.release_contents import IMAGE
from core.images.models import CollectionImage, Image
from core.images.selectors import served_image
from core.jobs.models import OPEN_STATES
from core.languages.models import Language
from core.people.models import Project, User
from core.people.pages import address
from core.people.permissions import usable_in
from research.inference.models import ModelCaption
from research.selection.models import ImagePlace, PlaceLevelChoice
from research.selection.selectors.image_places import chosen_of
from tabular.tables import TEXT, PageTable, TableColumn

SIZES = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def release_page(release: Release) -> dict[str, Any]:
    counts, licence = release.counts, LICENCES.get(release.licence)
    changes: Mapping[str, Any] = counts.get("changes", {})
    return {
        "project": release.project,
        "release": release,
        "is_going": release.state in OPEN_STATES,
        "licence": licence.name if licence else release.licence,
        "licence_url": licence.url if licence else "",
        "authors": release.authors.split("\n"),
        "size": size_text(release.archive_bytes),
        "languages": _languages(counts, changes),
        "files": PageTable("release-files", _("Files of the release"), _file_columns(release), counts.get("files", [])),
    }


def _file_columns(release: Release) -> list[TableColumn[Mapping[str, Any]]]:
    def name(file: Mapping[str, Any]) -> str:
        url = address("annotation:release-file", release.project.slug, release.number, file["name"])
        return format_html('<a href="{}" download><bdi>{}</bdi></a>', url, file["name"])

    return [
        TableColumn("file", _("File"), name, kind=TEXT),
        TableColumn("size", _("Size"), lambda file: size_text(file["bytes"])),
        TableColumn(
            "sha256",
            "SHA-256",
            lambda file: format_html('<code class="signature" dir="ltr">{}</code>', file["sha256"]),
            kind=TEXT,
        ),
    ]


def size_text(count: int) -> str:
    for size, unit in SIZES:
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return _("%(count)d bytes") % {"count": count}


def _languages(counts: Mapping[str, Any], changes: Mapping[str, Any]) -> PageTable[str]:
    """The languages of a release by their tags, with what was left out and removed, and why."""
    captions: Mapping[str, int] = counts.get("languages", {})
    added, changed, removed = (changes.get(name, {}) for name in ("added", "changed", "removed"))
    names = {tag: language.name for tag, language in Language.objects.in_bulk([*captions, *removed]).items()}
    columns: list[TableColumn[str]] = [
        TableColumn("language", _("Language"), lambda tag: names.get(tag, tag), kind=TEXT),
        TableColumn("captions", _("Captions"), lambda tag: captions.get(tag, 0)),
        TableColumn(
            "left-out", _("Left out"), lambda tag: _reasons(counts.get("left_out", {}).get(tag, {})), kind=TEXT
        ),
    ]
    caption = _("By language")
    if since := changes.get("since"):
        caption = _("By language, with changes since release %(number)s") % {"number": since}
        columns += [
            TableColumn("added", _("Added"), lambda tag: added.get(tag, 0)),
            TableColumn("changed", _("Changed"), lambda tag: changed.get(tag, 0)),
            TableColumn("removed", _("Removed"), lambda tag: _reasons(removed.get(tag, {})), kind=TEXT),
        ]
    rows = sorted({*captions, *removed}, key=lambda tag: (names.get(tag, tag), tag))
    return PageTable("release-languages", caption, columns, rows)


def _reasons(counts: Mapping[str, int]) -> str:
    """Format counts with reasons, as in “3: Consent withdrawn”; empty if there are none."""
    labels: Mapping[str, Any] = {**dict(CaptionState.choices), IMAGE: _("Image left out of results")}
    return ", ".join(
        _("%(reason)s: %(count)d") % {"reason": labels.get(reason, _("No longer part of it")), "count": count}
        for reason, count in counts.items()
    )


PER_PAGE = 24
MAX_SEARCH_CHARACTERS = 200


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


def _shown(images: Sequence[IndexedImage], viewer: User, wanted: IndexQuery | None) -> list[dict[str, Any]]:
    """Show all captions, or with `wanted` only those in its language, or with its text."""
    stored = {image.sha256: image for image in Image.objects.filter(sha256__in=[image.sha256 for image in images])}
    languages = Language.objects.in_bulk({caption.language for image in images for caption in image.captions})
    return [
        {
            "image": image,
            "served": served_image(stored[image.sha256], viewer) if image.sha256 in stored else None,
            "spoken": _spoken(
                [(one.language, one) for one in image.captions if wanted is None or wanted.has(one)], languages
            ),
        }
        for image in images
    ]


def _spoken(
    captions: Sequence[tuple[str, Any]], languages: Mapping[str, Language] | None = None
) -> list[dict[str, Any]]:
    """Sort captions, each with the tag of its language, by the name of the language.

    `language` is None if the platform no longer knows it.
    """
    known = Language.objects.in_bulk({tag for tag, _ in captions}) if languages is None else languages
    by_tag: dict[str, list[Any]] = {}
    for tag, caption in captions:
        by_tag.setdefault(tag, []).append(caption)
    spoken = [
        {"tag": tag, "name": known[tag].name if tag in known else tag, "language": known.get(tag), "captions": of_tag}
        for tag, of_tag in by_tag.items()
    ]
    return sorted(spoken, key=lambda one: (one["name"], one["tag"]))


def _names(tags: Iterable[str]) -> dict[str, str]:
    languages = Language.objects.in_bulk(tags)
    return {tag: languages[tag].name if tag in languages else tag for tag in tags}
