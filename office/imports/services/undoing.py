"""Undo an import as a whole, as long as nothing was made with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, OuterRef, ProtectedError, Q, QuerySet
from django.utils.translation import gettext as _

from annotation.models import Round
from annotation.services.caption_imports import ROUNDS, made_with_rounds, remove_rounds
from core.images.models import AttributionChange, Collection, CollectionImage, Image, ImportJob, ImportKind, ImportStage
from core.jobs.models import JobState
from core.jobs.services import leases
from core.people.models import User
from core.people.services import audit_log
from gapgame.models import GapItem, ItemImage, ItemSet
from gapgame.services.item_imports import made_with_items
from gapgame.services.items import remove_if_empty
from office.dashboard.selectors.project_contents import uses_of_images
from office.imports.permissions import check_may_undo
from research.inference.models import CaptioningModel, EmbeddingSet, ModelCaption, RunState, Training
from research.inference.selectors.models import forget_counts
from research.scoring.models import ImportedReferences, ReferenceSet, ReferenceTranslation, Scoring
from research.scoring.services.references import put_references
from research.selection.models import CandidateList, Selection
from research.selection.services.candidates import LIST, delete_list
from sxs_eval.models import Comparison
from sxs_eval.services.judgement_imports import COMPARISONS, remove_comparisons

AT_ONCE = 2000
OVER = (JobState.DONE, JobState.FAILED)


class UndoRefusedError(Exception):
    """The import cannot be undone; the message says what was made with it."""


def brought() -> QuerySet[ImportJob]:
    """Find imports of files that are over and were not undone, also those of which an undo was refused."""
    is_over = Q(stage=ImportStage.IMPORT, state__in=OVER) | Q(stage=ImportStage.UNDO, state=JobState.FAILED)
    return ImportJob.objects.filter(is_over, kind=ImportKind.FILES)


def ask_to_undo(*, job: ImportJob, by: User, now: datetime) -> None:
    """Queue the undoing of an import that is over.

    Raises UndoRefusedError, and ManagersOnlyError if `by` may not import what it brought.
    """
    check_may_undo(by, job)
    _check(job, now=now)
    with transaction.atomic():
        again = {"state": JobState.QUEUED, "attempts": 0, "lease_until": None, "error": ""}
        if not brought().filter(pk=job.pk).update(stage=ImportStage.UNDO, **again):
            raise UndoRefusedError(_("This import is not finished, or is being undone already."))
        if job.project is not None:
            audit_log.record(project=job.project, action="import.undone", about=job.source_name, by=by, now=now)


def undo(job: ImportJob, *, now: datetime) -> None:
    """Do what was asked for; it fails where something was made with the import meanwhile, which then stays."""
    try:
        with transaction.atomic():
            _take_out(job, now=now)
            if not leases.finish_row(job, now=now):
                raise leases.LeaseLostError(job.pk)
    except UndoRefusedError as refusal:
        leases.finish_row(job, now=now, error=str(refusal))


def undo_at_once(job: ImportJob, *, now: datetime) -> None:
    """Undo an import from a command.

    Raises UndoRefusedError.
    """
    with transaction.atomic():
        if not brought().filter(pk=job.pk).update(stage=ImportStage.UNDO, state=JobState.DONE, error=""):
            raise UndoRefusedError(_("This import is not finished, or is being undone already."))
        _take_out(job, now=now)


def _take_out(job: ImportJob, *, now: datetime) -> None:
    """Take out all that the import brought, or nothing."""
    try:
        with transaction.atomic():
            _lock(job)
            _check(job, now=now)
            remove_comparisons(_compared(job))
            _undo_captions(job)
            _undo_references(job, now=now)
            remove_rounds(_rounds(job))
            _undo_items(job)
            for one in _lists(job):
                delete_list(candidates=one, by=job.created_by, now=now)
            _undo_images(job, now=now)
            if connection.vendor == "postgresql":
                # Otherwise only the commit would tell that somebody built on it meanwhile.
                connection.check_constraints()
    except (ProtectedError, IntegrityError) as error:
        raise _refusal(_("work with its captions")) from error


def _refusal(what: str) -> UndoRefusedError:
    reason = _("The import cannot be undone, because something was made with it: %(what)s. Remove that first.")
    return UndoRefusedError(reason % {"what": what})


def _parts(job: ImportJob) -> list[int]:
    return list(job.parts.values_list("pk", flat=True))


def _captions(job: ImportJob) -> QuerySet[ModelCaption]:
    return ModelCaption.objects.filter(import_job__in=_parts(job))


def _changes(job: ImportJob) -> QuerySet[ImportedReferences]:
    return ImportedReferences.objects.filter(job__in=_parts(job))


def _rounds(job: ImportJob) -> QuerySet[Round]:
    parts = job.parts.filter(kind=ImportKind.PEOPLE)
    return Round.objects.filter(pk__in=[pk for part in parts for pk in part.options.get(ROUNDS, [])])


def _items(job: ImportJob) -> QuerySet[GapItem]:
    return GapItem.objects.filter(import_job__in=_parts(job))


def _lists(job: ImportJob) -> QuerySet[CandidateList]:
    parts = job.parts.filter(kind=ImportKind.CANDIDATES)
    return CandidateList.objects.filter(pk__in=[part.options.get(LIST) for part in parts])


def _compared(job: ImportJob) -> list[int]:
    parts = job.parts.filter(kind=ImportKind.JUDGEMENTS)
    return [pk for part in parts for pk in part.options.get(COMPARISONS, [])]


def _lock(job: ImportJob) -> None:
    """Whatever refers to these from now on waits until the import is undone, and then finds nothing."""
    models, sets = _captions(job).values("model"), _changes(job).values("reference_set")
    collections = job.parts.filter(kind=ImportKind.IMAGES).values("collection")
    for rows in (
        Collection.objects.filter(pk__in=collections),
        CaptioningModel.objects.filter(pk__in=models),
        ReferenceSet.objects.filter(pk__in=sets),
        _rounds(job),
        ItemSet.objects.filter(pk__in=_items(job).values("item_set")),
        _lists(job),
        Comparison.objects.filter(pk__in=_compared(job)),
    ):
        list(rows.order_by("pk").select_for_update(of=("self",)).values_list("pk", flat=True))


def _check(job: ImportJob, *, now: datetime) -> None:
    for what, rows in (
        *_made_with_captions(job),
        *_made_with_references(job),
        *made_with_rounds(_rounds(job)),
        *made_with_items(_items(job), now=now),
        (_("selections"), Selection.objects.filter(candidates__in=_lists(job))),
    ):
        if rows.exists():
            raise _refusal(what)


def _made_with_captions(job: ImportJob) -> Iterator[tuple[str, QuerySet[Any]]]:
    for model, tag in _captions(job).order_by().values_list("model", "language").distinct():
        yield _("scores"), Scoring.objects.filter(model=model, references__language=tag)
        of_model = Comparison.objects.filter(Q(base=model) | Q(test=model), language=tag)
        yield _("comparisons"), of_model.exclude(pk__in=_compared(job))
        yield _("embeddings"), EmbeddingSet.objects.filter(captions_of=model, language=tag)
        yield _("rounds"), Round.objects.filter(captioners=model) if tag == "en" else Round.objects.none()


def _made_with_references(job: ImportJob) -> Iterator[tuple[str, QuerySet[Any]]]:
    sets = list(_changes(job).order_by().values_list("reference_set", flat=True).distinct())
    yield _("scores"), Scoring.objects.filter(Q(references__in=sets) | Q(english__in=sets))
    yield (
        _("translations of references"),
        ReferenceTranslation.objects.filter(Q(english__in=sets) | Q(mixed_with__in=sets) | Q(made__in=sets)),
    )
    yield _("trainings"), _trained_on(sets, since=job.created_at)
    later = ImportedReferences.objects.exclude(job__in=_parts(job)).filter(
        reference_set=OuterRef("reference_set"), image=OuterRef("image"), pk__gt=OuterRef("pk")
    )
    yield _("a later import of the same references"), _changes(job).filter(Exists(later))


def _trained_on(sets: Sequence[int], *, since: datetime) -> QuerySet[Training]:
    """Find trainings that took their captions from references since then, but those without a model in the end.

    They keep a copy of the captions, and name the references without a foreign key.
    """
    trainings = Training.objects.filter(created_at__gte=since).exclude(state=RunState.CANCELLED)
    named = trainings.exclude(state=RunState.DONE, model=None).values_list("pk", "sources")
    wanted = set(sets)
    found = [pk for pk, sources in named if wanted & {one.get("set") for one in sources}] if wanted else []
    return Training.objects.filter(pk__in=found)


def _undo_captions(job: ImportJob) -> None:
    captions = _captions(job)
    models = list(captions.order_by().values_list("model", flat=True).distinct())
    while some := list(captions.order_by("pk").values_list("pk", flat=True)[:AT_ONCE]):
        ModelCaption.objects.filter(pk__in=some).delete()
    forget_counts(models)
    _drop(CaptioningModel.objects.filter(pk__in=models, created_at__gte=job.created_at, captions=None))


def _undo_references(job: ImportJob, *, now: datetime) -> None:
    changes = _changes(job)
    sets = ReferenceSet.objects.filter(pk__in=changes.values("reference_set"))
    for reference_set in sets.order_by("pk"):
        # What the first part found there counts, if several replaced each other.
        before = dict(changes.filter(reference_set=reference_set).order_by("-pk").values_list("image", "before"))
        images = list(before)
        for start in range(0, len(images), AT_ONCE):
            captions = {image: before[image] for image in images[start : start + AT_ONCE]}
            put_references(reference_set=reference_set, captions=captions, now=now)
    empty = sets.filter(captions=0, created_at__gte=job.created_at).values_list("pk", flat=True)
    made = list(empty)
    changes.delete()
    _drop(ReferenceSet.objects.filter(pk__in=made))


def _undo_items(job: ImportJob) -> None:
    items = _items(job)
    sets = list(ItemSet.objects.filter(pk__in=items.values("item_set")).select_related("collection"))
    items.delete()
    for item_set in sets:
        kept = ItemImage.objects.filter(item__item_set=item_set).values("image")
        others = item_set.collection.entries.exclude(image__in=kept)
        if uses := uses_of_images(item_set.collection_id, others.values("image")):
            raise _refusal(uses[0].label)
        others.delete()
        remove_if_empty(item_set)


def _undo_images(job: ImportJob, *, now: datetime) -> None:
    for part in job.parts.filter(kind=ImportKind.IMAGES, collection__isnull=False).select_related("collection"):
        assert part.collection is not None
        added = part.rows.filter(added__gt=0, image__isnull=False).values("image")
        if uses := uses_of_images(part.collection.pk, added):
            raise _refusal(uses[0].label)
        if ModelCaption.objects.filter(image__in=added, created_at__gte=job.created_at).exists():
            raise _refusal(_("captions by models"))
        CollectionImage.objects.filter(collection=part.collection, image__in=added).delete()
        _empty_attributions(part, by=job.created_by, now=now)
        made = Collection.objects.filter(pk=job.options.get("made_collection"), entries=None)
        for collection in made:
            collection.imports.update(collection=None)
        _drop(made)


def _empty_attributions(part: ImportJob, *, by: User | None, now: datetime) -> None:
    """Empty what the import filled in of images that were stored before, where nobody changed it since."""
    for change in AttributionChange.objects.filter(job=part).order_by("-pk"):
        if Image.objects.filter(pk=change.image_id, **change.after).update(**change.before):
            AttributionChange.objects.create(
                image_id=change.image_id, at=now, by=by, before=change.after, after=change.before
            )


def _drop(rows: QuerySet[Any]) -> None:
    """Delete what is empty now, and leave what something else refers to."""
    for row in rows:
        try:
            with transaction.atomic():
                row.delete()
        except ProtectedError:
            continue
