"""Benchmarks write rows by SQL of their own, which must keep up with the models."""

from __future__ import annotations

import random

import pytest

from annotation.models import Caption, CaptionItem
from tests.factories import NOW, make_annotator, make_round
from tools.benchmarks import seed


@pytest.mark.long(reason="only benchmarks need it")
@pytest.mark.django_db
def test_captions_that_a_benchmark_writes_are_whole():
    round = make_round(images=6, replication=2, batch_size=3)
    team = [make_annotator(round) for _ in range(4)]
    seed.write_captions(round, team, images=6, now=NOW, rng=random.Random(0), text="'Ein Hund'", assigned=1)
    assert Caption.objects.filter(round=round, text="Ein Hund").count() == 2 * 6 - 3
    assert not CaptionItem.objects.filter(is_autosaved=True).exists()
    for item in CaptionItem.objects.all():
        item.full_clean()
