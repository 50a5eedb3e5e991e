"""Prepare a database for the load and print what the driver needs: `python -m benchmarks.prepare IMAGES PEOPLE`."""

from __future__ import annotations

import json
import sys

import django

django.setup()

from django.core.management import call_command

from benchmarks import seed


def main() -> None:
    images, people = map(int, sys.argv[1:])
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    round = seed.make_round("load", images)
    seed.make_annotators(round, people)
    comparison = seed.make_comparison("judge", images)
    seed.make_raters(comparison, people)
    print(json.dumps({"round": round.pk, "comparison": comparison.pk}))


if __name__ == "__main__":
    main()
