"""How fast candidates are imported and chosen from: `python -m benchmarks.candidates [--lines 1000000]`.

An installation of its own is made. Images are then chosen for all 36 languages, in a process of its own.

Points are scattered evenly over the globe, so that most need the whole way to a coast. The baseline locates and saves
line by line, as one would write it down; it gets one line in a hundred. Memory is the most that this process held.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import ROOT, arguments, embedded, tell

if TYPE_CHECKING:
    from corpora.models import CandidateList

HEADER = "ImageID,OriginalURL,License,Author,Title,OriginalMD5,Latitude,Longitude\n"
LICENCE = "https://creativecommons.org/licenses/by/2.0/"
SHARE = 100


def main() -> None:
    lines = arguments(__doc__, lines=1_000_000).lines
    with embedded() as env, tempfile.TemporaryDirectory() as folder:
        os.environ.update(env, DJANGO_SETTINGS_MODULE="config.settings")
        import django

        django.setup()
        _measure(lines, Path(folder), env)


def _measure(lines: int, folder: Path, env: Mapping[str, str]) -> None:
    from django.core.management import call_command
    from django.utils import timezone

    from corpora.models import CandidateList
    from corpora.services.candidate_imports import import_path
    from corpora.services.places import current_borders
    from people.models import Project, User

    call_command("migrate", verbosity=0)
    project = Project.objects.create(slug="bench", name="Bench", created_by=User.objects.create(username="bench"))
    current_borders().locate([0.0], [0.0])
    _write(folder / "few.csv", lines // SHARE, seed=1)
    _write(folder / "world.csv", lines, seed=2)
    before_mb = _peak_mb()
    start_s, start_cpu_s = time.perf_counter(), time.process_time()
    job = import_path(path=folder / "world.csv", project=project, name="World", slug="world", clock=timezone.now)
    took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
    ours, peak_mb = lines / took_s, _peak_mb()
    chosen = _choose(env)
    kept = CandidateList.objects.get(slug="world").counts["kept"]
    assert (job.state, job.done, kept) == ("done", lines, lines), job.error
    start_s = time.perf_counter()
    _line_by_line(
        folder / "few.csv", CandidateList.objects.create(project=project, slug="few", created_at=timezone.now())
    )
    plain = (lines // SHARE) / (time.perf_counter() - start_s)
    tell(
        {
            "lines": lines,
            "lines_per_s": round(ours),
            "cpu_s": round(cpu_s, 1),
            "choice": chosen,
            "plain_lines_per_s": round(plain),
            "peak_mb": round(peak_mb),
            "before_mb": round(before_mb),
        },
        f"Import of {lines:,} candidates: {ours:,.0f} lines a second, {ours / plain:.0f} times as many as line by line "
        f"({plain:,.0f}); {peak_mb:.0f} MB at most, {before_mb:.0f} MB before; "
        f"{cpu_s:.0f} s of the processor. Choosing for 36 languages: {chosen['s']} s ({chosen['cpu_s']} s of the "
        f"processor), {chosen['mb']} MB",
    )


def _choose(env: Mapping[str, str]) -> dict[str, float]:
    command = [sys.executable, "manage.py", "select_images", "--candidates", "world", "--project", "bench"]
    start_s = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--seed", "1", "--preview"],
        cwd=ROOT,
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    took_s, cpu_s = time.perf_counter() - start_s, usage.ru_utime + usage.ru_stime
    return {"s": round(took_s, 1), "cpu_s": round(cpu_s, 1), "mb": round(usage.ru_maxrss * 1024 / 10**6)}


def _line_by_line(path: Path, candidates: CandidateList) -> None:
    from corpora.formats.candidate_files import candidate_lines
    from corpora.models import Candidate
    from corpora.rules.candidates import CandidateLine
    from corpora.services.candidate_rows import LINE_FIELDS
    from corpora.services.places import current_borders

    borders = current_borders()
    with path.open("rb") as file:
        for _number, _name, line in candidate_lines(file, needs_licence=True):
            assert isinstance(line, CandidateLine)
            [place] = borders.locate([line.latitude], [line.longitude])
            where = {"countries": " ".join(place.countries), "continent": place.continent}
            Candidate.objects.create(list=candidates, **where, **{name: getattr(line, name) for name in LINE_FIELDS})


def _write(path: Path, lines: int, *, seed: int) -> None:
    rng = np.random.default_rng(seed)
    latitudes, longitudes = np.degrees(np.arcsin(rng.uniform(-1, 1, lines))), rng.uniform(-180, 180, lines)
    with path.open("w", encoding="utf-8") as file:
        file.write(HEADER)
        for number, (latitude, longitude) in enumerate(zip(latitudes, longitudes, strict=True)):
            key = f"{number:016x}"
            about = (
                f"{key},https://farm{number % 9}.example.org/{key}.jpg,{LICENCE},Author {number % 999},Title {number}"
            )
            file.write(f"{about},{number:032x},{latitude:.5f},{longitude:.5f}\n")


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 10**6


if __name__ == "__main__":
    main()
