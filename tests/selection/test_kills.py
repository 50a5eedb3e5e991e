"""A process that imports candidates is killed: nothing accepted is lost, nothing comes twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from core.images.models import ImportJob, ImportKind, ImportRow
from core.jobs.models import JobState
from core.jobs.services import leases
from core.people.models import Project
from research.selection.models import Candidate, CandidateList
from research.selection.services.candidates import COLUMNS, import_path
from tests import servers
from tests.factories import make_project, make_user
from tests.imports.sent import confirmed, run

pytestmark = [pytest.mark.postgres, pytest.mark.process, pytest.mark.django_db(transaction=True)]

WAIT_S = 60.0
HEADER = "key,address,latitude,longitude,licence"
LINES = 400
START = """
import sys, time
import django
django.setup()
from django.core.management import call_command
from django.utils import timezone
from research.selection.services import candidates
candidates.LINES_PER_TRANSACTION = 20

def slowly(function):
    def called(*arguments, **more):
        found = function(*arguments, **more)
        time.sleep(0.05)  # within the transaction
        return found
    return called

candidates.store_lines = slowly(candidates.store_lines)
"""
IMPORT = "call_command('import', sys.argv[1], project='lions', name='world')"
UPLOAD = """
from office.imports.services import stages
stages.run(job_id=int(sys.argv[1]), clock=timezone.now, announce=lambda image: None)
"""


def killed(program: str, argument: object, *, when: Callable[[], bool]) -> None:
    """Run a program on the database of the test, and kill it as `kill -9` does as soon as `when` is true."""
    about = connection.settings_dict
    database: dict[str, Any] = {
        name: str(about[name]) for name in ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT")
    }
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.inference.worker_settings",
        "TEST_WORKER_DATABASE": json.dumps(database | {"OPTIONS": about["OPTIONS"]}),
    }
    command = [sys.executable, "-c", START + program, str(argument)]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, cwd=servers.ROOT, env=environment, stdout=said, stderr=said)
        try:
            deadline = time.monotonic() + WAIT_S
            while not when():
                if process.poll() is not None:
                    said.seek(0)
                    pytest.fail(f"It ended by itself: {said.read().decode()[-3000:]}")
                assert time.monotonic() < deadline
                time.sleep(0.01)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


def lines() -> str:
    """Make lines of which some are faulty and some come twice, also far from one another."""
    made = [HEADER]
    for number in range(LINES):
        at = "0,0" if number % 7 == 3 else f"{number % 80},{number % 170}.5"
        key = number % 150 if number % 5 == 4 else number
        made.append(f"{key},https://x.org/{number % 370}.jpg,{at},CC BY 4.0")
    return "\n".join(made)


def rows_of(slug: str) -> list[tuple[object, ...]]:
    return list(Candidate.objects.filter(list__slug=slug).order_by("pk").values_list(*COLUMNS[1:]))


def report_of(slug: str) -> list[tuple[object, ...]]:
    """Return the rows of the report, of all the jobs that filled a list."""
    listed = CandidateList.objects.get(slug=slug).pk
    rows = ImportRow.objects.filter(job__options__list=listed)
    return list(rows.order_by("number").values_list("number", "name", "outcome", "reason"))


def check_same(slug: str, other: str) -> None:
    one, two = (CandidateList.objects.get(slug=name) for name in (slug, other))
    assert one.counts == two.counts
    assert one.counts["complete"]
    assert rows_of(slug) == rows_of(other)
    assert report_of(slug) == report_of(other)


@pytest.fixture
def project() -> Project:
    return make_project("lions", manager=make_user("mia"))


@pytest.fixture
def file(tmp_path: Path, project: Project) -> Path:
    path = tmp_path / "world.csv"
    path.write_text(lines())
    import_path(path=path, project=project, name="At once", clock=timezone.now)
    return path


def has_stored(number: int) -> Callable[[], bool]:
    return lambda: Candidate.objects.filter(list__slug="world").count() >= number


@pytest.mark.long(reason="an upload that is killed is tried always")
def test_a_command_that_was_killed_imports_the_rest_when_it_is_run_again(file, project):
    for stop in (1, 60, 140):
        killed(IMPORT, file, when=has_stored(stop))
    before = rows_of("world")
    assert len(before) < len(rows_of("at-once"))
    assert not CandidateList.objects.get(slug="world").counts["complete"]

    call_command("import", str(file), project="lions", name="world", verbosity=0)

    assert rows_of("world")[: len(before)] == before
    check_same("world", "at-once")


def test_an_upload_whose_worker_was_killed_is_continued_by_the_next(file, project):
    job = confirmed(file.read_bytes(), "world.csv", project=project)
    killed(UPLOAD, job.pk, when=has_stored(40))
    before = rows_of("world")
    assert len(before) < len(rows_of("at-once"))
    later = timezone.now() + timedelta(minutes=5)
    assert leases.rows_to_nudge(ImportJob.objects.filter(kind=ImportKind.FILES), now=later) == [job.pk]

    part = run(job, now=later).parts.get()
    assert (part.state, part.done) == (JobState.DONE, LINES)
    assert rows_of("world")[: len(before)] == before
    check_same("world", "at-once")
