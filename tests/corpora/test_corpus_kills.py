"""A worker that builds a corpus is killed in the middle of any step: another continues, and the files are the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.utils import timezone

from corpora.models import CorpusBuild, JobKind
from corpora.services import corpus_builds, corpus_jobs
from images.services.leases import LEASE
from parallel_text.step_names import STEP_NAMES
from tests import servers
from tests.corpora.building import make_corpus, work_off
from tests.corpora.test_corpus_jobs import ALL_DONE, digests, states, work_until
from tests.factories import NOW

pytestmark = [pytest.mark.postgres, pytest.mark.process, pytest.mark.django_db(transaction=True)]

WAIT_S = 60.0
WORKER = """
import sys, time
import django
django.setup()
from django.core.files.storage import FileSystemStorage, default_storage
default_storage._wrapped = FileSystemStorage(location=sys.argv[2])
from django.utils import timezone
from corpora.services import corpus_jobs

def stop(lease):
    # A file is written, but has not taken its name yet.
    open(sys.argv[3], "w").close()
    time.sleep(600)

corpus_jobs.Lease.renew = stop
corpus_jobs.run_job(corpus_jobs.claim(build_id=int(sys.argv[1]), worker="bob", now=timezone.now()), clock=timezone.now)
"""


def kill_a_worker_of(build: CorpusBuild, folder: Path) -> None:
    """Let a process claim the next job, and kill it as `kill -9` does when it has written its first file."""
    about, reached = connection.settings_dict, folder / "reached"
    names = ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT")
    database: dict[str, Any] = {name: str(about[name]) for name in names}
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.inference.worker_settings",
        "TEST_WORKER_DATABASE": json.dumps(database | {"OPTIONS": about["OPTIONS"]}),
    }
    command = [sys.executable, "-c", WORKER, str(build.pk), default_storage.path(""), str(reached)]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, cwd=servers.ROOT, env=environment, stdout=said, stderr=said)
        try:
            deadline = time.monotonic() + WAIT_S
            while not reached.exists():
                if process.poll() is not None:
                    said.seek(0)
                    pytest.fail(f"It ended by itself: {said.read().decode()[-3000:]}")
                assert time.monotonic() < deadline
                time.sleep(0.02)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


def later() -> datetime:
    """Return a time by which the lease of a worker that was killed is over."""
    return timezone.now() + 2 * LEASE


CHUNKED = ("ingest", "candidates", "align", "dictionary")
KILLS = [
    ("align", JobKind.CHUNK),
    *((step, JobKind.CHUNK) for step in CHUNKED if step != "align"),
    *((step, kind) for step in STEP_NAMES for kind in (JobKind.PLAN, JobKind.FINISH)),
]


@pytest.mark.long(reason="a corpus is built twice for each kill")
@pytest.mark.parametrize(("step", "kind"), KILLS)
def test_another_worker_continues_and_the_files_are_the_same(tmp_path: Path, step: str, kind: JobKind) -> None:
    undisturbed, build = make_corpus(tmp_path), make_corpus(tmp_path)
    corpus_builds.start(build=undisturbed, by=None, now=NOW)
    work_off(undisturbed)
    corpus_builds.start(build=build, by=None, now=timezone.now())
    corpus_jobs.release(work_until(build, step, kind, timezone.now))

    kill_a_worker_of(build, tmp_path)

    held = corpus_jobs.claim(build_id=build.pk, worker="ann", now=timezone.now())
    assert held is None
    work_off(build, later)
    assert states(build) == ALL_DONE
    assert digests(build) == digests(undisturbed)
