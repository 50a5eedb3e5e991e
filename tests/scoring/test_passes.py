"""Passes: what is computed, in whose hands it is, and what is left of it after a worker was killed."""

from __future__ import annotations

import pytest

from corpus.models import JobState
from scoring.rules.packing import unpack_floats, unpack_integers
from tests.scoring.scored import make_scoring, run, values_of


@pytest.mark.django_db
def test_a_pass_scores_every_metric_and_says_what_by():
    scoring = make_scoring()

    found = run(scoring)

    assert (found.state, found.error, found.total, found.done) == (JobState.DONE, "", 3, 3)
    assert list(values_of(found)) == ["bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "cider-d"]
    assert all(0 < value < 10 for value in values_of(found).values())
    assert (found.images, found.left_out) == (3, 0)
    assert len(unpack_integers(found.image_ids)) == 3
    for score in found.scores.all():
        assert score.signature.startswith(f"{score.metric}|v:")
        assert len(unpack_floats(score.values)) == 3
