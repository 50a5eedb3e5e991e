"""`manage.py recount PROJECT`"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from annotation.services.tallies import recount_all
from core.people.management.arguments import project_named


class Command(BaseCommand):
    help = "Recount everybody's work in a project, and report and correct figures that were wrong."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="last part of the project's address")

    def handle(self, *, project: str, **options: Any) -> None:
        chosen = project_named(project)
        wrong = 0
        for different in recount_all(chosen):
            wrong += 1
            where = f"{different.round.language.english_name}, {different.round.kind} {different.round.number}"
            self.stdout.write(
                f"{where}, {different.person.username}: {different.column} was {different.kept}, "
                f"is {different.counted}."
            )
        self.stdout.write(f"Corrected: {wrong}." if wrong else "All figures were right.")
