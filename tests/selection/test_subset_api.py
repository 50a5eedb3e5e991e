"""Programs make, read, rename and delete named subsets; what they may not know of is not there."""

from __future__ import annotations

import pytest

from core.images.models import Collection
from research.selection.models import Subset
from tests.api.seeded import Program
from tests.factories import make_comparison, make_keyed_collection
from tests.selection.placing import make_subset

pytestmark = pytest.mark.django_db

LIST = "/api/v1/projects/lions/subsets/"


@pytest.fixture
def collection() -> Collection:
    return make_keyed_collection(["ant", "bee", "cat", "dog"])


@pytest.fixture
def program(project, collection) -> Program:
    return Program(project.created_by)


def test_a_subset_is_made_read_renamed_and_deleted(program):
    made = program.post(LIST, slug="two", name="Two", keys=["dog", "ant"])
    assert made.status_code == 201
    told = made.json()
    assert (told["slug"], told["images"], told["image_filter"], told["used_by"]) == ("two", 2, "subset:two", [])
    assert [one["slug"] for one in program.get(LIST).json()["results"]] == ["two"]
    assert program.get(f"{LIST}two/").json() == told
    assert {one["key"] for one in program.get(f"{LIST}two/images/").json()["results"]} == {"ant", "dog"}
    renamed = program.put(f"{LIST}two/", name="Pair", description="Of animals.").json()
    assert program.put(f"{LIST}two/", name=" ").status_code == 409
    assert (renamed["slug"], renamed["name"], renamed["description"]) == ("two", "Pair", "Of animals.")
    assert program.delete(f"{LIST}two/").status_code == 204
    assert program.get(f"{LIST}two/").status_code == 404


@pytest.mark.parametrize(
    ("given", "kept"), [("\u200b", "two"), ("a\u202eb\u200b  c", "ab c"), ("Jose\u0301", "Jos\u00e9")]
)
def test_a_name_is_kept_as_whoever_reads_it_would_spell_it(program, given, kept):
    assert program.post(LIST, slug="two", name=given, keys=["dog"]).json()["name"] == kept
    assert program.put(f"{LIST}two/", name="\u200b \u202e").json()["detail"] == "Enter a name."


def test_the_seed_alone_decides_a_sample(program, collection):
    answers = [
        program.post(LIST, slug=slug, name=slug, sample=2, seed=7, collection=collection.slug)
        for slug in ("one", "two")
    ]
    assert [answer.json()["images"] for answer in answers] == [2, 2]
    one, two = (set(subset.images.all()) for subset in Subset.objects.all())
    assert one == two


@pytest.mark.parametrize(
    ("given", "status", "says"),
    [
        ({"keys": ["dog", "fox"]}, 409, "Line 2: there is no image fox."),
        ({"keys": ["dog", "dog"]}, 409, "Line 2: dog is in line 1, too."),
        ({"keys": []}, 409, "No image is in this subset."),
        ({}, 409, "Say which images"),
        ({"keys": ["dog"], "sample": 1}, 409, "not both"),
        ({"images": "nowhere"}, 409, "is not a term of an image filter"),
        ({"images": "subset:none"}, 409, "has no subset “none”"),
        ({"images": "region"}, 409, "another set of images for each language"),
        ({"sample": 5}, 409, "There are 4 images to draw from, not 5."),
        ({"sample": 1, "per_language": True}, 409, "Confirm a selection first"),
        ({"sample": 1, "collection": "none"}, 409, "no such collection"),
        ({"keys": ["dog"], "slug": "few"}, 409, "has a subset “few” already"),
        ({"keys": ["dog"], "slug": "Few"}, 409, "is not letters"),
        ({"keys": ["dog"], "slug": ""}, 422, ""),
        ({"sample": 0}, 422, ""),
    ],
)
def test_what_cannot_be_a_subset_is_refused_with_a_reason(program, project, given, status, says):
    make_subset(project, "few", [])
    answer = program.post(LIST, **({"slug": "new", "name": "New"} | given))
    assert answer.status_code == status
    assert says in answer.json()["detail"]
    assert Subset.objects.count() == 1


def test_one_in_use_is_not_deleted(program, project):
    make_subset(project, "few", [])
    comparison = make_comparison(project=project)
    type(comparison).objects.update(images="subset:few")
    answer = program.delete(f"{LIST}few/")
    assert (answer.status_code, answer.json()["code"]) == (409, "subset-in-use")
    assert f"comparison {comparison.pk} in" in answer.json()["detail"]
    assert program.get(f"{LIST}few/").json()["used_by"] != []
