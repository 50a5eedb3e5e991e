"""A backup: the database at one moment, all files that it refers to, and a manifest to verify a restore."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db.migrations.loader import MigrationLoader
from django.utils.crypto import salted_hmac

from office.operations.rules.manifest import (
    FILES_FOLDER,
    MANIFEST,
    SUMS,
    BackupError,
    BackupManifest,
    read,
    read_sums,
    sums_text,
)
from office.operations.services import databases, stored_files

UNFINISHED = ".unfinished"
LOCK = ".lock"
Say = Callable[[str], None]


def back_up(*, folder: Path, with_files: bool, previous: Path | None, now: datetime, say: Say) -> BackupManifest:
    """Make a backup as the new `folder`, complete or not at all.

    - `with_files`: whether files in storage are copied; a bucket may have versions of its own.
    - `previous`: an earlier backup, with which files that are the same share their room.

    Raises BackupError with a sentence for the operator; nothing is left of the attempt.
    """
    folder = folder.absolute()
    if folder.exists():
        raise BackupError(f"{folder} already exists. Name a new folder: each backup gets its own.")
    older = _sums_of(previous) if previous else {}
    with _unfinished(folder) as unfinished:
        dump = unfinished / "dump"
        # The database first: everything it refers to was in storage by then.
        snapshot = databases.dump(dump)
        engine = databases.engine()
        manifest_of = {
            "made_at": now.isoformat(timespec="seconds"),
            "code": str(settings.CODE_VERSION),
            "engine": engine,
            "server": snapshot.server,
            "rows": snapshot.rows,
            "migrations": snapshot.migrations,
            "secret_key": fingerprint(),
            "storage": "a folder" if stored_files.is_folder() else "a bucket",
            "has_files": with_files,
        }
        name = BackupManifest(**manifest_of, files=0, bytes=0, sums="").dump  # type: ignore[arg-type]
        dump.rename(unfinished / name)
        say(f"Database: {sum(snapshot.rows.values()):,} rows, {(unfinished / name).stat().st_size:,} bytes.")
        sums, size = {name: stored_files.checksum(unfinished / name)}, (unfinished / name).stat().st_size
        if with_files:
            gone = 0
            for stored in stored_files.stored_names():
                inside = f"{FILES_FOLDER}/{stored}"
                before = previous / inside if previous else None
                same = {stored: older[inside]} if inside in older else {}
                copied = stored_files.copy_out(stored, unfinished / inside, before=before, sums=same)
                if copied is None:
                    gone += 1
                    continue
                sums[inside], size = copied[0], size + copied[1]
            said = f", {gone} went meanwhile" if gone else ""
            say(f"Files: {len(sums) - 1:,}{said}.")
        (unfinished / SUMS).write_text(sums_text(sums), encoding="utf-8")
        manifest = BackupManifest(
            **manifest_of,  # type: ignore[arg-type]
            files=len(sums),
            bytes=size,
            sums=stored_files.checksum(unfinished / SUMS),
        )
        os.sync()
        (unfinished / MANIFEST).write_text(manifest.text(), encoding="utf-8")
        os.sync()
        (unfinished / LOCK).unlink()
        unfinished.rename(folder)
    return manifest


def verify(folder: Path) -> tuple[BackupManifest, dict[str, str]]:
    """Verify every byte of a backup.

    Raises BackupError with the first file that is missing or not what it was.
    """
    manifest = read(folder)
    sums = _sums_of(folder)
    for name, digest in sums.items():
        path = folder / name
        if not path.is_file():
            raise BackupError(f"{path} is missing. Use another backup.")
        if stored_files.checksum(path) != digest:
            raise BackupError(f"{path} has changed since the backup was made. Use another backup.")
    if len(sums) != manifest.files or manifest.dump not in sums:
        raise BackupError(f"{folder / SUMS} is damaged. Use another backup.")
    return manifest, sums


def restore(*, folder: Path, force: bool, say: Say) -> BackupManifest:
    """Replace this installation's database and files with a backup, after verifying every byte.

    Raises BackupError with a sentence for the operator; the database is as it was.
    """
    manifest, sums = verify(folder)
    say(f"All {manifest.files:,} files of the backup are unchanged.")
    _require_possible(manifest, force=force)
    stored = [name for name in sums if name.startswith(f"{FILES_FOLDER}/")]
    # Files first: no row may refer to a missing one.
    for name in stored:
        stored_files.put_back(name.removeprefix(f"{FILES_FOLDER}/"), folder / name)
    say(f"Files: {len(stored):,} restored.")
    databases.load(folder / manifest.dump, rows=manifest.rows)
    say(f"Database: {sum(manifest.rows.values()):,} rows in {len(manifest.rows)} tables, the same as in the backup.")
    return manifest


def remarks_after_restore(manifest: BackupManifest) -> Iterator[str]:
    """Return what the operator has to know or do after a restore."""
    if manifest.secret_key != fingerprint():
        yield (
            "SECRET_KEY differs from that of the backup: everybody is signed out, links in e-mails no longer work, "
            "and people have new pseudonyms in downloads. Restore the old key if you have it."
        )
    if not manifest.has_files:
        yield f"The backup has no files: storage was {manifest.storage}. Restore it separately."
    if _known_migrations() - set(manifest.migrations):
        yield "The backup is from an older version of Crosslens. Run manage.py migrate before you start anything."


def fingerprint() -> str:
    """Return a fingerprint of SECRET_KEY, from which the key cannot be found."""
    return salted_hmac("operations.backups", "SECRET_KEY", algorithm="sha256").hexdigest()[:16]


def _require_possible(manifest: BackupManifest, *, force: bool) -> None:
    if manifest.engine != databases.engine():
        raise BackupError(
            f"The backup is from {manifest.engine}, but this installation's database is {databases.engine()}."
        )
    if unknown := sorted(set(manifest.migrations) - _known_migrations()):
        raise BackupError(
            f"The backup is from a newer version of Crosslens ({manifest.code}); this one does not know {unknown[0]}. "
            "Restore it with that version or a later one."
        )
    if others := databases.others_connected():
        raise BackupError(
            f"{others} other programs are using the database. Stop web, workers and beat, then run this again."
        )
    if force:
        return
    if databases.tables():
        raise BackupError("The database is not empty. Use --force to replace everything in it.")
    if manifest.has_files and next(stored_files.stored_names(), None):
        raise BackupError("Storage is not empty. Use --force to replace files that have the same names.")


def _known_migrations() -> set[str]:
    return {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations or ()}


def _sums_of(folder: Path) -> dict[str, str]:
    manifest, path = read(folder), folder / SUMS
    if not path.is_file() or stored_files.checksum(path) != manifest.sums:
        raise BackupError(f"{path} is missing or damaged. Use another backup.")
    with path.open(encoding="utf-8") as lines:
        return read_sums(lines)


@contextmanager
def _unfinished(folder: Path) -> Iterator[Path]:
    """The folder in which a backup is made, under a name that no restore accepts; removed if it does not finish."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in folder.parent.glob(f"*{UNFINISHED}"):
        _clear(left)
    unfinished = folder.with_name(folder.name + UNFINISHED)
    try:
        unfinished.mkdir(mode=0o700)
    except FileExistsError as error:
        raise BackupError(f"Another backup is being made as {folder}.") from error
    try:
        # Ends with this process, however that ends.
        with (unfinished / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield unfinished
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _clear(left: Path) -> None:
    """Remove the remains of killed backups, but nothing of a running one."""
    try:
        with (left / LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
    except BlockingIOError:
        return
    except FileNotFoundError:
        return
