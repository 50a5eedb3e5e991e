"""Pages of runs: starting one, watching it, steering it, and what of it failed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from inference import tasks
from inference.backends.captioners import Decoding
from inference.models import CaptioningModel, ModelCaption, Run, RunEvent, RunFailure, RunState, Translator
from inference.selectors.runs import NEWEST_LINES
from people.models import Role
from tests.annotation.handing_in import take
from tests.factories import (
    make_annotator,
    make_captioner,
    make_collection,
    make_project,
    make_round,
)
from tests.inference.watched import (
    OUTSIDERS,
    make_model,
    make_person,
    make_running,
    make_worker,
    offer_fakes,
    start_run,
)
from tests.sxs_eval.judged import text_of

pytestmark = pytest.mark.django_db

DECODING = {name: value for name, value in Decoding().stored().items() if name != "is_consistent"}
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def _fakes(monkeypatch):
    offer_fakes(monkeypatch)
    monkeypatch.setattr(tasks, "ask_for_run", lambda run: asked.append(run.pk))
    asked.clear()


asked: list[int] = []


@pytest.fixture
def researcher(client):
    client.force_login(make_person(Role.RESEARCHER))
    return client


@pytest.fixture
def run():
    return start_run()


def address(name, run):
    return reverse(f"inference:run-{name}", args=[run.pk])


def create_address(model, collection):
    return f"{reverse('inference:run-create')}?model={model.pk}&collection={collection.slug}"


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
        assert "Of One alone." in text
        assert "Other" not in text

    @pytest.mark.parametrize("number", ["x", "²", "-1", "9" * 30, "0"])
    def test_where_no_model_has_the_number_all_are_listed(self, researcher, number):
        start_run(make_model("One"))
        assert "One" in text_of(researcher.get(reverse("inference:run-list"), {"model": number}))

    def test_without_a_run_it_says_what_one_is(self, researcher):
        assert "No run yet" in text_of(researcher.get(reverse("inference:run-list")))

    def test_it_takes_no_more_queries_for_many_runs_than_for_few(self, researcher):
        page, collection = reverse("inference:run-list"), make_collection(1)
        start_run(collection=collection)
        with CaptureQueriesContext(connection) as few:
            researcher.get(page)
        for number in range(10):
            start_run(make_model(f"model {number}"), collection)
        with CaptureQueriesContext(connection) as many:
            researcher.get(page)
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

    @pytest.mark.parametrize("state", [RunState.PAUSED, RunState.DONE, RunState.FAILED, RunState.CANCELLED])
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

    def test_where_no_worker_knows_its_speed_yet_it_is_that_since_the_start(self, researcher, run):
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
        assert "No worker listens to the queue “gpu”" in text
        assert "celery --app config worker --queues gpu" in text

    @pytest.mark.parametrize("state", [RunState.QUEUED, RunState.DONE])
    def test_nothing_is_said_of_workers_where_one_listens_or_none_is_needed(self, researcher, run, state):
        Run.objects.filter(pk=run.pk).update(state=state)
        if state == RunState.QUEUED:
            make_worker(queues="default,gpu")
        assert "No worker listens" not in text_of(researcher.get(address("show", run)))

    def test_why_it_failed_stands_on_top(self, researcher, run):
        Run.objects.filter(pk=run.pk).update(state=RunState.FAILED, error="Its weights are gone. Copy them again.")
        text = text_of(researcher.get(address("show", run)))
        assert text.index("Its weights are gone. Copy them again.") < text.index("Log")
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
        for said in ("Temperature 0.7", "Kept probability 0.9", "Seed 5", "0 to 40"):
            assert said in text

    def test_the_page_asks_the_counters_and_never_the_captions(self, researcher):
        collection = make_collection(4)
        runs = [start_run(make_model(f"model {number}"), collection) for number in range(3)]
        make_running(runs[0], done=3)
        ModelCaption.objects.create(
            model=runs[0].model, image=collection.entries.first().image, language_id="de", text="x", run=runs[0]
        )
        for name, headers in (("show", {}), ("progress", HTMX)):
            with CaptureQueriesContext(connection) as queries:
                researcher.get(address(name, runs[0]), headers=headers)
            asked_of = "\n".join(query["sql"] for query in queries)
            assert "inference_modelcaption" not in asked_of
            assert "inference_chunk" not in asked_of
            assert "corpus_collectionimage" not in asked_of
            assert len(queries) <= 10


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

    def test_it_comes_along_with_the_progress_only_where_it_has_grown(self, researcher, run):
        last = run.events.latest("pk").pk
        same = researcher.get(address("progress", run), {"last": last}, headers=HTMX)
        assert "run-log" not in same.text
        RunEvent.objects.create(run=run, at=timezone.now(), message="Model ready")
        grown = researcher.get(address("progress", run), {"last": last}, headers=HTMX)
        assert '<section id="run-log" aria-labelledby="run-log-head" hx-swap-oob="true">' in grown.text
        assert "Model ready" in grown.text
        assert "hx-swap-oob" not in researcher.get(address("show", run)).text


class TestSteering:
    def test_it_pauses_goes_on_and_is_cancelled(self, researcher, run):
        for name, state in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
            response = researcher.post(address(name, run), follow=True)
            run.refresh_from_db()
            assert run.state == state
            assert response.redirect_chain == [(address("show", run), 302)]
        assert asked == [run.pk]

    @pytest.mark.parametrize(
        ("state", "offered"),
        [
            (RunState.QUEUED, {"pause", "cancel"}),
            (RunState.RUNNING, {"pause", "cancel"}),
            (RunState.PAUSED, {"resume", "retry", "cancel"}),
            (RunState.FAILED, {"resume", "retry", "cancel"}),
            (RunState.DONE, {"retry"}),
            (RunState.CANCELLED, {"retry"}),
        ],
    )
    def test_only_what_can_be_done_is_offered(self, researcher, run, state, offered):
        Run.objects.filter(pk=run.pk).update(state=state, failed=1)
        text = researcher.get(address("show", run)).text
        assert {name for name in ("pause", "resume", "cancel", "retry") if address(name, run) in text} == offered

    def test_what_failed_is_tried_again(self, researcher, run):
        image = run.collection.entries.first().image
        RunFailure.objects.create(run=run, image=image, language_id="de", reason="Cut off.", at=timezone.now())
        Run.objects.filter(pk=run.pk).update(state=RunState.DONE, failed=1)
        researcher.post(address("retry", run))
        run.refresh_from_db()
        assert (run.state, run.failed) == (RunState.QUEUED, 0)
        assert asked == [run.pk]

    def test_what_cannot_be_done_any_more_is_refused_with_the_reason(self, researcher, run):
        Run.objects.filter(pk=run.pk).update(state=RunState.DONE)
        assert "another state" in text_of(researcher.post(address("pause", run), follow=True))
        assert asked == []

    @pytest.mark.parametrize("name", ["pause", "resume", "cancel", "retry"])
    def test_nothing_is_done_by_looking(self, researcher, run, name):
        assert researcher.get(address(name, run)).status_code == 405


class TestFailures:
    @pytest.fixture
    def failed(self):
        run = start_run(collection=make_collection(3), languages=("de",))
        for number, entry in enumerate(run.collection.entries.all()):
            reason = "The file is cut off." if number else "It has no pixels."
            RunFailure.objects.create(run=run, image=entry.image, language_id="de", reason=reason, at=timezone.now())
        Run.objects.filter(pk=run.pk).update(state=RunState.DONE, failed=3)
        return run

    def test_each_stands_with_its_picture_and_why(self, researcher, failed):
        response = researcher.get(address("failures", failed))
        text = text_of(response)
        for entry in failed.collection.entries.all():
            assert entry.key in text
            assert f"/pictures/{entry.image.public_id}/320/" in response.text
        assert "2 × The file is cut off." in text
        assert "1 × It has no pixels." in text
        assert "German" in text
        assert address("retry", failed) in response.text

    def test_pictures_that_the_viewer_works_on_are_kept_from_them_until_they_have_handed_in(self, client, failed):
        captioner = make_captioner(failed.collection, "English")
        round = make_round(collection=failed.collection, captioners=[captioner], batch_size=1)
        person = make_annotator(round)
        viewer = make_person(Role.RESEARCHER)
        for one in (person, viewer):
            client.force_login(one)
            if one == person:
                person.memberships.create(project=make_project(), role=Role.RESEARCHER)
                batch = take(round, person)
            text = client.get(address("failures", failed)).text
            for entry in failed.collection.entries.all():
                is_in_hand = one == person and batch.items.filter(image=entry.image).exists()
                assert (str(entry.image.public_id) in text) != is_in_hand
                assert (entry.key in text) != is_in_hand
            assert ("that you are working on right now" in text) == (one == person)

    def test_what_has_left_the_collection_is_still_told_of(self, researcher, failed):
        failed.collection.entries.all().delete()
        assert text_of(researcher.get(address("failures", failed))).count("The file is cut off.") == 3

    def test_where_nothing_failed_it_says_so(self, researcher, run):
        assert "Nothing failed" in text_of(researcher.get(address("failures", run)))


class TestStarting:
    @pytest.fixture
    def model(self):
        return make_model("Blathering")

    @pytest.fixture
    def collection(self):
        return make_collection(3)

    def send(self, researcher, model, collection, **values):
        data = DECODING | {"languages": ["de", "fr"], "name": ""} | values
        return researcher.post(create_address(model, collection), data)

    def test_first_model_and_collection_are_chosen(self, researcher, model, collection):
        make_captioner(collection, "Imported")
        response = researcher.get(reverse("inference:run-create"), {"model": model.pk})
        assert f'<option value="{model.pk}" selected>Blathering</option>' in response.text
        assert collection.slug in response.text
        assert "Imported" not in response.text

    def test_a_collections_own_page_leads_there_with_the_collection_chosen(self, client, model, collection):
        client.force_login(make_person(Role.MANAGER))
        address = f"{reverse('inference:run-create')}?collection={collection.slug}"
        assert address in client.get(reverse("corpus:collection-show", args=[collection.slug])).text
        assert f'<option value="{collection.slug}" selected>' in client.get(address).text

    def test_where_nothing_can_be_run_it_says_what_to_do(self, researcher):
        assert reverse("inference:model-create") in researcher.get(reverse("inference:run-create")).text

    def test_without_pictures_too(self, researcher, model):
        assert "no collection" in text_of(researcher.get(reverse("inference:run-create")))

    def test_what_is_not_there_cannot_be_chosen(self, researcher, model, collection):
        page = reverse("inference:run-create")
        for number in ("9999", "9" * 30, "x"):
            text = text_of(researcher.get(page, {"model": number, "collection": collection.slug}))
            assert "There is no such model that can be run." in text
        text = text_of(researcher.get(page, {"model": model.pk, "collection": "guessed"}))
        assert "There is no such collection." in text

    def test_languages_stand_with_how_many_captions_there_are_and_those_of_others_cannot_be_chosen(
        self, researcher, model, collection
    ):
        first = collection.entries.first().image
        ModelCaption.objects.create(model=model, image=first, language_id="de", text="Ein Hund")
        response = researcher.get(create_address(model, collection))
        text = text_of(response)
        assert "German [de] 1 of 3" in text
        assert "Cusco Quechua – not one of the model's" in text
        (quechua,) = [line for line in response.text.splitlines() if 'value="quz"' in line]
        (german,) = [line for line in response.text.splitlines() if 'value="de"' in line and "checkbox" in line]
        assert "disabled" in quechua
        assert "disabled" not in german
        assert "checked" in german

    def test_a_language_of_others_that_is_sent_all_the_same_is_refused(self, researcher, model, collection):
        response = self.send(researcher, model, collection, languages=["quz"])
        assert response.status_code == 422
        assert "Cusco Quechua" in response.context["form"].errors["languages"].as_text()
        assert not Run.objects.exists()

    def test_before_it_starts_it_says_what_is_to_be_made_and_what_is_there(self, researcher, model, collection):
        for entry in collection.entries.all()[:2]:
            ModelCaption.objects.create(model=model, image=entry.image, language_id="de", text="Ein Hund")
        response = self.send(researcher, model, collection, count="1")
        assert response.status_code == 200
        text = text_of(response)
        assert "4 captions are to be made , 2 exist already and stay as they are." in text
        assert "They are those of Blathering ." in text
        assert not Run.objects.exists()

    def test_counting_with_a_gap_in_the_form_says_what_is_missing(self, researcher, model, collection):
        response = self.send(researcher, model, collection, count="1", languages=[])
        assert "Choose languages to see" in text_of(response)

    def test_it_starts_and_its_page_is_shown(self, researcher, model, collection):
        response = self.send(researcher, model, collection, beams="5")
        run = Run.objects.get()
        assert response.url == address("show", run)
        assert (run.total, run.queue, run.decoding["beams"]) == (6, "gpu", 5)
        assert {language.tag for language in run.languages.all()} == {"de", "fr"}
        assert run.created_by is not None
        assert asked == [run.pk]

    def test_the_settings_offered_are_those_of_the_models_captions(self, researcher, model, collection):
        CaptioningModel.objects.filter(pk=model.pk).update(decoding=Decoding(beams=3, max_tokens=77).stored())
        form = researcher.get(create_address(model, collection)).context["form"]
        assert (form["beams"].value(), form["max_tokens"].value()) == (3, 77)

    def test_decoded_otherwise_it_says_that_the_captions_are_a_variants(self, researcher, model, collection):
        CaptioningModel.objects.filter(pk=model.pk).update(decoding=Decoding().stored())
        for entry in collection.entries.all():
            ModelCaption.objects.create(model=model, image=entry.image, language_id="de", text="Ein Hund")
        text = text_of(self.send(researcher, model, collection, beams="5", count="1"))
        assert "6 captions are to be made , 0 exist already" in text
        assert "under a new name, Blathering · beams 5 :" in text
        text = text_of(self.send(researcher, model, collection, beams="5", count="1", name="Blathering, wide"))
        assert "under a new name, Blathering, wide :" in text

    def test_what_it_says_beforehand_is_what_comes_true(self, researcher, model, collection):
        CaptioningModel.objects.filter(pk=model.pk).update(decoding=Decoding().stored())
        plan = self.send(researcher, model, collection, beams="5", count="1").context["plan"]
        self.send(researcher, model, collection, beams="5")
        run = Run.objects.get()
        assert (run.model.name, run.model.variant_of, run.total) == (plan.name, model, plan.to_make)
        Run.objects.update(state=RunState.CANCELLED)
        again = self.send(researcher, model, collection, beams="5", count="1").context["plan"]
        assert (again.name, again.is_variant, again.is_new_variant) == (plan.name, True, False)
        # Started from the variant, with the settings of the first, they are the first one's.
        back = self.send(researcher, run.model, collection, count="1").context["plan"]
        assert (back.name, back.is_variant) == (model.name, False)

    def test_what_the_service_refuses_is_said_above_the_form(self, researcher, model, collection):
        self.send(researcher, model, collection)
        response = self.send(researcher, model, collection)
        assert response.status_code == 422
        assert "makes captions of these images by this model already" in text_of(response)

    @pytest.mark.parametrize(
        ("values", "field"),
        [
            ({"languages": []}, "languages"),
            ({"beams": "0"}, "beams"),
            ({"min_tokens": "50"}, "min_tokens"),
            ({"beams": "3", "temperature": "1"}, "temperature"),
            ({"temperature": "nan"}, "temperature"),
            ({"precision": "int4"}, "precision"),
        ],
    )
    def test_settings_that_cannot_be_are_refused_where_they_stand(self, researcher, model, collection, values, field):
        response = self.send(researcher, model, collection, **values)
        assert response.status_code == 422
        assert set(response.context["form"].errors) == {field}
        assert not Run.objects.exists()

    def test_an_empty_collection_has_no_form(self, researcher, model):
        response = researcher.get(create_address(model, make_collection(0)))
        assert "There is no picture in this collection yet." in text_of(response)
        assert 'id="run-form"' not in response.text

    def test_a_model_that_cannot_be_run_here_says_why(self, researcher, collection):
        text = text_of(researcher.get(create_address(make_model(source="nowhere"), collection)))
        assert "There is no such model." in text
        text = text_of(researcher.get(create_address(make_model("Of old", backend="gone"), collection)))
        assert "No backend 'gone' is installed here." in text

    def test_only_pivot_stabilised_models_are_asked_for_one_stabiliser(self, researcher, model, collection):
        assert "is_consistent" not in researcher.get(create_address(model, collection)).text
        pivot = make_model("Pivot", is_pivot=True)
        self.send(researcher, pivot, collection, is_consistent="on")
        assert Run.objects.get().decoding["is_consistent"] is True

    def test_a_translated_model_says_how_many_pictures_have_no_english_caption(self, researcher, collection):
        english = make_captioner(collection, "English")
        ModelCaption.objects.filter(image=collection.entries.first().image).delete()
        translator = Translator.objects.create(name="Fake translator", backend="fake")
        model = make_model("Translated", backend="translated", english_model=english, translator=translator)
        response = self.send(researcher, model, collection, count="1")
        assert "1 picture has no English caption by “English” and will fail." in text_of(response)
        assert "German [deu] 0 of 3" in text_of(response)
        self.send(researcher, model, collection)
        assert Run.objects.get().total == 6


class TestOutsiders:
    READ = ("show", "progress", "failures")
    WRITE = ("pause", "resume", "cancel", "retry")

    @pytest.mark.parametrize("role", OUTSIDERS)
    def test_they_find_nothing_and_change_nothing(self, client, run, role):
        client.force_login(make_person(role))
        pages = [reverse("inference:run-list"), create_address(run.model, run.collection)]
        for page in (*pages, *(address(name, run) for name in self.READ)):
            assert client.get(page).status_code == 404
            assert client.get(page, headers=HTMX).status_code == 404
        for name in self.WRITE:
            assert client.post(address(name, run)).status_code == 404
        assert client.post(create_address(run.model, run.collection), DECODING).status_code == 404
        run.refresh_from_db()
        assert run.state == RunState.QUEUED
        assert Run.objects.count() == 1

    @pytest.mark.parametrize("role", [Role.MANAGER, Role.RESEARCHER])
    def test_the_same_pages_are_there_for_whoever_does_research(self, client, run, role):
        client.force_login(make_person(role))
        for page in (reverse("inference:run-list"), create_address(run.model, run.collection)):
            assert client.get(page).status_code == 200
        for name in ("show", "failures"):
            assert client.get(address(name, run)).status_code == 200

    def test_strangers_are_asked_to_sign_in(self, run):
        for name in self.READ:
            assert Client().get(address(name, run)).status_code == 302
        assert Client().post(address("cancel", run)).status_code == 302

    def test_a_run_that_is_not_there_is_not_found(self, researcher, run):
        missing = run.pk + 1
        for name in self.READ:
            assert researcher.get(reverse(f"inference:run-{name}", args=[missing])).status_code == 404
        assert researcher.post(reverse("inference:run-pause", args=[missing])).status_code == 404

    def test_a_form_from_elsewhere_is_refused(self, run):
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(make_person(Role.RESEARCHER))
        assert strict.post(address("cancel", run)).status_code == 403
