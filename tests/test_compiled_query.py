"""What a compiled query gives is what its queryset gives, written the plain way."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, connections, models, transaction
from django.utils import timezone

from annotation.models import CaptionBatch, CaptionItem, Feedback
from annotation.permissions import OWN_BATCH, UNREAD
from annotation.selectors.work import ITEM_WITH_IMAGE, TEXTS
from annotation.services.batches import ITEM, KIND
from core.allocation.models import Task
from core.compiled_query import CompiledQuery, save_columns
from core.people.allauth_adapter import ACCOUNT
from core.people.models import Project, Session, User
from core.people.services.sessions import CURRENT
from gapgame.models import Attempt, Turn
from gapgame.services.playing import ATTEMPTS, PLAYER, SEASON, TURN
from gapgame.services.playing import take_batch as take_sentences
from sxs_eval.models import RaterStatus
from sxs_eval.permissions import STOPPED
from sxs_eval.selectors.work import CAPTIONS, TRIALS
from sxs_eval.services.judging import JUDGEMENT
from sxs_eval.services.judging import KIND as JUDGING
from tests.annotation.submitting import take, write
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_comparison, make_player, make_rater, make_round, make_season
from tests.sxs_eval.judged import take as take_pairs

pytestmark = pytest.mark.postgres

APPS = {config.name.split(".")[0] for config in apps.get_app_configs()}
NEVER = timezone.now() + timedelta(days=400)


@pytest.fixture
def batch(db: None) -> CaptionBatch:
    round = make_round(images=4, batch_size=3)
    annotator = make_annotator(round)
    batch = take(round, annotator, now=timezone.now())
    write(batch, annotator, "Eine Katze", now=timezone.now())
    client_of(annotator)
    return batch


def as_told(value: Any, *within: Any) -> Any:
    """A row with all that was read of it, and of the rows beside it, which may point back to it."""
    if not isinstance(value, models.Model) or value in within:
        return value
    read = {name: one for name, one in vars(value).items() if name != "_state"}
    beside = {name: as_told(one, value, *within) for name, one in value._state.fields_cache.items()}
    return type(value), read, beside


def cases(batch: CaptionBatch) -> list[tuple[CompiledQuery[Any], dict[str, Any], dict[str, Any]]]:
    """Each query with values that match, and with some that do not."""
    person = batch.lease.person_id
    key = Session.objects.get(person=person).pk
    others = {"batch": uuid4(), "person": person}
    comparison = make_comparison(images=4)
    judging = take_pairs(comparison, make_rater(comparison), now=timezone.now())
    pairs, rater = judging.pk, judging.lease.person_id
    RaterStatus.objects.create(comparison=comparison, person_id=rater, paused_at=timezone.now())
    return [
        *cases_of_taking(batch, pairs),
        *cases_of_the_game(),
        (JUDGING.own_locked, {"batch": pairs, "person": rater}, {"batch": pairs, "person": rater + 1}),
        (JUDGEMENT, {"batch": pairs, "position": 1}, {"batch": pairs, "position": 99}),
        (TRIALS, {"batch": pairs}, {"batch": uuid4()}),
        (CAPTIONS, {"batch": pairs, "first": 1, "second": 3}, {"batch": pairs, "first": 99, "second": 98}),
        (CAPTIONS, {"batch": pairs, "first": 2, "second": 2}, {"batch": uuid4(), "first": 1, "second": 2}),
        (CURRENT, {"key": key, "now": timezone.now()}, {"key": key, "now": NEVER}),
        (ACCOUNT, {"account": person}, {"account": 31_001}),
        (KIND.own_locked, {"batch": batch.pk, "person": person}, {"batch": batch.pk, "person": person + 1}),
        (OWN_BATCH, {"batch": batch.pk, "person": person}, others),
        (OWN_BATCH, {"batch": batch.pk, "person": person}, {"batch": batch.pk, "person": None}),
        (ITEM, {"batch": batch.pk, "position": 2}, {"batch": batch.pk, "position": 9}),
        (ITEM_WITH_IMAGE, {"batch": batch.pk, "position": 2}, {"batch": uuid4(), "position": 2}),
        (TEXTS, {"batch": batch.pk}, {"batch": uuid4()}),
        (STOPPED, {"person": rater, "comparison": comparison.pk}, {"person": person, "comparison": comparison.pk}),
    ]


def cases_of_taking(
    batch: CaptionBatch, judging: UUID
) -> list[tuple[CompiledQuery[Any], dict[str, Any], dict[str, Any]]]:
    """What is read while a batch is taken."""
    pool, person, project = batch.round.pool_id, batch.lease.person_id, batch.round.project_id
    by = {"by": batch.round.project.created_by, "at": timezone.now()}
    Feedback.objects.create(project_id=project, round=batch.round, person_id=person, text="Well done", **by)
    from_start = {"person": person, "pool": pool, "project": project, "start": 0}
    before = {**from_start, "start": 2**31}
    pairs = Task.objects.exclude(pool=pool).values_list("pool", flat=True).first()
    return [
        (UNREAD, {"person": person}, {"person": 31_001}),
        *((each.from_start, from_start, before) for each in KIND.free_tasks),
        *((each.before_start, before, from_start) for each in KIND.free_tasks),
        *((each.from_start, {**from_start, "pool": pairs}, before) for each in JUDGING.free_tasks),
        *((each.before_start, {**before, "pool": pairs}, from_start) for each in JUDGING.free_tasks),
    ]


def cases_of_the_game() -> list[tuple[CompiledQuery[Any], dict[str, Any], dict[str, Any]]]:
    """What a guess reads."""
    season = make_season()
    player = make_player(season)
    batch = take_sentences(player_id=player.pk, user=player.user, language="en", now=NOW, rng=Random(1))
    turn = Turn.objects.get(batch=batch, position=1)
    score: dict[str, Any] = {"similarity": 0, "score": 0, "has_vector": True, "made_at": NOW}
    Attempt.objects.bulk_create(Attempt(turn=turn, number=number, guess="cat", **score) for number in (2, 1))
    return [
        (PLAYER, {"turn": turn.pk, "person": player.user_id}, {"turn": turn.pk, "person": 31_001}),
        (TURN, {"turn": turn.pk}, {"turn": uuid4()}),
        (SEASON, {"season": season.pk}, {"season": 31_001}),
        (ATTEMPTS, {"turn": turn.pk}, {"turn": uuid4()}),
    ]


def test_its_rows_are_those_of_the_queryset(batch: CaptionBatch) -> None:
    for number, (query, matching, other) in enumerate(cases(batch)):
        with transaction.atomic():
            for values in (matching, other, matching):
                rows = query.rows(**values)
                told = [as_told(row) for row in query.build(**values)]
                assert [as_told(row) for row in rows] == told, number
                assert bool(rows) == (values is matching), number


def test_each_query_of_the_platform_is_compared_above(batch: CaptionBatch) -> None:
    compared = {id(query) for query, *_values in cases(batch)}
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] in APPS]
    known = [one for module in modules for one in vars(module).values() if isinstance(one, CompiledQuery)]
    assert known
    assert [one for one in known if id(one) not in compared] == []


def test_as_many_rows_are_given_as_asked_for(batch: CaptionBatch) -> None:
    for limit in (2, 0, 1, 3, 2, 9):
        assert TEXTS.rows(batch=batch.pk, limit=limit) == list(TEXTS.build(batch=batch.pk)[:limit])


def test_columns_are_saved_as_django_saves_them(batch: CaptionBatch) -> None:
    item = batch.items.get(position=1)
    item.rating, item.rating_ms, item.rated_at, item.text = "GOOD", 7, NEVER, "not saved"
    save_columns(item, "rating", "rating_ms", "rated_at")
    saved = CaptionItem.objects.get(pk=item.pk)
    assert (saved.rating, saved.rating_ms, saved.rated_at, saved.text) == ("GOOD", 7, NEVER, "Eine Katze 1")
    item.save(update_fields=["rating", "rating_ms", "rated_at"])
    assert as_told(CaptionItem.objects.get(pk=item.pk)) == as_told(saved)
    CaptionItem.objects.filter(pk=item.pk).delete()
    with pytest.raises(DatabaseError):
        save_columns(item, "rating")


def test_whoever_listens_to_saves_is_still_called(batch: CaptionBatch) -> None:
    heard: list[Any] = []

    def listen(**about: Any) -> None:
        heard.append(about["update_fields"])

    models.signals.post_save.connect(listen, sender=CaptionItem)
    try:
        save_columns(batch.items.get(position=1), "rating")
    finally:
        models.signals.post_save.disconnect(listen, sender=CaptionItem)
    assert heard == [frozenset({"rating"})]


def test_one_row_is_given_and_none_raises(batch: CaptionBatch) -> None:
    assert ITEM.get(batch=batch.pk, position=1).text == "Eine Katze 1"
    with pytest.raises(CaptionItem.DoesNotExist):
        ITEM.get(batch=batch.pk, position=9)


def test_a_number_that_no_column_can_hold_matches_nothing(batch: CaptionBatch) -> None:
    assert ITEM.rows(batch=batch.pk, position=2**63) == ITEM.rows(batch=batch.pk, position=-(2**64)) == []
    assert ITEM.rows(batch=batch.pk, position=2**63 - 1) == []


def test_what_is_deferred_stays_so(batch: CaptionBatch) -> None:
    without = CompiledQuery(lambda person: User.objects.defer("password").filter(pk=person), person=int)
    assert without.get(person=batch.lease.person_id).get_deferred_fields() == {"password"}


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no statements kept on a server")
def test_postgresql_plans_a_statement_once(batch: CaptionBatch) -> None:
    for _ in range(3):
        ITEM.get(batch=batch.pk, position=1)

    with connection.cursor() as cursor:
        cursor.execute("SELECT parameter_types::text FROM pg_prepared_statements WHERE statement LIKE '%captionitem%'")
        assert [types for (types,) in cursor.fetchall() if "uuid" in types] == ["{uuid,smallint}"]


@pytest.fixture
def planned(transactional_db: None) -> Iterator[CompiledQuery[Project]]:
    """A statement that PostgreSQL has planned, before a column of it got another type."""
    statement = CompiledQuery(lambda slug: Project.objects.filter(slug=slug), slug=str)
    for _ in range(6):
        statement.rows(slug="lions")
    # As a migration does it: this connection does not hear of it.
    other = connections.create_connection("default")
    change = "ALTER TABLE people_project ALTER COLUMN description TYPE {}"
    with other.cursor() as cursor:
        cursor.execute(change.format("varchar(9000)"))
    yield statement
    with other.cursor() as cursor:
        cursor.execute(change.format("text"))
    other.close()


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no statements kept on a server")
def test_a_planned_statement_is_planned_anew_once_a_column_has_changed(planned: CompiledQuery[Project]) -> None:
    assert planned.rows(slug="lions") == []


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no statements kept on a server")
def test_a_changed_column_ends_one_transaction_and_not_the_next(planned: CompiledQuery[Project]) -> None:
    with pytest.raises(DatabaseError, match="cached plan"), transaction.atomic():
        planned.rows(slug="lions")
    with transaction.atomic():
        assert planned.rows(slug="lions") == []


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time")
def test_locks_need_a_transaction(transactional_db: None) -> None:
    locked = CompiledQuery(lambda person: User.objects.select_for_update().filter(pk=person), person=int)
    with transaction.atomic():
        locked.rows(person=1)
    with pytest.raises(transaction.TransactionManagementError):
        locked.rows(person=1)
