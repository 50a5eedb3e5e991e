"""A download of judgements, given to `sxs_report`, has the figures of the comparison's own page."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.core.management import call_command

from corpus.models import Image
from sxs_eval.downloads.judgements import Layout, export_to_file
from sxs_eval.models import Comparison, Judgement
from sxs_eval.selectors.results import report_of
from sxs_eval.services.raters import exclude_rater
from tests.factories import NOW, make_comparison, make_rater, make_user
from tests.sxs_eval.judged import judge_all

pytestmark = pytest.mark.django_db

SAME = (
    "judgements",
    "set_aside",
    "outcome",
    "precision",
    "alpha",
    "distribution",
    "left",
    "flips",
    "seconds",
    "regions",
)


@pytest.fixture
def comparison() -> Comparison:
    """Twelve images, three raters who repeat a pair now and then, and a fourth one who was left out afterwards."""
    comparison = make_comparison(images=12, repeat_percent=50, failures_percent=100)
    rng = Random(3)
    for number, image in enumerate(Image.objects.order_by("pk")):
        image.extra = {"region": "coast" if number < 5 else "hills"}
        image.save()
    keys = list(comparison.collection.entries.values_list("key", flat=True))
    left_out = make_rater(comparison)
    judge_all(comparison, left_out, dict.fromkeys(keys[:2], 3), again=3)
    exclude_rater(comparison=comparison, rater=left_out, note="", by=make_user(), now=NOW)
    for _ in range(3):
        scores = {key: rng.randint(-3, 3) for key in keys}
        judge_all(comparison, make_rater(comparison), scores, seed=rng.randrange(99), again=rng.randint(-1, 1))
    return comparison


def reported(comparison: Comparison, file: Any) -> dict[str, Any]:
    out = io.StringIO()
    call_command("sxs_report", str(file), "--json", "--seed", str(comparison.seed), stdout=out)
    (part,) = json.loads(out.getvalue())["comparisons"]
    assert (part["base_model"], part["test_model"]) == (comparison.base.name, comparison.test.name)
    return part["report"]


@pytest.mark.parametrize("layout", Layout)
def test_the_file_and_the_page_have_the_same_figures(comparison, layout, tmp_path):
    file = tmp_path / f"judgements.{layout.value}"
    export_to_file([comparison], layout, file, until=NOW + timedelta(days=1))

    from_file, from_page = reported(comparison, file), report_of(comparison).as_json()

    assert from_page["outcome"]["images"]["complete"] > 0
    assert from_page["flips"]["same"]["total"] > 0
    assert from_page["set_aside"] > 0
    assert Judgement.objects.count() > from_page["judgements"]
    assert {name: from_file[name] for name in SAME} == {name: from_page[name] for name in SAME}
    assert len(from_file["raters"]) == 3
