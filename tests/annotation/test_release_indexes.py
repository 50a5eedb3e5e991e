"""Copies of indexes of releases on one computer, where files lie in object storage: a bounded number of bytes."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from annotation.models import Release
from annotation.services import releases
from annotation.services.releases import index_path
from tests.inference.object_storage import ObjectStorage

Opened = Callable[[str], Path]


@pytest.fixture
def opened(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Open the index, of 100 bytes, of the release with a checksum; there is room for three."""
    options = {"OPTIONS": {"location": tmp_path / "s3"}}
    backend = f"{ObjectStorage.__module__}.ObjectStorage"
    settings.STORAGES = settings.STORAGES | {"default": {"BACKEND": backend, **options}}
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(releases, "COPIES_BYTES", 300)

    def open_one(checksum: str) -> Path:
        release = Release(folder=f"releases/{checksum}", checksum=checksum)
        if not default_storage.exists(f"{release.folder}.sqlite3"):
            default_storage.save(f"{release.folder}.sqlite3", ContentFile(checksum.encode() * 100))
        return index_path(release)

    return open_one


def used(path: Path, *, seconds_ago: float) -> None:
    at = time.time() - seconds_ago
    os.utime(path, (at, at))


def test_the_copies_used_last_are_kept_and_the_others_made_again(opened: Opened) -> None:
    first, second, third = (opened(name) for name in "abc")
    for path, seconds_ago in ((first, 900), (second, 800), (third, 700)):
        used(path, seconds_ago=seconds_ago)
    assert opened("a") == first

    fourth = opened("d")

    assert set(fourth.parent.iterdir()) == {first, third, fourth}
    assert opened("b").read_bytes() == b"b" * 100


def test_a_copy_that_may_be_about_to_be_opened_is_kept_beyond_the_limit(opened: Opened) -> None:
    copies = {opened(name) for name in "abcde"}
    assert set(next(iter(copies)).parent.iterdir()) == copies


def test_a_copy_that_is_being_read_is_read_to_the_end(opened: Opened) -> None:
    first = opened("a")
    with first.open("rb") as file:
        used(first, seconds_ago=900)
        for name in "bcd":
            opened(name)
        assert not first.exists()
        assert file.read() == b"a" * 100


def test_what_a_killed_process_left_is_deleted_and_what_another_one_is_making_is_not(opened: Opened) -> None:
    folder = opened("a").parent
    left, going = folder / "left.part", folder / "going.part"
    for path, seconds_ago in ((left, 2 * releases.UNFINISHED_S), (going, 10)):
        path.write_bytes(b"half")
        used(path, seconds_ago=seconds_ago)

    opened("b")

    assert not left.exists()
    assert going.exists()


def test_a_copy_that_fails_leaves_nothing(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = opened("a").parent

    def breaks_off(name: str, path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError(name)

    monkeypatch.setattr(releases, "_copy", breaks_off)
    with pytest.raises(OSError, match="releases/b"):
        opened("b")
    assert [path.name for path in folder.iterdir()] == ["a.sqlite3"]
