"""Commands of the metrics library as commands of `manage.py`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from crosslens_metrics.commands.running import CommandFailedError


@contextmanager
def as_command_errors() -> Iterator[None]:
    """Raise the errors of a library command as `manage.py` reports them."""
    try:
        yield
    except CommandFailedError as error:
        raise CommandError(str(error)) from error


class LibraryCommand(BaseCommand):
    """Subclasses set `library`, a module of `crosslens_metrics.commands`. No database is needed."""

    library: ModuleType
    requires_system_checks = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.help = self.library.HELP

    def add_arguments(self, parser: ArgumentParser) -> None:
        self.library.add_arguments(parser)

    def handle(self, **options: Any) -> None:
        with as_command_errors():
            self.library.run(Namespace(**options), write=self.stdout.write, note=self.stderr.write)
