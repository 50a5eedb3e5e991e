"""What the pages of building a corpus show: its files, its steps and how far they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from corpora.models import CorpusBuild, CorpusFile, CorpusStep, JobKind, StepState
from corpora.selectors.corpus_configs import config_of, fingerprints_of
from images.models import JobState
from parallel_text.aligners import find_aligner
from parallel_text.config import ConfigError
from parallel_text.problems import CorpusError
from parallel_text.publish import PUBLISHED
from people.models import Project

LONGEST_SHOWN = 40
GOING = (StepState.RUNNING, StepState.WAITING)

STEP_TITLES = {
    "ingest": _("Join the sentences"),
    "candidates": _("Find candidates"),
    "align": _("Align the words"),
    "dictionary": _("Make the dictionary"),
    "senses": _("Find senses"),
    "intersect": _("Intersect the senses"),
    "images": _("Find images"),
    "index": _("Index the corpus"),
    "publish": _("Publish"),
}


@dataclass(frozen=True)
class StepRow:
    """A step as the page shows it. `counts` are names and values in words."""

    step: CorpusStep
    title: str
    done: int
    total: int
    running: int
    is_out_of_date: bool

    @property
    def is_running(self) -> bool:
        return self.step.state == StepState.RUNNING

    @property
    def seconds(self) -> float | None:
        seconds: float | None = self.step.report.get("seconds")
        return seconds

    @property
    def counts(self) -> list[tuple[str, str]]:
        return [(_words(name), _shown(value)) for name, value in self.step.report.get("counts", {}).items()]

    @property
    def problems(self) -> list[dict[str, Any]]:
        return [problem | {"kind": _words(problem["kind"])} for problem in self.step.report.get("problems", [])]

    @property
    def tools(self) -> list[tuple[str, str]]:
        return list(self.step.report.get("tools", {}).items())


@dataclass(frozen=True)
class CorpusPage:
    """A corpus. `missing` says what has to be added or changed before it can be built."""

    build: CorpusBuild
    files: Sequence[CorpusFile]
    steps: list[StepRow]
    missing: list[str]
    no_aligner: str
    published: list[str]

    @property
    def is_going(self) -> bool:
        return any(row.step.state in GOING for row in self.steps)

    @property
    def is_built(self) -> bool:
        return all(row.step.state == StepState.DONE and not row.is_out_of_date for row in self.steps)

    @property
    def has_begun(self) -> bool:
        return any(row.step.state != StepState.IDLE for row in self.steps)


def builds_of(project: Project) -> QuerySet[CorpusBuild]:
    """Corpora of a project, each with how many steps are done, running and failed."""
    return (
        CorpusBuild.objects.filter(project=project)
        .annotate(
            file_count=Count("files", distinct=True),
            steps_done=Count("steps", filter=Q(steps__state=StepState.DONE), distinct=True),
            steps_going=Count("steps", filter=Q(steps__state__in=GOING), distinct=True),
            steps_failed=Count("steps", filter=Q(steps__state=StepState.FAILED), distinct=True),
            steps_all=Count("steps", distinct=True),
        )
        .order_by("-created_at", "-pk")
    )


def corpus_page(build: CorpusBuild) -> CorpusPage:
    missing, prints = _state_of(build)
    return CorpusPage(
        build=build,
        files=list(build.files.all()),
        steps=step_rows(build, prints),
        missing=missing,
        no_aligner=_aligner_missing(build),
        published=[name for name in PUBLISHED if default_storage.exists(stored_name(build, name))],
    )


def step_rows(build: CorpusBuild, prints: Mapping[str, str]) -> list[StepRow]:
    chunks = Q(jobs__kind=JobKind.CHUNK)
    steps = build.steps.annotate(
        all_chunks=Count("jobs", filter=chunks),
        done_chunks=Count("jobs", filter=chunks & Q(jobs__state=JobState.DONE)),
        running_jobs=Count("jobs", filter=Q(jobs__state=JobState.RUNNING)),
    )
    return [
        StepRow(
            step=step,
            title=str(STEP_TITLES.get(step.name, step.name)),
            done=step.done_chunks,
            total=step.all_chunks,
            running=step.running_jobs,
            is_out_of_date=step.state == StepState.DONE and prints.get(step.name, "") != step.fingerprint,
        )
        for step in steps.order_by("position")
    ]


def stored_name(build: CorpusBuild, name: str) -> str:
    """Return where a published file is in storage."""
    return f"{build.folder}/work/{name}"


def published_file(build: CorpusBuild, name: str) -> File[bytes] | None:
    """Open a published file; None where it is none, or not there yet."""
    stored = stored_name(build, name)
    if name not in PUBLISHED or not default_storage.exists(stored):
        return None
    opened: File[bytes] = default_storage.open(stored)
    return opened


def _state_of(build: CorpusBuild) -> tuple[list[str], dict[str, str]]:
    """Say what is missing, and what the steps' results would be identified by now."""
    try:
        return [], fingerprints_of(build, config_of(build))
    except ConfigError as error:
        return str(error).splitlines(), {}


def _aligner_missing(build: CorpusBuild) -> str:
    try:
        find_aligner(build.configuration.get("align", {}).get("program", ""))
    except CorpusError as error:
        return str(error)
    return ""


def _words(name: str) -> str:
    return name.replace("_", " ")


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{_words(str(key))}: {_shown(each)}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(_shown(each) for each in value)
    if isinstance(value, str) and len(value) > LONGEST_SHOWN:
        return f"{value[:LONGEST_SHOWN]}…"
    return f"{value:g}" if isinstance(value, float) else str(value)
