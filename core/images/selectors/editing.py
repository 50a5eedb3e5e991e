"""What an edit of titles, authors or licences would change, and what it may not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from core.images.models import Image
from core.images.permissions import is_of_others
from core.people.models import User

BELONGS_TO = {"licence_url": "licence"}
"""Fields that say nothing by themselves: one is only filled in together with the other."""


@dataclass(frozen=True)
class ImageEdit:
    """New values by field. With `only_blank`, stored values are kept and only missing ones filled in."""

    values: Mapping[str, str]
    only_blank: bool = False

    def changes(self, image: Image) -> dict[str, str]:
        """Return the values that are new to `image`."""
        return {
            name: value
            for name, value in self.values.items()
            if getattr(image, name) != value
            and not (self.only_blank and any(getattr(image, one) for one in _blank_with(name)))
        }


@dataclass(frozen=True)
class PlannedEdit:
    """`changing`: images that the edit changes. `refused`: those that it would change but `by` may not.

    The rest has these values already or, if only blank ones are filled in, others.
    """

    images: QuerySet[Image]
    changing: QuerySet[Image]
    refused: QuerySet[Image]

    def counts(self) -> EditCounts:
        chosen, changing, refused = (rows.count() for rows in (self.images, self.changing, self.refused))
        return EditCounts(chosen, changing, refused)


@dataclass(frozen=True)
class EditCounts:
    chosen: int
    changing: int
    refused: int

    @property
    def unchanged(self) -> int:
        return self.chosen - self.changing - self.refused


def planned_edit(images: QuerySet[Image], edit: ImageEdit, *, by: User) -> PlannedEdit:
    images = images.order_by()
    differs, replaces = Q(pk__in=[]), Q(pk__in=[])
    for name, value in edit.values.items():
        is_other = ~Q(**{name: value})
        if edit.only_blank:
            differs |= is_other & Q(**dict.fromkeys(_blank_with(name), ""))
        else:
            differs |= is_other
            replaces |= is_other & ~Q(**{name: ""})
    refused = images.filter(replaces, is_of_others(by))
    return PlannedEdit(images, images.filter(differs).exclude(replaces & Q(is_of_others(by))), refused)


def _blank_with(name: str) -> tuple[str, ...]:
    return (name, BELONGS_TO[name]) if name in BELONGS_TO else (name,)
