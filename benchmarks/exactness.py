"""Whether the load left every task with as many takers as places: `python -m benchmarks.exactness`."""

from __future__ import annotations

import json

import django

django.setup()

from django.db.models import Count, F, Q

from allocation.models import Assignment, Task


def main() -> None:
    tasks = Task.objects.all()
    taking = Count("assignments", filter=Q(assignments__state__in=["assigned", "done"]))
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
