"""Collections are renamed, duplicated, and deleted where nothing uses them."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.db.models import PROTECT
from django.urls import reverse

from core.images.models import Collection, Image, ImportJob
from core.images.services.collections import (
    CollectionUsedError,
    delete_collection,
    duplicate_collection,
    rename_collection,
)
from core.people.models import AuditEntry
from office.dashboard.selectors.project_contents import IMAGE_USERS, USERS, uses_of
from tests.clients import client_of
from tests.doors.world import draft_selection
from tests.factories import NOW, images_of, make_collection, make_project, make_round

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection() -> Collection:
    project = make_project("herons")
    return make_collection(3, project=project, is_shared=False, created_by=project.created_by)


def by(collection: Collection) -> dict[str, Any]:
    return {"collection": collection, "by": collection.project.created_by, "now": NOW}


def test_renaming_keeps_the_address_and_is_logged(collection):
    slug = collection.slug
    rename_collection(**by(collection), name="Birds", description="Herons.")
    collection.refresh_from_db()
    assert (collection.name, collection.description, collection.slug) == ("Birds", "Herons.", slug)
    assert AuditEntry.objects.get(project=collection.project).action == "collection.renamed"


def test_a_copy_has_the_same_images_and_keys(collection):
    made = duplicate_collection(**by(collection), name="Copy")
    assert (made.project, made.is_shared, made.name) == (collection.project, False, "Copy")
    assert made.slug != collection.slug
    columns = ("image", "key", "file_name", "position")
    assert list(made.entries.values_list(*columns)) == list(collection.entries.values_list(*columns))
    assert Image.objects.count() == 3


def test_deleting_leaves_images_and_the_copy(collection):
    made = duplicate_collection(**by(collection), name="Copy")
    ImportJob.objects.create(kind="images", collection=collection, source_name="x.zip")
    delete_collection(**by(collection))
    assert list(Collection.objects.all()) == [made]
    assert len(images_of(made)) == Image.objects.count() == 3
    assert not ImportJob.objects.exists()


def test_it_is_not_deleted_while_something_uses_it(collection):
    make_round(collection=collection, project=collection.project)
    make_round(collection=collection, language="cs", project=make_project("secret-project"))
    with pytest.raises(CollectionUsedError):
        delete_collection(**by(collection))
    assert collection.entries.count() == 3
    (use,) = uses_of(collection, collection.project.created_by)
    assert (use.label, use.number, use.projects) == ("Rounds", 2, ["Herons", "other projects"])
    client = client_of(collection.project.created_by)
    page = reverse("dashboard:collection-delete", args=[collection.slug])
    text = client.get(page).content.decode()
    assert "Rounds: 2 (Herons, other projects)" in text
    assert "Secret Project" not in text
    assert client.post(page, follow=True).status_code == 200
    assert Collection.objects.filter(pk=collection.pk).exists()


def test_all_that_protects_a_collection_is_named(collection):
    protecting = {
        model
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if field.related_model is Collection and field.remote_field.on_delete is PROTECT
    }
    named = {rows.model for _label, rows, _paths, _project in USERS}
    assert protecting == named
    selection = draft_selection(collection.project, collection)
    assert [use.label for use in uses_of(collection, selection.project.created_by)] == ["Selections"]


def test_the_pages(collection):
    client = client_of(collection.project.created_by)

    def at(name: str) -> str:
        return reverse(f"dashboard:collection-{name}", args=[collection.slug])

    shown = client.get(reverse("images:collection-show", args=[collection.slug])).content.decode()
    assert at("settings") in shown
    assert client.get(at("settings")).status_code == 200
    assert client.post(at("settings"), {"name": ""}).status_code == 422
    Collection.objects.create(slug="taken", name="Taken", is_shared=True)
    taken = client.post(at("settings"), {"name": "Taken"})
    assert (taken.status_code, "already a collection with this name" in taken.content.decode()) == (422, True)
    assert client.post(at("settings"), {"name": collection.name, "description": "New."}).status_code == 302
    assert client.post(at("duplicate"), {"name": collection.name}).status_code == 422
    assert client.post(at("duplicate"), {"name": "Another"}).status_code == 302
    assert "The image files stay stored" in client.get(at("delete")).content.decode()
    assert client.post(at("delete")).status_code == 302
    assert not Collection.objects.filter(pk=collection.pk).exists()


def test_an_image_that_is_there_by_mistake_is_taken_out_and_stays_stored(collection):
    client, entry = client_of(collection.project.created_by), collection.entries.first()
    page = reverse("dashboard:image-take-out", args=[collection.slug, entry.image.public_id])
    assert (
        page in client.get(reverse("images:collection-image-show", args=[collection.slug, entry.image.public_id])).text
    )
    assert "Take it out" in client.get(page).text
    assert client.post(page).status_code == 302
    assert (collection.entries.count(), Image.objects.count()) == (2, 3)
    assert AuditEntry.objects.latest("pk").details == {"key": entry.key}


def test_every_kind_of_row_about_an_image_of_a_collection_keeps_it_there(collection):
    """A new foreign key to images, which keeps them stored, needs a line in IMAGE_USERS, or a reason here."""
    made_of_images = {"CollectionImage", "ModelCaption", "Stabiliser", "RunFailure"}
    examples, with_others = (
        {"GuidelineExample", "PracticeItem"},
        {"GoldPair", "CaptionItem", "ReportedImage", "ThreadMessage"},
    )
    asked = {rows.model for _label, rows, _paths in IMAGE_USERS}
    kept = {
        model.__name__
        for model in set(apps.get_models()) - asked
        for field in model._meta.concrete_fields
        if field.related_model is Image and field.remote_field.on_delete is PROTECT
    }
    assert kept == made_of_images | examples | with_others


def test_an_image_that_people_describe_cannot_be_taken_out_and_its_uses_are_named(collection):
    make_round(project=collection.project, collection=collection)
    entry = collection.entries.first()
    client = client_of(collection.project.created_by)
    page = reverse("dashboard:image-take-out", args=[collection.slug, entry.image.public_id])
    assert "Tasks of rounds: 1" in client.get(page).text
    assert "in use" in client.post(page, follow=True).text
    assert collection.entries.count() == 3
