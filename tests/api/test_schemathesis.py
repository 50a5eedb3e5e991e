"""Whatever is sent to any operation, nothing breaks, and what is answered is what the schema says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any
from zlib import crc32

import pytest
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings

from core.people.models import User
from tests.api.seeded import Program, Seeded, make_failed_release, make_seeded
from tests.kept import kept
from tests.selection.placing import make_subset

EXAMPLES = max(1, settings.default.max_examples // 50)
"""Of each operation: 1, and 10 with --long."""
SHARE_OF_WHAT_IS_THERE = 0.7
OF_FILES = {"PUT /api/v1/projects/{slug}/campaign/"}
"""Their body is a file, and no schema of OpenAPI says what is in it; tests/dashboard/test_campaign_file.py does."""

# What is taken for an answer does not depend on the database.
pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

bounded = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@kept
def seeded() -> Seeded:
    there = make_seeded()
    make_failed_release(there.project)
    make_subset(there.project, "few", [there.main.collection.entries.first().image])
    return there


@pytest.fixture
def _one_connection() -> Iterator[None]:
    """A request otherwise closes the connection in whose transaction the test is."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


NOT_SAID = {
    "POST /api/v1/projects/{slug}/imports/",
    "POST /api/v1/projects/{slug}/inbox/answers/",
    "GET /api/v1/projects/{slug}/invitations/",
    "POST /api/v1/projects/{slug}/invitations/",
    "POST /api/v1/projects/{slug}/releases/",
    "POST /api/v1/projects/{slug}/rounds/{round_id}/{action}/",
    "PATCH /api/v1/projects/{slug}/rounds/{round_id}/",
    "POST /api/v1/projects/{slug}/rounds/{round_id}/verifications/",
    "POST /api/v1/projects/{slug}/languages/",
    "POST /api/v1/projects/{slug}/languages/estimate/",
    "POST /api/v1/projects/{slug}/languages/{tag}/pilots/",
    "POST /api/v1/projects/{slug}/languages/{tag}/pilots/skip/",
    "POST /api/v1/projects/{slug}/comparisons/",
    "POST /api/v1/projects/{slug}/comparisons/plan/",
    "POST /api/v1/projects/{slug}/comparisons/plan/start/",
    "PATCH /api/v1/projects/{slug}/comparisons/{comparison_id}/",
    "POST /api/v1/projects/{slug}/comparisons/{comparison_id}/leave-out/",
    "POST /api/v1/projects/{slug}/comparisons/{comparison_id}/raters/{pseudonym}/decision/",
    "POST /api/v1/projects/{slug}/languages/{tag}/annotators/{pseudonym}/decision/",
    "POST /api/v1/projects/{slug}/rounds/{round_id}/feedback/",
    "POST /api/v1/projects/{slug}/game/seasons/",
    "GET /api/v1/projects/{slug}/game/seasons/{season_slug}/report/",
    "POST /api/v1/projects/{slug}/game/vectors/",
    "PUT /api/v1/projects/{slug}/rates/",
    "POST /api/v1/projects/{slug}/studies/",
    "PATCH /api/v1/projects/{slug}/studies/{study_id}/prolific/",
    "PUT /api/v1/projects/{slug}/studies/prolific/",
    "POST /api/v1/projects/{slug}/studies/{study_id}/prolific/{action}/",
    "POST /api/v1/projects/{slug}/instructions/",
    "GET /api/v1/projects/{slug}/scores/",
    "POST /api/v1/projects/{slug}/scores/",
    "GET /api/v1/projects/{slug}/scores/compare/",
    "POST /api/v1/models/runs/",
    "POST /api/v1/models/runs/plan/",
    "GET /api/v1/models/runs/",
    "GET /api/v1/models/{model_id}/captions/",
    "GET /api/v1/collections/{slug}/images/",
    "PATCH /api/v1/collections/{slug}/",
    "POST /api/v1/collections/{slug}/duplicate/",
    "POST /api/v1/collections/{slug}/images/edit/",
    "PATCH /api/v1/models/{model_id}/",
    "POST /api/v1/models/{model_id}/try/",
    "POST /api/v1/models/embeddings/",
    "POST /api/v1/projects/{slug}/trainings/",
    "POST /api/v1/projects/{slug}/duplicate/",
    "POST /api/v1/projects/{slug}/selections/{number}/exchange/",
    "POST /api/v1/projects/{slug}/webhooks/",
    "POST /api/v1/projects/{slug}/invitations/addresses/",
    "GET /api/v1/projects/{slug}/log/",
    "PUT /api/v1/projects/{slug}/texts/{kind}/{tag}/",
    "POST /api/v1/projects/",
    "POST /api/v1/projects/{slug}/captions/{caption_id}/feedback/",
    "POST /api/v1/projects/{slug}/captions/{caption_id}/return/",
    "POST /api/v1/projects/{slug}/references/{set_id}/translate/",
    "POST /api/v1/projects/{slug}/references/",
}
"""What they accept depends on what is stored, on another field or on whether anything of a text can be seen."""


@pytest.mark.usefixtures("_one_connection")
@pytest.mark.parametrize(
    ("who", "part"),
    [
        (lambda seeded: seeded.manager, "/api/v1/projects/"),
        (lambda seeded: seeded.ann, "/api/v1/work/"),
        (lambda seeded: seeded.rae, "/api/v1/work/rating/"),
        pytest.param(lambda seeded: seeded.ann, "/api/v1/projects/", marks=pytest.mark.long(reason="all are refused")),
        pytest.param(lambda seeded: seeded.manager, "/api/v1/", marks=pytest.mark.long(reason="much is asked twice")),
    ],
    ids=["manager", "annotator", "rater", "annotator everywhere", "manager everywhere"],
)
def test_no_operation_breaks_or_answers_what_the_schema_does_not_say(
    who: Callable[[Seeded], User], part: str, seeded: Seeded
) -> None:
    import schemathesis

    program, broken = Program(who(seeded)), []
    statuses: dict[str, set[int]] = {}
    schema = schemathesis.openapi.from_wsgi("/api/v1/schema/", get_wsgi_application())
    # What is no longer in hand is refused although it is well said.
    expected = schema.config.checks.positive_data_acceptance.expected_statuses
    schema.config.checks.positive_data_acceptance.expected_statuses = [*expected, "410"]
    # No text may have one, which no schema can say either.
    schema.config.generation.allow_x00 = False
    for result in schema.get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]
        if not operation.path.startswith(part) or operation.label in OF_FILES:
            continue
        seen = statuses.setdefault(operation.label, set())

        try:
            asking(operation, seeded, program, seen)()
        except BaseException as failure:  # all of them are to be known, not the first alone
            broken.append(f"{operation.label}: {failure}")
    assert not broken, "\n\n".join(broken)
    # Otherwise a schema without operations, or a token that lets nobody in, would be kept by everything.
    assert len(statuses) >= 5
    assert all(statuses.values())
    assert {200, 404} <= set.union(*statuses.values())


def asking(operation: Any, seeded: Seeded, program: Program, seen: set[int]) -> Callable[[], None]:
    @bounded
    @given(operation.as_strategy())
    def ask(case: Any) -> None:
        seen.add(send(case, seeded, program))

    return ask


def send(case: Any, seeded: Seeded, program: Program) -> int:
    """Ask; mostly about what is there."""
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    known = {**seeded.known(), "subset_slug": ["few"], "job": ["release-1"]}
    rng = Random(crc32(repr(case.path_parameters).encode()))
    if rng.random() < SHARE_OF_WHAT_IS_THERE:
        about = {name: rng.choice(known[name]) for name in case.path_parameters if name in known}
        case.path_parameters = {**case.path_parameters, **about}
    cache.clear()
    # A cursor is only one that was given out, and a language one of the project's, which no schema can say.
    is_excused = {"cursor", "language"} & set(case.query or {}) or case.operation.label in NOT_SAID
    excused = [positive_data_acceptance] if is_excused else []
    status: int = case.call_and_validate(headers=program.headers, excluded_checks=excused).status_code
    return status
