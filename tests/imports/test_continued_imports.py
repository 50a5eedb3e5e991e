"""An import whose worker died goes on with what is left, and can be undone, whatever its first parts have stored."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from annotation.models import Caption, Round
from core.images.models import ImportJob, ImportStage
from core.jobs.models import JobState
from core.people.models import Project
from office.imports.services import taking
from office.imports.services.undoing import undo_at_once
from sxs_eval.models import Comparison
from tests.exported import exported_text
from tests.factories import NOW, make_keyed_collection
from tests.imports.sent import confirmed, run
from tests.imports.test_judgements import another_with, partly_equal

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
DIED, LATER = NOW + timedelta(days=2), NOW + timedelta(days=3)
__all__ = ["partly_equal"]


def continued(job: ImportJob, monkeypatch: pytest.MonkeyPatch) -> ImportJob:
    """Let the worker die when all parts are in, and another one continue."""

    def die(_job: ImportJob) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(taking, "_drop_empty_collection", die)
        with pytest.raises(KeyboardInterrupt):
            run(job, now=DIED)
    job.refresh_from_db()
    assert (job.state, job.parts.count()) == (JobState.RUNNING, 1)
    return run(job, now=LATER)


def assert_done(job: ImportJob) -> None:
    assert (job.state, job.stage, job.error) == (JobState.DONE, ImportStage.IMPORT, "")
    assert job.parts.count() == 1


def test_rounds_that_it_made_itself_do_not_stop_it(project: Project, monkeypatch):
    line = {"image/key": "one", "de": {"caption": ["Ein Haus"]}}
    about = {"project": project, "collection": make_keyed_collection(["one"]).slug, "kind": "captions by people"}
    job = continued(confirmed(json.dumps(line).encode(), **about), monkeypatch)
    assert_done(job)
    assert Caption.objects.count() == 1
    undo_at_once(job, now=LATER)
    assert not Round.objects.exists()


def test_comparisons_that_it_made_itself_do_not_stop_it(partly_equal, monkeypatch):
    content, other = exported_text(partly_equal.project, "judgements").encode(), another_with(partly_equal)
    job = confirmed(content, "judged.jsonl", project=other, collection=partly_equal.collection.slug)
    job = continued(job, monkeypatch)
    assert_done(job)
    assert Comparison.objects.filter(project=other).count() == 1
    undo_at_once(job, now=LATER)
    assert not Comparison.objects.filter(project=other).exists()
