"""Start runs and trials on one image: check them, ascribe their captions, try failures again, delete old trials."""

from __future__ import annotations

from collections.abc import Collection as Some
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef
from django.utils.translation import gettext as _

from core.images.models import Collection, Image
from core.jobs.models import JobState
from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from core.people.models import Project, User
from core.people.services.ownership import change_owner, check_parts, is_name_taken
from research.inference.backends import registry
from research.inference.backends.captioners import BackendSettingsError, Decoding
from research.inference.backends.encoders import EncoderSettingsError, EncoderSubject
from research.inference.models import (
    IMPORTED,
    TRANSLATED,
    UNFINISHED_STATES,
    CaptioningModel,
    Chunk,
    EmbeddingSet,
    Encoder,
    ModelCaption,
    Run,
    RunFailure,
    RunState,
)
from research.inference.permissions import runs_for
from research.inference.rules.runs import chunks_of, unpack_ids, variant_name
from research.inference.selectors.models import with_decoding
from research.inference.services import chunks, model_cache, worker_status
from research.inference.services.routing import needs_of
from research.inference.services.steering import WorkRefusedError, check_not_retired, log_event

NOTIFIED_AT_ONCE = 200
"""The most runs that one sweep announces: with thousands, it would last until the next sweep."""
TRIALS_DELETED_AFTER = timedelta(days=1)
MAX_OPEN_TRIALS = 20
"""Trials of one person that are not over."""


def start(
    *,
    model: CaptioningModel,
    collection: Collection,
    languages: Some[Language],
    decoding: Decoding,
    name: str = "",
    project: Project | None = None,
    is_shared: bool = False,
    by: User | None,
    now: datetime,
) -> Run:
    """Start a run in which `model` captions what it has not captioned yet.

    Then call `research.inference.tasks.ask_for_run`.

    Where the model's captions were made with another decoding, the run is that of a variant, which is made where there
    is none, and named `name`, or by what differs.

    Raises WorkRefusedError.
    """
    if not model.is_pivot:
        decoding = replace(decoding, is_consistent=False)
    queue = check_runnable(model, languages, decoding)
    with transaction.atomic():
        model = _model_for(model, decoding, name=name, by=by)
        image_ids = _images_of(collection)
        tags = [language.pk for language in languages]
        _check_not_under_way(model, collection, tags, by)
        stored = _stored_counts(model, collection, tags)
        notes = _check_english(model, collection) if model.backend == TRANSLATED else []
        total, already = len(image_ids) * len(tags), sum(stored.values())
        run = create_run(
            to_do=[one for one in image_ids if stored.get(one, 0) < len(tags)],
            total=total,
            already=already,
            now=now,
            model=model,
            collection=collection,
            decoding=decoding.stored(),
            queue=queue,
            project=project,
            is_shared=is_shared,
            created_by=by,
        )
        run.languages.set(languages)
        counts = {"images": len(image_ids), "languages": len(tags), "total": total, "already": already}
        summary = _(
            "Images: %(images)s. Languages: %(languages)s. Captions: %(total)s, including %(already)s that "
            "already exist."
        )
        for message in [summary % counts, *notes]:
            log_event(run, message, now=now)
    return run


def start_embeddings(
    *,
    encoder: Encoder,
    collection: Collection,
    captions_of: CaptioningModel | None = None,
    language: Language | None = None,
    precision: str,
    project: Project | None = None,
    is_shared: bool = False,
    by: User | None,
    now: datetime,
) -> Run:
    """Start a run in which `encoder` makes a new set of vectors of a collection's images, or of a model's captions.

    Tell workers of it with `research.inference.tasks.ask_for_run`.

    Raises WorkRefusedError.
    """
    if (captions_of is None) != (language is None):
        raise WorkRefusedError(
            _("For captions, choose a model and a language. For the images themselves, choose neither.")
        )
    subject = EncoderSubject.IMAGES if captions_of is None else EncoderSubject.CAPTIONS
    try:
        backend, spec = registry.encoder_named(encoder.backend), encoder.spec
        backend.check(spec)
        if subject not in backend.subjects(spec):
            raise EncoderSettingsError(
                _("“%(name)s” cannot compute vectors of these. Choose another encoder.") % {"name": encoder.name}
            )
    except BackendSettingsError as refused:
        raise WorkRefusedError(str(refused)) from refused
    with transaction.atomic():
        image_ids = _images_of(collection)
        values = {"encoder": encoder, "collection": collection, "queue": backend.queue, "created_by": by}
        values |= {"project": project, "is_shared": is_shared}
        run = create_run(to_do=image_ids, total=len(image_ids), already=0, now=now, **values)
        EmbeddingSet.objects.create(
            encoder=encoder, run=run, captions_of=captions_of, language=language, precision=precision, created_at=now
        )
        log_event(run, _("Vectors of %(count)s images.") % {"count": len(image_ids)}, now=now)
    return run


def _images_of(collection: Collection) -> list[int]:
    image_ids = list(collection.entries.order_by("position").values_list("image_id", flat=True))
    if not image_ids:
        raise WorkRefusedError(_("The collection “%(name)s” has no images. Import some.") % {"name": collection.name})
    return image_ids


def create_run(*, to_do: Sequence[int], total: int, already: int, now: datetime, **fields: object) -> Run:
    """Create a run with its chunks; it is done at once if there is nothing to do. Call within a transaction."""
    is_done = not to_do
    values = {
        "state": RunState.DONE if is_done else RunState.QUEUED,
        "started_at": now if is_done else None,
        "finished_at": now if is_done else None,
    }
    run = Run.objects.create(total=total, already=already, created_at=now, **values, **fields)
    packed = enumerate(chunks_of(to_do), start=1)
    Chunk.objects.bulk_create(Chunk(run=run, position=position, image_ids=ids) for position, ids in packed)
    return run


def check_runnable(model: CaptioningModel, languages: Some[Language], decoding: Decoding) -> str:
    """Check that the model can run; returns the queue of the workers that can run it.

    Raises WorkRefusedError.
    """
    if model.retired_at is not None:
        raise WorkRefusedError(_("“%(name)s” is retired. Restore it first.") % {"name": model.name})
    if model.backend == IMPORTED:
        raise WorkRefusedError(
            _("The captions of “%(name)s” come from files, so there is nothing to run.") % {"name": model.name}
        )
    if not languages:
        raise WorkRefusedError(_("Choose a language."))
    try:
        backend, codes = model_cache.backend_of(model.runner), model_cache.languages_of(model)
        backend.check(model.runner.spec)
        registry.check_decoding(backend, model.runner.spec, decoding)
    except BackendSettingsError as refused:
        raise WorkRefusedError(str(refused)) from refused
    if unknown := [language.name for language in languages if language.pk not in codes]:
        raise WorkRefusedError(
            _("“%(name)s” has no code for %(languages)s, so it cannot write captions in them.")
            % {"name": model.name, "languages": ", ".join(sorted(unknown))}
        )
    return backend.queue


def _model_for(model: CaptioningModel, decoding: Decoding, *, name: str, by: User | None) -> CaptioningModel:
    """Return the author of the captions: the model, or its variant with this decoding."""
    stored = decoding.stored()
    # Two who start with the same new decoding make one variant.
    base_id = model.variant_of_id or model.pk
    base = CaptioningModel.objects.select_for_update(no_key=True).get(pk=base_id)
    if not base.decoding and model.pk == base.pk:
        base.decoding = stored
        base.save(update_fields=["decoding"])
        return base
    if (same := with_decoding(base, decoding)) is not None:
        return same
    name = name.strip() or variant_name(base.name, stored, Decoding.from_stored(base.decoding).stored())
    kept = ("description", "backend", "source", "options", "is_pivot", "english_model_id", "translator_id")
    # It belongs to whom the model does.
    values = {field: getattr(base, field) for field in (*kept, "project_id", "is_shared")}
    made = CaptioningModel(name=name, variant_of=base, decoding=stored, created_by=by, **values)
    if len(name) > 120 or is_name_taken(made):
        raise WorkRefusedError(
            _(
                "With other decoding it counts as another model. Give it a name of at most 120 characters that "
                "no other model has."
            )
        )
    made.save(force_insert=True)
    return made


def _check_not_under_way(model: CaptioningModel, collection: Collection, tags: Sequence[str], by: User | None) -> None:
    rivals = Run.objects.filter(model=model, collection=collection, languages__in=tags, trial_image=None)
    rival = rivals.filter(state__in=[*UNFINISHED_STATES, RunState.PAUSED]).first()
    if rival is None:
        return
    if by is not None and not runs_for(by).filter(pk=rival.pk).exists():
        raise WorkRefusedError(
            _("A run of another project is already captioning these images with this model. Wait until it is done.")
        )
    raise WorkRefusedError(
        _("Run %(number)s is already captioning these images with this model. Resume or cancel that run.")
        % {"number": rival.pk}
    )


def _stored_counts(model: CaptioningModel, collection: Collection, tags: Sequence[str]) -> Mapping[int, int]:
    """Count the languages in which each image has captions."""
    captions = ModelCaption.objects.filter(model=model, language_id__in=tags, image__entries__collection=collection)
    return dict(captions.order_by().values_list("image_id").annotate(count=Count("pk")))


def _check_english(model: CaptioningModel, collection: Collection) -> list[str]:
    english = ModelCaption.objects.in_use().filter(model=model.english_model_id, language=ENGLISH)
    stored = english.filter(image__entries__collection=collection).count()
    lacking = collection.entries.count() - stored
    values = {"name": model.english_model, "count": lacking}
    if not stored:
        raise WorkRefusedError(
            _("“%(name)s” has no English captions in this collection, so nothing can be translated.") % values
        )
    if not lacking:
        return []
    return [_("%(count)s images have no English caption by “%(name)s” and will fail.") % values]


def change_owner_of_run(*, run: Run, project: Project | None, is_shared: bool, by: User | None, now: datetime) -> None:
    """Change the owner of a run.

    Raises core.people.services.ownership.OwnerRefusedError also where the project may not use what it is made of.
    """
    sets = EmbeddingSet.objects.filter(run=run).select_related("captions_of")
    parts = [run.collection, run.model, run.encoder, *(one.captions_of for one in sets)]
    check_parts(parts, project=project, is_shared=is_shared)
    change_owner(things=[run], project=project, is_shared=is_shared, by=by, now=now)


def retry(run: Run, *, now: datetime) -> int:
    """Queue the chunks with failed images again; returns the number of failures that were undone.

    Raises WorkRefusedError where workers are at it, nothing failed, or its model is retired.
    """
    check_not_retired(run)
    with transaction.atomic():
        locked = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
        if locked.is_going:
            raise WorkRefusedError(_("Workers are working on it. Wait until it is done, or pause it."))
        failed = set(RunFailure.objects.filter(run=locked).values_list("image_id", flat=True))
        # A chunk with a valid lease is being worked on; it is left alone, with its failures.
        free = Chunk.objects.filter(run=locked).exclude(state=JobState.RUNNING, lease_until__gt=now)
        again, images = [], set()
        for chunk in free.select_for_update(skip_locked=True, no_key=True, of=("self",)):
            if here := failed.intersection(unpack_ids(chunk.image_ids)):
                again.append(chunk.pk)
                images |= here
        if not again:
            raise WorkRefusedError(_("No image has failed."))
        count, _of_each = RunFailure.objects.filter(run=locked, image_id__in=images).delete()
        values = {"state": JobState.QUEUED, "lease_until": None, "holder": "", "attempts": 0}
        Chunk.objects.filter(pk__in=again).update(**values)
        Run.objects.filter(pk=locked.pk).update(
            state=RunState.QUEUED, error="", finished_at=None, nudged_at=None, failed=F("failed") - count
        )
        log_event(locked, _("Trying again the %(count)s that failed.") % {"count": count}, now=now)
    run.refresh_from_db()
    return count


def runs_waiting(*, now: datetime) -> list[tuple[int, str, int]]:
    """List runs that could use more workers: id, queue, and the number of workers to notify.

    Each is announced again only after a while; of many, those that were announced longest ago come first.
    """
    of_run = Chunk.objects.filter(run=OuterRef("pk"))
    is_waiting = Exists(chunks.claimable_chunks(now=now).filter(run=OuterRef("pk")))
    due = Run.objects.filter(is_waiting | ~Exists(of_run.exclude(state=JobState.DONE)), state__in=UNFINISHED_STATES)
    due = due.exclude(nudged_at__gt=now - chunks.NUDGE_AFTER).order_by(F("nudged_at").asc(nulls_first=True), "pk")
    nudged = due.select_related("model__translator", "encoder")[:NOTIFIED_AT_ONCE]
    waiting = [(run.pk, run.queue, wanted) for run in nudged if (wanted := workers_wanted(run=run, now=now))]
    Run.objects.filter(pk__in=[run_id for run_id, _queue, _wanted in waiting]).update(nudged_at=now)
    return waiting


def workers_wanted(*, run: Run, now: datetime) -> int:
    """Count how many more workers the run could use: one per free chunk, up to those that listen."""
    free = chunks.claimable_chunks(now=now).filter(run=run).count()
    if not free:
        # All chunks are done, but nobody closed the run.
        return int(not Chunk.objects.filter(run=run).exclude(state=JobState.DONE).exists())
    needs = needs_of(run.made_by, precision=run.decoding.get("precision", "auto"))
    # Where none can, one says what is missing.
    return min(free, max(1, worker_status.count_listening(queue=run.queue, now=now, needs=needs)))


def start_trial(
    *,
    model: CaptioningModel,
    image: Image,
    collection: Collection,
    languages: Some[Language],
    decoding: Decoding,
    by: User,
    now: datetime,
) -> Run:
    """Start a run of `model` over one image of `collection`. Then call `research.inference.tasks.ask_for_run`.

    Raises WorkRefusedError.
    """
    if not model.is_pivot:
        decoding = replace(decoding, is_consistent=False)
    queue = check_runnable(model, languages, decoding)
    if (
        Run.objects.filter(created_by=by, trial_image__isnull=False, state__in=UNFINISHED_STATES).count()
        >= MAX_OPEN_TRIALS
    ):
        raise WorkRefusedError(_("Too many of your trials are waiting for a worker. Try again when they are done."))
    with transaction.atomic():
        run = create_run(
            to_do=[image.pk],
            total=len(languages),
            already=0,
            now=now,
            model=model,
            collection=collection,
            trial_image=image,
            decoding=decoding.stored(),
            queue=queue,
            created_by=by,
        )
        run.languages.set(languages)
    return run


def delete_old_trials(*, now: datetime) -> None:
    """Delete trials older than a day, except those that a worker is at."""
    old = Run.objects.filter(trial_image__isnull=False, created_at__lt=now - TRIALS_DELETED_AFTER)
    old.exclude(pk__in=chunks.held_chunks(now=now).values("run")).delete()


def delete_trials_of(collection: Collection) -> None:
    """Delete the trials on images of `collection`, so that they do not keep it from being deleted."""
    Run.objects.filter(trial_image__isnull=False, collection=collection).delete()
