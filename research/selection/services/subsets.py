"""Named subsets of a project's images: from keys, from a random sample, or from an image filter."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import models, transaction
from django.utils.translation import gettext as _

from core.images.models import Collection, CollectionImage
from core.images.permissions import collections_in
from core.images.selectors.filters import images_named
from core.people.models import Project, User
from core.people.services import audit_log
from crosslens_metrics.formats.names import readable_name
from research.selection.models import Subset
from research.selection.rules.image_filters import ALL_IMAGES, AREAS, FilterKind, FilterTerm, ImageFilter
from research.selection.selectors.subsets import check, images_matching, newest_choices
from research.selection.selectors.usage import uses_of_subset

SLUG = re.compile(r"[-a-z0-9_]{1,80}")
SHOWN = 10
KEY_SHOWN = 200
AT_ONCE = 500
MAX_SEED = 2**53 - 1


class SubsetError(Exception):
    """`problems` are all reasons, each with what to do."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


@dataclass(frozen=True)
class SubsetRequest:
    """Which images a subset is to have: those of `keys`, or those that `images` leaves, and of these maybe a sample.

    `keys` has one a line; `sample` images are drawn in all, or with `per_language` for each language that images were
    chosen for.
    """

    keys: Sequence[str] | None = None
    images: ImageFilter = ALL_IMAGES
    collection: Collection | None = None
    sample: int | None = None
    per_language: bool = False
    seed: int = 0


def make_subset(
    *,
    project: Project,
    slug: str,
    name: str,
    images: Iterable[int],
    description: str = "",
    by: User | None,
    now: datetime,
) -> Subset:
    """Store a subset of `images`, by their primary keys.

    Raises SubsetError if the slug is wrong or taken, or there are no images.
    """
    pks, name = sorted(set(images)), readable_name(name) or slug
    with transaction.atomic():
        audit_log.lock(project, by)
        problems = []
        if not SLUG.fullmatch(slug):
            problems.append(_("The short name “%(slug)s” is not letters a–z, digits and hyphens.") % {"slug": slug})
        elif project.subsets.filter(slug=slug).exists():
            problems.append(_("This project has a subset “%(slug)s” already.") % {"slug": slug})
        if not pks:
            problems.append(_("No image is in this subset."))
        if problems:
            raise SubsetError(problems)
        about = {"name": name[:120], "description": description, "created_at": now, "created_by": by}
        made = Subset.objects.create(project=project, slug=slug, **about)
        made.images.add(*pks)
        audit_log.record(
            project=project, action="subset.made", about=slug, by=by, now=now, details={"images": len(pks)}
        )
    return made


def rename_subset(*, subset: Subset, name: str, description: str, by: User | None, now: datetime) -> Subset:
    """Change the name and the description of a subset; filters name it by its slug, which stays.

    Raises SubsetError if there is no name.
    """
    after = {"name": readable_name(name)[:120], "description": description}
    if not after["name"]:
        raise SubsetError([_("Enter a name.")])
    with transaction.atomic():
        audit_log.lock(subset.project, by)
        subset.refresh_from_db()
        before = {field: getattr(subset, field) for field in after}
        if before != after:
            subset.name, subset.description = after["name"], after["description"]
            subset.save(update_fields=list(after))
            changes = {"before": before, "after": after}
            audit_log.record(
                project=subset.project, action="subset.renamed", about=subset.slug, by=by, now=now, details=changes
            )
    return subset


def delete_subset(*, subset: Subset, by: User | None, now: datetime) -> None:
    """Delete a subset that nothing uses; its images stay.

    Raises SubsetError with what uses it.
    """
    with transaction.atomic():
        # What begins to use a subset takes the same lock before it looks for it.
        audit_log.lock(subset.project, by)
        if uses := uses_of_subset(subset):
            said = _("“%(slug)s” cannot be deleted, because it is used by: %(uses)s.")
            raise SubsetError([said % {"slug": subset.slug, "uses": ", ".join(_first_of([use.title for use in uses]))}])
        audit_log.record(project=subset.project, action="subset.deleted", about=subset.slug, by=by, now=now)
        subset.delete()


def images_wanted(project: Project, wanted: SubsetRequest) -> list[int]:
    """Return the images that `wanted` describes.

    Raises SubsetError if it does not describe images in one way, or they are not there; with all reasons. Raises
    ImageFilterError if the filter cannot be applied.
    """
    by_filter = not wanted.images.is_all or wanted.sample is not None
    if wanted.keys is not None and by_filter:
        raise SubsetError([_("Give keys, or a filter and a sample, not both.")])
    if wanted.keys is not None:
        return _images_of_keys(project, wanted.keys, wanted.collection)
    if not by_filter:
        raise SubsetError([_("Say which images: give keys, a filter or the size of a sample.")])
    if wanted.per_language and wanted.sample is None:
        raise SubsetError([_("Say how many images to draw for each language.")])
    return _images_of_filter(project, wanted)


def _images_of_keys(project: Project, keys: Iterable[str], collection: Collection | None) -> list[int]:
    """Find the images of all lines; those whose key is unknown, given twice, or of several images are refused."""
    lines: dict[str, int] = {}
    problems: dict[int, str] = {}
    for number, line in enumerate(keys, start=1):
        key = line.strip()
        if key in lines:
            problems[number] = _twice(number, key, lines[key])
        elif key:
            lines[key] = number
    found = _images_called(project, collection, lines)
    line_of: dict[int, int] = {}
    for key, number in lines.items():
        about = {"line": number, "key": key[:KEY_SHOWN]}
        if not found[key]:
            problems[number] = _("Line %(line)d: there is no image %(key)s.") % about
        elif len(found[key]) > 1:
            said = _("Line %(line)d: several images have the key %(key)s. Choose a collection.")
            problems[number] = said % about
        elif (first := line_of.setdefault(min(found[key]), number)) != number:
            problems[number] = _twice(number, key, first)
    if problems:
        raise SubsetError(_first_of([problems[number] for number in sorted(problems)]))
    return list(line_of)


def _twice(number: int, key: str, first: int) -> str:
    about = {"line": number, "key": key[:KEY_SHOWN], "first": first}
    return _("Line %(line)d: %(key)s is in line %(first)d, too.") % about


def _images_called(project: Project, collection: Collection | None, keys: Iterable[str]) -> dict[str, set[int]]:
    """The images that each key means: by its spelling, which is quick, else by any other name."""
    found: dict[str, set[int]] = defaultdict(set)
    # PostgreSQL cannot even be asked for a key with a NUL in it.
    entries, wanted = _entries(project, collection), [key for key in keys if "\0" not in key]
    for start in range(0, len(wanted), AT_ONCE):
        for key, image in entries.filter(key__in=wanted[start : start + AT_ONCE]).values_list("key", "image"):
            found[key].add(image)
    others = [key for key in wanted if key not in found]
    for key, named in images_named(others, collection, among=collections_in(project)).items():
        found[key] = {image.pk for image in named.images}
    return found


def _images_of_filter(project: Project, wanted: SubsetRequest) -> list[int]:
    """Return the project's images that match, or a sample of them: the seed and the keys alone decide which."""
    images, sample = wanted.images, wanted.sample
    for term in images.terms:
        if term.kind in AREAS or term == FilterTerm(FilterKind.CHOSEN):
            said = _("“%(term)s” is another set of images for each language. Use chosen:TAG or in:CODE for a subset.")
            raise SubsetError([said % {"term": term}])
    entries = _entries(project, wanted.collection).order_by()
    if not check(images, project=project).is_all:
        entries = entries.filter(image__in=images_matching(images, project=project))
    keys: dict[int, str] = {}
    for image, key in entries.values_list("image", "key").iterator():
        keys[image] = min(keys.get(image, key), key)
    if sample is None:
        return list(keys)
    if wanted.per_language:
        return _drawn_per_language(project, keys, collection=wanted.collection, sample=sample, seed=wanted.seed)
    if not 1 <= sample <= len(keys):
        said = _("There are %(there)d images to draw from, not %(sample)d.")
        raise SubsetError([said % {"there": len(keys), "sample": sample}])
    return _drawn(keys, sample, wanted.seed)


def _drawn_per_language(
    project: Project, keys: Mapping[int, str], *, collection: Collection | None, sample: int, seed: int
) -> list[int]:
    """Draw from the images chosen for each language, by the newest confirmed selection of each image."""
    chosen = newest_choices(project)
    if collection is not None:
        chosen = chosen.filter(image__in=CollectionImage.objects.filter(collection=collection).values("image"))
    pools: dict[str, dict[int, str]] = defaultdict(dict)
    for tag, image in chosen.values_list("language", "image").iterator():
        pools[tag] |= {image: keys[image]} if image in keys else {}
    if not pools:
        raise SubsetError([_("No image has been chosen for a language yet. Confirm a selection first.")])
    said = _("There are %(there)d images chosen for %(tag)s to draw from, not %(sample)d.")
    problems = [
        said % {"there": len(pool), "tag": tag, "sample": sample}
        for tag, pool in sorted(pools.items())
        if not 1 <= sample <= len(pool)
    ]
    if problems:
        raise SubsetError(_first_of(problems))
    return [image for tag in sorted(pools) for image in _drawn(pools[tag], sample, seed)]


def _drawn(keys: Mapping[int, str], sample: int, seed: int) -> list[int]:
    return sorted(keys, key=lambda image: (random.Random(f"{seed}:{keys[image]}").random(), keys[image]))[:sample]


def _first_of(problems: list[str]) -> list[str]:
    if len(problems) <= SHOWN:
        return problems
    return [*problems[:SHOWN], _("And %(number)d more.") % {"number": len(problems) - SHOWN}]


def _entries(project: Project, collection: Collection | None) -> models.QuerySet[CollectionImage]:
    within = [collection] if collection else list(collections_in(project))
    return CollectionImage.objects.filter(collection__in=within)
