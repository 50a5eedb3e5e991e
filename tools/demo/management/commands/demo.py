"""`manage.py demo`: the whole platform on this computer, with content to try it on."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tools.demo import launcher, packages, people, preparation


class Command(BaseCommand):
    help = "Start a web server and a worker with demo content. Ctrl-C stops both. Your changes are kept."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=os.environ.get("PORT", "8000"))
        parser.add_argument("--data", metavar="FOLDER", help="for everything (default: var/ of the checkout)")

    def handle(self, *args: Any, port: int, **options: Any) -> None:
        if not settings.IS_EMBEDDED:
            raise CommandError("The demo uses its own database. Unset DATABASE_URL and the other variables.")
        try:
            launcher.require_free(port)
            packages.install(self._say)
            preparation.prepare(say=self._say)
            launcher.run(port=port, welcome=lambda: self._welcome(port), say=self._say)
        except launcher.LaunchError as error:
            raise CommandError(str(error)) from error

    def _say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        self.stdout.flush()

    def _welcome(self, port: int) -> str:
        lines = [f"  {one.username:<12} {one.password:<24} {one.what}" for one in people.sign_ins()]
        return "\n".join(
            [f"Crosslens is at http://{launcher.HOST}:{port}/ - Ctrl-C stops it. You can sign in as:", *lines]
        )
