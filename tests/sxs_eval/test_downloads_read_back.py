"""A download of judgements, given to `sxs_report`, has the figures of the comparison's own page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from core.images.models import Image
from research.inference.models import ModelCaption
from sxs_eval.models import Comparison, EqualCaptions, Judgement, RaterState, RaterStatus, TrialKind
from sxs_eval.selectors.results import report_of
from tests.commands import output_of
from tests.exported import exported_text
from tests.factories import (
    NOW,
    make_captioner,
    make_collection,
    make_comparison,
    make_project,
    make_rater,
)
from tests.kept import kept
from tests.sxs_eval.downloaded import exported, make_judged
from tests.sxs_eval.judged import judge_all, judged_once, keys_of, report, results

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


def figures(path: Path, comparison: Comparison, capsys) -> dict[str, Any]:
    """What `sxs_report` says of a downloaded file."""
    capsys.readouterr()
    options = {"seed": comparison.seed, "replication": comparison.replication}
    call_command("sxs_report", str(path), "--json", **options)
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def comparison(made_once) -> Comparison:
    return made_once(make_judged)


@pytest.mark.parametrize("layout", ["jsonl", "csv"])
def test_a_downloaded_file_gives_the_figures_of_the_page_also_where_some_is_set_aside(
    comparison, layout, tmp_path, capsys
):
    people = list(Judgement.objects.order_by("pk").values_list("person", flat=True).distinct())
    people = sorted(set(people))
    RaterStatus.objects.create(comparison=comparison, person_id=people[0], state=RaterState.PAUSED)
    late = Judgement.objects.filter(person=people[1], kind=TrialKind.PAIR)[:2].values_list("pk", flat=True)
    Judgement.objects.filter(pk__in=list(late)).update(is_late=True)
    path = tmp_path / f"judgements.{layout}"
    path.write_bytes(exported(comparison, layout=layout).encode())
    (reported,) = figures(path, comparison, capsys)["comparisons"]
    own = report(comparison).as_json()
    assert own["set_aside"] > 2
    assert own["flips"]["same"]["total"] > 0
    assert [region["region"] for region in own["regions"]] == ["Africa", "Asia"]
    assert reported["report"] == own
    assert reported["gold"] == Judgement.objects.filter(kind=TrialKind.GOLD).count() > 0


def test_several_comparisons_come_out_as_the_pooled_rows_say(tmp_path, capsys):
    project, collection = make_project("lions"), make_collection(4)
    models = [make_captioner(collection, f"m{n}", language="de") for n in range(2)]
    for seed, scores in enumerate([[3, 1, -1, 0], [1, 2, -1, -1]]):
        judged_once(project, collection, models[0], models[1], scores, seed=seed)
    path = tmp_path / "all.jsonl"
    call_command("export", "lions", what="judgements", format="jsonl", output=path)
    call_command("sxs_report", str(path), "--json", replication=1)
    (pooled,) = json.loads(capsys.readouterr().out)["pooled"]
    (own,) = results(project).pooled
    names = ("images", "outcomes", "wins", "losses")
    assert pooled["figures"] == {
        "signature": str(own.signature),
        "unlike": [],
        "comparisons": len(own.comparisons),
        "shared_raters": 0,
        **{name: getattr(own, name) for name in names},
        "random_effects": own.random_effects.as_json(),
        "gain": own.gain.as_json(),
        "sign_test": own.sign_test.as_json(),
    }
    assert pooled["base_model"] == own.base == "m0"


def test_images_without_any_judgement_are_all_that_a_file_does_not_know(tmp_path, capsys):
    comparison = make_comparison(images=4, replication=1)
    judge_all(comparison, make_rater(comparison), dict(zip(keys_of(comparison)[:3], [3, -1, 2], strict=True)))
    path = tmp_path / "judgements.jsonl"
    path.write_bytes(exported(comparison).encode())
    reported = figures(path, comparison, capsys)["comparisons"][0]["report"]
    own = report(comparison).as_json()
    assert own["outcome"].pop("images")["incomplete"] == 1
    assert reported["outcome"].pop("images")["incomplete"] == 0
    assert reported == own
