"""A download of judgements, given to `sxs_report`, has the figures of the comparison's own page."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.images.models import Image
from research.inference.models import ModelCaption
from sxs_eval.models import Comparison, EqualCaptions
from sxs_eval.selectors.results import report_of
from tests.commands import output_of
from tests.exported import exported_text
from tests.factories import NOW, make_captioner, make_collection, make_comparison, make_rater
from tests.kept import kept
from tests.sxs_eval.judged import judge_all, keys_of

pytestmark = pytest.mark.django_db

SAME = (
    "judgements", "set_aside", "outcome", "precision", "alpha", "distribution", "left", "flips", "seconds", "regions",
)  # fmt: skip


@kept
def with_equal_captions() -> Comparison:
    return make_partly_equal()


def make_partly_equal() -> Comparison:
    """Six images in two regions; two pairs have equal captions, which count unseen."""
    collection = make_collection(6)
    base, test = (make_captioner(collection, language="de") for _ in range(2))
    images = list(Image.objects.order_by("pk"))
    ModelCaption.objects.filter(model=test, image__in=images[2:]).update(text="other words")
    for number, image in enumerate(images):
        image.extra = {"region": "coast" if number % 2 else "hills"}
        image.save()
    comparison = make_comparison(
        collection=collection, base=base, test=test, equal_captions=EqualCaptions.SIMILAR, replication=3
    )
    for _ in range(3):
        judge_all(comparison, make_rater(comparison), dict(zip(keys_of(comparison)[2:], (2, -1, 3, 0), strict=True)))
    return comparison


def reported(comparison: Comparison, file: Any) -> dict[str, Any]:
    said = output_of("sxs_report", file, "--json", "--seed", comparison.seed)
    (part,) = json.loads(said)["comparisons"]
    assert (part["base_model"], part["test_model"]) == (comparison.base.name, comparison.test.name)
    return part["report"]


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_a_file_has_all_pairs_and_its_figures_are_those_of_the_page(with_equal_captions, format, tmp_path):
    """Those that count unseen are in it, and those of images left out of results do not count."""
    for left_out, similar, set_aside in (((), [1, 1], 0), ((1, 3), [1, 0], 3)):
        with_equal_captions.collection.entries.filter(position__in=left_out).update(excluded_at=NOW)
        file = tmp_path / f"judgements.{format}"
        file.write_bytes(exported_text(with_equal_captions.project, "judgements", format).encode())

        from_file, from_page = reported(with_equal_captions, file), report_of(with_equal_captions).as_json()

        images, regions = from_page["outcome"]["images"], from_page["regions"]
        assert (images["counted_similar"], from_page["set_aside"]) == (sum(similar), set_aside)
        assert [part["outcome"]["images"]["counted_similar"] for part in regions] == similar
        assert {name: from_file[name] for name in SAME} == {name: from_page[name] for name in SAME}
