"""Store images by their content, and make the sizes that are served."""

from __future__ import annotations

import hashlib
import logging
from datetime import datetime
from typing import IO, NamedTuple

from django.core.files.storage import default_storage

from core.images.models import AttributionChange, Image, ImportJob
from core.images.rules.attributions import EXTRA, FIELDS, PLACE
from core.images.rules.image_checks import ImageFacts, check_name, inspect
from core.images.rules.manifests import ImageAttribution
from core.images.rules.resizing import served_sizes
from core.images.services import file_storage
from core.jobs.services import leases
from core.jobs.services.leases import NUDGE_AFTER

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 4


class StoredImage(NamedTuple):
    """The row of an image that was there already: `filled_in` were blank, and `kept` differ from what was given."""

    image: Image
    is_new: bool
    filled_in: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def sha256_of(file: IO[bytes]) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def store_original(file: IO[bytes], *, name: str, size_bytes: int) -> tuple[str, ImageFacts | None]:
    """Check the image in `file` and store it; returns its sha256 and, if it is new, its facts.

    Raises ImageRefusedError with why, for its owner.
    """
    check_name(file, name=name, size_bytes=size_bytes)
    sha256 = sha256_of(file)
    if Image.objects.filter(sha256=sha256).exists():
        return sha256, None
    facts = inspect(file, name=name, size_bytes=size_bytes)
    stored = file_storage.original_name(sha256)
    if not default_storage.exists(stored):
        file.seek(0)
        file_storage.put(stored, file)
    return sha256, facts


def image_of(
    *,
    sha256: str,
    facts: ImageFacts | None,
    attribution: ImageAttribution,
    size_bytes: int,
    job: ImportJob,
    now: datetime,
) -> StoredImage:
    """Get or create the row of an image, for an import. Call within a transaction.

    What is stored about an image is kept; only blank fields are filled in from `attribution`.
    """
    if facts is None:
        image, is_new = Image.objects.get(sha256=sha256), False
    else:
        north, east = facts.position if isinstance(facts.position, tuple) else (None, None)
        has_position = attribution.latitude is not None
        values = {
            "original": file_storage.original_name(sha256),
            "format": facts.format,
            "bytes": size_bytes,
            "width": facts.width,
            "height": facts.height,
            "author": attribution.author or facts.author,
            "latitude": attribution.latitude if has_position else north,
            "longitude": attribution.longitude if has_position else east,
            "extra": attribution.extra,
            "lease_until": now + NUDGE_AFTER,
            **{name: getattr(attribution, name) for name in FIELDS if name != "author"},
        }
        image, is_new = Image.objects.get_or_create(sha256=sha256, defaults=values)
    if is_new:
        return StoredImage(image, is_new)
    kept = tuple(
        name for name in FIELDS if (stored := getattr(image, name)) and getattr(attribution, name) not in ("", stored)
    )
    return StoredImage(image, is_new, _fill_in(image, attribution, job, now), kept)


def _fill_in(image: Image, attribution: ImageAttribution, job: ImportJob, now: datetime) -> tuple[str, ...]:
    image = Image.objects.select_for_update().get(pk=image.pk)
    after = {name: value for name in FIELDS if (value := getattr(attribution, name)) and not getattr(image, name)}
    extra = attribution.extra | image.extra
    if extra != image.extra:
        after[EXTRA] = extra
    before = {name: getattr(image, name) for name in after}
    for name, value in after.items():
        setattr(image, name, value)
    has_new_place = attribution.latitude is not None and image.latitude is None
    if has_new_place:
        image.latitude, image.longitude = attribution.latitude, attribution.longitude
    if after or has_new_place:
        image.save(update_fields=[*after, *(("latitude", "longitude") if has_new_place else ())])
    if after:
        AttributionChange.objects.create(image=image, at=now, by=job.created_by, job=job, before=before, after=after)
    return (*after, PLACE) if has_new_place else tuple(after)


def make_sizes(*, image_id: int, now: datetime) -> None:
    """Make the served sizes of an image, unless they exist, are being made, or failed too often."""
    image = leases.claim(Image.objects.filter(pk=image_id), now=now)
    if image is None:
        return
    if image.attempts > MAX_ATTEMPTS:
        leases.finish_row(image, now=now, error="the worker stopped each time")
        return
    try:
        with default_storage.open(image.original) as file:
            for size, content in served_sizes(file, kind=image.format):
                file_storage.put(file_storage.size_name(image.public_id, size), content)
    except Exception as error:  # whatever it was: the other images wait, and the row records the error
        log.exception("sizes of image %s", image_id)
        if image.attempts >= MAX_ATTEMPTS:
            leases.finish_row(image, now=now, error=repr(error))
        else:
            leases.queue_again(image, lease_until=now + NUDGE_AFTER, error=repr(error))
        return
    leases.finish_row(image, now=now)
