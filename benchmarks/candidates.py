"""How fast candidates are imported: `python -m benchmarks.candidates [--lines 1000000]`, on an installation of its own.

Points are scattered evenly over the globe, so that most need the whole way to a coast. The baseline locates and saves
line by line, as one would write it down; it gets one line in a hundred. Memory is the most that this process held.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import arguments, embedded, tell

if TYPE_CHECKING:
    from corpora.models import CandidateList

HEADER = "ImageID,OriginalURL,License,Author,Title,OriginalMD5,Latitude,Longitude\n"
LICENCE = "https://creativecommons.org/licenses/by/2.0/"
SHARE = 100


def main() -> None:
    lines = arguments(__doc__, lines=1_000_000).lines
    with embedded() as env, tempfile.TemporaryDirectory() as folder:
        os.environ.update(env)
        import django

        django.setup()
        _measure(lines, Path(folder))


def _measure(lines: int, folder: Path) -> None:
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
    start_s = time.perf_counter()
    job = import_path(path=folder / "world.csv", project=project, name="World", slug="world", clock=timezone.now)
    ours = lines / (time.perf_counter() - start_s)
    peak_mb = _peak_mb()
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
            "plain_lines_per_s": round(plain),
            "peak_mb": round(peak_mb),
            "before_mb": round(before_mb),
        },
        f"Import of {lines:,} candidates: {ours:,.0f} lines a second, {ours / plain:.0f} times as many as line by line "
        f"({plain:,.0f}); {peak_mb:.0f} MB at most, {before_mb:.0f} MB before",
    )


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
