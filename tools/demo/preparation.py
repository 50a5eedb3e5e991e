"""Prepares a start: tables, demo content, static files; again only when they have changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from django.db.migrations.exceptions import InconsistentMigrationHistory

from tools.demo.tables import create_file

EDITION = 8
"""The version of what is loaded: raised when there is more, so that older demos get it at their next start."""
MADE_FROM = ("static", "*/migrations/*.py", "*/*/migrations/*.py", "requirements")


def prepare(*, say: Callable[[str], object], is_empty: bool = False) -> None:
    """Bring the data up to date with the code. Costs milliseconds when nothing has changed since the last start.

    An installation that is to be empty gets no demo content.

    Raises CommandError when the database was made by a version whose tables cannot be brought up to date.
    """
    current = fingerprint(Path(settings.BASE_DIR))
    done = _done()
    edition = done.get("edition") if is_empty else EDITION
    is_loaded = done.get("edition") == edition
    if done.get("fingerprint") == current and is_loaded:
        return
    what = "tables and static files" if is_empty else "tables, demo content and static files"
    say(f"Preparing {what}; the next start will be quick ...")
    try:
        if Path(connection.settings_dict["NAME"]).exists():
            call_command("migrate", verbosity=0, interactive=False)
        else:
            create_file(connection)
    except (DatabaseError, InconsistentMigrationHistory) as error:
        raise CommandError(
            f"The data in {settings.VAR} was made by another version and cannot be brought up to date ({error}). "
            "Remove it, or start with another folder: --data FOLDER"
        ) from error
    if not is_loaded:
        # Half a second that an empty installation need not wait.
        from tools.demo import content

        content.load(say=say)
    call_command("collectstatic", verbosity=0, interactive=False, clear=True)
    _kept().write_text(json.dumps({"fingerprint": current, "edition": edition}))


def is_demo() -> bool:
    """Whether this is the demo, on one's own computer."""
    return settings.IS_EMBEDDED and _done().get("edition") is not None


def _kept() -> Path:
    return Path(settings.VAR) / "prepared.json"


def _done() -> dict[str, Any]:
    done: dict[str, Any] = json.loads(_kept().read_text()) if _kept().exists() else {}
    return done


def fingerprint(base: Path) -> str:
    """Hash the names, sizes and times of the files that tables and static files are made from."""
    digest = sha256()
    for pattern in MADE_FROM:
        for path in sorted(base.glob(pattern)):
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                state = file.stat()
                digest.update(f"{file.relative_to(base)} {state.st_size} {state.st_mtime_ns}\n".encode())
    return digest.hexdigest()
