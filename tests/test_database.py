"""Copies of a migrated database are what migrations make now, and not what they made once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import call_command

from core.people.models import User
from tests import database
from tests.servers import ROOT


@pytest.mark.django_db
def test_in_a_copy_nothing_is_left_to_migrate_and_nobody_is_there():
    call_command("migrate", check_unapplied=True, verbosity=0)

    assert not User.objects.exists()


def test_a_changed_a_new_and_a_removed_file_make_another_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "people" / "migrations"
    folder.mkdir(parents=True)
    first, second = folder / "0001.py", folder / "0002.py"
    monkeypatch.setattr(database, "ROOT", tmp_path)
    names = []
    for change in (
        lambda: first.write_text("a"),
        lambda: first.write_text("b"),
        lambda: second.write_text("a"),
        lambda: second.rename(first),
    ):
        change()
        names.append(database.digest())

    assert len({*names}) == 3
    assert names[0] == names[3]


def test_migrations_import_only_what_a_copy_is_named_after():
    imported = {
        (f"{name}/__init__.py" if (ROOT / name).is_dir() else f"{name}.py")
        for pattern in ("*/migrations/*.py", "*/*/migrations/*.py")
        for path in ROOT.glob(pattern)
        for found in re.finditer(r"^(?:from|import) ([a-z_]+\.[a-z_.]+)", path.read_text(), re.MULTILINE)
        if any((folder / found[1].partition(".")[0]).is_dir() for folder in (ROOT, ROOT / "libs"))
        for name in [found[1].replace(".", "/")]
    }
    named = {path.relative_to(ROOT).as_posix() for pattern in database.SOURCES for path in ROOT.glob(pattern)}

    assert imported
    assert imported <= named
