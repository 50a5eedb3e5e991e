"""What managers' programs change of collections, their images and whole projects, by the services of the pages."""

from __future__ import annotations

import pytest

from core.images.models import AttributionChange, Collection, Image
from core.people.models import Project
from tests.api.seeded import Program
from tests.api.test_work import address, code
from tests.factories import make_collection, make_project

pytestmark = pytest.mark.django_db


@pytest.fixture
def zoo() -> Collection:
    collection = make_collection(3, project=make_project("lions"))
    Collection.objects.filter(pk=collection.pk).update(is_shared=False, name="Zoo")
    return Collection.objects.get(pk=collection.pk)


@pytest.fixture
def mia(zoo: Collection) -> Program:
    assert zoo.project is not None
    return Program(zoo.project.created_by)


def first_image(zoo: Collection) -> str:
    return address("collection-image-show", zoo.slug, zoo.entries.earliest("position").image.public_id)


def test_a_collection_is_renamed_shared_and_copied_or_stays_as_it_is(zoo, mia):
    where = address("collection-show", zoo.slug)
    make_project("others")
    refused = mia.patch(where, name="Savanna", project="others")
    assert refused.json()["errors"] == {"project": ["Valid values: lions."]}
    changed = mia.patch(where, name="Savanna", is_shared=True).json()
    assert (changed["name"], changed["is_shared"], changed["size"]) == ("Savanna", True, 3)
    assert list(mia.post(f"{where}duplicate/", name="Savanna").json()["errors"]) == ["name"]
    copy = mia.post(f"{where}duplicate/", name="Copy").json()
    assert (copy["size"], copy["slug"] != zoo.slug) == (3, True)


def test_an_image_is_changed_once_and_not_over_what_somebody_else_has_changed(zoo, mia):
    before = mia.get(first_image(zoo)).json()
    changed = mia.patch(first_image(zoo), author="Ada", seen=before["seen"]).json()
    assert {name for name in before if changed[name] != before[name]} == {"author", "licence_url", "seen", "served"}
    late = mia.patch(first_image(zoo), author="Eve", seen=before["seen"])
    assert code(late) == (409, "image-changed")
    assert late.json()["errors"] == {"author": ["Stored now: Ada"]}
    assert AttributionChange.objects.count() == 1


def test_images_are_found_by_the_filters_of_the_page(zoo, mia):
    where = address("collection-images", zoo.slug)
    first, second, third = (entry.image for entry in zoo.entries.select_related("image"))
    Image.objects.filter(pk=first.pk).update(author="Ada Lovelace", licence="CC0-1.0")

    def found(**asked: str) -> list[str]:
        return [one["id"] for one in mia.all_of(where, limit="1", **asked)]

    assert found(find="lovelace ada") == found(licence="is:CC0-1.0") == [str(first.public_id)]
    assert found(captions="missing") == found(place="unknown") == [str(one.public_id) for one in (first, second, third)]
    assert found(**{"import": "7"}) == []
    wrong = mia.get(where, licence="CC").json()["errors"]
    assert "no-author" in wrong["licence"][-1]
    assert list(mia.get(where, place="Italy").json()["errors"]) == ["place"]


def test_many_images_are_changed_after_it_was_said_how_many(zoo, mia):
    where, sent = address("images-edit", zoo.slug), {"author": "Ada", "which": "all"}
    assert mia.post(where, **sent).json() == {"changed": 0, "changing": 3, "refused": 0, "unchanged": 0}
    assert code(mia.post(where, **sent, confirmed=2)) == (409, "edit-outdated")
    some = [image["id"] for image in mia.all_of(address("collection-images", zoo.slug))][:2]
    assert mia.post(where, **sent, images=some, confirmed=2).json()["changed"] == 2
    assert mia.post(where, source="Here", filters={"find": "Ada"}).json()["changing"] == 2
    assert list(mia.post(where, **sent, filters={"colour": "red"}).json()["errors"]) == ["filters"]
    assert Image.objects.filter(author="Ada").count() == 2


def test_an_image_is_left_out_counted_again_and_taken_out(zoo, mia):
    where = first_image(zoo)
    assert list(mia.post(f"{where}leave-out/", reason="").json()["errors"]) == ["reason"]
    assert mia.post(f"{where}leave-out/", reason="Blurred.").json()["exclusion_reason"] == "Blurred."
    assert mia.post(f"{where}count/").json()["excluded_at"] is None
    assert mia.delete(where).status_code == 204
    assert zoo.entries.count() == 2


def test_a_collection_called_as_an_archived_project_can_be_changed(zoo, mia):
    Collection.objects.filter(pk=zoo.pk).update(slug="lions")
    Project.objects.filter(slug="lions").update(archived_at=zoo.created_at)
    assert mia.patch(address("collection-show", "lions"), description="Cats.").json()["description"] == "Cats."


def test_a_project_is_copied_also_from_the_archive(zoo, mia):
    Project.objects.filter(slug="lions").update(archived_at=zoo.created_at)
    made = mia.post(address("project-duplicate", "lions"), name="Tigers")
    assert (made.status_code, made.json()["slug"], made.json()["archived_at"]) == (201, "tigers", None)
