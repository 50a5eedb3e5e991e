"""A backup is whole or not there, and what it holds is what a restore brings back."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from core.people.models import Project, User
from office.operations.rules.manifest import MANIFEST, SUMS, BackupError
from office.operations.services import databases
from tests import servers
from tests.commands import output_of
from tests.servers import ROOT, embedded_environment
from tests.tiers import some

Switch = Callable[[], None]
IMAGES = {"originals/ab/abc": b"an image", "originals/cd/cde": b"another image", "sizes/12/34/320.webp": b"small"}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of PostgreSQL, those that know the server of the tests."""
    if connection.vendor != "postgresql":
        return
    if folder := servers.postgres_programs():
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    if not shutil.which("pg_dump"):
        servers.missing("pg_dump")


@pytest.fixture
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path, settings: Any) -> Iterator[Switch]:
    """Calls of it make this an installation with nothing in it: another database, another storage."""
    before = connection.settings_dict["NAME"]
    is_postgres = connection.vendor == "postgresql"
    url = request.getfixturevalue("postgres_url") if is_postgres else ""

    def switch() -> None:
        connection.close()
        connection.settings_dict["NAME"] = url.rpartition("/")[2] if is_postgres else str(tmp_path / "new.sqlite3")
        settings.STORAGES = settings.STORAGES | {
            "default": {
                "BACKEND": "django.core.files.storage.FileSystemStorage",
                "OPTIONS": {"location": tmp_path / "new media"},
            }
        }

    yield switch
    connection.close()
    connection.settings_dict["NAME"] = before


def fill() -> User:
    for name, content in IMAGES.items():
        default_storage.save(name, ContentFile(content))
    person = User.objects.create_user("ann", "ann@example.org", "pass")
    Project.objects.create(slug="lions", name="Lions → Löwen", created_by=person)
    return person


@pytest.mark.postgres
def test_what_is_restored_is_what_was_backed_up(tmp_path, media, elsewhere):
    fill()
    said = output_of("backup", tmp_path / "monday")
    manifest = json.loads((tmp_path / "monday" / MANIFEST).read_text())
    Project.objects.all().delete()
    elsewhere()

    told = output_of("restore", tmp_path / "monday")

    assert "3." in said
    assert "the same as in the backup" in told
    assert Project.objects.get().name == "Lions → Löwen"
    assert User.objects.get().username == "ann"
    assert {name: default_storage.open(name).read() for name in IMAGES} == IMAGES
    assert manifest["rows"]["people_project"] == 1
    assert "people.0001_initial" in manifest["migrations"]
    # Keys go on after those that are there.
    assert User.objects.create_user("bob").pk > User.objects.get(username="ann").pk


@pytest.mark.postgres
def test_a_backup_can_be_checked_without_us(tmp_path, media):
    fill()
    output_of("backup", tmp_path / "monday")

    subprocess.run(["sha256sum", "--check", "--quiet", SUMS], cwd=tmp_path / "monday", check=True)
    assert "is complete" in output_of("restore", tmp_path / "monday", check=True)


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("file", "harm"),
    some(
        [
            *(("files/originals/ab/abc", "changed"), ("dump", "gone"), (SUMS, "changed"), (MANIFEST, "gone")),
            *(("files/originals/ab/abc", "gone"), ("dump", "changed"), (SUMS, "gone"), (MANIFEST, "changed")),
        ],
        short=4,
        reason="each file and each harm is among the first",
    ),
)
def test_a_damaged_backup_is_refused_by_the_file_and_changes_nothing(tmp_path, media, elsewhere, file, harm):
    fill()
    output_of("backup", tmp_path / "monday")
    elsewhere()
    name = databases_file(tmp_path / "monday") if file == "dump" else file
    path = tmp_path / "monday" / name
    if harm == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1] + b"?")

    with pytest.raises(CommandError, match=Path(name).name):
        output_of("restore", tmp_path / "monday")

    assert databases.tables() == []
    assert not (tmp_path / "new media").exists()


def databases_file(folder: Path) -> str:
    return next(path.name for path in folder.iterdir() if path.name.startswith("database."))


@pytest.mark.postgres
def test_an_installation_that_has_something_is_replaced_only_by_force(tmp_path, media):
    person = fill()
    output_of("backup", tmp_path / "monday")
    Project.objects.create(slug="later", name="Later", created_by=person)
    default_storage.delete("originals/ab/abc")

    with pytest.raises(CommandError, match="not empty"):
        output_of("restore", tmp_path / "monday")
    assert Project.objects.count() == 2
    output_of("restore", tmp_path / "monday", force=True)

    assert [project.slug for project in Project.objects.all()] == ["lions"]
    assert default_storage.open("originals/ab/abc").read() == b"an image"


@pytest.mark.postgres
def test_a_restore_that_fails_leaves_the_database_as_it_was(tmp_path, media):
    person = fill()
    output_of("backup", tmp_path / "monday")
    Project.objects.create(slug="later", name="Later", created_by=person)
    dump = tmp_path / "monday" / databases_file(tmp_path / "monday")
    rows = json.loads((tmp_path / "monday" / MANIFEST).read_text())["rows"]
    whole = dump.read_bytes()
    torn = tmp_path / "torn"
    torn.write_bytes(whole[: len(whole) * 2 // 3])

    with pytest.raises(Exception, match=r"pg_restore failed|malformed|not a database|in use"):
        databases.load(torn, rows={})
    with pytest.raises(
        BackupError, match=r"numbers of rows in the database differ from the backup, in people_project\."
    ):
        databases.load(dump, rows=rows | {"people_project": 5})

    assert Project.objects.count() == 2


@pytest.mark.postgres
def test_a_backup_of_a_newer_version_is_refused(tmp_path, media, elsewhere):
    fill()
    recorder = MigrationRecorder(connection)
    recorder.record_applied("people", "0099_of_the_future")
    try:
        output_of("backup", tmp_path / "monday")
    finally:
        recorder.record_unapplied("people", "0099_of_the_future")
    elsewhere()

    with pytest.raises(CommandError, match=r"newer version of Crosslens .* does not know people\.0099_of_the_future"):
        output_of("restore", tmp_path / "monday")


@pytest.mark.postgres
def test_another_secret_is_told_of(tmp_path, media, elsewhere, settings):
    fill()
    output_of("backup", tmp_path / "monday")
    elsewhere()
    assert "SECRET_KEY" not in output_of("restore", tmp_path / "monday")

    settings.SECRET_KEY = "another" * 10

    assert "new pseudonyms" in output_of("restore", tmp_path / "monday", check=True)
    assert settings.SECRET_KEY not in (tmp_path / "monday" / MANIFEST).read_text()


@pytest.mark.postgres
def test_a_backup_while_people_work_is_of_one_moment(tmp_path, media, elsewhere):
    """Each writer adds a person and a project in one transaction: a backup has as many of one as of the other."""
    fill()
    for number in range(200):
        default_storage.save(f"originals/{number:03}", ContentFile(b"x" * 50_000))
    stop, made = threading.Event(), []

    def write(writer: int) -> None:
        number = 0
        while not stop.is_set():
            with transaction.atomic():
                person = User.objects.create(username=f"{writer}-{number}")
                Project.objects.create(slug=f"{writer}-{number}", name="Work", created_by=person)
            number += 1
            made.append(number)
        connection.close()

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
    for thread in writers:
        thread.start()
    try:
        while len(made) < 20:
            time.sleep(0.01)
        before = len(made)
        output_of("backup", tmp_path / "busy")
        after = len(made)
    finally:
        stop.set()
        for thread in writers:
            thread.join()
    elsewhere()
    output_of("restore", tmp_path / "busy")

    assert User.objects.count() == Project.objects.count()
    assert before < User.objects.count()
    # They went on meanwhile.
    assert before < after


@pytest.mark.postgres
def test_an_earlier_backup_shares_the_files_that_are_the_same(tmp_path, media):
    fill()
    output_of("backup", tmp_path / "monday")
    default_storage.delete("originals/cd/cde")
    default_storage.save("originals/cd/cde", ContentFile(b"ANOTHER IMAGE"))
    default_storage.save("originals/ef/efg", ContentFile(b"a third"))

    output_of("backup", tmp_path / "tuesday", previous=tmp_path / "monday")

    files = tmp_path / "tuesday" / "files" / "originals"
    assert (files / "ab" / "abc").samefile(tmp_path / "monday" / "files" / "originals" / "ab" / "abc")
    assert (files / "cd" / "cde").read_bytes() == b"ANOTHER IMAGE"
    assert (files / "ef" / "efg").read_bytes() == b"a third"
    assert "is complete" in output_of("restore", tmp_path / "tuesday", check=True)


@pytest.mark.postgres
def test_a_backup_never_touches_one_that_is_there(tmp_path, media):
    fill()
    output_of("backup", tmp_path / "monday")
    before = (tmp_path / "monday" / MANIFEST).read_bytes()

    with pytest.raises(CommandError, match="already exists"):
        output_of("backup", tmp_path / "monday")

    assert (tmp_path / "monday" / MANIFEST).read_bytes() == before


@pytest.mark.postgres
def test_a_backup_that_fails_leaves_nothing(tmp_path, media, monkeypatch):
    fill()

    def full(*_arguments: object, **_named: object) -> None:
        raise OSError(28, "No space left on device", "/backups/x")

    monkeypatch.setattr("office.operations.services.stored_files.copy_out", full)

    with pytest.raises(CommandError, match="No space left on device"):
        output_of("backup", tmp_path / "backups" / "monday")

    assert list((tmp_path / "backups").iterdir()) == []


@pytest.mark.process
@pytest.mark.sqlite
def test_a_backup_that_was_killed_does_not_look_whole_and_is_cleared_away_by_the_next(tmp_path, media):
    var, backups = tmp_path / "var", tmp_path / "backups"
    (var / "media").mkdir(parents=True)
    (var / "media" / "first").write_bytes(b"an image")
    with (
        closing(sqlite3.connect(str(connection.settings_dict["NAME"]))) as source,
        closing(sqlite3.connect(var / "crosslens.sqlite3")) as copy,
    ):
        source.backup(copy)
    # Whoever opens it waits for a writer, who never comes: the backup stands still in the middle.
    os.mkfifo(var / "media" / "second")
    command = [sys.executable, "manage.py", "backup", str(backups / "monday")]
    process = subprocess.Popen(command, cwd=ROOT, env=embedded_environment(var), stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (backups / "monday.unfinished" / "files" / "first").exists():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()

    assert [path.name for path in backups.iterdir()] == ["monday.unfinished"]
    with pytest.raises(CommandError, match="no whole backup"):
        output_of("restore", backups / "monday.unfinished")
    output_of("backup", backups / "tuesday")
    assert [path.name for path in backups.iterdir()] == ["tuesday"]


@pytest.mark.postgres
def test_a_restore_is_refused_while_somebody_is_at_the_database(tmp_path, media, monkeypatch):
    fill()
    output_of("backup", tmp_path / "monday")
    monkeypatch.setattr(databases, "WAIT_S", 0.2)
    with ExitStack() as somebody:
        if connection.vendor == "postgresql":
            somebody.enter_context(psycopg.connect(**connection.get_connection_params()))
        else:
            other = somebody.enter_context(closing(sqlite3.connect(str(connection.settings_dict["NAME"]))))
            other.execute("BEGIN IMMEDIATE")

        with pytest.raises(CommandError, match="Stop "):
            output_of("restore", tmp_path / "monday", force=True)

    assert Project.objects.count() == 1
