"""`python manage.py restore FOLDER`: replace this installation's data with a backup."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from office.operations.rules.manifest import BackupError
from office.operations.services import backups


class Command(BaseCommand):
    help = "Check every byte of a backup, then put it in place of this installation's database and files."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder made by `backup`")
        parser.add_argument("--force", action="store_true", help="replace what is here already, which is then lost")
        parser.add_argument("--check", action="store_true", help="only check that the backup is complete")

    def handle(self, *, folder: Path, force: bool, check: bool, **_options: Any) -> None:
        began = time.monotonic()
        try:
            if check:
                manifest, _sums = backups.verify(folder)
            else:
                manifest = backups.restore(folder=folder, force=force, say=self.stdout.write)
        except BackupError as refused:
            raise CommandError(str(refused)) from refused
        took_s = time.monotonic() - began
        done = "is complete" if check else "is restored"
        self.stdout.write(
            self.style.SUCCESS(f"{folder}, made {manifest.made_at} by {manifest.code}, {done} ({took_s:.1f} s).")
        )
        for remark in backups.remarks_after_restore(manifest):
            self.stdout.write(self.style.WARNING(remark))
