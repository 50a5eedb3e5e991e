"""`manage.py start`: an empty installation on this computer, with an address to make the first account."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from core.people.services.accounts import first_account_path
from tools.demo import launcher, preparation


class Command(BaseCommand):
    help = "Start an empty installation on this computer: web server, worker and timetable. Ctrl-C stops them."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=os.environ.get("PORT", "8000"))
        parser.add_argument("--data", metavar="FOLDER", help="for everything (default: crosslens-data)")
        parser.add_argument("--user", default="manager", metavar="NAME", help="name of the first account")

    def handle(self, *, port: int, user: str, **options: Any) -> None:
        if not settings.IS_EMBEDDED:
            raise CommandError("This uses a database of its own. Unset DATABASE_URL and the other variables.")
        try:
            launcher.require_free(port)
            preparation.prepare(say=self._say, is_empty=True)
            launcher.run(port=port, welcome=lambda: self._welcome(port, user), say=self._say)
        except launcher.LaunchError as error:
            raise CommandError(str(error)) from error

    def _say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        self.stdout.flush()

    def _welcome(self, port: int, user: str) -> str:
        home = f"http://{launcher.HOST}:{port}"
        lines = [f"Crosslens is at {home}/ - Ctrl-C stops it. Everything is kept in {settings.VAR}."]
        if path := first_account_path(user):
            lines += [
                f"Choose a password for the first account, {user}, at this address, which works once:",
                f"  {home}{path}",
            ]
        return "\n".join(lines)
