"""Whatever is sent to any operation, nothing breaks, and what is answered is what the schema says."""

from __future__ import annotations

from random import Random
from typing import Any
from zlib import crc32

import pytest
import schemathesis
from django.core.cache import cache
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, settings

from people.models import User
from tests.api.seeded import Program, Seeded, make_failed_release, make_seeded

EXAMPLES = 12
# Sent and answered without a database of its own kind, so once is enough.
pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only]


@pytest.fixture
def seeded() -> Seeded:
    there = make_seeded()
    make_failed_release(there.project)
    return there


@pytest.fixture
def api_schema(seeded: Seeded) -> Any:
    return schemathesis.openapi.from_wsgi("/api/v1/schema/", get_wsgi_application())


schema = schemathesis.pytest.from_fixture("api_schema")
bounded = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def ask(case: Any, seeded: Seeded, user: User) -> None:
    """Send it, in every other case about what is there."""
    known, rng = seeded.known(), Random(crc32(repr(case.path_parameters).encode()))
    if rng.random() < 0.7:
        about = {name: rng.choice(known[name]) for name in case.path_parameters if name in known}
        case.path_parameters = {**case.path_parameters, **about}
    cache.clear()
    case.call_and_validate(headers=Program(user).headers)


@schema.parametrize()
@bounded
def test_as_a_manager(case, seeded):
    ask(case, seeded, seeded.manager)


@schema.parametrize()
@bounded
def test_as_an_annotator(case, seeded):
    ask(case, seeded, seeded.ann)


@schema.parametrize()
@bounded
def test_as_a_rater(case, seeded):
    ask(case, seeded, seeded.rae)
