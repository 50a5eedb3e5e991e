"""How long taking a batch takes, at a thousand and at a million open images: `python -m benchmarks.take`.

Run in the environment of the database to measure (DATABASE_URL …, or the embedded default under CROSSLENS_VAR).
Prints one JSON object: {open images: {median_ms, p95_ms}}.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from random import Random

import django

django.setup()

from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from allocation.models import Task
from annotation.services import batches
from benchmarks import seed

TAKES = 200


def time_takes(images: int) -> dict[str, float]:
    round = seed.make_round(f"take-{images}", images)
    people = seed.make_annotators(round, 8, with_password=False)
    rng = Random(1)
    times = []
    for number in range(TAKES):
        person = people[number % len(people)]
        began = time.perf_counter()
        batch = batches.take_batch(round=round, annotator=person, now=timezone.now(), rng=rng)
        times.append(1000 * (time.perf_counter() - began))
        if batch is None:
            break
        batches.return_batch(batch_id=batch.pk, annotator=person, now=timezone.now())
    times.sort()
    return {
        "takes": len(times),
        "median_ms": round_to(statistics.median(times)),
        "p95_ms": round_to(times[int(0.95 * len(times)) - 1]),
    }


def round_to(value: float) -> float:
    return round(value, 2)


def main() -> None:
    call_command("migrate", verbosity=0)
    result = {str(images): time_takes(images) for images in map(int, sys.argv[1:] or ("1000", "1000000"))}
    assert Task.objects.exists()
    print(json.dumps({"database": connection.vendor, "takes": result}))


if __name__ == "__main__":
    main()
