"""What is stored about images besides their pixels: what is missing, what it was, and what an edit would change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, QuerySet
from django.utils.translation import ngettext

from core.images.models import AttributionChange, Collection, Image, ImportJob
from core.images.permissions import is_of_others
from core.images.rules.attributions import counted_values
from core.people.models import User


def lacks_licence(path: str = "") -> Q:
    """Return the condition that the image at `path` has no licence: releases refuse it."""
    return Q(**{f"{path}licence": ""})


def lacks_author(path: str = "") -> Q:
    """Return the condition that the image at `path` has no author although its licence requires naming one."""
    waived = Q(**{f"{path}licence__istartswith": "cc0"}) | Q(**{f"{path}licence__icontains": "public domain"})
    return Q(**{f"{path}author": ""}) & ~lacks_licence(path) & ~waived


@dataclass(frozen=True)
class MissingAttributions:
    """Numbers of images that releases will refuse, and why."""

    licences: int
    authors: int

    @property
    def about_licences(self) -> str:
        return ngettext(
            "%(number)d image has no licence: releases will refuse it.",
            "%(number)d images have no licence: releases will refuse them.",
            self.licences,
        ) % {"number": self.licences}

    @property
    def about_authors(self) -> str:
        return ngettext(
            "%(number)d image has no author, but its licence requires one: releases will refuse it.",
            "%(number)d images have no author, but their licences require one: releases will refuse them.",
            self.authors,
        ) % {"number": self.authors}

    def warnings(self) -> list[str]:
        return [*([self.about_licences] if self.licences else []), *([self.about_authors] if self.authors else [])]


NOTHING = MissingAttributions(0, 0)


def missing_in(collection: Collection) -> MissingAttributions:
    entries = collection.entries.order_by()
    return MissingAttributions(
        licences=entries.filter(lacks_licence("image__")).count(),
        authors=entries.filter(lacks_author("image__")).count(),
    )


def missing_from(job: ImportJob) -> MissingAttributions:
    """Count the images of an import that still lack a licence or an author, each once."""
    rows = job.rows.order_by()
    one = Count("image", distinct=True)
    return MissingAttributions(
        licences=rows.filter(lacks_licence("image__")).aggregate(images=one)["images"],
        authors=rows.filter(lacks_author("image__")).aggregate(images=one)["images"],
    )


def filled_in(combinations: Iterable[tuple[str, int]]) -> list[str]:
    """Say how many blank values an import filled in, such as “12 licences”, from names of fields and their rows."""
    totals: dict[str, int] = {}
    for names, rows in combinations:
        for name in names.split():
            totals[name] = totals.get(name, 0) + rows
    return [counted_values(name, number) for name, number in sorted(totals.items(), key=lambda one: -one[1])]


def as_of(images: Mapping[int, Image], at: datetime) -> None:
    """Put back into `images`, by primary key, what was stored about them at that time. They are not saved."""
    later = AttributionChange.objects.filter(image__in=list(images), at__gt=at).order_by("-at", "-pk")
    for change in later:
        for name, value in change.before.items():
            setattr(images[change.image_id], name, value)


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

    def counts(self) -> dict[str, int]:
        chosen, changing, refused = (rows.count() for rows in (self.images, self.changing, self.refused))
        return {"changing": changing, "refused": refused, "unchanged": chosen - changing - refused}


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
