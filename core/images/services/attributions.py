"""Change titles, authors, licences and sources of stored images. Every change stays on record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Count, QuerySet

from core.images.models import AttributionChange, Collection, CollectionImage, Image
from core.images.selectors.attributions import ImageEdit, planned_edit
from core.images.services.import_jobs import Clock
from core.people.models import Project, User
from core.people.services import audit_log

AT_ONCE = 2_000
"""Images in one transaction, so that nobody else's saving waits long."""


class AttributionChangedError(Exception):
    """Somebody else changed the image since its editor saw it."""


class AttributionRefusedError(Exception):
    """The editor may fill in what is missing, but not replace what is stored."""


class EditOutdatedError(Exception):
    """The edit would change other images than was confirmed; the message has their number."""


def edit_image(
    *, entry: CollectionImage, values: Mapping[str, str], seen: int, by: User, now: datetime
) -> AttributionChange | None:
    """Change one image; returns None if nothing was to be changed. `seen` is the newest change its editor knew.

    Raises AttributionChangedError or AttributionRefusedError.
    """
    with transaction.atomic():
        image = Image.objects.select_for_update(no_key=True).get(pk=entry.image_id)
        if newest_change(image.pk) != seen:
            raise AttributionChangedError
        plan = planned_edit(Image.objects.filter(pk=image.pk), ImageEdit(values), by=by)
        if plan.refused.exists():
            raise AttributionRefusedError
        if not plan.changing.exists():
            return None
        (change,) = _change([image], ImageEdit(values), by=by, now=now)
        about = f"{entry.collection.name}: {entry.key}"
        _record([image.pk], about, entry.collection, ImageEdit(values), by=by, now=now)
    return change


def edit_images(
    *, collection: Collection, images: QuerySet[Image], edit: ImageEdit, confirmed: int, by: User, clock: Clock
) -> int:
    """Change all of `images` that the edit changes and `by` may change; returns how many.

    `confirmed` is the number that was announced. A part of a large edit stays if the rest fails: repeat it.

    Raises EditOutdatedError: nothing was changed.
    """
    plan = planned_edit(images, edit, by=by)
    changing = plan.changing.count()
    if changing != confirmed:
        raise EditOutdatedError(changing)
    # What is left to do is looked for again each time: an image that was changed may no longer match.
    done, last = 0, 0
    while True:
        with transaction.atomic():
            rows = plan.changing.filter(pk__gt=last).order_by("pk").select_for_update(no_key=True, of=("self",))
            chunk = list(rows[:AT_ONCE])
            if not chunk:
                return done
            now = clock()
            _change(chunk, edit, by=by, now=now)
            _record([image.pk for image in chunk], collection.name, collection, edit, by=by, now=now)
        done, last = done + len(chunk), chunk[-1].pk


def newest_change(image_id: int) -> int:
    """Return the number of the newest change of an image; 0 before the first."""
    return AttributionChange.objects.filter(image=image_id).order_by("-pk").values_list("pk", flat=True).first() or 0


def _change(images: Sequence[Image], edit: ImageEdit, *, by: User, now: datetime) -> list[AttributionChange]:
    """Store the values of an edit and what they replace; the images are locked."""
    changes, alike = [], defaultdict[tuple[str, ...], list[int]](list)
    for image in images:
        after = edit.changes(image)
        before = {name: getattr(image, name) for name in after}
        changes.append(AttributionChange(image=image, at=now, by=by, before=before, after=after))
        alike[tuple(after)].append(image.pk)
    for names, several in alike.items():
        Image.objects.filter(pk__in=several).update(**{name: edit.values[name] for name in names})
    return AttributionChange.objects.bulk_create(changes, batch_size=500)


def _record(
    images: Sequence[int], about: str, collection: Collection, edit: ImageEdit, *, by: User, now: datetime
) -> None:
    """Record it in the audit log of every project that has some of the images."""
    entries = CollectionImage.objects.filter(image__in=images, collection__project__isnull=False).order_by()
    counts = entries.values_list("collection__project").annotate(images=Count("image", distinct=True))
    projects = Project.objects.in_bulk([pk for pk, _images in counts])
    details = {"fields": ", ".join(edit.values)}
    for pk, number in sorted(counts):
        # Another project learns of its images, not of whose collection they were found in.
        where = about if pk == collection.project_id else f"images: {number}"
        audit_log.record(
            project=projects[pk],
            action="images.edited",
            about=where,
            by=by,
            now=now,
            details={**details, "images": number},
        )
