"""Models, runs and people as the tests of pages need them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Round
from core.images.models import Collection
from core.people.models import Membership, Project, Role, User
from research.inference.backends import registry
from research.inference.backends.captioners import Decoding
from research.inference.models import CaptioningModel, Run, RunState, Worker
from tests.factories import (
    make_annotator,
    make_captioner,
    make_project,
    make_round,
    make_user,
)
from tests.inference import fake_backend
from tests.inference.fake_runs import make_run

HTMX = {"HX-Request": "true"}
DECODING = {name: value for name, value in Decoding().stored().items() if name != "is_consistent"}
"""What the form of a run sends of how its captions are decoded."""


def offer_fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "OWN_BACKENDS", (*registry.OWN_BACKENDS, fake_backend.PATH))
    monkeypatch.setattr(registry, "OWN_TRANSLATORS", (*registry.OWN_TRANSLATORS, fake_backend.TRANSLATOR))


def make_person(role: Role | None, project: Project | None = None, name: str | None = None) -> User:
    person = make_user(name)
    if role is not None:
        Membership.objects.create(project=project or make_project(), user=person, role=role)
    return person


def make_busy_researcher(
    collection: Collection, name: str | None = None, *, captioners: Sequence[CaptioningModel] = (), batch_size: int = 1
) -> tuple[User, Round]:
    """A researcher who may also annotate the collection, and the round in which to take its images."""
    round = make_round(
        collection=collection, captioners=captioners or [make_captioner(collection)], batch_size=batch_size
    )
    person = make_annotator(round, name)
    Membership.objects.create(project=make_project(), user=person, role=Role.RESEARCHER)
    return person, round


def make_model(name: str = "Fake model", **fields: Any) -> CaptioningModel:
    return CaptioningModel.objects.create(is_shared=True, name=name, **({"backend": "fake"} | fields))


def start_run(
    model: CaptioningModel | None = None,
    collection: Collection | None = None,
    *,
    languages: tuple[str, ...] = ("de", "fr"),
    **about: Any,
) -> Run:
    """As a researcher does; then what `about` says of its row."""
    run = make_run(collection or 4, model=model or make_model(), languages=languages, now=timezone.now())
    if about:
        Run.objects.filter(pk=run.pk).update(**about)
        run.refresh_from_db()
    return run


def make_running(run: Run, *, done: int = 0, failed: int = 0) -> Run:
    now = timezone.now()
    values = {"state": RunState.RUNNING, "started_at": now - timedelta(seconds=10), "done": done, "failed": failed}
    Run.objects.filter(pk=run.pk).update(**values)
    run.refresh_from_db()
    return run


def make_worker(name: str = "lab:1", *, silent_s: int = 0, **fields: Any) -> Worker:
    now = timezone.now()
    values: dict[str, Any] = {"queues": "default,gpu", "device": "CPU, 2 × x86_64", "software": "no PyTorch"}
    if str(fields.get("software", "")).startswith("PyTorch"):
        values["packages"] = "torch,transformers"
    values |= {"seen_at": now - timedelta(seconds=silent_s), "started_at": now - timedelta(hours=1)}
    return Worker.objects.create(name=name, **(values | fields))


def address(name: str, run: Run) -> str:
    """Of a page of the run."""
    return reverse(f"inference:run-{name}", args=[run.pk])


def create_address(model: CaptioningModel, collection: Collection) -> str:
    return f"{reverse('inference:run-create')}?model={model.pk}&collection={collection.slug}"
