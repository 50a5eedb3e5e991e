"""Write the snapshot of a release: `make freeze VERSION=0.1.0`. Not collected with the tests."""

from __future__ import annotations

import os

import pytest

from tests.doors.world import make_world
from tests.upgrade.snapshots import FOLDER, freeze_migrations, take


@pytest.mark.django_db
def test_freeze(media) -> None:
    path = FOLDER / f"{os.environ['VERSION']}.json.gz"
    assert not path.exists(), f"{path.name} is there already: a release is frozen once."
    world = make_world(media)
    snapshot = take(world.known, [person.pk for person in world.insiders])
    snapshot.write(path)
    freeze_migrations()
