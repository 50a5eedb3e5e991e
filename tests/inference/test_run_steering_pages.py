"""Steering a run by its pages: pausing, resuming, cancelling, and trying again what failed."""

from __future__ import annotations

import pytest
from django.utils import timezone

from core.people.models import Role
from research.inference.models import Run, RunFailure, RunState
from tests.annotation.submitting import take
from tests.factories import make_collection
from tests.inference.watched import address, make_busy_researcher, make_person, start_run
from tests.sxs_eval.judged import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fakes", "asked")]


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
            for entry in failed.collection.entries.all():
                is_assigned = one == person and batch.items.filter(image=entry.image).exists()
                assert (str(entry.image.public_id) in text) != is_assigned
                assert (entry.key in text) != is_assigned
            assert ("that you are working on" in text) == (one == person)

    def test_what_has_left_the_collection_is_still_told_of(self, researcher, failed):
        failed.collection.entries.all().delete()
        assert text_of(researcher.get(address("failures", failed))).count("The file is cut off.") == 3

    def test_where_nothing_failed_it_says_so(self, researcher, run):
        assert "Nothing failed" in text_of(researcher.get(address("failures", run)))
