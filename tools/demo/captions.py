"""Imports captions of the demo's models as a manager would."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from core.images.models import Collection, ImportJob, ImportOutcome
from core.images.services.images import make_sizes
from core.jobs.models import JobState
from core.languages.models import Language
from research.inference.models import CaptioningModel
from research.inference.services.captions import import_path
from tools.demo.files import write_lines

Clock = Callable[[], datetime]


def import_captions(
    *,
    model: str,
    description: str,
    language: str,
    captions: Mapping[str, str],
    collection: Collection,
    folder: Path,
    clock: Clock,
) -> CaptioningModel:
    """Return the model, with `captions` by the key of their photograph; import them if any is missing."""
    about = {"description": description, "is_shared": True}
    by, _is_new = CaptioningModel.objects.get_or_create(name=model, project=None, defaults=about)
    if by.captions.filter(language=language).count() < len(captions):
        file = folder / "captions.jsonl"
        write_lines(file, ({"image": key, "caption": text} for key, text in captions.items()))
        tag = Language.objects.get(pk=language)
        check(import_path(path=file, model=model, language=tag, collection=collection, clock=clock))
    return by


def with_sizes(import_images: Callable[..., ImportJob], *, clock: Clock) -> None:
    """Import images, and make their sizes: not left to the worker, so that the first page has them."""
    fresh: list[int] = []
    check(import_images(clock=clock, announce=fresh.append))
    for image_id in fresh:
        make_sizes(image_id=image_id, now=clock())


def check(job: ImportJob) -> None:
    """Raise RuntimeError if an import refused content of the demo: that is a mistake in the demo."""
    refused = [f"{row.name}: {row.reason}" for row in job.rows.filter(outcome=ImportOutcome.REJECTED)]
    if job.state != JobState.DONE or refused:
        raise RuntimeError("; ".join([job.error, *refused]))
