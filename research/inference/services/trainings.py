"""Request trainings, keep their captions, and forget the cancelled ones."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Collection as AnyOf
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils.translation import gettext as _

from core.images.models import Image
from core.images.services import file_storage
from core.people.models import Project, User
from core.people.services.ownership import is_name_taken
from research.inference.backends import registry
from research.inference.backends.captioners import BackendSettingsError, ModelSpec
from research.inference.backends.encoder_decoder import EncoderDecoderBackend
from research.inference.backends.feature_decoder import FEATURES
from research.inference.backends.transformer_files import family_here
from research.inference.models import UNFINISHED_STATES, CaptioningModel, Encoder, RunState, Training
from research.inference.rules.runs import pack_ids
from research.inference.services.steering import WorkRefusedError, log_event
from research.inference.training.bases import model_options
from research.inference.training.examples import TrainingExample, as_targets, check_split, digest_of
from research.inference.training.options import TrainingError, TrainingOptions, TrainingTargets

FORGOTTEN_AFTER = timedelta(days=1)
"""How long the files of a cancelled training are kept: its worker may still be saving."""


def start(
    *,
    name: str,
    base: CaptioningModel | None,
    features: Encoder | None = None,
    training: Sequence[TrainingExample],
    validation: Sequence[TrainingExample],
    evaluated: AnyOf[str],
    sources: Sequence[Mapping[str, Any]],
    options: TrainingOptions,
    project: Project | None,
    by: User | None,
    now: datetime,
) -> Training:
    """Request a training. Then call `research.inference.tasks.ask_for_training`.

    - `base`: None for a new small model.
    - `features`: whose features the small model captions; None: it sees the images.
    - `training` and `validation`: images by the SHA-256 of their files. They are kept as they are now.
    - `evaluated`: images that must be in neither.

    Raises WorkRefusedError.
    """
    try:
        options.check()
        check_split(training, validation, evaluated=evaluated)
        training, validation = as_targets(training, options.targets), as_targets(validation, options.targets)
    except TrainingError as refused:
        raise WorkRefusedError(str(refused)) from refused
    given = base.options if base else {}
    chosen = model_options(given, training, options.targets, names_languages=_names_languages(base))
    if features is not None:
        chosen[FEATURES] = _features_option(base, features)
    queue = _check_trainable(name, base, chosen, options)
    _check_name(CaptioningModel(name=name, project=project, created_by=by))
    public_id = uuid.uuid4()
    data = f"trainings/{public_id.hex}.jsonl"
    file_storage.put(data, _written(training, validation))
    with transaction.atomic():
        row = Training.objects.create(
            public_id=public_id,
            name=name,
            base=base,
            options=options.as_dict(),
            model_options=chosen,
            sources=list(sources),
            data=data,
            digest=digest_of([*training, *validation]),
            captions=len(training),
            images=len({one.image for one in training}),
            validation_images=len({one.image for one in validation}),
            image_ids=pack_ids(_ids({one.image for one in training})),
            queue=queue,
            project=project,
            created_by=by,
            created_at=now,
        )
        log_event(row, _("Requested."), now=now)
    return row


def _features_option(base: CaptioningModel | None, encoder: Encoder) -> dict[str, Any]:
    if base is not None:
        raise WorkRefusedError(
            _("“%(name)s” sees images itself. Choose features only for a new small model.") % {"name": base.name}
        )
    return {"backend": encoder.backend, "source": encoder.source, "options": encoder.options}


def _ids(names: AnyOf[str]) -> list[int]:
    found = Image.objects.only("pk", "sha256").in_bulk(names, field_name="sha256")
    if len(found) < len(names):
        raise WorkRefusedError(_("Some of the images are not on this platform. Import them first."))
    return sorted(image.pk for image in found.values())


def is_trainable(model: CaptioningModel) -> bool:
    """Whether its backend can change weights, as far as is known without loading it."""
    try:
        return hasattr(registry.backend_named(model.backend), "load_folder")
    except BackendSettingsError:
        return False


def _names_languages(base: CaptioningModel | None) -> bool:
    if base is None or not is_trainable(base):
        return False
    try:
        family = family_here(ModelSpec(base.name, base.source, base.options))
    except BackendSettingsError:
        # Refused by the check that follows.
        return False
    return registry.names_languages(registry.backend_named(base.backend), family, base.options)


def _check_trainable(
    name: str, base: CaptioningModel | None, chosen: Mapping[str, Any], options: TrainingOptions
) -> str:
    """Check what can be checked without loading; returns the queue of the workers that can train it."""
    if base is None:
        return EncoderDecoderBackend.queue
    if base.retired_at is not None:
        raise WorkRefusedError(_("“%(name)s” is retired. Restore it first.") % {"name": base.name})
    if not is_trainable(base):
        raise WorkRefusedError(
            _("“%(name)s” cannot be trained here. Choose a model of transformers with weights of its own.")
            % {"name": base.name}
        )
    try:
        backend = registry.backend_named(base.backend)
        backend.check(ModelSpec(name, base.source, chosen, is_pivot=options.targets != TrainingTargets.PLAIN))
    except BackendSettingsError as refused:
        raise WorkRefusedError(str(refused)) from refused
    return backend.queue


def _check_name(model: CaptioningModel) -> None:
    open_ones = Training.objects.filter(
        name=model.name, project=model.project, state__in=[*UNFINISHED_STATES, RunState.PAUSED]
    )
    if is_name_taken(model) or open_ones.exists():
        raise WorkRefusedError(_("The name “%(name)s” is already taken. Choose another.") % {"name": model.name})


def _written(training: Sequence[TrainingExample], validation: Sequence[TrainingExample]) -> bytes:
    lines = [{"split": "training", **asdict(one)} for one in training]
    lines += [{"split": "validation", **asdict(one)} for one in validation]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def read_data(training: Training) -> tuple[list[TrainingExample], list[TrainingExample]]:
    """Read the captions for training and for validation.

    Raises TrainingError where they are not those that were stored.
    """
    found: dict[str, list[TrainingExample]] = {"training": [], "validation": []}
    try:
        with default_storage.open(training.data) as file:
            for line in file:
                values = json.loads(line)
                found[values.pop("split")].append(TrainingExample(**values))
    except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(
            _("The captions of this training cannot be read from storage. Request it again.")
        ) from error
    if digest_of([*found["training"], *found["validation"]]) != training.digest:
        raise TrainingError(_("The captions of this training have changed in storage. Request it again."))
    return found["training"], found["validation"]


def folder_of(training: Training) -> Path:
    return Path(settings.TRAININGS_FOLDER) / training.public_id.hex


def forget_cancelled(*, now: datetime) -> int:
    """Delete the files of trainings that were cancelled a while ago."""
    old = Training.objects.filter(state=RunState.CANCELLED, finished_at__lt=now - FORGOTTEN_AFTER).exclude(data="")
    for training in old:
        default_storage.delete(training.data)
        shutil.rmtree(folder_of(training), ignore_errors=True)
    return old.update(data="")
