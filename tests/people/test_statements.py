"""What a statement gives is what its queryset gives, written the plain way."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import connection, models, transaction
from django.utils import timezone

from annotation.models import CaptionBatch, CaptionItem
from annotation.permissions import OWN_BATCH
from annotation.selectors.work import ITEM_WITH_IMAGE, TEXTS
from annotation.services.batches import ITEM, KIND
from people.allauth_adapter import ACCOUNT
from people.models import Session, User
from people.services.session_store import CURRENT
from people.statements import Statement
from sxs_eval.selectors.work import CAPTIONS, TRIALS
from sxs_eval.services.judging import JUDGEMENT
from sxs_eval.services.judging import KIND as JUDGING
from tests.annotation.submitting import take, write
from tests.clients import client_of
from tests.factories import make_annotator, make_comparison, make_rater, make_round
from tests.sxs_eval.judged import take as take_pairs

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


def cases(batch: CaptionBatch) -> list[tuple[Statement[Any], dict[str, Any], dict[str, Any]]]:
    """Each statement with values that match, and with some that do not."""
    person = batch.lease.person_id
    key = Session.objects.get(person=person).pk
    others = {"batch": uuid4(), "person": person}
    comparison = make_comparison(images=4)
    judging = take_pairs(comparison, make_rater(comparison), now=timezone.now())
    pairs, rater = judging.pk, judging.lease.person_id
    return [
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
    ]


@pytest.mark.parametrize("number", range(13))
def test_its_rows_are_those_of_the_queryset(batch: CaptionBatch, number: int) -> None:
    statement, matching, other = cases(batch)[number]
    with transaction.atomic():
        for values in (matching, other, matching):
            rows = statement.rows(**values)
            assert [as_told(row) for row in rows] == [as_told(row) for row in statement.build(**values)]
            assert bool(rows) == (values is matching)


def test_each_statement_of_the_platform_is_compared_above(batch: CaptionBatch) -> None:
    compared = {id(statement) for statement, *_values in cases(batch)}
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] in APPS]
    known = [one for module in modules for one in vars(module).values() if isinstance(one, Statement)]
    assert known
    assert [one for one in known if id(one) not in compared] == []


def test_one_row_is_given_and_none_raises(batch: CaptionBatch) -> None:
    assert ITEM.get(batch=batch.pk, position=1).text == "Eine Katze 1"
    with pytest.raises(CaptionItem.DoesNotExist):
        ITEM.get(batch=batch.pk, position=9)


def test_a_number_that_no_column_can_hold_matches_nothing(batch: CaptionBatch) -> None:
    assert ITEM.rows(batch=batch.pk, position=2**63) == ITEM.rows(batch=batch.pk, position=-(2**64)) == []
    assert ITEM.rows(batch=batch.pk, position=2**63 - 1) == []


def test_what_is_deferred_stays_so(batch: CaptionBatch) -> None:
    without = Statement(lambda person: User.objects.defer("password").filter(pk=person), person=int)
    assert without.get(person=batch.lease.person_id).get_deferred_fields() == {"password"}


def test_locks_need_a_transaction() -> None:
    if not connection.features.has_select_for_update:
        pytest.skip("SQLite has one writer at a time")
    locked = Statement(lambda person: User.objects.select_for_update().filter(pk=person), person=int)
    with transaction.atomic():
        locked.rows(person=1)
    with pytest.raises(transaction.TransactionManagementError):
        locked.rows(person=1)
