"""Runs in a browser: one is set up, watched while a worker is at it, paused, resumed, and seen to its end."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from core.images.models import Collection
from core.people.models import Role, User
from research.inference import tasks
from research.inference.models import CaptioningModel, ModelCaption, Run, RunFailure, RunState
from research.inference.services.executor import execute_run
from tests.browser.annotator import barriers, make_images, sign_in, too_narrow
from tests.browser.conftest import Visit
from tests.factories import make_collection
from tests.inference.fake_backend import FakeCaptioner
from tests.inference.watched import make_model, make_person, make_running, make_worker, offer_fakes, start_run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    offer_fakes(monkeypatch)
    # The tests are the worker.
    monkeypatch.setattr(tasks, "ask_for_run", lambda run: None)


@pytest.fixture
def collection() -> Collection:
    return make_collection(12)


@pytest.fixture
def researcher() -> User:
    return make_person(Role.RESEARCHER)


@contextmanager
def working(run: Run, monkeypatch: pytest.MonkeyPatch, *, after: int) -> Iterator[Future[bool]]:
    """A worker at the run, which comes to a standstill after so many batches until the block ends."""
    go_on, batches = threading.Event(), 0

    def before(_keys: Sequence[str], _language: str) -> None:
        nonlocal batches
        batches += 1
        if batches > after:
            assert go_on.wait(60)

    def work() -> bool:
        try:
            return execute_run(run_id=run.pk, worker="lab:1", clock=timezone.now)
        finally:
            connections.close_all()

    monkeypatch.setattr(FakeCaptioner, "before", staticmethod(before))
    with ThreadPoolExecutor(1) as pool:
        try:
            at_work = pool.submit(work)
            yield at_work
        finally:
            go_on.set()
        assert at_work.result(60) is False


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
def test_a_run_is_set_up_watched_paused_resumed_and_seen_to_its_end(
    live_server: Any,
    page: Page,
    context: BrowserContext,
    researcher: User,
    collection: Collection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sign_in(context, researcher, live_server.url)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{live_server.url}/")
    page.get_by_role("link", name="Models").click()
    page.get_by_role("link", name="Register a model").click()
    page.get_by_role("link", name="Fake").click()
    page.get_by_label("Name").fill("Fake model")
    page.get_by_role("button", name="Register").click()
    page.get_by_role("link", name="Start a run").click()
    page.get_by_label("Collection").select_option(collection.slug)
    page.get_by_role("button", name="Next").click()
    page.wait_for_load_state()
    page.get_by_role("checkbox", name="German").check()
    # Nobody asked for it: it says beforehand what the run will do.
    expect(page.get_by_text("12 captions to make")).to_be_visible()
    expect(page.get_by_role("checkbox", name="Cusco Quechua")).to_be_disabled()
    page.get_by_role("checkbox", name="French").check()
    expect(page.get_by_text("24 captions to make")).to_be_visible()
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_text("celery --app config worker --queues gpu")).to_be_visible()
    make_worker(queues="gpu")
    expect(page.get_by_text("No worker is listening")).to_have_count(0)

    run = Run.objects.get()
    with working(run, monkeypatch, after=2):
        expect(page.get_by_text("8 of 24, 33%")).to_be_visible()
        expect(page.get_by_text("Model ready after")).to_be_visible()
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("heading", name="Paused")).to_be_visible()
    assert 8 <= ModelCaption.objects.count() < 24

    page.get_by_role("button", name="Resume").click()
    with working(run, monkeypatch, after=100):
        # Nobody loads the page: it asks for itself, and in the end comes anew.
        expect(page.get_by_role("heading", name="Done")).to_be_visible()
    expect(page.get_by_text("24 of 24, 100%")).to_be_visible()
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    assert ModelCaption.objects.count() == 24
    page.get_by_role("link", name="Fake model").click()
    expect(page.get_by_role("row", name="German de de")).to_contain_text("12")
    assert said == []


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_the_log_is_not_touched_while_nothing_is_added_to_it(
    live_server: Any, page: Page, context: BrowserContext, researcher: User, collection: Collection
) -> None:
    run = make_running(start_run(collection=collection))
    sign_in(context, researcher, live_server.url)
    page.goto(f"{live_server.url}/models/runs/{run.pk}/")
    page.locator("#run-log").evaluate("log => log.dataset.mark = 'mine'")
    Run.objects.filter(pk=run.pk).update(done=5)
    expect(page.get_by_text("5 of 24")).to_be_visible()
    expect(page.locator("#run-log")).to_have_attribute("data-mark", "mine")
    run.events.create(at=timezone.now(), message="Another line")
    expect(page.get_by_text("Another line")).to_be_visible()


@pytest.mark.long(reason="the plain form, which tests without a browser submit")
def test_without_javascript_everything_is_there_and_nothing_is_wider_than_the_screen(
    live_server: Any, visit: Visit, researcher: User, collection: Collection
) -> None:
    make_images(collection)
    model = make_model("A model with a rather long name, fine-tuned on captions", source="x" * 60)
    page = visit(researcher, java_script_enabled=False)
    page.goto(f"{live_server.url}/models/runs/new/?model={model.pk}&collection={collection.slug}")
    page.get_by_role("checkbox", name="German").check()
    page.get_by_label("Beams").fill("4")
    page.get_by_role("button", name="Count captions first").click()
    expect(page.get_by_text("12 captions to make")).to_be_visible()
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_role("link", name="Refresh")).to_be_visible()
    run = Run.objects.get()
    assert run.decoding["beams"] == 4
    image = collection.entries.all()[0].image
    RunFailure.objects.create(run=run, image=image, language_id="de", reason="unreadable" * 20, at=timezone.now())
    Run.objects.filter(pk=run.pk).update(failed=1, error="A very long reason, " * 20, state=RunState.FAILED)
    make_worker("a-machine-with-a-long-name.of-the-lab.example.org:31415", run=run, queues="default,gpu")
    own = f"models/runs/{run.pk}/"
    registering = [f"models/new/?kind={kind}" for kind in ("encoder-decoder", "chat", "endpoint", "translated", "fake")]
    others = ["models/", f"models/{model.pk}/", "models/runs/", "models/runs/new/", "models/workers/", "models/new/"]
    for where in (own, f"{own}failures/", *others, *registering, "models/translators/new/"):
        page.goto(f"{live_server.url}/{where}")
        assert too_narrow(page, 390, 1366) == [], where


@pytest.mark.long(reason="axe reads other pages of the same parts")
def test_no_page_has_a_barrier(
    live_server: Any, page: Page, context: BrowserContext, researcher: User, collection: Collection
) -> None:
    make_images(collection)
    run = make_running(start_run(collection=collection), done=3, failed=1)
    image = collection.entries.all()[0].image
    RunFailure.objects.create(run=run, image=image, language_id="de", reason="Cut off.", at=timezone.now())
    make_worker(run=run, device_memory=2**30, device_memory_total=2**32, device_busy=0.5, rate=2.0)
    CaptioningModel.objects.create(is_shared=True, name="Imported")
    sign_in(context, researcher, live_server.url)
    chosen = f"models/runs/new/?model={run.model_id}&collection={collection.slug}"
    own = f"models/runs/{run.pk}/"
    pages = [own, f"{own}failures/", "models/", f"models/{run.model_id}/", "models/runs/", chosen, "models/workers/"]
    for where in (*pages, "models/new/", "models/new/?kind=encoder-decoder"):
        page.goto(f"{live_server.url}/{where}")
        assert barriers(page) == [], where
