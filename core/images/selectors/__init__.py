"""Read images, collections and reports of imports for pages."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Q, QuerySet, Sum
from django.urls import get_script_prefix, reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _

from core.images.models import (
    AttributionChange,
    Collection,
    CollectionImage,
    Image,
    ImportJob,
    ImportKind,
    ImportOutcome,
)
from core.images.rules.sizes import sizes_of
from core.images.selectors import attributions
from core.images.selectors.attributions import MissingAttributions
from core.jobs.models import JobState
from core.people.models import User
from core.people.personal_data import ExportPart
from tabular.downloads import csv_safe

ADDRESS_DAYS = 2
"""An address holds for the rest of its day and the day after, UTC; so it is the same all day, and browsers cache it."""

SHOWN_SIZE = 800


@dataclass(frozen=True)
class ServedImage:
    """An image for one viewer. Addresses reveal neither name nor title; `width` and `height` are of `src`."""

    src: str
    srcset: str
    large: str
    width: int
    height: int
    author: str
    licence: str
    licence_url: str
    is_ready: bool


def served_image(image: Image, viewer: User, *, now: datetime | None = None) -> ServedImage:
    """Make addresses of `image` that only work for `viewer`. Needs no query."""
    expiry = _day(now) + timedelta(days=ADDRESS_DAYS)
    sizes = sizes_of(image.width, image.height)
    addresses = {size: _address(image.public_id, size, viewer.pk, expiry) for size in sizes}
    shown = max(size for size in sizes if size <= SHOWN_SIZE)
    width, height = sizes[shown]
    return ServedImage(
        src=addresses[shown],
        srcset=", ".join(f"{addresses[size]} {sizes[size][0]}w" for size in sizes),
        large=addresses[max(sizes)],
        width=width,
        height=height,
        author=image.author,
        licence=image.licence,
        licence_url=image.licence_url,
        is_ready=image.state == JobState.DONE,
    )


def is_address_of(
    *, public_id: UUID, size: int, signature: str, viewer: User | AnonymousUser, now: datetime | None = None
) -> bool:
    """Whether the address was made for `viewer` and is still valid."""
    day, _, _ = signature.partition(".")
    if viewer.pk is None or not day.isascii() or not day.isdigit() or len(day) > 7:
        return False
    try:
        expiry = date.fromordinal(int(day))
    except (ValueError, OverflowError):
        return False
    return expiry > _day(now) and constant_time_compare(signature, _signature(public_id, size, viewer.pk, expiry))


def _day(now: datetime | None) -> date:
    return (now or timezone.now()).astimezone(UTC).date()


def _address(public_id: UUID, size: int, viewer_id: int, expiry: date) -> str:
    signature = _signature(public_id, size, viewer_id, expiry)
    return f"{_folder(get_script_prefix())}{public_id}/{size}/{signature}/"


@lru_cache(maxsize=16)
def _folder(_prefix: str) -> str:
    """Return what the addresses of all images begin with: a page of a batch has up to 45, and `reverse` is slow."""
    return reverse("images:image-show", args=[UUID(int=0), 0, "0"]).removesuffix(f"{UUID(int=0)}/0/0/")


def _signature(public_id: UUID, size: int, viewer_id: int, expiry: date) -> str:
    day = expiry.toordinal()
    digest = salted_hmac("images.image", f"{public_id.hex}:{size}:{viewer_id}:{day}", algorithm="sha256").digest()
    return f"{day}.{base64.urlsafe_b64encode(digest[:18]).decode()}"


COUNTED = "counted"
"""Option of a job: how many lines had which outcome."""


@dataclass(frozen=True)
class ImportReport:
    """The progress of an import. `counts` is by outcome, of captions where lines hold them.

    `percent` is None if the end is not known.

    `filled_in` says how many blank values of stored images it filled in; `missing`, what its images still lack;
    `had_hidden`, from how many captions hidden characters were removed.
    """

    job: ImportJob
    counts: list[tuple[str, str, int]]
    had_hidden: int
    filled_in: Sequence[str]
    missing: MissingAttributions
    percent: int | None
    is_finished: bool


def with_sizes(collections: QuerySet[Collection]) -> QuerySet[Collection]:
    """Annotate `collections` with `size`, the number of images."""
    return collections.select_related("project").annotate(size=Count("entries")).order_by("name", "pk")


def keys_in_order(collection_id: int, *, at_once: int) -> Iterator[dict[int, str]]:
    """Yield image and key in the order of a collection, in blocks of one short query each."""
    entries = CollectionImage.objects.filter(collection=collection_id).order_by("position", "pk")
    entries = entries.only("pk", "position", "image_id", "key")
    chunk = list(entries[:at_once])
    while chunk:
        yield {entry.image_id: entry.key for entry in chunk}
        last = chunk[-1]
        beyond = Q(position__gt=last.position) | Q(position=last.position, pk__gt=last.pk)
        chunk = list(entries.filter(beyond)[:at_once])


def report_of(job: ImportJob) -> ImportReport:
    """Summarise a job by its rows or, where it has rows for some of its lines only, by what it counted."""
    columns = [*(outcome.value for outcome in ImportOutcome), "had_hidden"]
    by_rows = job.rows.aggregate(**{column: Sum(column, default=0) for column in columns})
    filled = job.rows.exclude(filled_in="").values_list("filled_in").annotate(Count("pk")).order_by()
    by_outcome = job.options.get(COUNTED, by_rows)
    counts = [(outcome.value, str(outcome.label), by_outcome.get(outcome.value, 0)) for outcome in ImportOutcome]
    is_finished = job.state in (JobState.DONE, JobState.FAILED)
    has_images = is_finished and job.kind == ImportKind.IMAGES
    return ImportReport(
        job=job,
        counts=counts,
        had_hidden=by_rows["had_hidden"],
        filled_in=attributions.filled_in(filled),
        missing=attributions.missing_from(job) if has_images else attributions.NOTHING,
        percent=min(100, 100 * job.done // job.total) if job.total else None,
        is_finished=is_finished,
    )


def report_table(job: ImportJob) -> Iterator[list[object]]:
    """Yield the report as a table with a header, safe to open in a spreadsheet; that of several files names each."""
    parts = list(job.parts.order_by("pk"))
    if len(parts) == 1:
        job = parts[0]
    elif parts:
        for number, part in enumerate(parts):
            head, *rows = report_table(part)
            yield from [["source", *head]] * (not number)
            yield from (csv_safe([part.source_name, *row]) for row in rows)
        return
    yield ["number", "name", "outcome", "added", "already", "rejected", "reason", "filled_in"]
    for row in job.rows.order_by("number").iterator(chunk_size=1000):
        counts = [row.added, row.already, row.rejected]
        yield csv_safe([row.number, row.name, row.outcome, *counts, row.reason, row.filled_in])


def data_export(person: User) -> Iterator[ExportPart]:
    """Export what a person imported."""
    collections = Collection.objects.filter(created_by=person).order_by("created_at", "pk")
    yield ExportPart("collections", _("Collections that you made."), collections.values("slug", "name", "created_at"))
    changes = AttributionChange.objects.filter(by=person, job=None).order_by("at", "pk")
    about = _("Titles, authors, licences and sources of images that you changed.")
    yield ExportPart("image_changes", about, changes.values("at", "before", "after"))
    imports = ImportJob.objects.filter(created_by=person).order_by("created_at", "pk")
    columns = ("kind", "source_name", "state", "created_at", "finished_at")
    yield ExportPart("imports", _("Files that you imported, without their contents."), imports.values(*columns))


IMAGES_TO_CHOOSE = 12


def images_to_choose(entries: QuerySet[CollectionImage], *, find: str = "", after: str = "") -> dict[str, Any]:
    """Return images of `entries` whose key contains `find`, by key, those after `after`.

    `last` is the key to continue after, empty if there are no more.
    """
    found = entries.filter(key__gt=after, key__icontains=find).select_related("image")
    rows = list(found.order_by("key", "pk")[: IMAGES_TO_CHOOSE + 1])
    shown_rows = rows[:IMAGES_TO_CHOOSE]
    return {"entries": shown_rows, "last": shown_rows[-1].key if len(rows) > IMAGES_TO_CHOOSE else ""}


def images_by_id(images: QuerySet[Image], wanted: Sequence[object], viewer: User) -> list[ServedImage | None]:
    """Return the images of `wanted`, primary keys as forms have them; None for one that is not among `images`."""
    keys = [int(str(key)) if str(key).isdecimal() and len(str(key)) < 19 else 0 for key in wanted]
    by_id = images.in_bulk(keys)
    return [served_image(by_id[key], viewer) if key in by_id else None for key in keys]
