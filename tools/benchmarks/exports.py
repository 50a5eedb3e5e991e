"""How fast captions are exported and released: `python -m tools.benchmarks.exports`, in an empty database.

    python -m tools.benchmarks.exports [--captions 1000000] [--runs 3]

Run in the environment of the database to measure. Every image has two captions in each of 36 languages, written in
batches of 15 by 200 people. Each way to a file runs in a process of its own, which says how fast it was and how far its
memory grew above what it had before; the ways take turns, run by run, and medians are printed. Beside ours, the same
rows by Django's `values()` and `json.dumps`, one after the other.
"""

from __future__ import annotations

import json
import resource
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

import django

django.setup()

import psutil
from django.core.management import call_command
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from annotation.formats.captions import CAPTION_COLUMNS
from annotation.models import Caption, Release, Round, RoundState
from annotation.services.release_files import write_release
from annotation.services.releases import start_release
from core.languages.models import Language
from core.people.models import Project, User
from office.exports.selectors.tables import ExportWish
from office.exports.services.exports import export
from tools.benchmarks import seed
from tools.benchmarks.harness import arguments, print_result, run, timed_call

NAME = "exports"
LANGUAGES, PEOPLE, BATCH = 36, 200, 15
TEXT = "'Ein kleiner Hund läuft über die grüne Wiese und spielt mit einem roten Ball, sagt Nummer ' || own.id"
MEGABYTE = 1 << 20

Way = Callable[[Project, Path], Callable[[], None]]
"""Makes ready what is measured: writing a file into a folder."""


def main() -> None:
    options = arguments(__doc__, captions=1_000_000, runs=3, way="")
    if options.way:
        print_result(_measure(options.way))
        return
    call_command("migrate", verbosity=0)
    seeding_s = timed_call(lambda: seed_captions(max(BATCH, round(options.captions / LANGUAGES / 2)))).wall_s
    database, captions = connection.vendor, Caption.objects.count()
    connection.close()
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(options.runs):
        for way, measured in runs.items():
            measured.append(run("exports", way=way))
    ways = {
        way: {name: statistics.median(one[name] for one in measured) for name in measured[0]}
        for way, measured in runs.items()
    }
    lines = [f"Files of {captions:,} captions, {database}:"]
    for way, one in ways.items():
        lines.append(f"  {way:8} {one['seconds']:7.1f} s, {one['rows_per_s']:9,.0f} rows/s, + {one['grew_mb']:.0f} MB")
    result = {"database": database, "captions": captions, "seeding_s": round(seeding_s), "ways": ways}
    print_result(result, "\n".join(lines))


def _measure(way: str) -> dict[str, float]:
    project = Project.objects.get(slug=NAME)
    expected = Caption.objects.filter(round__project=project).count()
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as place:
        folder = Path(place)
        act = WAYS[way](project, folder)
        before = psutil.Process().memory_info().rss
        took, worked, _ = timed_call(act)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        lines = sum(piece.count(b"\n") for piece in _pieces(folder / FILES.get(way, "file")))
        assert lines == expected + (way == "csv"), (way, lines)
    return {
        "seconds": round(took, 2),
        "cpu_s": round(worked, 2),
        "rows_per_s": round(expected / took),
        "rows_per_cpu_s": round(expected / worked),
        "grew_mb": round(max(0, peak - before) / MEGABYTE),
    }


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from iter(lambda: file.read(MEGABYTE), b"")


def _csv(project: Project, folder: Path) -> Callable[[], None]:
    return lambda: _write(folder, export(ExportWish(project, "captions", "csv", until=timezone.now())))


def _release(project: Project, folder: Path) -> Callable[[], None]:
    release = Release.objects.select_related("project").get(project=project)

    def act() -> None:
        write_release(release, folder, beat=lambda: None)

    return act


def _plain(project: Project, folder: Path) -> Callable[[], None]:
    """As one would write it without looking at the clock, in constant memory too."""
    rows = ordered(project).values(*PLAIN).iterator(chunk_size=2000)
    lines = ((json.dumps(row, ensure_ascii=False, default=str) + "\n").encode() for row in rows)
    return lambda: _write(folder, lines)


WAYS: dict[str, Way] = {
    "csv": _csv,
    "release": _release,
    "plain": _plain,
}
FILES = {"release": "captions.jsonl"}
PLAIN = ("image__sha256", "round__language", "author", *(stored for stored, _read in CAPTION_COLUMNS.values()))


def ordered(project: Project) -> QuerySet[Caption]:
    captions = Caption.objects.counted().filter(round__project=project)
    return captions.order_by("image", "round__language", "author")


def _write(folder: Path, pieces: Iterable[bytes]) -> None:
    with (folder / "file").open("wb") as file:
        file.writelines(pieces)


def seed_captions(images: int) -> None:
    first = seed.make_round(NAME, images)
    project = first.project
    people = User.objects.bulk_create(
        User(username=f"writer-{number}", email=f"w{number}@example.org", password="!") for number in range(PEOPLE)
    )
    others = Language.objects.exclude(pk="de").order_by("pk")[: LANGUAGES - 1]
    rounds = [first, *(seed.add_round(first, language) for language in others)]
    rng, now = Random(1), timezone.now()
    for one in rounds:
        seed.write_captions(one, people, images=images, now=now, rng=rng, text=TEXT)
    Round.objects.filter(project=project).update(state=RoundState.ACCEPTED, decided_at=now, awaits_tasks=False)
    seed.analyse()
    start_release(project=project, title=NAME, licence="CC0-1.0", authors="A", by=project.created_by, now=now)


if __name__ == "__main__":
    main()
