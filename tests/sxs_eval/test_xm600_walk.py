"""XM600 as a whole: a selection, a subset with as many images of each language, a plan, and figures over it."""

from __future__ import annotations

import csv

import pytest
from django.test import Client
from django.urls import reverse

from core.images.models import Collection
from core.people.models import Project
from research.selection.models import Subset
from research.selection.rules.image_filters import parse
from research.selection.selectors.subsets import keys_of
from research.selection.services.selections import confirm_selection
from sxs_eval.models import Comparison, Pair
from sxs_eval.selectors.evidence import evidence_of
from sxs_eval.selectors.results import report_of
from sxs_eval.services.comparisons import fill_comparison
from tests.clients import client_of
from tests.commands import output_of
from tests.factories import NOW, make_captioner, make_comparison, make_project, make_rater
from tests.selection.selecting import (
    FRANCE,
    TELANGANA,
    WEST_BENGAL,
    give_table,
    made_places,  # noqa: F401 a fixture
    make_placed_collection,
    make_selection,
)
from tests.sxs_eval.judged import judge_all
from tests.sxs_eval.planning import create, form_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("made_places")]

SCORES = "language,model,xm3600,coco\nbn,Alpha,50,60\nbn,Beta,52,55\n"


@pytest.fixture
def project() -> Project:
    made = make_project("lions")
    give_table(made)
    return made


@pytest.fixture
def manager(project) -> Client:
    return client_of(project.created_by)


@pytest.fixture
def chosen(project) -> Collection:
    """A confirmed selection of four images for each of three languages, with captions of two models."""
    source = make_placed_collection({WEST_BENGAL: 6, TELANGANA: 6, FRANCE: 6})
    selection = make_selection(project, source, languages=("bn", "te", "fr"), per_language=4)
    collection = confirm_selection(selection=selection, by=project.created_by, now=NOW)
    for name in ("Alpha", "Beta"):
        make_captioner(collection, name, language="bn", text=f"{name} on an image")
    return collection


@pytest.mark.usefixtures("nudged")
def test_from_a_selection_to_gains_over_its_subset(project, manager, chosen, capsysbinary):
    # Two images for each language, drawn from those chosen for it.
    manager.post(
        "/projects/lions/new-subset/",
        {"name": "XM600", "collection": chosen.slug, "sample": "2", "per_language": "on", "seed": "600"},
    )
    drawn = keys_of(Subset.objects.get(slug="xm600"))
    assert sorted(key[:5] for key in drawn) == ["fr-75", "fr-75", "in-tg", "in-tg", "in-wb", "in-wb"]

    # A plan whose comparison is over the subset alone.
    form = form_of(chosen, scores=SCORES, core="bn", only="subset:xm600", subset="6", replication="1")
    create(manager, project, form | {"gold_percent": "0", "repeat_percent": "0"})
    planned = Comparison.objects.get()
    fill_comparison(comparison_id=planned.pk)
    assert (planned.images, planned.left_out) == ("subset:xm600", 0)
    keys = dict(chosen.entries.values_list("image", "key"))
    assert sorted(keys[image] for image in Pair.objects.values_list("image", flat=True)) == drawn

    # The same judgements of the subset, in a comparison over all images, give the same figures over it.
    scores = {key: (3 if key.startswith("in-") else -1) for key in keys.values()}
    judge_all(planned, make_rater(planned, "ann"), scores)
    whole = make_comparison(
        project=project, collection=chosen, language="bn", base=planned.base, test=planned.test, replication=1,
        batch_size=20,
    )  # fmt: skip
    judge_all(whole, make_rater(whole, "bob"), scores)
    (over,) = evidence_of([whole], parse("subset:xm600")).values()
    assert report_of(whole, over).outcome == report_of(planned).outcome
    assert report_of(whole).outcome != report_of(planned).outcome
    page = manager.get(reverse("sxs_eval:comparison-show", args=["lions", whole.pk]), {"images": "subset:xm600"})
    assert page.context["pairs"] == 6

    # What is downloaded is of the subset, too, and the subset stays for as long as the comparison does.
    output_of(
        "export",
        "lions",
        "--what",
        "judgements",
        "--format",
        "csv",
        "--comparison",
        whole.pk,
        "--images",
        "subset:xm600",
    )
    rows = list(csv.DictReader(capsysbinary.readouterr().out.decode("utf-8-sig").splitlines()))
    assert sorted(row["image"] for row in rows) == drawn
    refused = manager.post("/projects/lions/subsets/xm600/delete/", follow=True).content.decode()
    assert f"because it is used by: comparison {planned.pk} in Bengali" in refused
