"""`manage.py caption_images`: a run in the foreground."""

from __future__ import annotations

from functools import partial

import pytest
from django.core.management.base import CommandError

from research.inference.models import Run, RunState, Worker
from research.inference.services import executor
from tests.commands import output_of
from tests.factories import make_collection
from tests.inference.fake_backend import FakeCaptioner
from tests.inference.fake_runs import (
    check_complete,
    counts,
    fake,  # noqa: F401 - for all tests here
    make_model,
)

command = partial(output_of, "caption_images")


# Its heartbeat is a thread with a connection of its own.
@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_command_makes_what_is_missing_and_says_how_far_it_is(monkeypatch):
    make_model("Fake")
    collection = make_collection(10)
    about = (collection.slug, "--model", "Fake", "--languages", "de", "fr")

    said = command(*about)
    run = Run.objects.get()
    check_complete(run)
    assert "Captions: 20, including 0 that already exist." in said
    assert said.endswith("20 of 20\n")
    assert not Worker.objects.exists()

    assert "including 20 that already exist" in command(*about)
    variant = command(*about, "--beams", "3", "--name", "Fake with beams")
    assert "including 0 that already exist" in variant
    assert Run.objects.first().model.name == "Fake with beams"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_an_interrupted_command_keeps_what_is_stored_and_leaves_nothing_to_workers(monkeypatch):
    make_model("Fake")
    collection = make_collection(20)
    about = (collection.slug, "--model", "Fake", "--languages", "de")
    monkeypatch.setattr(executor, "STORE_EVERY_S", 0.0)
    batches: list[int] = []

    def interrupt(keys: object, _language: str) -> None:
        batches.append(1)
        if len(batches) == 4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FakeCaptioner, "before", staticmethod(interrupt))
        with pytest.raises(CommandError, match="Interrupted"):
            command(*about)
    run = Run.objects.get()
    assert run.state == RunState.CANCELLED
    assert not run.chunks.filter(state="running").exists()
    before = counts(run)[2]
    assert 4 <= before < 20

    assert f"including {before} that already exist" in command(*about)
    check_complete(Run.objects.first())


@pytest.mark.django_db
def test_the_command_says_what_is_not_there_and_why_a_run_is_refused():
    make_model("Fake")
    slug = make_collection(1).slug
    for arguments, message in (
        ((slug, "--model", "Other", "--languages", "de"), "no model named Other"),
        (("nowhere", "--model", "Fake", "--languages", "de"), "no collection nowhere"),
        ((slug, "--model", "Fake", "--languages", "xx"), "no language xx"),
        ((slug, "--model", "Fake", "--languages", "qu"), "no code for Cusco Quechua"),
    ):
        with pytest.raises(CommandError, match=message):
            command(*arguments)
