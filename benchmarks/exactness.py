"""Whether the load left every image with as many takers as places: `python -m benchmarks.exactness ROUND`."""

from __future__ import annotations

import json
import sys

import django

django.setup()

from django.db.models import Count, F, Q

from allocation.models import Assignment, Task
from annotation.models import Round


def main() -> None:
    tasks = Task.objects.filter(pool=Round.objects.get(pk=sys.argv[1]).pool_id)
    taking = Count("assignments", filter=Q(assignments__state__in=["held", "done"]))
    twice = Assignment.objects.values("task", "person").annotate(times=Count("pk")).filter(times__gt=1)
    print(
        json.dumps(
            {
                "oversold": tasks.annotate(taking=taking).filter(taking__gt=F("places")).count(),
                "miscounted": tasks.annotate(taking=taking).exclude(taking=F("places_taken")).count(),
                "twice by one person": twice.count(),
            }
        )
    )


if __name__ == "__main__":
    main()
