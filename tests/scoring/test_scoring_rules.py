"""What may be asked for, what the database refuses whoever asks, and digests and columns of numbers by themselves."""

from __future__ import annotations

import numpy as np
import pytest
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from core.jobs.models import JobState
from research.scoring.models import Pass, Reference, ReferenceSet, Score, Scoring
from research.scoring.rules.digests import as_digest, as_total, image_digest
from research.scoring.rules.metrics import MetricChoiceError
from research.scoring.rules.packing import pack_floats, pack_integers, unpack_floats, unpack_integers
from tests.factories import NOW, make_captioner, make_collection, make_image
from tests.scoring.scored import make_references, make_scoring, make_scorings, run

IMAGE = "0a" * 32


def test_a_digest_tells_captions_their_order_and_their_limits_apart():
    said = [["ab", "c"], ["a", "bc"], ["c", "ab"], ["ab", "c", ""], ["abc"], ["ab"]]

    assert len({image_digest(IMAGE, texts) for texts in said}) == len(said)
    assert image_digest(IMAGE, ["ab"]) != image_digest("0b" * 32, ["ab"])
    assert image_digest(IMAGE, []) == 0


@pytest.mark.long(reason="at least three others run each of its lines")
@given(st.lists(st.integers(0, 2**256 - 1), max_size=5), st.integers(0, 2**256 - 1))
def test_a_digest_that_was_added_and_taken_away_leaves_what_was_there(others, one):
    total = sum(others)

    assert as_digest(as_total(as_digest(total)) + one - one) == as_digest(total)
    assert as_digest(as_total(as_digest(total + one)) - one) == as_digest(total)
    assert as_digest(as_total(as_digest(total)) - total) == ""


def test_columns_come_back_as_they_were_from_bytes_and_from_views_of_them():
    values = [0.1, -1e300, 5e-324]

    assert unpack_floats(pack_floats(values)).tolist() == values
    assert unpack_floats(memoryview(pack_floats(values))).tolist() == values
    assert unpack_integers(pack_integers([1, -(2**62)])).tolist() == [1, -(2**62)]
    assert pack_floats(np.array([1.0], dtype=">f8")) == b"\0\0\0\0\0\0\xf0?"


@pytest.mark.django_db
@pytest.mark.parametrize("metrics", [[], ["rouge-l", "spice"], ["wmdrel"], ["rouge-l", "clinrel"]])
def test_a_scoring_needs_metrics_that_are_known(metrics):
    with pytest.raises(MetricChoiceError):
        make_scoring(metrics=metrics)
    assert not Scoring.objects.exists()


@pytest.mark.django_db
def test_references_of_another_project_are_not_scored_against():
    scoring = make_scoring()

    with pytest.raises(ValueError, match="not of project"):
        make_scorings(make_references(), [scoring.model], project=scoring.project, metrics=["cider"])


def second_set(scoring: Scoring, **about: object) -> object:
    known = scoring.references
    values = {"project": known.project, "collection": known.collection, "language": known.language, "name": "Other"}
    return ReferenceSet.objects.create(**(values | {"kind": "imported", "changed_at": NOW} | about))


def second_scoring(scoring: Scoring, **about: object) -> object:
    values = {"project": scoring.project, "model": scoring.model, "references": scoring.references}
    return Scoring.objects.create(**(values | {"tokenizer": "whitespace", "normalise": True} | about))


def second_reference(scoring: Scoring, **about: object) -> object:
    first = scoring.references.references.first()
    values = {"reference_set": first.reference_set, "image": first.image, "position": 9, "text": "text"}
    return Reference.objects.create(**(values | about))


def another_score(scoring: Scoring, **about: object) -> object:
    values = {"scoring_pass": scoring.passes.first(), "metric": "another", "created_at": NOW, "value": 1.0}
    return Score.objects.create(**(values | about))


def two_of_one_origin(scoring: Scoring) -> None:
    second_set(scoring, origin="round:1", name="a")
    second_set(scoring, origin="round:1", name="b")


def another_pass(scoring: Scoring, state: str = JobState.QUEUED) -> object:
    return Pass.objects.create(scoring=scoring, state=state, asked_at=NOW)


@pytest.mark.postgres
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("reference_set_named_once", lambda scoring: second_set(scoring, name=scoring.references.name)),
        ("reference_set_once_per_origin", two_of_one_origin),
        ("reference_set_kind_known", lambda scoring: second_set(scoring, kind="guessed")),
        ("reference_once_per_position", lambda scoring: second_reference(scoring, position=1)),
        ("reference_not_empty", lambda scoring: second_reference(scoring, text="")),
        ("scoring_once_per_text_version", second_scoring),
        ("scoring_tokenizer_known", lambda scoring: second_scoring(scoring, tokenizer="guessed")),
        ("pass_one_open_per_scoring", another_pass),
        ("score_once_per_metric", lambda scoring: [another_score(scoring) for _ in range(2)]),
        ("score_has_a_value_or_says_why_not", lambda scoring: another_score(scoring, value=None)),
        ("score_has_a_value_or_says_why_not", lambda scoring: another_score(scoring, why_undefined="why")),
    ],
)
def test_the_database_refuses(name, change):
    scoring = make_scoring()

    with pytest.raises(IntegrityError) as error, transaction.atomic():
        change(scoring)

    # SQLite names the columns of a uniqueness that was broken, not the constraint.
    assert name in str(error.value) or "UNIQUE" in str(error.value)


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.django_db
def test_the_database_takes_what_is_only_nearly_that():
    scoring = make_scoring()

    second_set(scoring, origin="round:1", name="a")
    second_set(scoring, origin="", name="b")
    second_reference(scoring)
    second_reference(scoring, image=make_image(), position=1)
    second_scoring(scoring, normalise=False)
    second_scoring(scoring, model=make_captioner(make_collection(1)))
    another_pass(scoring, JobState.DONE)
    another_pass(scoring, JobState.FAILED)
    run(scoring)
    another_pass(scoring)
    another_score(scoring)
    another_score(scoring, metric="undefined", value=None, why_undefined="why")
