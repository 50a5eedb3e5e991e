"""Pages on which runs are watched and steered: the list of them, how far each one is, its log, and who may what."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from django.urls import reverse
from django.utils import timezone

from core.people.models import Role
from research.inference.backends.captioners import Decoding
from research.inference.models import ModelCaption, Run, RunEvent, RunFailure, RunState
from research.inference.selectors.runs import NEWEST_LINES
from tests.annotation.submitting import take
from tests.factories import make_collection
from tests.inference.watched import (
    HTMX,
    address,
    make_busy_researcher,
    make_model,
    make_person,
    make_running,
    make_worker,
    start_run,
)
from tests.queries import queries_of
from tests.sxs_eval.judged import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fakes", "asked")]


class TestList:
    def test_runs_stand_with_the_newest_first_and_how_far_they_are(self, researcher):
        collection = make_collection(4)
        older = make_running(start_run(make_model("Older"), collection), done=3, failed=1)
        start_run(make_model("Newer"), collection, languages=("de", "fr", "es", "it", "nl"))
        response = researcher.get(reverse("inference:run-list"))
        text = text_of(response)
        assert text.index("Newer") < text.index("Older")
        assert "4 of 8" in text
        assert "and 2 more" in text
        assert reverse("inference:run-failures", args=[older.pk]) in response.text

    def test_those_of_one_model_can_be_asked_for(self, researcher):
        one = start_run(make_model("One"))
        start_run(make_model("Other"))
        text = text_of(researcher.get(reverse("inference:run-list"), {"model": one.model_id}))
        assert "Only runs of One ." in text
        assert "Other" not in text

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_where_no_model_has_the_number_all_are_listed(self, researcher):
        start_run(make_model("One"))
        for number in ("²", "9" * 30):
            assert "One" in text_of(researcher.get(reverse("inference:run-list"), {"model": number}))

    def test_without_a_run_it_says_what_one_is(self, researcher):
        assert "No runs yet" in text_of(researcher.get(reverse("inference:run-list")))

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_it_takes_no_more_queries_for_many_runs_than_for_few(self, researcher):
        page, collection = reverse("inference:run-list"), make_collection(1)
        start_run(collection=collection)
        few = queries_of(lambda: researcher.get(page))
        for number in range(10):
            start_run(make_model(f"model {number}"), collection)
        many = queries_of(lambda: researcher.get(page))
        assert len(many) == len(few)


class TestWatching:
    def test_a_run_that_goes_on_asks_for_its_progress_every_two_seconds(self, researcher, run):
        response = researcher.get(address("show", make_running(run, done=2, failed=1)))
        assert f'hx-get="{address("progress", run)}?last=' in response.text
        assert 'hx-trigger="every 2s"' in response.text
        assert '<progress aria-labelledby="run-progress-head" value="3" max="8">37%</progress>' in response.text
        assert "3 of 8, 37%" in text_of(response)

    def test_large_numbers_have_their_thousands_apart(self, researcher, run):
        Run.objects.filter(pk=run.pk).update(total=3_600_000, already=1_200_000, done=12_345)
        text = text_of(researcher.get(address("show", run)))
        assert "1,212,345 of 3,600,000, 33%" in text
        assert "Made 12,345" in text

    @pytest.mark.parametrize("state", [RunState.PAUSED, RunState.DONE])
    def test_one_that_does_not_asks_for_nothing_and_its_last_part_has_the_page_loaded_anew(
        self, researcher, run, state
    ):
        Run.objects.filter(pk=run.pk).update(state=state)
        assert "hx-trigger" not in researcher.get(address("show", run)).text
        assert researcher.get(address("progress", run), headers=HTMX)["HX-Refresh"] == "true"

    def test_the_part_of_one_that_goes_on_does_not(self, researcher, run):
        response = researcher.get(address("progress", run), headers=HTMX)
        assert "HX-Refresh" not in response
        assert "<html" not in response.text

    def test_without_the_script_the_parts_address_leads_to_the_page(self, researcher, run):
        assert researcher.get(address("progress", run)).url == address("show", run)

    def test_workers_on_it_say_how_fast_it_is_and_when_it_will_be_done(self, researcher, run):
        make_running(run, done=2)
        make_worker("lab:1", run=run, rate=0.5, device="NVIDIA H200")
        make_worker("lab:2", run=run, rate=1.0, device_memory=2**30, device_memory_total=2**32)
        make_worker("lab:3", run=run, rate=99.0, silent_s=600)
        text = text_of(researcher.get(address("show", run)))
        assert "1.5 a second" in text
        assert "4 seconds left" in text
        for said in ("lab:1", "NVIDIA H200", "lab:2", "1.0 GB / 4.0 GB"):
            assert said in text
        assert "lab:3" not in text

    def test_where_no_worker_knows_its_speed_yet_it_is_that_since_the_start(self, researcher, run, monkeypatch):
        moment = timezone.now()
        monkeypatch.setattr(timezone, "now", lambda: moment)
        make_running(run, done=2)
        make_worker("lab:1", run=run)
        assert "12.0 a minute" in text_of(researcher.get(address("show", run)))

    def test_nothing_is_said_of_a_speed_that_is_not_known(self, researcher, run):
        text = text_of(researcher.get(address("show", make_running(run))))
        assert "Speed" not in text
        assert "left" not in text

    def test_a_run_whose_queue_nobody_listens_to_says_how_to_start_a_worker(self, researcher, run):
        make_worker("other:1", queues="default")
        make_worker("gone:1", queues="gpu", silent_s=600)
        text = text_of(researcher.get(address("show", run)))
        assert "No worker is listening to the queue “gpu”" in text
        assert "celery --app config worker --queues gpu" in text

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize("state", [RunState.QUEUED, RunState.DONE])
    def test_nothing_is_said_of_workers_where_one_listens_or_none_is_needed(self, researcher, run, state):
        Run.objects.filter(pk=run.pk).update(state=state)
        if state == RunState.QUEUED:
            make_worker(queues="default,gpu")
        assert "No worker is listening" not in text_of(researcher.get(address("show", run)))

    def test_why_it_failed_stands_on_top(self, researcher, run):
        Run.objects.filter(pk=run.pk).update(state=RunState.FAILED, error="Its weights are gone. Copy them again.")
        text = text_of(researcher.get(address("show", run)))
        assert text.index("Its weights are gone. Copy them again.") < text.index("Audit log")
        assert "Resume" in text

    def test_what_it_took_is_said_in_the_end(self, researcher, run):
        began = timezone.now() - timedelta(hours=2)
        values = {"state": RunState.DONE, "started_at": began, "finished_at": began + timedelta(minutes=80), "done": 8}
        Run.objects.filter(pk=run.pk).update(**values)
        assert "1 hour 20 minutes" in text_of(researcher.get(address("show", run)))

    def test_how_it_is_decoded_is_said(self, researcher):
        model = make_model(decoding=Decoding(temperature=0.7, top_p=0.9, seed=5).stored())
        run = start_run(model)
        Run.objects.filter(pk=run.pk).update(decoding=model.decoding)
        text = text_of(researcher.get(address("show", run)))
        for said in ("Temperature 0.7", "Top-p 0.9", "Seed 5", "0 to 40"):
            assert said in text

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_page_asks_the_counters_and_never_the_captions(self, researcher):
        collection = make_collection(4)
        runs = [start_run(make_model(f"model {number}"), collection) for number in range(3)]
        make_running(runs[0], done=3)
        ModelCaption.objects.create(
            model=runs[0].model, image=collection.entries.first().image, language_id="de", text="x", run=runs[0]
        )
        for name, headers in (("show", {}), ("progress", HTMX)):
            queries = queries_of(partial(researcher.get, address(name, runs[0]), headers=headers))
            asked_of = "\n".join(queries)
            assert "inference_modelcaption" not in asked_of
            assert "inference_chunk" not in asked_of
            assert "images_collectionimage" not in asked_of
            assert len(queries) <= 13


class TestLog:
    def test_lines_stand_with_the_newest_last_and_warnings_are_marked(self, researcher, run):
        now, first = timezone.now(), run.events.get().message
        RunEvent.objects.create(run=run, at=now, worker="lab:1", message="Model ready")
        RunEvent.objects.create(run=run, at=now, worker="lab:1", message="Memory ran out", is_warning=True)
        text = text_of(researcher.get(address("show", run)))
        assert text.index(first) < text.index("Model ready")
        assert text.index("Model ready") < text.index("Warning Memory ran out")

    def test_of_a_long_one_the_end_is_shown_and_all_of_it_where_that_is_asked_for(self, researcher, run):
        now = timezone.now()
        lines = [RunEvent(run=run, at=now, message=f"line {number};") for number in range(NEWEST_LINES + 4)]
        RunEvent.objects.bulk_create(lines)
        text = text_of(researcher.get(address("show", run)))
        assert "5 earlier lines" in text
        assert "line 3;" not in text
        assert "line 4;" in text
        text = text_of(researcher.get(address("show", run), {"log": "whole"}))
        assert "line 0;" in text
        assert "earlier" not in text

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_it_comes_along_with_the_progress_only_where_it_has_grown(self, researcher, run):
        last = run.events.latest("pk").pk
        same = researcher.get(address("progress", run), {"last": last}, headers=HTMX)
        assert "run-log" not in same.text
        RunEvent.objects.create(run=run, at=timezone.now(), message="Model ready")
        grown = researcher.get(address("progress", run), {"last": last}, headers=HTMX)
        assert '<section id="run-log" aria-labelledby="run-log-head" hx-swap-oob="true">' in grown.text
        assert "Model ready" in grown.text
        assert "hx-swap-oob" not in researcher.get(address("show", run)).text


class TestAccess:
    READ = ("show", "progress", "failures")

    def test_a_run_that_is_not_there_is_not_found(self, researcher, run):
        missing = run.pk + 1
        for name in self.READ:
            assert researcher.get(reverse(f"inference:run-{name}", args=[missing])).status_code == 404
        assert researcher.post(reverse("inference:run-pause", args=[missing])).status_code == 404


class TestSteering:
    def test_it_pauses_goes_on_and_is_cancelled(self, researcher, run, asked):
        for name, state in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
            response = researcher.post(address(name, run), follow=True)
            run.refresh_from_db()
            assert run.state == state
            assert response.redirect_chain == [(address("show", run), 302)]
        assert asked == [run.pk]

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize(
        ("state", "offered"),
        [
            (RunState.QUEUED, {"pause", "cancel"}),
            (RunState.RUNNING, {"pause", "cancel"}),
            (RunState.PAUSED, {"resume", "retry", "cancel"}),
            (RunState.DONE, {"retry"}),
            (RunState.CANCELLED, {"retry"}),
        ],
    )
    def test_only_what_can_be_done_is_offered(self, researcher, run, state, offered):
        Run.objects.filter(pk=run.pk).update(state=state, failed=1)
        text = researcher.get(address("show", run)).text
        assert {name for name in ("pause", "resume", "cancel", "retry") if address(name, run) in text} == offered

    def test_what_failed_is_tried_again(self, researcher, run, asked):
        image = run.collection.entries.first().image
        RunFailure.objects.create(run=run, image=image, language_id="de", reason="Cut off.", at=timezone.now())
        Run.objects.filter(pk=run.pk).update(state=RunState.DONE, failed=1)
        researcher.post(address("retry", run))
        run.refresh_from_db()
        assert (run.state, run.failed) == (RunState.QUEUED, 0)
        assert asked == [run.pk]

    def test_what_cannot_be_done_any_more_is_refused_with_the_reason(self, researcher, run, asked):
        Run.objects.filter(pk=run.pk).update(state=RunState.DONE)
        assert "has changed in the meantime" in text_of(researcher.post(address("pause", run), follow=True))
        assert asked == []


class TestFailures:
    @pytest.fixture
    def failed(self, project):
        run = start_run(collection=make_collection(3), languages=("de",), project=project)
        for number, entry in enumerate(run.collection.entries.all()):
            reason = "The file is cut off." if number else "It has no pixels."
            RunFailure.objects.create(run=run, image=entry.image, language_id="de", reason=reason, at=timezone.now())
        Run.objects.filter(pk=run.pk).update(state=RunState.DONE, failed=3)
        return run

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_each_stands_with_its_image_and_why(self, researcher, failed):
        response = researcher.get(address("failures", failed))
        text = text_of(response)
        for entry in failed.collection.entries.all():
            assert entry.key in text
            assert f"/images/{entry.image.public_id}/320/" in response.text
        assert "2 × The file is cut off." in text
        assert "1 × It has no pixels." in text
        assert "German" in text
        assert address("retry", failed) in response.text

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_images_that_the_viewer_works_on_are_kept_from_them_until_they_have_submitted(self, client, failed):
        person, round = make_busy_researcher(failed.collection)
        viewer = make_person(Role.RESEARCHER)
        for one in (person, viewer):
            client.force_login(one)
            if one == person:
                batch = take(round, person)
            text = client.get(address("failures", failed)).text
            told = client.get(reverse("api:run-failures", args=[failed.pk]), {"limit": 1000}).json()["results"]
            failures = {row["image"]: (row["language"], row["reason"]) for row in told}
            for entry in failed.collection.entries.all():
                is_assigned = one == person and batch.items.filter(image=entry.image).exists()
                assert (str(entry.image.public_id) in text) != is_assigned
                assert (entry.key in text) != is_assigned
                assert (str(entry.image.public_id) in failures) != is_assigned
            assert ("that you are working on" in text) == (one == person)
        assert sorted(failures.values()) == [("de", "It has no pixels."), *[("de", "The file is cut off.")] * 2]

    def test_what_has_left_the_collection_is_still_told_of(self, researcher, failed):
        failed.collection.entries.all().delete()
        assert text_of(researcher.get(address("failures", failed))).count("The file is cut off.") == 3

    def test_where_nothing_failed_it_says_so(self, researcher, run):
        assert "Nothing failed" in text_of(researcher.get(address("failures", run)))
