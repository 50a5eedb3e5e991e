"""`manage.py start`: an empty installation on this computer, with an address to make the first account."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
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
        parser.add_argument("--data", type=Path, metavar="FOLDER", help="for everything (default: crosslens-data)")
        parser.add_argument("--user", default="manager", metavar="NAME", help="name of the first account")

    def handle(self, *, port: int, data: Path | None, user: str, **options: Any) -> None:
        if not settings.IS_EMBEDDED:
            raise CommandError("This uses a database of its own. Unset DATABASE_URL and the other variables.")
        folder = (data or Path("crosslens-data")).resolve()
        if Path(settings.VAR).resolve() != folder:
            # Settings are read once: this process begins again with those of the folder.
            os.environ["CROSSLENS_VAR"] = str(folder)
            os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606 - the same command once more
        try:
            launcher.require_free(port)
            preparation.prepare(say=self._say, is_empty=True)
            launcher.run(port=port, ready=lambda: self._welcome(port, user))
        except launcher.LaunchError as error:
            raise CommandError(str(error)) from error

    def _say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        self.stdout.flush()

    def _welcome(self, port: int, user: str) -> None:
        home = f"http://{launcher.HOST}:{port}"
        self._say(f"Crosslens is at {home}/ - Ctrl-C stops it. Everything is kept in {settings.VAR}.")
        if path := first_account_path(user):
            self._say("Choose a password for the first account at this address, which works once:")
            self._say(f"  {home}{path}")
            self._say(f"Then sign in as {user}.")
