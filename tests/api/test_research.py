"""What researchers' programs read: collections, models, references and scores; and managers' of invitations."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from core.people.models import Role
from research.scoring.models import Scoring
from tests.api.seeded import Program
from tests.api.test_work import address, code
from tests.factories import join_project, make_user
from tests.scoring.scored import make_references, make_scoring

pytestmark = pytest.mark.django_db


@pytest.fixture
def scoring():
    return make_scoring(make_references())


@pytest.fixture
def rho(scoring) -> Program:
    return Program(join_project(scoring.project, make_user("rho"), Role.RESEARCHER))


def test_scorings_come_with_their_figures_and_their_state(scoring, rho):
    (row,) = rho.all_of(address("score-list", scoring.project.slug))
    assert (row["id"], row["model"], row["references"]) == (scoring.pk, scoring.model.name, scoring.references.name)
    assert rho.get(address("score-show", scoring.project.slug, scoring.pk)).json() == row
    assert row["state"] in ("queued", "done")


def test_scorings_are_found_by_the_filters_of_the_page(scoring, rho):
    where, references = address("score-list", scoring.project.slug), scoring.references
    make_scoring(make_references(project=scoring.project, language="fr"))
    asked = {"language": references.language_id.upper(), "collection": references.collection.slug}
    (row,) = rho.all_of(where, **asked)
    assert row["id"] == scoring.pk
    assert rho.all_of(where, **asked, metric="wcc") == [row | {"figures": []}]
    assert list(rho.get(where, collection="none", language="fr").json()["errors"]) == ["collection"]
    assert "wcc" in rho.get(where, metric="x").json()["errors"]["metric"][0]


def test_a_scoring_is_started_by_the_form_of_the_page_and_can_be_polled(scoring, rho):
    where, references = address("score-list", scoring.project.slug), scoring.references
    answer = rho.post(where, references=references.pk, models=[scoring.model_id], metrics=["cider-d"], normalise=False)
    assert answer.status_code == 202
    (row,) = answer.json()["results"]
    assert row["normalise"] is False
    assert row["id"] == Scoring.objects.latest("pk").pk != scoring.pk
    refused = rho.post(where, references=references.pk, models=[scoring.model_id + 999], metrics=["cider-d"])
    assert list(refused.json()["errors"]) == ["models"]
    assert (
        "rouge-l"
        in rho.post(where, references=references.pk, models=[1], metrics=["x"]).json()["errors"]["metrics"][-1]
    )


def test_references_are_listed_with_their_collection_and_size(scoring, rho):
    (row,) = rho.all_of(address("reference-list", scoring.project.slug))
    known = scoring.references
    assert (row["id"], row["language"], row["captions"]) == (known.pk, known.language_id, known.captions)
    assert rho.get(address("reference-show", scoring.project.slug, known.pk)).json() == row


def test_the_captions_of_references_come_with_their_images(scoring, rho):
    known = scoring.references
    rows = rho.all_of(address("reference-captions", scoring.project.slug, known.pk), limit=3)
    expected = known.references.order_by("pk").select_related("image")
    assert [(row["image"], row["position"], row["text"]) for row in rows] == [
        (str(one.image.public_id), one.position, one.text) for one in expected
    ]
    assert {row["key"] for row in rows} == set(known.collection.entries.values_list("key", flat=True))


def test_collections_and_models_are_those_that_pages_list(scoring, rho):
    collection = scoring.references.collection
    rows = rho.all_of(address("collection-list"), limit=1)
    assert collection.slug in [row["slug"] for row in rows]
    one = rho.get(address("collection-show", collection.slug)).json()
    images = rho.all_of(address("collection-images", collection.slug), limit=2)
    assert [image["key"] for image in images] == list(
        collection.entries.order_by("position").values_list("key", flat=True)
    )
    assert (one in rows, one["size"]) == (True, len(images))
    models = rho.all_of(address("model-list"), q=scoring.model.name)
    assert [model["id"] for model in models] == [scoring.model_id]
    assert rho.get(address("model-show", scoring.model_id)).json() == models[0]


def test_managers_read_invitations_with_links_and_researchers_do_not(scoring, rho):
    project, now = scoring.project, timezone.now()
    manager = project.created_by
    about = {"created_by": manager, "expires_at": now + timedelta(days=1)}
    project.invitations.create(role=Role.RATER, token="x" * 40, email="a@example.org", **about)
    project.invitations.create(role=Role.RESEARCHER, token="y" * 40, **about)
    rows = Program(manager).all_of(address("invitation-list", project.slug), role="rater")
    assert [(row["email"], row["state"], row["link"]) for row in rows] == [
        ("a@example.org", "open", "http://testserver" + reverse("people:invitation-accept", args=["x" * 40]))
    ]
    refused = Program(manager).get(address("invitation-list", project.slug), role="king")
    assert (code(refused), list(refused.json()["errors"])) == ((422, "invalid"), ["role"])
    assert code(rho.get(address("invitation-list", project.slug))) == (404, "not-found")
