"""Copies of a migrated database are what migrations make now, and not what they made once."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command

from people.models import User
from tests import migrated


@pytest.mark.django_db
def test_in_a_copy_nothing_is_left_to_migrate_and_nobody_is_there():
    call_command("migrate", check_unapplied=True, verbosity=0)

    assert not User.objects.exists()


def test_a_changed_a_new_and_a_removed_file_make_another_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first, second = tmp_path / "people" / "0001.py", tmp_path / "people" / "0002.py"
    first.parent.mkdir()
    monkeypatch.setattr(migrated, "ROOT", tmp_path)
    monkeypatch.setattr(migrated, "PRODUCT", ("people",))
    names = []
    for change in (
        lambda: first.write_text("a"),
        lambda: first.write_text("b"),
        lambda: second.write_text("a"),
        lambda: second.rename(first),
    ):
        change()
        names.append(migrated.digest())

    assert len({*names}) == 3
    assert names[0] == names[3]
