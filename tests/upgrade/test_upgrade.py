"""A database of an earlier release, with data in it, is brought up to date and works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from annotation.models import Caption, Round
from core.people.models import User
from office.operations.selectors.schema import differences
from tests.annotation.submitting import submit_captions
from tests.doors.asking import ours, signed_in
from tests.factories import make_annotator
from tests.leaks.addresses import Unfillable
from tests.upgrade.snapshots import FOLDER, Snapshot, digests, frozen_digests, restore

pytestmark = pytest.mark.postgres

RELEASES = sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz"))
CHANGED_BY_MIGRATING = {"auth.Permission", "contenttypes.ContentType", "inference.Trial"}
"""Models whose rows `migrate` adds to, or deletes."""


def test_migrations_of_a_release_never_change() -> None:
    """Whoever installed it has run them. A later change is a migration of its own."""
    frozen, now = frozen_digests(), digests()

    assert len(frozen) >= 10
    assert {path: now.get(path) for path in frozen} == frozen


@pytest.fixture
def empty_database(request: Any, tmp_path: Path, transactional_db: None) -> Iterator[BaseDatabaseWrapper]:
    """A database without tables, in the place of the usual one."""
    usual = connections["default"]
    empty = usual.copy()
    if empty.vendor == "postgresql":
        name = request.getfixturevalue("postgres_url").rpartition("/")[2]
    else:
        name = str(tmp_path / "old.sqlite3")
    empty.settings_dict = {**empty.settings_dict, "NAME": name}
    connections["default"] = empty
    yield empty
    connections["default"] = usual
    empty.close()


@pytest.mark.long(reason="migrates two databases from nothing, once for each release")
@pytest.mark.parametrize("release", RELEASES)
def test_a_database_of_a_release_is_brought_up_to_date(
    release: str, empty_database: BaseDatabaseWrapper, media: Path
) -> None:
    snapshot = Snapshot.read(FOLDER / f"{release}.json.gz")
    restore(snapshot, empty_database)

    call_command("migrate", verbosity=0)

    assert differences(connection) == []
    assert _counts(snapshot) == {label: len(rows) for label, rows in _ours(snapshot).items()}
    assert _failing_pages(snapshot) == []
    _work_goes_on()


def _ours(snapshot: Snapshot) -> dict[str, Any]:
    return {label: rows for label, rows in snapshot.rows.items() if label not in CHANGED_BY_MIGRATING}


def _counts(snapshot: Snapshot) -> dict[str, int]:
    return {label: apps.get_model(label)._base_manager.count() for label in _ours(snapshot)}


def _failing_pages(snapshot: Snapshot) -> list[str]:
    """Ask for every page as everybody who is in the project; return those that fail, and fail if hardly any came."""
    failing, opened = [], 0
    for person in snapshot.people:
        client = signed_in(User.objects.get(pk=person))
        for address in _addresses(snapshot):
            status = client.get(address).status_code
            opened += status == 200
            # A snapshot has no files, so a request for one may find that it is gone.
            if status >= 500 and status != 503:
                failing.append(f"{address}: {status}")
    assert opened > 200
    return failing


def _addresses(snapshot: Snapshot) -> Iterator[str]:
    for route in ours():
        # A route of a later release may ask for what the snapshot has none of.
        with suppress(Unfillable):
            yield from route.addresses(snapshot.known)


def _work_goes_on() -> None:
    now = timezone.now()
    round = Round.objects.filter(language="cs").get()
    before = Caption.objects.filter(round=round).count()
    submit_captions(round, make_annotator(round, "new-here"), "Lev leží v trávě.", now=now)
    assert Caption.objects.filter(round=round).count() > before
