"""Reference sets and scorings for tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connections

from core.images.models import Collection
from core.jobs.models import OPEN_STATES
from core.people.models import Project
from research.inference.models import CaptioningModel
from research.scoring.models import Pass, ReferenceSet, Scoring
from research.scoring.services.references import put_references, set_of
from research.scoring.services.scoring_passes import run_pass
from research.scoring.services.scorings import create_scorings
from tests.factories import NOW, make_captioner, make_collection, make_language, make_project

METRICS = ["bleu", "rouge-l", "cider-d"]


def make_references(
    *,
    project: Project | None = None,
    collection: Collection | None = None,
    language: str = "de",
    texts: Sequence[str] | None = None,
    **fields: Any,
) -> ReferenceSet:
    """Two captions for each image: "test caption of KEY" and "an image of KEY", or `texts`."""
    collection = collection or make_collection()
    made = set_of(
        project=project or make_project(),
        collection=collection,
        language=make_language(language),
        name=fields.pop("name", "People"),
        by=None,
        now=NOW,
        **fields,
    )
    captions = {
        entry.image_id: list(texts or [f"test caption of {entry.key}", f"an image of {entry.key}"])
        for entry in collection.entries.all()
    }
    put_references(reference_set=made, captions=captions, now=NOW)
    made.refresh_from_db()
    return made


def make_scoring(
    references: ReferenceSet | None = None, *, model: CaptioningModel | None = None, **about: Any
) -> Scoring:
    """A scoring of a model that says "base caption of KEY", with an open pass."""
    references = references or make_references()
    model = model or make_captioner(references.collection, text="base caption", language=references.language_id)
    (scoring,) = make_scorings(references, [model], **about)
    return scoring


def make_scorings(references: ReferenceSet, models: Sequence[CaptioningModel], **about: Any) -> list[Scoring]:
    values: dict[str, Any] = {"metrics": METRICS, "tokenizer": "whitespace", "normalise": True, "by": None, "now": NOW}
    values |= {"project": references.project}
    return list(create_scorings(references=references, models=models, **(values | about)))


def run(scoring: Scoring, *, at: datetime = NOW) -> Pass:
    """Run the open pass to its end; the clock goes on by a second each time it is looked at."""
    scoring_pass = scoring.passes.get(state__in=OPEN_STATES)
    run_pass(pass_id=scoring_pass.pk, clock=ticking(at))
    scoring_pass.refresh_from_db()
    return scoring_pass


def ticking(at: datetime = NOW) -> Any:
    moments = iter(at + timedelta(seconds=second) for second in range(100_000))
    return lambda: next(moments)


def values_of(scoring_pass: Pass) -> Mapping[str, float | None]:
    return dict(scoring_pass.scores.values_list("metric", "value"))


def in_a_process(work: Callable[[], None]) -> int:
    """Have a process of its own do `work`; returns its number."""
    # A connection that two processes share is of no use to either.
    connections.close_all()
    process = os.fork()
    if process:
        return process
    try:
        work()
    finally:
        os._exit(1)
