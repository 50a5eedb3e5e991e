"""`manage.py corpus_step BUILD STEP --project P`: do a step of a corpus on the platform here and now."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from corpora.models import CorpusBuild, CorpusStep, JobKind, StepState
from corpora.services import corpus_builds, corpus_jobs
from images.models import JobState
from parallel_text.step_names import STEP_NAMES
from people.management.arguments import project_named

WAIT_S = 2.0


class Command(BaseCommand):
    help = "Do a step of a corpus on the platform, with progress. Workers that are running share its chunks."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("build", metavar="CORPUS", help="the corpus's slug")
        parser.add_argument("step", choices=STEP_NAMES)
        parser.add_argument("--project", required=True, help="the project's slug")
        parser.add_argument("--again", action="store_true", help="do it even if it is up to date")

    def handle(self, *, build: str, step: str, project: str, again: bool, **options: Any) -> None:
        found = CorpusBuild.objects.filter(project=project_named(project), slug=build).first()
        if found is None:
            raise CommandError(f"The project has no corpus {build!r}.")
        try:
            corpus_builds.start(build=found, steps=[step], again=again, by=None, now=timezone.now())
        except corpus_builds.CorpusRefusedError as refused:
            raise CommandError(str(refused)) from refused
        row = self._work_off(found, step)
        if row.state != StepState.DONE:
            raise CommandError(row.error or f"{step} was stopped.")
        self.stdout.write(f"{step}: done in {row.report['seconds']} s")

    def _work_off(self, build: CorpusBuild, step: str) -> CorpusStep:
        worker = corpus_jobs.worker_name()
        while True:
            kind = corpus_jobs.work_on(build_id=build.pk, worker=worker, clock=timezone.now)
            row = build.steps.get(name=step)
            if kind == JobKind.CHUNK:
                chunks = row.jobs.filter(kind=JobKind.CHUNK)
                done = chunks.filter(state=JobState.DONE).count()
                self.stderr.write(f"{step}: {done} of {chunks.count()}")
            if row.state not in (StepState.RUNNING, StepState.WAITING):
                return row
            if kind is None:
                time.sleep(WAIT_S)  # others do the last chunks
