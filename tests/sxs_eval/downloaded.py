"""A judged comparison, and what is downloaded of it."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from core.images.models import Image
from sxs_eval.models import Comparison
from tests.exported import exported_text
from tests.factories import (
    make_collection,
    make_comparison,
    make_rater,
)
from tests.sxs_eval.judged import judge_all, keys_of

FORMULA = '=HYPERLINK("http://example.org";"x")'


def exported(comparison: Comparison, *others: Comparison, layout: str = "jsonl", **options: Any) -> str:
    one = None if others else comparison.pk
    return exported_text(comparison.project, "judgements", layout, comparison=one, **options)


def rows(*comparisons: Comparison, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in exported(*comparisons, **options).split("\n")[:-1]]


def cells(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


def make_judged() -> Comparison:
    """Eight images, three raters, with gold pairs and repeats; keys run against primary keys, regions are known."""
    collection = make_collection(8)
    for position, entry in enumerate(collection.entries.order_by("-pk"), start=1):
        entry.position, entry.key = position, f"image-{position}"
        entry.save()
        Image.objects.filter(pk=entry.image_id).update(extra={"region": "Africa" if position % 2 else "Asia"})
    shares: dict[str, Any] = {"gold_percent": 30, "repeat_percent": 30, "checks_before_pause": 99}
    comparison = make_comparison(collection=collection, batch_size=8, seed=7, **shares)
    scores = [[3, 2, -1, 0, 1, -2, 3, 0], [1, 2, -3, 0, 2, 0, 3, -1], [-2, 3, -1, 1, 0, -2, 2, 0]]
    for number, line in enumerate(scores):
        wanted = dict(zip(keys_of(comparison), line, strict=True))
        judge_all(comparison, make_rater(comparison), wanted, seed=number, again=-1, comments={"image-1": FORMULA})
    return comparison
