"""The page about where the images of a collection were taken."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from core.images.models import Collection, Image
from core.people.models import User
from research.selection.models import ImagePlace
from research.selection.services.places import locate_images
from research.selection.tasks import locate_collection
from tests.clients import client_of
from tests.factories import images_of, make_collection, make_project, make_user

POSITIONS = [(45.4271234, 12.3281234), (44.6161234, 33.5251234), (0.5, -30.0), (0.0, 0.0), (None, None)]


@pytest.fixture
def manager(db: None) -> User:
    manager = make_user("mara")
    make_project(manager=manager)
    return manager


@pytest.fixture
def collection(manager: User) -> Collection:
    collection = make_collection(len(POSITIONS))
    for image, (latitude, longitude) in zip(images_of(collection), POSITIONS, strict=True):
        Image.objects.filter(pk=image).update(latitude=latitude, longitude=longitude)
    return collection


def page_of(user: User, collection: Collection, query: str = "") -> str:
    answer = client_of(user).get(reverse("corpora:collection-places", args=[collection.slug]) + query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_manager_sees_places_by_name_and_what_is_wrong(manager: User, collection: Collection) -> None:
    locate_images()

    page = page_of(manager, collection)

    assert "Venice, Veneto, Italy, Europe" in " ".join(page.split())
    assert "Russia / Ukraine" in page
    assert "The coordinates are 0, 0" in page
    assert "At sea" in page
    problems = page_of(manager, collection, "?show=problems")
    assert "The coordinates are 0, 0" in problems
    assert "Veneto" not in problems


def test_pages_of_a_collection_never_show_coordinates(manager: User, collection: Collection) -> None:
    locate_images()
    pages = page_of(manager, collection), client_of(manager).get(f"/collections/{collection.slug}/").content.decode()

    for page in pages:
        for number in ("45.427", "12.328", "44.616", "33.525"):
            assert number not in page


def test_places_can_be_looked_up_at_once(
    manager: User,
    collection: Collection,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    Collection.objects.filter(pk=collection.pk).update(project=manager.memberships.get().project, is_shared=False)
    monkeypatch.setattr(locate_collection, "delay", locate_collection)
    assert "Look up places now" in page_of(manager, collection)

    with django_capture_on_commit_callbacks(execute=True):
        answer = client_of(manager).post(reverse("corpora:collection-locate", args=[collection.slug]))

    assert answer.status_code == 302
    assert ImagePlace.objects.count() == 4
    assert "Look up places now" not in page_of(manager, collection)
