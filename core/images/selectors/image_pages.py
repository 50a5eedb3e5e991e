"""What a manager or researcher sees on the page of one image, with the parts that the apps above register."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.images.models import AttributionChange, CollectionImage, Image, ImportRow
from core.images.permissions import collections_for, imports_for, is_of_others, may_change
from core.images.rules.attributions import LABELS
from core.images.selectors import served_image
from core.people.models import User
from core.people.selectors.audit_log import name_of


@dataclass(frozen=True)
class PageSection:
    """A part of the page: a template and what it needs."""

    template: str
    context: Mapping[str, Any]


_sections: dict[str, Callable[[CollectionImage, User], PageSection | None]] = {}


def register(name: str, section: Callable[[CollectionImage, User], PageSection | None]) -> None:
    """Register a part of the page, which may have nothing to show; call it when the app is ready."""
    _sections[name] = section


def image_page(entry: CollectionImage, viewer: User) -> dict[str, Any]:
    """Return what the page shows besides the image's row.

    `added_by` is the import that brought the image into this collection, if its viewer may see it, and so is the `job`
    that filled in a change.
    """
    image = entry.image
    rows = ImportRow.objects.filter(image=image, job__collection=entry.collection_id).select_related("job")
    first = rows.order_by("pk").first()
    # Only those who manage the collection see who changed it, as everything else of its people.
    stored = AttributionChange.objects.filter(image=image).select_related("by").order_by("-pk")
    changes = list(stored) if may_change(viewer, entry.collection) else []
    jobs = imports_for(viewer).in_bulk(
        [pk for pk in (first and first.job_id, *(change.job_id for change in changes)) if pk]
    )
    sections = (section(entry, viewer) for section in _sections.values())
    return {
        "served": served_image(image, viewer),
        "collections": collections_for(viewer).filter(images=image).exclude(pk=entry.collection_id),
        "added_at": first.job.created_at if first else image.created_at,
        "added_by": jobs.get(first.job_id) if first else None,
        "changes": [
            {
                "at": change.at,
                "by": name_of(change.by),
                "job": jobs.get(change.job_id or 0),
                "values": [
                    (LABELS.get(name, name), _text(before), _text(change.after[name]))
                    for name, before in change.before.items()
                ],
            }
            for change in changes
        ],
        "newest_change": changes[0].pk if changes else 0,
        "is_of_others": Image.objects.filter(is_of_others(viewer), pk=image.pk).exists(),
        "sections": [section for section in sections if section is not None],
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else ", ".join(value) if isinstance(value, dict) else str(value)
