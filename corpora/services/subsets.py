"""Named subsets of a project's images: from keys, from a random sample, or from an image filter."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import models, transaction
from django.utils.translation import gettext as _

from corpora.models import Subset
from corpora.rules.image_filters import AREAS, ImageFilter, Kind, Term
from corpora.selectors.subsets import check, images_matching
from images.models import Collection, CollectionImage
from images.permissions import collections_in
from people.models import Project, User
from people.services import audit_log

SLUG = re.compile(r"[-a-z0-9_]{1,80}")
SHOWN = 10
AT_ONCE = 500


class SubsetError(Exception):
    """`problems` are all reasons, each with what to do."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


def make_subset(
    *, project: Project, slug: str, name: str, images: Iterable[int], by: User | None, now: datetime
) -> Subset:
    """Store a subset of `images`, by their primary keys.

    Raises
    ------
    SubsetError
        If the slug is wrong or taken, or there are no images.
    """
    pks, name = sorted(set(images)), " ".join(name.split()) or slug
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
        made = Subset.objects.create(project=project, slug=slug, name=name[:120], created_at=now, created_by=by)
        made.images.add(*pks)
        audit_log.record(
            project=project, action="subset.made", about=slug, by=by, now=now, details={"images": len(pks)}
        )
    return made


def delete_subset(*, subset: Subset, by: User | None, now: datetime) -> None:
    """Delete a subset; its images stay."""
    with transaction.atomic():
        audit_log.lock(subset.project, by)
        audit_log.record(project=subset.project, action="subset.deleted", about=subset.slug, by=by, now=now)
        subset.delete()


def images_of_keys(project: Project, keys: Iterable[str], *, collection: Collection | None = None) -> list[int]:
    """Return the images that `keys` name, a key a line; empty lines are skipped.

    Raises
    ------
    SubsetError
        With the lines whose key is unknown, given twice, or of several images.
    """
    lines: dict[str, int] = {}
    problems: dict[int, str] = {}
    for number, line in enumerate(keys, start=1):
        key = line.strip()
        if key in lines:
            about = {"line": number, "key": key, "first": lines[key]}
            problems[number] = _("Line %(line)d: %(key)s is in line %(first)d, too.") % about
        elif key:
            lines[key] = number
    found: dict[str, set[int]] = defaultdict(set)
    entries, wanted = _entries(project, collection), list(lines)
    for start in range(0, len(wanted), AT_ONCE):
        for key, image in entries.filter(key__in=wanted[start : start + AT_ONCE]).values_list("key", "image"):
            found[key].add(image)
    for key, number in lines.items():
        if not found[key]:
            problems[number] = _("Line %(line)d: there is no image %(key)s.") % {"line": number, "key": key}
        elif len(found[key]) > 1:
            said = _("Line %(line)d: several images have the key %(key)s. Choose a collection.")
            problems[number] = said % {"line": number, "key": key}
    if problems:
        raise SubsetError(_first_of([problems[number] for number in sorted(problems)]))
    return [next(iter(found[key])) for key in wanted]


def images_of_filter(
    project: Project,
    images: ImageFilter,
    *,
    collection: Collection | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> list[int]:
    """Return the project's images that match; of these, `sample` at random.

    The seed and the keys alone decide which images are drawn.

    Raises
    ------
    SubsetError
        If a term depends on the language, or there are fewer images than asked for.
    ImageFilterError
        If the filter cannot be applied.
    """
    for term in images.terms:
        if term.kind in AREAS or term == Term(Kind.CHOSEN):
            said = _("“%(term)s” is another set of images for each language. Use chosen:TAG or in:CODE for a subset.")
            raise SubsetError([said % {"term": term}])
    entries = _entries(project, collection).order_by()
    if not check(images, project=project).is_all:
        entries = entries.filter(image__in=images_matching(images, project=project))
    keys: dict[int, str] = {}
    for image, key in entries.values_list("image", "key").iterator():
        keys[image] = min(keys.get(image, key), key)
    if sample is None:
        return list(keys)
    if not 1 <= sample <= len(keys):
        said = _("There are %(there)d images to draw from, not %(sample)d.")
        raise SubsetError([said % {"there": len(keys), "sample": sample}])
    return sorted(keys, key=lambda image: (random.Random(f"{seed}:{keys[image]}").random(), keys[image]))[:sample]


def _first_of(problems: list[str]) -> list[str]:
    if len(problems) <= SHOWN:
        return problems
    return [*problems[:SHOWN], _("And %(number)d more.") % {"number": len(problems) - SHOWN}]


def _entries(project: Project, collection: Collection | None) -> models.QuerySet[CollectionImage]:
    within = [collection] if collection else list(collections_in(project))
    return CollectionImage.objects.filter(collection__in=within)
