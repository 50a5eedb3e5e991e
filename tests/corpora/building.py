"""A small corpus for tests of building on the platform, with a program in place of an aligner."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from corpora.models import CorpusBuild
from corpora.services import corpus_builds, corpus_files, corpus_jobs
from people.models import Project
from tests.factories import NOW, make_project
from tests.parallel_text.animals import made_aligner, made_files


def make_corpus(folder: Path, *, project: Project | None = None, name: str = "Animals") -> CorpusBuild:
    """Make a corpus with all files that it needs, in chunks of 100 sentences, to be aligned by `made_aligner`."""
    configuration = {"chunk_sentences": 100, "align": {"program": str(made_aligner(folder))}}
    build = corpus_builds.create_build(
        project=project or make_project(), name=name, configuration=configuration, by=None, now=NOW
    )
    for file, path in made_files(folder).items():
        corpus_files.add_file(build=build, path=path, name=file, by=None, now=NOW)
    return build


class Clock:
    """A clock that a test turns on."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def turn_on(self, by: timedelta) -> None:
        self.now += by


def work_off(build: CorpusBuild, clock: Callable[[], datetime] | None = None, *, worker: str = "ann") -> list[str]:
    """Do all jobs of a corpus; returns their kinds in order."""
    kinds = []
    while (kind := corpus_jobs.work_on(build_id=build.pk, worker=worker, clock=clock or Clock())) is not None:
        kinds.append(str(kind))
    return kinds
