"""How much sooner a corpus is built by twice the workers: `python -m benchmarks.corpus_workers [--pairs 30000]`.

Made text of that many pairs is put into a corpus on an empty installation, once for each number of Celery workers, each
one process. The steps that tag and align have chunks, which the workers share. An aligner must be there: eflomal or
fast_align.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT, arguments, embedded, environment, name_of, run, tell
from benchmarks.parallel_text import SEED, Made

SHARED = ("candidates", "align")
WORKERS = (1, 2)
LOOK_EVERY_S = 1.0
WORKER = ("celery", "--app", "config", "worker", "--pool", "solo", "--loglevel", "WARNING")


def main() -> None:
    options = arguments(__doc__, pairs=30_000, workers=0, folder="")
    if options.workers:
        tell(measure(Path(options.folder), options.workers))
        return
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as folder:
        Made.of(random.Random(SEED)).write(Path(folder), options.pairs)
        found: dict[str, dict[str, float]] = {}
        for workers in WORKERS:
            with embedded() as env:
                found[str(workers)] = run("corpus_workers", env=env, workers=workers, folder=folder)
    one, two = (sum(found[str(workers)][step] for step in SHARED) for workers in WORKERS)
    report = [f"Building a corpus of {options.pairs:,} pairs by Celery workers:"]
    for count, steps in found.items():
        by_step = ", ".join(f"{step} {seconds:.0f}" for step, seconds in steps.items())
        report.append(f"  {count}: {sum(steps.values()):.0f} s; by step: {by_step}")
    report.append(f"  tagging and aligning take {two / one:.2f} of the time with twice the workers")
    tell({"workers": found, "ratio": round(two / one, 3)}, "\n".join(report))


def measure(folder: Path, workers: int) -> dict[str, Any]:
    """Build the corpus of a folder with so many workers; return the seconds of each step."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.utils import timezone

    from corpora import tasks
    from corpora.models import StepState
    from corpora.services import corpus_builds
    from corpora.services.corpus_imports import put_config
    from parallel_text.config import read_config
    from people.models import Project, User

    call_command("migrate", verbosity=0)
    manager = User.objects.create_user(name_of(1))
    project = Project.objects.create(slug="bench", name="Bench", created_by=manager)
    config = read_config(folder / "made.toml")
    build = put_config(config=config, base=folder, project=project, by=None, now=timezone.now())
    with _started(workers):
        corpus_builds.start(build=build, by=None, now=timezone.now())
        while build.steps.filter(state__in=[StepState.RUNNING, StepState.WAITING]).exists():
            tasks.sweep_corpora()  # as the schedule does
            time.sleep(LOOK_EVERY_S)
    steps = list(build.steps.all())
    if failed := [step.error for step in steps if step.state != StepState.DONE]:
        raise SystemExit("\n".join(failed))
    return {step.name: step.report["seconds"] for step in steps}


@contextlib.contextmanager
def _started(workers: int) -> Iterator[None]:
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", *WORKER, "--hostname", f"{number}@bench"], cwd=ROOT, env=environment(None)
        )
        for number in range(workers)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


if __name__ == "__main__":
    main()
