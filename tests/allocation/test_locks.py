"""Rows of allocation are locked in one place, where the order can be read."""

from __future__ import annotations

from pathlib import Path

from core import allocation


def test_only_one_module_of_allocation_locks_rows():
    files = Path(allocation.__file__).parent.rglob("*.py")
    locking = {file.name for file in files if "select_for_update(" in file.read_text(encoding="utf-8")}

    assert locking == {"locks.py"}
