"""Read trials for the person who began them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.core.files.storage import default_storage
from django.db.models import QuerySet

from images.models import CollectionImage, Image, JobState
from images.permissions import collections_to_use
from images.rules.image_checks import HEAD_BYTES, sniffed
from images.rules.resizing import served_sizes
from images.selectors import SHOWN_SIZE, ServedImage, served_image
from inference.models import CaptioningModel, Trial
from inference.selectors.gallery import hidden_from
from inference.selectors.workers import worker_rows
from languages.models import Language
from people.models import User

NEWEST_TRIALS = 8


@dataclass(frozen=True)
class TrialResult:
    """The result in one language: a caption, or an `error`."""

    language: Language
    text: str
    stabiliser: str
    error: str


@dataclass(frozen=True)
class TrialDetails:
    """`image` and `key` are of a collection's image. If it is assigned to the viewer, `is_hidden` is set and there
    is neither image nor caption. `seconds` is from the request to the end, None until then."""

    trial: Trial
    image: ServedImage | None
    key: str
    is_hidden: bool
    tried: Sequence[TrialResult]
    seconds: float | None

    @property
    def is_open(self) -> bool:
        return self.trial.state in (JobState.QUEUED, JobState.RUNNING)


def trial_details(trial: Trial, viewer: User) -> TrialDetails:
    image = trial.image
    is_hidden = image is not None and bool(hidden_from(viewer, [image.pk]))
    entry = None if image is None or is_hidden else _entry_of(image.pk, viewer)
    took = trial.finished_at - trial.created_at if trial.finished_at else None
    return TrialDetails(
        trial=trial,
        image=_served(image, viewer, is_known=entry is not None) if image is not None and not is_hidden else None,
        key=entry.key if entry else "",
        is_hidden=is_hidden,
        tried=[] if is_hidden else _tried(trial),
        seconds=None if took is None else took.total_seconds(),
    )


def newest_trials(model: CaptioningModel, viewer: User) -> QuerySet[Trial]:
    return Trial.objects.filter(model=model, created_by=viewer).order_by("-pk")[:NEWEST_TRIALS]


def is_listened_to(queue: str, *, now: datetime) -> bool:
    """Whether a worker listens to `queue`."""
    return any(row.is_there and queue in row.queues for row in worker_rows(now=now))


def upload_of(trial: Trial) -> bytes | None:
    """Convert the uploaded image to WebP without its metadata; None if there is none."""
    if not trial.upload:
        return None
    try:
        with default_storage.open(trial.upload) as file:
            kind = sniffed(file.read(HEAD_BYTES))
            sizes = served_sizes(file, kind=kind) if kind else iter(())
            return next((content for size, content in sizes if size <= SHOWN_SIZE), None)
    except FileNotFoundError:
        return None


def _entry_of(image_id: int, viewer: User) -> CollectionImage | None:
    """Find the newest entry in the collections of `viewer`. They must not learn who else has the image."""
    entries = CollectionImage.objects.filter(image=image_id, collection__in=collections_to_use(viewer).values("pk"))
    return entries.order_by("-pk").first()


def _served(image: Image, viewer: User, *, is_known: bool) -> ServedImage:
    served = served_image(image, viewer)
    return served if is_known else replace(served, author="", licence="", licence_url="")


def _tried(trial: Trial) -> list[TrialResult]:
    return [
        TrialResult(language, made.get("text", ""), made.get("stabiliser", ""), made.get("error", ""))
        for language in trial.languages.all()
        if (made := trial.results.get(language.tag)) is not None
    ]
