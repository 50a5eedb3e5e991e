"""Prepare a database for the load and tell what the driver needs; afterwards, check what the load left.

python -m tools.benchmarks.prepare [--images 400] [--people 16]
python -m tools.benchmarks.prepare --check
"""

from __future__ import annotations

import json

import django

django.setup()

from django.db.models import Count, F, Q

from core.allocation.models import Assignment, Task
from tools.benchmarks import seed
from tools.benchmarks.harness import arguments, print_result


def main() -> None:
    options = arguments(__doc__, images=400, people=16, check=False)
    if options.check:
        print_result(wrongly_taken_tasks())
        return
    seed.migrate()
    round = seed.make_round("load", options.images)
    people = seed.make_annotators(round, options.people)
    comparison = seed.make_comparison("judge", options.images)
    seed.make_raters(comparison, options.people)
    cookies = [seed.signed_in(person) for person in people]
    print_result({"round": round.pk, "comparison": comparison.pk, "cookies": json.dumps(cookies)})


def wrongly_taken_tasks() -> dict[str, int]:
    """Count the tasks that the load did not leave with as many takers as places."""
    tasks = Task.objects.annotate(taking=Count("assignments", filter=Q(assignments__state__in=["assigned", "done"])))
    twice = Assignment.objects.values("task", "person").annotate(times=Count("pk")).filter(times__gt=1)
    return {
        "oversold": tasks.filter(taking__gt=F("places")).count(),
        "miscounted": tasks.exclude(taking=F("places_taken")).count(),
        "twice by one person": twice.count(),
    }


if __name__ == "__main__":
    main()
