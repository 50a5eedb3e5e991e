"""Try a model on one image, in a run that keeps its captions to itself and is deleted after a day."""

from __future__ import annotations

from collections.abc import Collection as Some
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from core.images.models import Collection, Image
from core.languages.models import Language
from core.people.models import User
from research.inference.backends.captioners import Decoding
from research.inference.models import UNFINISHED_STATES, CaptioningModel, Run
from research.inference.services import chunks
from research.inference.services.runs import check_runnable, create_run
from research.inference.services.steering import WorkRefusedError

TRIALS_DELETED_AFTER = timedelta(days=1)

MAX_OPEN_TRIALS = 20
"""Trials of one person that are not over."""


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

    Raises
    ------
    WorkRefusedError
    """
    if not model.is_pivot:
        decoding = replace(decoding, is_consistent=False)
    queue = check_runnable(model, languages, decoding)
    if Run.objects.filter(created_by=by, trial_image__isnull=False, state__in=UNFINISHED_STATES).count() >= MAX_OPEN_TRIALS:
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
