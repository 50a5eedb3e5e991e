"""What nobody sends by the pages: whatever it is, nothing breaks, and nothing of another project is touched."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from research.scoring.models import Pass, ReferenceSet, Scoring
from tests.factories import make_captioner, make_collection, make_project
from tests.kept import kept
from tests.scoring.scored import make_references, make_scoring, run
from tests.tiers import some

pytestmark = pytest.mark.django_db

ODD = some(
    ["\0", "'\"<script>", "9" * 30, "-1", "é" * 4000, "1e5", "../x"],
    short=3,
    reason="more values that no page offers, refused by the same lines",
)


@kept
def scoring():
    made = make_scoring()
    run(made)
    return made


@pytest.fixture
def manager(scoring):
    client = Client(raise_request_exception=False)
    client.force_login(scoring.project.created_by)
    return client


def address(scoring, name, *rest):
    return reverse(f"scoring:{name}", args=[scoring.project.slug, *rest])


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("value", ODD)
def test_whatever_is_asked_for_a_page_comes(manager, scoring, value):
    asked = {
        address(scoring, "score-list"): ["language", "metric", "collection", "sort"],
        address(scoring, "scoring-images", scoring.pk): ["metric", "show", "against", "page"],
        address(scoring, "score-compare"): ["test", "base", "method", "metric"],
        address(scoring, "scoring-create"): ["references"],
        address(scoring, "reference-show", scoring.references_id): ["page"],
        reverse("sxs_eval:metrics-show", args=[scoring.project.slug]): ["metric", "flip"],
    }
    pages = {where: manager.get(where, dict.fromkeys(names, value)) for where, names in asked.items()}
    assert {where: page.status_code for where, page in pages.items()} == dict.fromkeys(asked, 200)
    assert not any("<script>" in page.content.decode().split("<main", 1)[1] for page in pages.values())


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("value", ODD)
def test_forms_take_nothing_that_they_did_not_offer(manager, scoring, value):
    where = f"{address(scoring, 'scoring-create')}?references={scoring.references_id}"
    sent = {"models": [scoring.model_id], "metrics": ["bleu"], "tokenizer": "icu"}
    statuses = {name: manager.post(where, sent | {name: [value]}).status_code for name in sent}
    assert statuses == dict.fromkeys(sent, 422)
    assert (Scoring.objects.count(), ReferenceSet.objects.count()) == (1, 1)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_is_another_projects_is_neither_shown_nor_changed_under_ones_own(manager, scoring):
    foreign = make_scoring(make_references(project=make_project()))
    before = run(foreign)
    for name in ("scoring-again", "scoring-drop"):
        assert manager.post(address(scoring, name, foreign.pk)).status_code == 404
    assert manager.post(address(scoring, "reference-drop", foreign.references_id)).status_code == 404
    compared = manager.get(address(scoring, "score-compare"), {"test": foreign.pk, "base": scoring.pk})
    assert "comparison" not in compared.context
    sent = {"models": [foreign.model_id], "metrics": ["bleu"], "tokenizer": "icu"}
    where = address(scoring, "scoring-create")
    manager.post(f"{where}?references={foreign.references_id}", sent)
    elsewhere = make_captioner(make_collection(), language="de")
    refused = manager.post(f"{where}?references={scoring.references_id}", sent | {"models": [elsewhere.pk]})
    assert refused.status_code == 422
    assert list(Pass.objects.filter(scoring__project=foreign.project)) == [before]
    assert Scoring.objects.count() == 2


def test_nothing_is_done_without_the_pages_own_token(scoring):
    client = Client(enforce_csrf_checks=True)
    client.force_login(scoring.project.created_by)
    addresses = [address(scoring, name, scoring.pk) for name in ("scoring-again", "scoring-drop")]
    addresses += [address(scoring, "reference-drop", scoring.references_id)]
    addresses += [f"{address(scoring, 'scoring-create')}?references={scoring.references_id}"]
    assert [client.post(where, {"name": "New"}).status_code for where in addresses] == [403] * len(addresses)
