"""`python manage.py backup FOLDER`: the database and the files of this installation, while people work."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from office.operations.rules.manifest import BackupError
from office.operations.services import backups, stored_files


class Command(BaseCommand):
    help = "Write a backup into a new folder. The folder appears only when the backup is complete."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER", help="a folder that does not exist yet")
        parser.add_argument(
            "--previous",
            type=Path,
            metavar="OLDER",
            help="an earlier backup on the same disk, with which to share equal files",
        )
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--files", action="store_true", help="copy the files of a bucket, too")
        which.add_argument("--no-files", action="store_true", help="leave out the files and back up only the database")

    def handle(self, *, folder: Path, previous: Path | None, files: bool, no_files: bool, **_options: Any) -> None:
        began = time.monotonic()
        with_files = not no_files and (files or stored_files.is_folder())
        try:
            manifest = backups.back_up(
                folder=folder, with_files=with_files, previous=previous, now=timezone.now(), say=self.stdout.write
            )
        except BackupError as refused:
            raise CommandError(str(refused)) from refused
        except OSError as error:
            raise CommandError(
                f"No backup was made: {error.strerror or error} ({error.filename or folder})."
            ) from error
        took_s = time.monotonic() - began
        self.stdout.write(self.style.SUCCESS(f"{folder}: {manifest.bytes:,} bytes in {took_s:.1f} s."))
        if not with_files:
            self.stdout.write("The files in storage are not included. Back them up separately.")
