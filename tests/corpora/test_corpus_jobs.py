"""Jobs of building a corpus: each step is planned, done in chunks and finished, by as many workers as there are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.test import override_settings

from corpora.models import CorpusBuild, CorpusJob, CorpusStep, ExclusionKind, JobKind, StepState
from corpora.selectors.corpus_folders import GuardedFolder, folder_of
from corpora.services import corpus_builds, corpus_jobs
from corpora.services.corpus_builds import CorpusRefusedError
from images.models import JobState
from images.services.leases import LEASE, LeaseLostError
from parallel_text.folder import LocalFolder
from parallel_text.publish import PUBLISHED
from parallel_text.step_names import STEP_NAMES
from tests.concurrency import together
from tests.corpora.building import Clock, make_corpus, work_off
from tests.factories import NOW
from tests.inference.object_storage import ObjectStorage
from tests.parallel_text.animals import NOUNS, SYNSETS

pytestmark = pytest.mark.django_db

ALL_DONE = [(StepState.DONE, "")] * len(STEP_NAMES)


class RemoteStorage(ObjectStorage):
    """As S3 has it: names without paths on this machine."""

    def size(self, name):
        return self._inner.size(name)

    def get_modified_time(self, name):
        return self._inner.get_modified_time(name)


def started(folder: Path) -> CorpusBuild:
    build = make_corpus(folder)
    corpus_builds.start(build=build, by=None, now=NOW)
    return build


def states(build: CorpusBuild) -> list[tuple[str, str]]:
    return [(step.state, step.error) for step in build.steps.all()]


def instances(build: CorpusBuild) -> list[dict[str, Any]]:
    return [json.loads(line) for line in folder_of(build).read("instances.jsonl").read_text().splitlines()]


def digests(build: CorpusBuild) -> dict[str, str]:
    return {name: hashlib.sha256(folder_of(build).read(name).read_bytes()).hexdigest() for name in PUBLISHED}


def work_until(build: CorpusBuild, step: str, kind: JobKind, clock: Callable[[], datetime]) -> CorpusJob:
    """Do the jobs before the first of this kind of a step, and claim that one."""
    while True:
        job = corpus_jobs.claim(build_id=build.pk, worker="ann", now=clock())
        assert job is not None
        if (job.step.name, job.kind) == (step, kind):
            return job
        corpus_jobs.run_job(job, clock=clock)


def test_a_corpus_is_built_step_by_step(tmp_path):
    build = started(tmp_path)

    kinds = work_off(build)

    assert states(build) == ALL_DONE
    assert len(instances(build)) == 60
    assert {each["lemma"]: each["languages"]["es"] for each in instances(build)} == NOUNS
    assert kinds[:3] == ["plan", "chunk", "finish"]

    # What is up to date is not done again.
    corpus_builds.start(build=build, by=None, now=NOW)

    assert work_off(build) == ["plan"] * len(STEP_NAMES)
    assert states(build) == ALL_DONE


@pytest.mark.long(reason="a corpus is built twice")
def test_a_step_that_is_run_again_is_done_with_all_after_it(tmp_path):
    build = started(tmp_path)
    work_off(build)

    corpus_builds.start_from(build=build, step="images", by=None, now=NOW)

    assert work_off(build)[:3] == ["plan", "finish", "plan"]
    assert states(build) == ALL_DONE


@pytest.mark.long(reason="a corpus is built three times")
def test_a_word_struck_out_leaves_the_corpus_without_aligning_again(tmp_path):
    build = started(tmp_path)
    work_off(build)
    about: dict[str, Any] = {
        "build": build,
        "kind": ExclusionKind.WORD,
        "word": "dog",
        "reason": "Too easy",
        "by": None,
        "now": NOW,
    }

    corpus_builds.strike_out(**about)
    kinds = work_off(build)

    assert {each["lemma"] for each in instances(build)} == set(NOUNS) - {"dog"}
    assert "chunk" not in kinds[:4]
    with pytest.raises(CorpusRefusedError, match="already"):
        corpus_builds.strike_out(**about)
    corpus_builds.restore(exclusion=build.exclusions.get(), by=None, now=NOW)
    work_off(build)
    assert len(instances(build)) == 60


@pytest.mark.long(reason="a corpus is built three times")
def test_a_sense_or_an_image_struck_out_is_gone_too(tmp_path):
    build = started(tmp_path)
    work_off(build)

    senses: dict[str, Any] = {"kind": ExclusionKind.SENSE, "word": "dog", "synset": SYNSETS["dog"]}
    corpus_builds.strike_out(build=build, **senses, by=None, now=NOW)
    corpus_builds.strike_out(build=build, kind=ExclusionKind.IMAGE, image="cat.jpg", by=None, now=NOW)
    work_off(build)

    assert {each["lemma"] for each in instances(build)} == set(NOUNS) - {"dog", "cat"}


@pytest.mark.long(reason="a corpus is built twice")
def test_an_aligner_that_crashes_leaves_the_step_to_be_run_again(tmp_path):
    build = started(tmp_path)
    program = tmp_path / "fast_align"
    good = program.read_text()
    program.write_text("#!/bin/sh\nexit 3\n")

    work_off(build)

    step = build.steps.get(name="align")
    assert step.state == StepState.FAILED
    assert "exit code 3" in step.error
    assert set(build.steps.filter(position__gt=step.position).values_list("state", flat=True)) == {StepState.IDLE}
    program.write_text(good)
    corpus_builds.start(build=build, by=None, now=NOW)
    work_off(build)
    assert states(build) == ALL_DONE


@pytest.mark.long(reason="at least three others run each of its lines")
def test_workers_who_ask_together_never_have_the_same_chunk(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_jobs, "MAX_ATTEMPTS", 9)
    build = started(tmp_path)
    clock = Clock()
    job = work_until(build, "align", JobKind.CHUNK, clock)

    assert corpus_jobs.claim(build_id=build.pk, worker="bob", now=clock()) is None
    clock.turn_on(LEASE)
    taken = corpus_jobs.claim(build_id=build.pk, worker="bob", now=clock())

    assert taken is not None
    assert (taken.pk, taken.holder, taken.attempts) == (job.pk, "bob", 2)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_guarded", [True, False])
def test_of_rivals_for_chunks_each_gets_another(tmp_path, is_guarded):
    build = make_corpus(tmp_path)
    step = build.steps.get(name="ingest")
    CorpusStep.objects.filter(pk=step.pk).update(state=StepState.RUNNING)
    CorpusJob.objects.bulk_create(
        CorpusJob(step=step, kind=JobKind.CHUNK, position=number, name=str(number)) for number in range(4)
    )

    def claim(worker: str) -> int:
        if is_guarded:
            job = corpus_jobs.claim(build_id=build.pk, worker=worker, now=NOW)
        else:
            job = corpus_jobs.claimable(now=NOW).order_by("pk").first()
            barrier.wait()
        return job.pk if job else 0

    barrier = Barrier(4)
    claimed = together(claim, ["ann", "bob", "cem", "dia"])

    assert (len({*claimed} - {0}) == len([one for one in claimed if one])) == is_guarded


@pytest.mark.long(reason="a corpus is built")
def test_whoever_lost_the_lease_writes_nothing_more(tmp_path):
    build = started(tmp_path)
    clock = Clock()
    job = work_until(build, "candidates", JobKind.CHUNK, clock)
    before = folder_of(build).names("candidates/")
    clock.turn_on(LEASE + timedelta(seconds=1))
    other = corpus_jobs.claim(build_id=build.pk, worker="bob", now=clock())

    corpus_jobs.run_job(job, clock=clock)

    assert folder_of(build).names("candidates/") == before
    with pytest.raises(LeaseLostError):
        corpus_jobs.Lease(job, clock=clock).renew()
    corpus_jobs.run_job(other, clock=clock)
    assert work_off(build, clock)
    assert states(build) == ALL_DONE


def test_settings_that_change_meanwhile_are_not_mixed_with_earlier_ones(tmp_path):
    build = started(tmp_path)
    assert corpus_jobs.work_on(build_id=build.pk, worker="ann", clock=Clock()) == JobKind.PLAN

    changed = build.configuration | {"chunk_sentences": 200}
    corpus_builds.configure(build=build, configuration=changed, by=None, now=NOW)
    work_off(build)

    assert "changed meanwhile" in build.steps.get(name="ingest").error


@pytest.mark.long(reason="a corpus is built")
def test_chunks_that_a_killed_finish_had_deleted_are_done_again(tmp_path):
    build = started(tmp_path)
    clock = Clock()
    job = work_until(build, "ingest", JobKind.FINISH, clock)
    folder_of(build).remove("ingest/lines/")

    corpus_jobs.run_job(job, clock=clock)

    assert work_off(build, clock)[:2] == ["chunk", "finish"]
    assert states(build) == ALL_DONE


def test_a_job_whose_workers_died_again_and_again_fails(tmp_path):
    build = started(tmp_path)
    clock = Clock()
    for _start in range(corpus_jobs.MAX_ATTEMPTS):
        assert corpus_jobs.claim(build_id=build.pk, worker="ann", now=clock())
        clock.turn_on(LEASE)

    work_off(build, clock)

    assert states(build)[0][0] == StepState.FAILED
    assert "stopped 3 times" in states(build)[0][1]


@pytest.mark.long(reason="a corpus is built")
def test_a_corpus_that_is_stopped_goes_on_later_where_it_was(tmp_path):
    build = started(tmp_path)
    job = work_until(build, "align", JobKind.CHUNK, Clock())

    corpus_builds.stop(build=build, by=None, now=NOW)
    corpus_jobs.run_job(job, clock=Clock())

    assert work_off(build) == []
    assert not folder_of(build).names("align/es/")
    corpus_builds.start(build=build, by=None, now=NOW)
    work_off(build)
    assert states(build) == ALL_DONE


@pytest.mark.long(reason="a corpus is built twice")
def test_a_corpus_is_built_in_object_storage_as_in_a_folder(tmp_path, settings):
    build = started(tmp_path)
    work_off(build)
    expected = digests(build)
    settings.VAR = tmp_path / "var"
    remote = {"BACKEND": f"{__name__}.RemoteStorage", "OPTIONS": {"location": str(tmp_path / "remote")}}
    with override_settings(STORAGES=settings.STORAGES | {"default": remote}):
        with pytest.raises(NotImplementedError):
            default_storage.path("x")
        other = started(tmp_path)
        work_off(other)

        assert states(other) == ALL_DONE
        assert digests(other) == expected


@pytest.mark.long(reason="a corpus is built")
def test_deleting_a_corpus_deletes_its_files(tmp_path, django_capture_on_commit_callbacks):
    build = started(tmp_path)
    work_off(build)
    folder = Path(default_storage.path(build.folder))
    assert folder.is_dir()

    with django_capture_on_commit_callbacks(execute=True):
        corpus_builds.delete_build(build=build, by=None, now=NOW)

    assert not folder.exists()


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("name", "values"),
    [
        # SQLite names the columns of a unique index, PostgreSQL the index.
        (r"corpus_runs_one_step_at_a_time|corpora_corpusstep\.build_id", {"state": StepState.RUNNING}),
        ("corpus_step_done_has_a_fingerprint", {"state": StepState.DONE}),
        ("corpus_step_error_of_failed_only", {"error": "no"}),
        ("corpus_step_known", {"name": "guess"}),
    ],
)
def test_the_database_refuses_impossible_steps(tmp_path, name, values):
    build = started(tmp_path)

    with pytest.raises(IntegrityError, match=name), transaction.atomic():
        build.steps.filter(name="images").update(**values)


@pytest.mark.postgres
def test_the_database_refuses_a_chunk_that_runs_without_a_lease(tmp_path):
    build = started(tmp_path)

    with pytest.raises(IntegrityError, match="corpus_job_runs_under_a_lease"), transaction.atomic():
        CorpusJob.objects.update(state=JobState.RUNNING)
    with pytest.raises(IntegrityError), transaction.atomic():
        CorpusJob.objects.create(step=build.steps.get(name="ingest"), kind=JobKind.PLAN)


@pytest.mark.sqlite
def test_who_lost_a_lease_writes_and_removes_no_file(tmp_path: Path) -> None:
    def lost() -> None:
        raise LeaseLostError

    (tmp_path / "before").touch()
    folder = GuardedFolder(LocalFolder(tmp_path), lost)
    with pytest.raises(LeaseLostError), folder.writing("after") as path:
        path.touch()
    with pytest.raises(LeaseLostError):
        folder.remove("before")
    assert folder.names("") == ["before"]
