"""Read selections for pages, commands and the API, and the files that they still lack."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext

from core.images.models import Collection
from core.images.selectors import ServedImage, served_image
from core.jobs.models import OPEN_STATES, JobState
from core.languages.models import Language
from core.people.models import Project, User
from crosslens_metrics.formats.names import SUFFIXES
from geography import codes
from geography.places import PointPlace
from research.selection.models import (
    Candidate,
    PlaceLevelChoice,
    SelectedImage,
    Selection,
)
from research.selection.rules.candidates import is_address, is_web
from research.selection.selectors.pools import place_of
from research.selection.selectors.usage import are_in_use, uses_of

SHOWN_OF_EACH = 4
"""Images of each language in a preview."""


@dataclass(frozen=True)
class LevelCount:
    """Numbers of images of one level: in the pool, free at the language's turn, and chosen (after exchanges)."""

    level: PlaceLevelChoice
    pool: int
    free: int
    chosen: int


@dataclass(frozen=True)
class LanguageRow:
    """A language of a selection. `language` is None in the row of totals, whose pools have no sum."""

    language: Language | None
    levels: Sequence[LevelCount]
    missing: int
    has_place: bool

    @property
    def chosen(self) -> int:
        return sum(one.chosen for one in self.levels)


@dataclass(frozen=True)
class ShownImage:
    """A chosen image; `image` is None until it is imported, and `address` is that of the web to fetch it from."""

    row: SelectedImage
    image: ServedImage | None
    address: str
    place: str


def selections_of(project: Project) -> QuerySet[Selection]:
    """Selections of a project, the newest first, with `size`: the number of images chosen."""
    rows = Selection.objects.filter(project=project).select_related("source", "candidates", "collection")
    rows = rows.prefetch_related("language_collections__collection")
    return rows.annotate(size=Count("selected_images")).order_by("-number")


def collections_of(selection: Selection, language: str = "") -> list[Collection]:
    """Return the collections of a selection; with `language`, those that hold its images. A draft has none."""
    own = selection.language_collections.select_related("collection")
    own = own.filter(language=language) if language else own
    whole = [selection.collection] if selection.collection is not None else []
    return whole + [one.collection for one in own]


def slugs_by_language(selection: Selection) -> dict[str, str]:
    """Return the slugs of the collections of single languages."""
    return {one.language_id: one.collection.slug for one in selection.language_collections.all()}


def has_begun(selection: Selection, language: Language) -> bool:
    """Return whether work on the images of a language has begun, so that they stay."""
    return are_in_use(collections_of(selection, language.pk))


def selection_page(selection: Selection) -> dict[str, Any]:
    """Describe a selection with its counts by language, in the order in which the languages chose."""
    rows = language_rows(selection)
    not_fetched = selection.selected_images.filter(image__isnull=True).count()
    return {
        "is_going": selection.state in OPEN_STATES,
        "is_done": selection.state == JobState.DONE,
        "is_confirmed": selection.confirmed_at is not None,
        "rows": rows,
        "totals": _totals(rows),
        "without_place": [row.language for row in rows if row.language is not None and not row.has_place],
        "not_fetched": not_fetched,
        "left_out": sum(selection.counts.get("left_out", {}).values()),
        "uses": uses_of(collections_of(selection)),
        "language_collections": selection.language_collections.select_related("collection", "language"),
        "exchanges": selection.exchanges.select_related("language", "by"),
    }


def language_rows(selection: Selection) -> list[LanguageRow]:
    """Return counts by language in the order of their turns; none before the images are chosen."""
    chosen: dict[tuple[str, str], int] = {
        (tag, level): count
        for tag, level, count in selection.selected_images.order_by()
        .values_list("language", "level")
        .annotate(Count("pk"))
    }
    languages = Language.objects.in_bulk(selection.languages)
    counted: Mapping[str, Mapping[str, Mapping[str, int]]] = selection.counts.get("languages", {})
    # JSON keeps no order of keys on every database.
    turns = sorted(counted, key=lambda tag: (counted[tag]["pool"][PlaceLevelChoice.REGION], tag))
    rows = []
    for tag in turns:
        levels = [
            LevelCount(level, counted[tag]["pool"][level], counted[tag]["free"][level], chosen.get((tag, level), 0))
            for level in PlaceLevelChoice
        ]
        missing = selection.per_language - sum(one.chosen for one in levels)
        rows.append(LanguageRow(languages[tag], levels, missing, any(selection.areas.get(tag, {}).values())))
    return rows


def shown_by_language(selection: Selection, viewer: User) -> list[tuple[Language, list[ShownImage]]]:
    """Return the first images of each language."""
    rows = selection.selected_images.filter(position__lte=SHOWN_OF_EACH).select_related(
        "language", "image", "candidate"
    )
    groups: dict[Language, list[ShownImage]] = defaultdict(list)
    for shown in shown_images(rows, viewer):
        groups[shown.row.language].append(shown)
    return list(groups.items())


def images_for(selection: Selection, language: Language, level: str = "") -> QuerySet[SelectedImage]:
    """Return the images chosen for a language, in the order of choice; those of one level if it is given."""
    rows = selection.selected_images.filter(Q(level=level) if level else Q(), language=language)
    return rows.select_related("language", "image", "candidate").order_by("position")


def place_text(place: PointPlace) -> str:
    """Name the most detailed region and the countries of a place in English, or the continent, or say “at sea”."""
    region = [codes.region_name(place.region)] if place.region else []
    countries = " / ".join(codes.country_name(code) for code in place.countries)
    named = ", ".join([*region, countries] if countries else region)
    return named or codes.continent_name(place.continent) or gettext("at sea")


def shown_images(rows: Iterable[SelectedImage], viewer: User) -> list[ShownImage]:
    return [
        ShownImage(
            row,
            served_image(row.image, viewer) if row.image else None,
            row.candidate.address if row.candidate and is_web(row.candidate.address) else "",
            place_text(place_of(row)),
        )
        for row in rows
    ]


def _totals(rows: Sequence[LanguageRow]) -> LanguageRow:
    levels = [
        LevelCount(level, 0, 0, sum(row.levels[at].chosen for row in rows)) for at, level in enumerate(PlaceLevelChoice)
    ]
    return LanguageRow(None, levels, sum(row.missing for row in rows), True)


ATTRIBUTION = ("licence", "licence_url", "author", "title")
CHECKSUMS = {"md5": "md5", "sha1": "sha-1", "sha256": "sha-256"}
"""Algorithms as candidates name them, and as aria2c does."""

COLUMNS = ("key", "url", *CHECKSUMS, *ATTRIBUTION, "language", "level")
"""No coordinates: they stay here."""

AT_ONCE = 1000


def selected_files(selection: Selection) -> dict[str, int]:
    """Count the images chosen, and those of them that have their files or lack them."""
    total, missing = selection.selected_images.count(), selection.selected_images.filter(image__isnull=True).count()
    return {"total": total, "there": total - missing, "missing": missing}


def missing_rows(selection: Selection) -> Iterator[dict[str, str]]:
    """Yield a row of `COLUMNS` for each chosen candidate of the web whose file is not there yet."""
    for row, candidate in _missing(selection):
        algorithm, _colon, digest = candidate.checksum.partition(":")
        checksums = {name: digest if name == algorithm else "" for name in CHECKSUMS}
        values = {name: getattr(candidate, name) for name in ATTRIBUTION}
        about = {"language": row.language_id, "level": row.level}
        yield {"key": row.key, "url": candidate.address, **checksums, **values, **about}


def aria2_lines(selection: Selection) -> Iterator[str]:
    """Yield the same files as an input file of aria2c, but for those whose key cannot be the name of a file."""
    for row, candidate in _missing(selection):
        if not is_file_name(row.key):
            continue
        suffix = PurePosixPath(urlsplit(candidate.address).path).suffix.lower()
        yield f"{candidate.address}\n  out={row.key}{suffix if suffix in SUFFIXES else ''}\n"
        algorithm, _colon, digest = candidate.checksum.partition(":")
        if digest:
            yield f"  checksum={CHECKSUMS[algorithm]}={digest}\n"


def is_file_name(key: str) -> bool:
    """Return whether a file in a folder can have this name, and is not hidden there."""
    parts = PurePosixPath(key).parts
    return is_address(key) and not any(part.startswith(".") or len(part.encode()) > 250 for part in parts)


def _missing(selection: Selection) -> Iterator[tuple[SelectedImage, Candidate]]:
    rows = selection.selected_images.filter(image__isnull=True, candidate__isnull=False).select_related("candidate")
    for row in rows.order_by("language", "position").iterator(chunk_size=AT_ONCE):
        if row.candidate is not None and is_web(row.candidate.address):
            yield row, row.candidate
