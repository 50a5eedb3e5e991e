"""Train in a worker: one thread computes, this one keeps the lease and stores what the other reports.

The folder of the training has the checkpoints, so that any worker that shares it resumes where another stopped.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import DatabaseError, transaction
from django.utils.translation import gettext as _
from PIL import Image as Pillow

from core.images.models import Image
from core.jobs.services import leases
from core.jobs.services.leases import LEASE, LeaseLostError
from core.people.services.ownership import is_name_taken
from crosslens_metrics.formats.records import printable
from research.inference.backends import registry
from research.inference.backends.captioners import ModelSpec
from research.inference.backends.encoder_decoder import EncoderDecoderBackend
from research.inference.backends.feature_decoder import FEATURES, FeatureDecoderBackend
from research.inference.backends.transformer_files import TRAINED
from research.inference.backends.transformer_files import folder_of as model_folder
from research.inference.models import (
    UNFINISHED_STATES,
    CaptioningModel,
    RunState,
    Training,
    TrainingStep,
    TrainingValidation,
)
from research.inference.services import model_cache
from research.inference.services.executor import SLICE_S, Clock
from research.inference.services.job_kind import RUN_ERRORS, traceback_of
from research.inference.services.prefetcher import UnreadableImageError, read_image
from research.inference.services.steering import log_event
from research.inference.services.trainings import folder_of, read_data
from research.inference.services.worker_status import meter
from research.inference.training.bases import small_base, small_name
from research.inference.training.card import CARD, Provenance, model_card, provenance
from research.inference.training.checkpoints import StepRecord, TrainingCheckpoints, ValidationRecord, read_curve
from research.inference.training.options import TrainingError, TrainingOptions, TrainingTargets
from research.inference.training.trainer import MODEL, TrainingOutcome, train_captioner

log = logging.getLogger(__name__)

REPORT_EVERY_S = 0.5
ATTEMPTS = 3
"""Starts without a new checkpoint, after which the training is to blame and not the worker."""
SAFE_S = LEASE.total_seconds() / 2
"""A worker that has not renewed its lease for longer may have been replaced: it saves nothing."""
BASE = "base"


def execute_training(*, training_id: int, worker: str, clock: Clock, slice_s: float = SLICE_S) -> bool:
    """Work on a training for about `slice_s`; returns whether this worker has more to do for it."""
    rows = Training.objects.filter(pk=training_id, state__in=UNFINISHED_STATES).select_related("base", "created_by")
    training = leases.claim(rows, now=clock(), holder=worker)
    if training is None:
        return False
    with leases.working_for(training.created_by):
        meter.begin_training(training.pk)
        try:
            return _TrainingSlice(training, worker, clock, slice_s).execute()
        finally:
            meter.end()
    return False


def _small_backend(options: Mapping[str, Any]) -> EncoderDecoderBackend:
    return FeatureDecoderBackend() if options.get(FEATURES) else EncoderDecoderBackend()


class _ReportingWatcher:
    """Carries what the computing thread reports to the thread with the database, and the order to stop back."""

    def __init__(self, slice_s: float) -> None:
        self._lock = threading.Lock()
        self._reports: list[Any] = []
        self._slice_s = slice_s
        self._ends_at = float("inf")
        self.stop = threading.Event()
        self.is_lost = False
        self.renewed_at = time.monotonic()

    def begin(self, *, took_s: float) -> None:
        # At least as long as loading took: trainings that take turns would do nothing but load.
        self._ends_at = time.monotonic() + max(self._slice_s, took_s)

    def reports(self) -> list[Any]:
        with self._lock:
            reports, self._reports = self._reports, []
        return reports

    def resumed(self, step: int) -> None:
        self._report(step)

    def stepped(self, record: StepRecord) -> None:
        self._report(record)
        self.before_saving()

    def validated(self, record: ValidationRecord) -> None:
        self._report(record)

    def noted(self, message: str) -> None:
        self._report(message)

    def is_stopped(self) -> bool:
        self.before_saving()
        return self.stop.is_set() or time.monotonic() >= self._ends_at

    def before_saving(self) -> None:
        if self.is_lost or time.monotonic() - self.renewed_at > SAFE_S:
            raise LeaseLostError

    def _report(self, one: Any) -> None:
        with self._lock:
            self._reports.append(one)


@dataclass(frozen=True)
class _LoadedTraining:
    made: Provenance
    spec: ModelSpec


class _TrainingSlice:
    """One worker's slice of time on one training."""

    def __init__(self, training: Training, worker: str, clock: Clock, slice_s: float) -> None:
        self._training, self._worker, self._clock = training, worker, clock
        self._options = TrainingOptions.from_dict(training.options)
        self._folder = folder_of(training)
        self._watcher = _ReportingWatcher(slice_s)
        self._loaded: _LoadedTraining | None = None

    def execute(self) -> bool:
        try:
            if self._training.attempts > ATTEMPTS:
                raise TrainingError(
                    _(
                        "The worker stopped %(number)s times without reaching a checkpoint. Perhaps its memory was "
                        "full: the log of the worker says more."
                    )
                    % {"number": ATTEMPTS}
                )
            outcome = self._computed()
        except LeaseLostError:
            raise
        except DatabaseError:
            raise
        except (TrainingError, *RUN_ERRORS) as error:
            self._fail(str(error))
            return False
        except Exception as error:
            log.exception("Training %s", self._training.pk)
            message = _("The training failed (%(error)s). The log below has the traceback.")
            self._fail(message % {"error": type(error).__name__}, traceback=traceback_of(error))
            return False
        return self._finish(outcome)

    def _computed(self) -> TrainingOutcome:
        """Train in another thread, and renew the lease meanwhile."""
        context = copy_context()
        read = self._reader()
        with ThreadPoolExecutor(1, thread_name_prefix="training") as thread:
            future = thread.submit(context.run, self._train, read)
            try:
                while not wait([future], timeout=REPORT_EVERY_S).done:
                    self._report()
            except BaseException:
                # The thread stops after its step, and saves nothing if the lease is lost.
                self._watcher.is_lost = True
                raise
            self._report()
            return future.result()

    def _reader(self) -> Callable[[str], Pillow.Image]:
        """Look all images up at once: the threads that read them have no database."""
        self._examples = read_data(self._training)
        names = {example.image for examples in self._examples for example in examples}
        images = Image.objects.in_bulk(names, field_name="sha256")
        if missing := names - set(images):
            raise TrainingError(
                _("%(number)s of its images are no longer on this platform. Request the training again.")
                % {"number": len(missing)}
            )

        def read(sha256: str) -> Pillow.Image:
            image = images[sha256]
            try:
                return read_image(image.original, side=self._side, pixels=image.width * image.height)
            except UnreadableImageError as error:
                raise TrainingError(_("Image %(image)s: %(reason)s") % {"image": sha256, "reason": error}) from error

        return read

    def _train(self, read: Callable[[str], Pillow.Image]) -> TrainingOutcome:
        began = time.monotonic()
        # What is cached for runs is not changed, and its memory is needed.
        model_cache.clear()
        spec, folder, backend = self._base()
        captioner = backend.load_folder(spec, folder)
        self._side = captioner.side
        training, validation = self._examples
        base = self._training.base
        made = provenance(
            base.name if base else small_name(spec.options.get(FEATURES)),
            captioner.describe(),
            training=training,
            validation=validation,
            options=self._options,
            code=str(settings.CODE_VERSION),
        )
        self._loaded = _LoadedTraining(made, spec)
        self._watcher.begin(took_s=time.monotonic() - began)
        return train_captioner(
            captioner,
            run=made.run,
            training=training,
            validation=validation,
            read_image=read,
            options=self._options,
            folder=self._folder,
            watcher=self._watcher,
        )

    def _base(self) -> tuple[ModelSpec, Path, Any]:
        base, options = self._training.base, self._training.model_options
        is_pivot = self._options.targets != TrainingTargets.PLAIN
        if base is None:
            features = options.get(FEATURES)
            folder = small_base(self._folder / BASE, self._examples[0], seed=self._options.seed, features=features)
            return ModelSpec(self._training.name, BASE, options, is_pivot), folder, _small_backend(options)
        spec = ModelSpec(self._training.name, base.source, options, is_pivot)
        return spec, model_folder(spec), registry.backend_named(base.backend)

    def _report(self) -> None:
        """Renew the lease, and store what was reported; notice if somebody paused or cancelled the training.

        Raises LeaseLostError.
        """
        reports, now = self._watcher.reports(), self._clock()
        renewed_at = time.monotonic()
        with transaction.atomic():
            values: dict[str, Any] = {"lease_until": leases.next_end(self._training, now)}
            for report in reports:
                values |= self._stored(report)
            if self._loaded and not self._training.made:
                values |= {"made": self._loaded.made.as_dict()}
                values |= {} if self._training.started_at else {"started_at": now}
            if not self._held().update(**values):
                raise LeaseLostError(self._training.pk)
        for name, value in values.items():
            setattr(self._training, name, value)
        self._watcher.renewed_at = renewed_at
        if Training.objects.values_list("state", flat=True).get(pk=self._training.pk) != RunState.RUNNING:
            self._watcher.stop.set()

    def _held(self) -> Any:
        """Find the row as long as this lease of it lasts, also where it was paused."""
        return Training.objects.filter(
            pk=self._training.pk, holder=self._worker, lease_until=self._training.lease_until
        )

    def _stored(self, report: int | str | StepRecord | ValidationRecord) -> dict[str, Any]:
        training = self._training
        if isinstance(report, int):
            return self._resumed(report)
        if isinstance(report, str):
            self._log(report, is_warning=True)
            return {}
        if isinstance(report, StepRecord):
            TrainingStep.objects.create(training=training, **asdict(report))
            return {"step": report.step}
        TrainingValidation.objects.create(training=training, **asdict(report))
        # A validation comes with a checkpoint.
        values: dict[str, Any] = {"attempts": 1}
        if report.step and (training.best_cider is None or report.cider > training.best_cider):
            training.best_cider = report.cider
            values |= {"best_step": report.step, "best_cider": report.cider}
        return values

    def _resumed(self, step: int) -> dict[str, Any]:
        """Make the curves those of the folder, up to the checkpoint."""
        training = self._training
        training.curve.filter(step__gt=step).delete()
        training.validations.filter(step__gt=step).delete()
        # The thread may be further already.
        steps, validations = read_curve(self._folder, until=step)
        there = set(training.curve.values_list("step", flat=True))
        TrainingStep.objects.bulk_create(
            TrainingStep(training=training, **asdict(one)) for one in steps if one.step not in there
        )
        there = set(training.validations.values_list("step", flat=True))
        TrainingValidation.objects.bulk_create(
            TrainingValidation(training=training, **asdict(one)) for one in validations if one.step not in there
        )
        best = max((one for one in validations if one.step), key=lambda one: one.cider, default=None)
        training.best_cider = best.cider if best else None
        self._log(_("Resumed after step %(step)s.") % {"step": step})
        return {"step": step, "best_step": best.step if best else None, "best_cider": training.best_cider}

    def _finish(self, outcome: TrainingOutcome) -> bool:
        best = outcome.best
        if best is None and not outcome.has_failed:
            return self._release()
        error = outcome.reason if outcome.has_failed else ""
        with transaction.atomic():
            # A request to cancel waits for this lock, or came first.
            locked = self._held().select_for_update(no_key=True).first()
            if locked is None:
                raise LeaseLostError(self._training.pk)
            if locked.state == RunState.CANCELLED:
                self._held().update(lease_until=None, holder="")
                return False
            values: dict[str, Any] = {"state": RunState.FAILED if error else RunState.DONE, "error": printable(error)}
            if best is not None and best.step:
                values |= self._registered(best)
                kept = _("The best model is that of step %(step)s, with CIDEr %(cider)s.")
                message = kept % {"step": best.step, "cider": f"{best.cider:.1f}"}
                self._log(f"{outcome.reason} {message}".strip(), is_warning=bool(error))
            elif not error:
                values |= {"state": RunState.FAILED, "error": _("There were no steps left to do.")}
            else:
                self._log(error, is_warning=True)
            self._held().update(**values, finished_at=self._clock(), lease_until=None, holder="")
        if values["state"] == RunState.DONE:
            TrainingCheckpoints(self._folder, "").forget()
            default_storage.delete(self._training.data)
        return False

    def _registered(self, best: ValidationRecord) -> dict[str, Any]:
        """Register the model, with its card."""
        assert self._loaded is not None
        training, loaded = self._training, self._loaded
        card = model_card(training.name, loaded.made, best)
        (self._folder / MODEL / CARD).write_text(card, encoding="utf-8")
        model = CaptioningModel(
            name=training.name,
            description=_("Made by training %(number)s.") % {"number": training.pk},
            backend=training.base.backend if training.base else _small_backend(training.model_options).name,
            source=f"{TRAINED}{training.public_id.hex}",
            options=loaded.spec.options,
            is_pivot=loaded.spec.is_pivot,
            project=training.project,
            is_shared=training.is_shared,
            created_by=training.created_by,
        )
        if is_name_taken(model):
            model.name = f"{training.name[:100]} · {training.pk}"
        model.save(force_insert=True)
        return {"model": model, "card": card, "best_step": best.step, "best_cider": best.cider}

    def _release(self) -> bool:
        """Release the training for its next slice, or until it is resumed; returns whether it continues at once."""
        self._held().filter(state=RunState.RUNNING).update(state=RunState.QUEUED)
        self._held().update(lease_until=None, holder="", attempts=0)
        return Training.objects.filter(pk=self._training.pk, state=RunState.QUEUED).exists()

    def _fail(self, error: str, *, traceback: str = "") -> None:
        with transaction.atomic():
            values = {"lease_until": None, "holder": ""}
            if (
                self._held()
                .filter(state__in=UNFINISHED_STATES)
                .update(state=RunState.FAILED, error=printable(error), finished_at=self._clock(), **values)
            ):
                self._log(error, is_warning=True, traceback=traceback)
            self._held().update(**values)

    def _log(self, message: str, **values: Any) -> None:
        log_event(self._training, message, worker=self._worker, now=self._clock(), **values)
