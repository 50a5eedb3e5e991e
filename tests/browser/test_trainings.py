"""A training in a browser: started on references, watched, paused, resumed, and its model run."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from core.people.models import Project, Role, User
from research.inference import tasks
from research.inference.models import CaptioningModel, Training
from research.inference.services import training_worker
from research.scoring.models import ReferenceSet
from tests.browser.annotator import barriers_at, sign_in
from tests.inference.embedded import painted_collection, put_training
from tests.inference.trained import losses
from tests.inference.watched import make_person
from tests.scoring.scored import make_references
from tests.torch_extra import needs_torch

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("media"),
    needs_torch,
]


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Any) -> None:
    # The tests are the worker.
    monkeypatch.setattr(tasks, "ask_for_training", lambda training_id: None)
    settings.TRAININGS_FOLDER = tmp_path / "trainings"


@pytest.fixture
def references(project: Project) -> ReferenceSet:
    return make_references(project=project, collection=painted_collection(8), language="en")


@pytest.fixture
def researcher(project: Project) -> User:
    return make_person(Role.RESEARCHER, project)


def work(training: Training) -> bool:
    try:
        return training_worker.execute_training(training_id=training.pk, worker="lab:1", clock=timezone.now)
    finally:
        connections.close_all()


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
def test_a_training_is_started_watched_paused_and_resumed(
    live_server: Any,
    page: Page,
    context: BrowserContext,
    researcher: User,
    references: ReferenceSet,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training_worker, "REPORT_EVERY_S", 0.05)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    sign_in(context, researcher, live_server.url)
    page.goto(live_server.url + reverse("scoring:reference-list", args=["lions"]))
    page.get_by_role("link", name="Train a model").click()
    page.get_by_label("Name").fill("Lions")
    page.get_by_role("group", name="References", exact=True).get_by_role("checkbox").check()
    page.get_by_label("Steps", exact=True).fill("20")
    page.get_by_label("Captions per step").fill("4")
    page.get_by_label("Steps between validations").fill("10")
    page.get_by_role("button", name="Start training").click()
    expect(page.get_by_role("heading", name="Waiting for a worker")).to_be_visible()
    training = Training.objects.get()

    go_on = threading.Event()
    stepped = training_worker._ReportingWatcher.stepped

    def held(self: Any, record: Any) -> None:
        stepped(self, record)
        if record.step == 12:
            assert go_on.wait(60)

    monkeypatch.setattr(training_worker._ReportingWatcher, "stepped", held)
    with ThreadPoolExecutor(1) as pool:
        at_work = pool.submit(work, training)
        expect(page.get_by_text("Step 12 of 20")).to_be_visible(timeout=30_000)
        expect(page.get_by_role("img", name="CIDEr in validation")).to_be_visible()
        expect(page.get_by_text("Before training").first).to_be_visible()
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("heading", name="Paused")).to_be_visible()
        # The worker notices it within its next report.
        page.wait_for_timeout(300)
        go_on.set()
        assert at_work.result(60) is False
    before = losses(training)
    assert 12 <= len(before) < 20
    page.get_by_role("button", name="Resume").click()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work, training).result(60)
        # Nobody loads the page: in the end it comes anew.
        expect(page.get_by_role("heading", name="Done")).to_be_visible()
    assert losses(training)[: len(before)] == before
    assert len(losses(training)) == 20
    page.get_by_role("link", name="View model").click()
    expect(page.get_by_role("link", name="Start a run")).to_be_visible()
    expect(page.get_by_role("link", name=f"Training {training.pk}")).to_be_visible()
    assert CaptioningModel.objects.get(training=training).name == "Lions"
    assert said == []


@pytest.mark.long(reason="axe reads other pages of the same parts")
def test_no_page_has_a_barrier_or_is_wider_than_the_screen(
    live_server: Any, page: Page, context: BrowserContext, researcher: User, references: ReferenceSet
) -> None:
    samples = {entry.image: "A caption of many words, " * 9 for entry in references.collection.entries.all()[:3]}
    training = put_training(samples, project=references.project, name="x" * 90, error="A long reason, " * 20)
    sign_in(context, researcher, live_server.url)
    for where in (
        reverse("inference:training-show", args=[training.pk]),
        reverse("inference:training-list"),
        reverse("scoring:training-create", args=["lions"]),
        reverse("scoring:reference-show", args=["lions", references.pk]),
    ):
        page.goto(live_server.url + where)
        assert barriers_at(page, 390, 1366) == [], where
