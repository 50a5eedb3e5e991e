"""How long taking a batch takes, at a thousand and at a million open images: `python -m benchmarks.take`.

    python -m benchmarks.take [--few 1000] [--many 1000000]

Run in the environment of the database to measure (DATABASE_URL …, or the embedded default under CROSSLENS_VAR).
"""

from __future__ import annotations

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
from benchmarks.harness import arguments, summary, tell

TAKES = 200


def time_takes(images: int) -> dict[str, float]:
    round = seed.make_round(f"take-{images}", images)
    people = seed.make_annotators(round, 8, with_password=False)
    rng, times = Random(1), []
    for number in range(TAKES):
        person = people[number % len(people)]
        began = time.perf_counter()
        batch = batches.take_batch(round=round, person=person, now=timezone.now(), rng=rng)
        times.append(time.perf_counter() - began)
        if batch is None:
            break
        batches.return_batch(batch_id=batch.pk, person=person, now=timezone.now())
    return summary(times)


def main() -> None:
    options = arguments(__doc__, few=1000, many=1_000_000)
    call_command("migrate", verbosity=0)
    few, many = time_takes(options.few), time_takes(options.many)
    assert Task.objects.exists()
    tell(
        {"database": connection.vendor, "takes": {options.few: few, options.many: many}},
        f"Taking a batch, {connection.vendor}, {options.few:,} to {options.many:,} open images: {few} to {many}; "
        f"median grows {many['median_ms'] / few['median_ms']:.2f} x",
    )


if __name__ == "__main__":
    main()
