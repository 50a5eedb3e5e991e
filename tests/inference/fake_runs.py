"""Runs of the fake backend, for tests."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from PIL import Image as Pillow

from core.images.models import Collection, Image
from research.inference.backends import registry
from research.inference.backends.captioners import Decoding
from research.inference.models import CaptioningModel, ModelCaption, Run, Translator
from research.inference.services import model_cache, runs
from research.inference.services.executor import execute_run
from research.inference.services.worker_status import meter
from tests.factories import NOW, make_collection, make_language
from tests.inference import fake_backend


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The fake backends are installed, and nothing is loaded yet."""
    monkeypatch.setattr(registry, "OWN_BACKENDS", (*registry.OWN_BACKENDS, fake_backend.PATH))
    monkeypatch.setattr(registry, "OWN_TRANSLATORS", (*registry.OWN_TRANSLATORS, fake_backend.TRANSLATOR))
    monkeypatch.setattr(fake_backend.FakeCaptioner, "before", None)
    model_cache.clear()
    meter.reset()
    yield
    model_cache.clear()


def make_model(name: str = "Fake", *, is_pivot: bool = False, source: str = "", **options: Any) -> CaptioningModel:
    return CaptioningModel.objects.create(
        is_shared=True, name=name, backend="fake", source=source, is_pivot=is_pivot, options=options
    )


def make_translated(english_model: CaptioningModel) -> CaptioningModel:
    translator = Translator.objects.create(is_shared=True, name="Fake translator", backend="fake")
    return CaptioningModel.objects.create(
        is_shared=True,
        name=f"{english_model.name}, translated",
        backend="translated",
        english_model=english_model,
        translator=translator,
    )


def make_run(
    images: int | Collection = 20,
    *,
    model: CaptioningModel | None = None,
    languages: Iterable[str] = ("de", "fr"),
    decoding: Decoding | None = None,
    **about: Any,
) -> Run:
    collection = make_collection(images) if isinstance(images, int) else images
    return runs.start(
        is_shared=True,
        model=model or make_model(),
        collection=collection,
        languages=[make_language(tag) for tag in languages],
        decoding=decoding or Decoding(),
        **({"by": None, "now": NOW} | about),
    )


def begin(model: CaptioningModel, collection: Collection, *tags: str, **decoding: Any) -> Run:
    return make_run(collection, model=model, languages=tags, decoding=Decoding(**decoding))


def before(monkeypatch: pytest.MonkeyPatch, does: Callable[[Sequence[str], str], object]) -> None:
    """Have `does` called with the keys and the language of each batch that reaches the model."""
    monkeypatch.setattr(fake_backend.FakeCaptioner, "before", staticmethod(does))


def go(run: Run, *, at: datetime = NOW, worker: str = "one:1", **about: Any) -> Run:
    """Work on the run until nothing is left for this worker; the clock stands still."""
    execute_run(run_id=run.pk, worker=worker, clock=lambda: at, **about)
    run.refresh_from_db()
    return run


def key_of(run: Run, position: int) -> str:
    return str(run.collection.entries.get(position=position).image.sha256)


def counts(run: Run) -> tuple[int, int, int, int]:
    run.refresh_from_db()
    return run.total, run.already, run.done, run.failed


def log_of(run: Run) -> str:
    return "\n".join(run.events.values_list("message", flat=True))


def check_complete(run: Run) -> None:
    """Each image has one caption in each language, or has failed, and the counters say so exactly."""
    run.refresh_from_db()
    assert (run.state, run.error) == ("done", "")
    assert run.total == run.already + run.done + run.failed
    captions = ModelCaption.objects.filter(model=run.model)
    assert run.done == captions.filter(run=run).count()
    assert run.failed == run.failures.count()
    assert not run.chunks.exclude(state="done").exists()
    wanted = {
        (image_id, tag)
        for image_id in run.collection.entries.values_list("image_id", flat=True)
        for tag in run.languages.values_list("pk", flat=True)
    }
    there = [*captions.values_list("image_id", "language_id"), *run.failures.values_list("image_id", "language_id")]
    assert sorted(pair for pair in there if pair in wanted) == sorted(wanted)


def store_image(image: Image, content: bytes | None = None) -> None:
    """The original of an image: grey, unless something else is given."""
    file = io.BytesIO()
    Pillow.new("RGB", (64, 48), "grey").save(file, "PNG")
    default_storage.save(image.original, ContentFile(file.getvalue() if content is None else content))


LATER = NOW + timedelta(minutes=10)
