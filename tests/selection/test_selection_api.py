"""Programs start selections and read what was chosen; what they may not know of is not there."""

from __future__ import annotations

import pytest
from django.urls import reverse

from research.selection import tasks
from research.selection.models import CandidateList, Selection
from tests.api.seeded import Program
from tests.factories import make_project
from tests.selection.selecting import (
    FRANCE,
    give_table,
    made_places,  # noqa: F401 a fixture
    make_placed_collection,
    make_selection,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("made_places")]

LIST = "/api/v1/projects/lions/selections/"


@pytest.fixture
def project():
    project = make_project("lions")
    give_table(project)
    return project


@pytest.fixture
def collection(project):
    return make_placed_collection({FRANCE: 4})


def test_a_program_starts_a_selection_and_reads_its_images(project, collection, monkeypatch):
    monkeypatch.setattr(tasks, "ask_for_choice", lambda pk: None)
    mia = Program(project.created_by)
    started = mia.post(LIST, collection=collection.slug, languages=["fr"], per_language=2, seed=7)

    assert (started.status_code, started.json()["state"]) == (202, "queued")
    tasks.choose_images(Selection.objects.get().pk)
    told = mia.get(reverse("api:selection-show", args=["lions", 1])).json()
    assert told["counts"]["languages"]["fr"]["chosen"]["region"] == 2
    assert "reserve" not in told["counts"]
    images = mia.get(f"{LIST}1/images/").json()["results"]
    assert [(one["level"], one["regions"]) for one in images] == [("region", ["FR-75"])] * 2
    assert [one["number"] for one in mia.get(LIST).json()["results"]] == [1]


def test_a_program_reads_the_images_of_one_language_and_level(project, collection):
    make_selection(project, collection, languages=["fr", "de"], per_language=2)
    mia, where = Program(project.created_by), f"{LIST}1/images/"
    both = mia.all_of(where)
    for language in ("fr", "de"):
        assert mia.all_of(where, language=language.upper()) == [one for one in both if one["language"] == language]
    levels = {one["level"] for one in both}
    assert {name: mia.all_of(where, level=name) for name in levels} == {
        name: [one for one in both if one["level"] == name] for name in levels
    }
    assert mia.get(where, language="it").json()["errors"] == {"language": ["Valid values: de, fr."]}
    assert "region" in mia.get(where, level="town").json()["errors"]["level"][0]


def test_a_program_confirms_a_selection_once(project, collection):
    make_selection(project, collection, languages=["fr"])
    mia = Program(project.created_by)
    told = mia.post(f"{LIST}1/confirm/", by_language=True)

    assert told.status_code == 200
    own = Selection.objects.get().language_collections.get().collection
    assert told.json()["collections"] == {"fr": own.slug}
    assert mia.get(LIST).json()["results"][0]["collection"] == told.json()["collection"]
    again = mia.post(f"{LIST}1/confirm/")
    assert (again.status_code, again.json()["code"]) == (409, "selection-refused")


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"languages": ["xx"]}, 409),
        ({"languages": []}, 422),
        ({"collection": "no-such"}, 404),
        ({"candidates": "both"}, 409),
        ({"levels": []}, 409),
        ({"seed": -1}, 422),
    ],
)
def test_what_cannot_be_chosen_is_refused_with_a_reason(project, collection, changes, status):
    about = {"collection": collection.slug, "languages": ["fr"], "seed": 7} | changes
    answer = Program(project.created_by).post(LIST, **about)

    assert answer.status_code == status
    assert answer.json()["detail"]
    assert not Selection.objects.exists()


def test_a_program_exchanges_an_image_once_for_a_reason(project, collection):
    make_selection(project, collection, languages=["fr"], per_language=2)
    mia, where = Program(project.created_by), f"{LIST}1/exchange/"
    leaves = mia.get(f"{LIST}1/images/").json()["results"][0]
    about = {"language": "fr", "key": leaves["key"]}
    assert list(mia.post(where, **about).json()["errors"]) == ["reason"]
    new = mia.post(where, **about, reason="A drawing.").json()
    assert (new["position"], new["key"] != leaves["key"]) == (leaves["position"], True)
    assert mia.post(where, **about, reason="A drawing.").status_code == 404
    again = {"language": "fr", "key": new["key"], "named": leaves["key"], "reason": "Back."}
    assert mia.post(where, **again).json()["code"] == "selection-refused"


def test_a_program_deletes_a_candidate_list_that_nothing_uses(project):
    mia, now = Program(project.created_by), project.created_at
    for slug in ("used", "unused"):
        CandidateList.objects.create(project=project, slug=slug, name=slug, counts={"kept": 3}, created_at=now)
    make_selection(project, CandidateList.objects.get(slug="used"), languages=["fr"])
    where = "/api/v1/projects/lions/candidates/"
    assert [(row["slug"], row["kept"]) for row in mia.all_of(where)] == [("used", 3), ("unused", 3)]
    assert mia.delete(f"{where}unused/").status_code == 204
    assert mia.delete(f"{where}used/").json()["code"] == "candidates-in-use"


def test_a_program_has_places_looked_up_and_sees_how_many_are_left(project, collection):
    mia = Program(project.created_by)
    type(collection).objects.filter(pk=collection.pk).update(project=project)
    answer = mia.post(f"/api/v1/collections/{collection.slug}/places/")
    assert (answer.status_code, answer.json()["located"]) == (202, 4)
    assert mia.get(answer["Location"]).json()["state"] == "done"
