"""Try a model on one image at once. Its captions are not stored as model captions."""

from __future__ import annotations

import logging
from collections.abc import Collection as Some
from concurrent.futures import wait
from dataclasses import replace
from datetime import datetime, timedelta
from typing import IO, Any
from uuid import uuid4

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import DatabaseError, transaction
from django.utils import translation
from django.utils.translation import gettext as _

from crosslens_metrics.formats.records import printable
from images.models import OPEN_STATES, Image, JobState
from images.rules import limits
from images.rules.image_checks import ImageRefusedError, inspect
from images.services import file_storage, leases
from images.services.images import sha256_of
from images.services.leases import LeaseLostError
from inference.backends.captioners import (
    BackendSettingsError,
    Decoding,
    Failed,
    GeneratedCaption,
    OutOfMemoryError,
)
from inference.backends.memory import MemoryGuard
from inference.models import IMPORTED, CaptioningModel, ModelCaption, Trial
from inference.selectors.image_similarity import resembles_assigned_image
from inference.services import model_cache, worker_status
from inference.services.captioning import ENGLISH, job_of
from inference.services.chunks import RENEW_EVERY_S
from inference.services.device import Device
from inference.services.executor import Clock
from inference.services.image_reading import UnreadableImageError, read_image
from inference.services.job_kind import PendingImage
from inference.services.model_batches import RUN_ERRORS
from inference.services.runs import RunRefusedError, check_runnable
from languages.models import Language
from people.models import User

log = logging.getLogger(__name__)

FORGOTTEN_AFTER = timedelta(days=1)
GIVEN_UP_AFTER = timedelta(minutes=10)

MOST_OPEN, MOST_UPLOADS = 20, 100
"""Of one person."""


def start(
    *,
    model: CaptioningModel,
    image: Image | None = None,
    upload: IO[bytes] | None = None,
    upload_name: str = "",
    languages: Some[Language],
    decoding: Decoding,
    by: User,
    now: datetime,
) -> Trial:
    """Start a trial. Then call `inference.tasks.ask_for_trial`.

    Raises
    ------
    RunRefusedError
    """
    if not model.is_pivot:
        decoding = replace(decoding, is_consistent=False)
    check_runnable(model, languages, decoding)
    _check_not_too_many(by, sends=upload is not None)
    stored = _keep_upload(upload, upload_name, by) if upload is not None else ""
    if not stored and image is None:
        raise RunRefusedError(_("Choose an image."))
    with transaction.atomic():
        trial = Trial.objects.create(
            model=model,
            image=None if stored else image,
            upload=stored,
            decoding=decoding.stored(),
            created_by=by,
            created_at=now,
        )
        trial.languages.set(languages)
    return trial


def _check_not_too_many(by: User, *, sends: bool) -> None:
    """Limit trials: uploaded images fill the disk, and trials go before runs."""
    trials = Trial.objects.filter(created_by=by)
    if trials.filter(state__in=OPEN_STATES).count() >= MOST_OPEN:
        raise RunRefusedError(_("Too many of your trials are waiting for a worker. Try again when they are done."))
    if sends and trials.exclude(upload="").count() >= MOST_UPLOADS:
        raise RunRefusedError(
            _("You have sent %(number)s images since yesterday, the most allowed. Try again tomorrow.")
            % {"number": MOST_UPLOADS}
        )


def _keep_upload(upload: IO[bytes], name: str, by: User) -> str:
    try:
        upload.seek(0, 2)
        inspect(upload, name=name, size_bytes=upload.tell(), decoded_bytes=limits.MAX_WAITED_FOR_BYTES)
    except ImageRefusedError as refused:
        raise RunRefusedError(str(refused)) from refused
    if resembles_assigned_image(upload, by):
        raise RunRefusedError(
            _("This resembles an image in a batch assigned to you. Submit that batch first, or choose another image.")
        )
    stored = f"trials/{uuid4().hex}"
    upload.seek(0)
    file_storage.put(stored, upload)
    return stored


def queue_of(trial_id: int) -> str:
    """Name the queue of the workers that can run it."""
    model = Trial.objects.select_related("model__translator").get(pk=trial_id).model
    try:
        return model_cache.backend_of(model).queue
    except BackendSettingsError:
        # Whichever worker comes to it says so.
        return worker_status.DEFAULT


def run_trial(*, trial_id: int, worker: str, clock: Clock) -> None:
    trial = _claim(trial_id=trial_id, worker=worker, now=clock())
    if trial is None:
        return
    with translation.override(trial.created_by.interface_language or settings.LANGUAGE_CODE):
        try:
            _finish(trial, now=clock(), results=_results(trial, clock))
        except RUN_ERRORS as reason:
            _finish(trial, now=clock(), error=str(reason))
        except UnreadableImageError as reason:
            _finish(trial, now=clock(), error=str(reason))
        except LeaseLostError:
            log.info("Trial %s went on elsewhere.", trial_id)
        except OutOfMemoryError:
            _finish(trial, now=clock(), error=_("Memory ran out, even for this image by itself."))
        except DatabaseError:
            raise
        except Exception as error:
            log.exception("Trial %s", trial_id)
            message = _("The model failed on it (%(error)s).") % {"error": type(error).__name__}
            _finish(trial, now=clock(), error=message)


def _claim(*, trial_id: int, worker: str, now: datetime) -> Trial | None:
    related = ("model__translator", "model__english_model", "image", "created_by")
    return leases.claim(Trial.objects.filter(pk=trial_id).select_related(*related), now=now, worker=worker)


def _results(trial: Trial, clock: Clock) -> dict[str, Any]:
    tags = sorted(trial.languages.values_list("pk", flat=True))
    english = _english(trial)
    if trial.image is not None:
        name, key, pixels = trial.image.original, trial.image.sha256, trial.image.width * trial.image.height
    else:
        name, pixels = trial.upload, 0
        with default_storage.open(name) as file:
            key = sha256_of(file)
    with Device() as device:
        future = device.submit(_TrialRunner(trial, name, key, pixels, english).results, tags)
        while not wait([future], timeout=RENEW_EVERY_S).done:
            trial.lease_until = leases.renewed(trial, now=clock())
    return future.result()


def _english(trial: Trial) -> str:
    """Read the stored English caption to translate, if there is one."""
    if trial.model.english_model is None or trial.image is None:
        return ""
    captions = ModelCaption.objects.in_use().filter(
        model=trial.model.english_model, image=trial.image, language=ENGLISH
    )
    return captions.values_list("text", flat=True).first() or ""


class _TrialRunner:
    """The part of a trial that runs in another thread than the one with the database."""

    def __init__(self, trial: Trial, name: str, key: str, pixels: int, english: str) -> None:
        self.model, self.decoding = trial.model, Decoding.from_stored(trial.decoding)
        self.name, self.key, self.pixels, self.english = name, key, pixels, english

    def results(self, tags: list[str]) -> dict[str, Any]:
        with MemoryGuard():
            english = (self.english or self._english_now()) if self.model.translator is not None else ""
            made = self._made(self.model, tags, text=english)
        return {tag: _stored(one) for tag, one in made.items()}

    def _made(self, model: CaptioningModel, tags: list[str], *, text: str = "") -> dict[str, GeneratedCaption | Failed]:
        job = job_of(model, self.decoding)
        job.tags = tags
        job.load()
        image = PendingImage(0, self.key, text=text)
        decoded = None if job.side is None else read_image(self.name, side=job.side, pixels=self.pixels)
        prepared = [job.prepare(image, decoded)]
        if job.first_part:
            (stabiliser,) = job.compute([image], prepared, job.first_part)
            if isinstance(stabiliser, Failed):
                return dict.fromkeys(tags, stabiliser)
            job.stabilisers[image.image_id] = stabiliser
        return {tag: job.compute([image], prepared, tag)[0] for tag in tags}

    def _english_now(self) -> str:
        model = self.model.english_model
        assert model is not None
        if model.backend == IMPORTED:
            raise BackendSettingsError(_("“%(name)s” has no English caption of this image.") % {"name": model.name})
        caption = self._made(model, [ENGLISH])[ENGLISH]
        if isinstance(caption, Failed):
            raise BackendSettingsError(caption.reason)
        return caption.text


def _stored(made: GeneratedCaption | Failed) -> dict[str, str]:
    if isinstance(made, Failed):
        return {"error": printable(made.reason)}
    return {"text": made.text, "stabiliser": made.stabiliser}


def _finish(trial: Trial, *, now: datetime, results: dict[str, Any] | None = None, error: str = "") -> None:
    state = JobState.FAILED if error else JobState.DONE
    values = {"state": state, "results": results or {}, "error": printable(error), "finished_at": now}
    leases.held(trial).update(**values, lease_until=None)


def trials_waiting(*, now: datetime) -> list[tuple[int, str]]:
    """List trials that were never started or whose worker fell silent, with their queues, each at most once a while."""
    too_old = Trial.objects.filter(created_at__lte=now - GIVEN_UP_AFTER)
    leases.silent(too_old, now=now).update(
        state=JobState.FAILED, finished_at=now, lease_until=None, error=_("No worker finished it.")
    )
    return [(trial_id, queue_of(trial_id)) for trial_id in leases.nudged(Trial.objects.all(), now=now)]


def forget_old(*, now: datetime) -> int:
    """Delete trials older than a day, with their uploaded images."""
    old = Trial.objects.filter(created_at__lt=now - FORGOTTEN_AFTER)
    for upload in old.exclude(upload="").values_list("upload", flat=True):
        default_storage.delete(upload)
    return old.delete()[0]
