"""Store reference captions of a set, and update its digest in the same transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from django.db import transaction
from django.db.models import ProtectedError
from django.utils.translation import gettext as _

from core.images.models import Collection, Image, ImportJob
from core.jobs.services.insertions import insert_rows
from core.languages.models import Language
from core.people.models import Project, User
from research.scoring.models import ImportedReferences, Reference, ReferenceKind, ReferenceSet
from research.scoring.rules.digests import as_digest, as_total, image_digest

MAX_NAME_CHARACTERS = 120


class ReferenceFileError(Exception):
    """The file or set is refused; the message says why, and what to do."""


class CaptionChange(StrEnum):
    """The change to an image's captions."""

    ADDED = "added"
    REPLACED = "replaced"
    SAME = "same"
    REMOVED = "removed"


def set_of(
    *,
    project: Project,
    collection: Collection,
    language: Language,
    name: str,
    kind: ReferenceKind = ReferenceKind.IMPORTED,
    source: str = "",
    origin: str = "",
    by: User | None,
    now: datetime,
) -> ReferenceSet:
    """Get or create the set of this name. An existing one is not changed.

    Raises ReferenceFileError where the name is another set's.
    """
    reference_set, _is_new = ReferenceSet.objects.get_or_create(
        project=project,
        language=language,
        name=name,
        defaults={
            "collection": collection,
            "kind": kind,
            "source": source,
            "origin": origin,
            "changed_at": now,
            "created_by": by,
        },
    )
    values = {"name": name, "language": language.tag}
    if reference_set.collection_id != collection.pk:
        message = _(
            "The references “%(name)s” (%(language)s) belong to another collection, %(collection)s. Choose "
            "another name."
        )
        raise ReferenceFileError(message % {**values, "collection": reference_set.collection.name})
    if reference_set.origin != origin:
        message = _(
            "The references “%(name)s” (%(language)s) come from another source, and the two would get mixed "
            "up. Choose another name."
        )
        raise ReferenceFileError(message % values)
    return reference_set


def without_references(
    *, project: Project, collection: Collection, language: Language, by: User | None, now: datetime
) -> ReferenceSet:
    """Get or create what stands for the images of a collection, for metrics that need no references in the language.

    Raises ReferenceFileError where its name is another set's.
    """
    made = set_of(
        project=project,
        collection=collection,
        language=language,
        name=(_("Images of %(collection)s") % {"collection": collection.name})[:MAX_NAME_CHARACTERS],
        kind=ReferenceKind.NONE,
        origin=f"images {collection.pk} {language.pk}",
        by=by,
        now=now,
    )
    made.images = collection.entries.count()
    made.save(update_fields=["images"])
    return made


def put_references(
    *,
    reference_set: ReferenceSet,
    captions: Mapping[int, Sequence[str]],
    job: ImportJob | None = None,
    now: datetime,
) -> dict[int, CaptionChange]:
    """Replace the captions of images, by primary key; an image without captions leaves the set.

    Other images of the set keep theirs. What the import `job` replaces is kept, so that it can be undone. Digest and
    counts of the set are in the same transaction.
    """
    with transaction.atomic():
        locked = ReferenceSet.objects.select_for_update(no_key=True).get(pk=reference_set.pk)
        stored = Reference.objects.filter(reference_set=locked, image__in=list(captions)).texts_by_image()
        changes = {image: _change(stored.get(image, []), list(texts)) for image, texts in captions.items()}
        changed = [image for image, change in changes.items() if change != CaptionChange.SAME]
        if not changed:
            return changes
        if job is not None:
            ImportedReferences.objects.bulk_create(
                ImportedReferences(job=job, reference_set=locked, image_id=image, before=stored.get(image, []))
                for image in changed
            )
        Reference.objects.filter(reference_set=locked, image__in=changed).delete()
        rows = [
            (locked.pk, image, position, text)
            for image in changed
            for position, text in enumerate(captions[image], start=1)
        ]
        insert_rows(Reference, ("reference_set_id", "image_id", "position", "text"), rows)
        images = dict(Image.objects.filter(pk__in=changed).values_list("pk", "sha256"))
        total = as_total(locked.digest)
        for image in changed:
            before, after = stored.get(image, []), captions[image]
            total += image_digest(images[image], after) - image_digest(images[image], before)
            locked.captions += len(after) - len(before)
            locked.images += bool(after) - bool(before)
        locked.digest, locked.changed_at = as_digest(total), now
        locked.save(update_fields=["digest", "changed_at", "images", "captions"])
        return changes


def set_evaluation(*, reference_set: ReferenceSet, is_evaluation: bool) -> None:
    """Say whether models are evaluated on its images, so that none may be trained on them."""
    ReferenceSet.objects.filter(pk=reference_set.pk).update(is_evaluation=is_evaluation)


def drop_references(*, reference_set: ReferenceSet) -> None:
    """Delete a set that nothing was scored against.

    Raises ReferenceFileError where scores stand on it.
    """
    try:
        with transaction.atomic():
            # No caption is put in while they are looked for, or it would stay behind.
            for locked in ReferenceSet.objects.select_for_update().filter(pk=reference_set.pk):
                locked.delete()
    except ProtectedError as error:
        raise ReferenceFileError(_("Models are scored against these references. Remove those scores first.")) from error


def _change(before: list[str], after: list[str]) -> CaptionChange:
    if before == after:
        return CaptionChange.SAME
    if not after:
        return CaptionChange.REMOVED
    return CaptionChange.REPLACED if before else CaptionChange.ADDED
