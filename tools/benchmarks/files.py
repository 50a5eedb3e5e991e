"""How fast captions come in from a file and go out to the client: `python -m tools.benchmarks.files`.

    python -m tools.benchmarks.files [--captions 100000] [--runs 3]

Run in an empty database of its own, in the environment of an installation on one computer (SQLite). A file of COCO
captions, five of each image, is previewed and imported as references, beside `json.load` of it and a `bulk_create` of
the same rows. It is previewed once more where the collection spells its names in another way, and so are results of a
model, which name images by number. The client reads as many captions of people over HTTP, beside a SELECT of their rows
here. All take turns, run by run, and medians are printed.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import django

django.setup()

from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import CharField, Value
from django.db.models.functions import Cast, Concat, LPad
from django.utils import timezone

from annotation.models import Caption
from config import ROOT
from core.images.models import Collection
from core.people.models import Membership, Project, Role
from core.people.services.tokens import make_token
from crosslens_metrics.formats.recognised_files import REFERENCES
from office.imports.services.file_imports import import_local
from office.imports.services.previews import ImportWish, PreviewedFile, gaps_of, preview
from office.imports.services.undoing import undo_at_once
from research.scoring.models import Reference
from tools.benchmarks import seed
from tools.benchmarks.exports import LANGUAGES, NAME, PLAIN, ordered, seed_captions
from tools.benchmarks.harness import BASE, arguments, print_result, served_platform, timed_call

FILE, OF_EACH_IMAGE = "files", 5
BULK_ROWS = 2000


def main() -> None:
    options = arguments(__doc__, captions=100_000, runs=3)
    call_command("migrate", verbosity=0)
    seed_captions(options.captions // LANGUAGES // 2 + 1)
    seed.make_round(FILE, options.captions // OF_EACH_IMAGE)
    runs: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as folder, served_platform({}):
        _call_images_as_coco_does()
        path, results, token = _coco_file(Path(folder)), _results_file(Path(folder)), _token()
        for _ in range(options.runs):
            for way, seconds in _times(path, results, token).items():
                runs.setdefault(way, []).append(seconds)
    medians = {way: round(statistics.median(measured), 4) for way, measured in runs.items()}
    captions = Caption.objects.count()
    lines = [f"Files of {options.captions:,} captions, and {captions:,} by the client, {connection.vendor}:"]
    lines += [f"  {way:12} {taken:7.2f} s" for way, taken in medians.items()]
    print_result({"captions": options.captions, "read": captions, "seconds": medians}, "\n".join(lines))


def _times(path: Path, results: Path, token: str) -> dict[str, float]:
    """Do everything once, and leave the database as it was."""
    collection = Collection.objects.get(slug=FILE)
    wish = ImportWish(
        project=Project.objects.get(slug=FILE),
        collection=collection,
        language="en",
        kind=REFERENCES,
        is_command=True,
        name="Benchmark",
    )
    seconds = {"json.load": timed_call(lambda: json.loads(path.read_bytes())).wall_s}
    looked = timed_call(lambda: _preview(path, wish))
    taken = timed_call(lambda: import_local(looked.answer, wish, clock=timezone.now, announce=lambda _image: None))
    seconds |= {"preview": looked.wall_s, "import": taken.wall_s, "bulk_create": _stored_s()}
    undo_at_once(taken.answer, now=timezone.now())
    seconds["results"] = timed_call(lambda: _preview(results, replace(wish, kind="", model=FILE))).wall_s
    with transaction.atomic():
        collection.entries.update(file_name="")
        seconds["other names"] = timed_call(lambda: _preview(path, wish)).wall_s
        transaction.set_rollback(True)
    seconds["client"] = timed_call(_same_number(lambda: _read(token))).wall_s
    seconds["SELECT"] = timed_call(_same_number(_selected)).wall_s
    return seconds


def _preview(path: Path, wish: ImportWish) -> list[PreviewedFile]:
    """What the page shows of a file."""
    previewed = preview([path], wish)
    assert [one.as_json()["images"]["unknown"] for one in previewed] == [0]
    assert not gaps_of(previewed, wish)
    return previewed


def _stored_s() -> float:
    """The seconds that Django needs to store the same rows alone."""
    rows = list(Reference.objects.all())
    with transaction.atomic():
        Reference.objects.all().delete()
        taken = timed_call(lambda: Reference.objects.bulk_create(rows, batch_size=BULK_ROWS)).wall_s
        transaction.set_rollback(True)
    return taken


def _same_number(read: Callable[[], int]) -> Callable[[], None]:
    """Check that all captions are read."""

    def act() -> None:
        assert read() == Caption.objects.count()

    return act


def _read(token: str) -> int:
    sys.path.append(str(ROOT / "client"))
    from crosslens import Crosslens

    return sum(1 for _caption in Crosslens(BASE, token).projects[NAME].captions())


def _selected() -> int:
    return len(list(ordered(Project.objects.get(slug=NAME)).values(*PLAIN)))


def _token() -> str:
    project, now = Project.objects.get(slug=NAME), timezone.now()
    manager = project.created_by
    Membership.objects.get_or_create(project=project, user=manager, defaults={"role": Role.MANAGER})
    return make_token(user=manager, name=NAME, may_write=False, expires_at=now + timedelta(days=1), now=now).token


def _call_images_as_coco_does() -> None:
    entries = Collection.objects.get(slug=FILE).entries
    entries.update(key=Concat(Value("COCO_train2014_"), LPad(Cast("position", CharField()), 12, Value("0"))))
    entries.update(file_name=Concat("key", Value(".jpg")))


def _results_file(folder: Path) -> Path:
    numbers = Collection.objects.get(slug=FILE).entries.values_list("position", flat=True)
    said = [{"image_id": number, "caption": "A small dog runs over the green grass."} for number in numbers]
    path = folder / "captions_train2014_results.json"
    path.write_text(json.dumps(said), encoding="utf-8")
    return path


def _coco_file(folder: Path) -> Path:
    names = Collection.objects.get(slug=FILE).entries.values_list("file_name", flat=True)
    images = [{"id": number, "file_name": name} for number, name in enumerate(names)]
    said = [
        {"image_id": image["id"], "caption": f"A small dog runs over the green grass, says person {number}."}
        for image in images
        for number in range(OF_EACH_IMAGE)
    ]
    annotations = [{"id": number, **one} for number, one in enumerate(said)]
    path = folder / "captions.json"
    path.write_text(json.dumps({"images": images, "annotations": annotations}), encoding="utf-8")
    return path


if __name__ == "__main__":
    main()
