"""Collections, imports and the served images: who gets them, and who is told that nothing is there."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.images import tasks
from core.images.models import Collection, CollectionImage, Image, ImportJob, ImportOutcome
from core.images.rules.sizes import sizes_of
from core.images.selectors import served_image
from core.images.services import file_storage
from core.images.services.collections import create_collection
from core.jobs.models import JobState
from core.jobs.services import leases
from core.people.models import Project
from office.imports.tasks import run_import
from tests.clients import client_of
from tests.factories import NOW, make_collection, make_image, make_project, make_user
from tests.images.image_files import image_file, upload
from tests.sweeping import sweep

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager():
    manager = make_user("manager")
    make_project(manager=manager)
    return manager


@pytest.fixture
def client(manager):
    return client_of(manager)


@pytest.fixture
def sent(monkeypatch):
    """Primary keys of the jobs and images whose messages were sent; none is worked on."""
    sent: list[int] = []
    monkeypatch.setattr(run_import, "delay", sent.append)
    monkeypatch.setattr(tasks.make_sizes, "delay", sent.append)
    return sent


@pytest.fixture
def collection(manager):
    """The manager's own."""
    return make_collection(project=Project.objects.get(created_by=manager), is_shared=False)


def make_job(collection: Collection, **fields) -> ImportJob:
    about = {"collection": collection, "project": collection.project, "kind": "images"}
    job = ImportJob.objects.create(**about, source_name="images.zip", **fields)
    job.rows.create(number=1, name="=1+1.jpg", outcome=ImportOutcome.ADDED, added=1)
    job.rows.create(number=2, name="b.jpg", outcome=ImportOutcome.REJECTED, rejected=1, reason="It is broken.")
    return job


def test_what_is_not_there_is_not_there_for_managers_either(client):
    assert client.get(reverse("images:collection-show", args=["gone"])).status_code == 404
    assert client.get(reverse("images:import-show", args=[10**6])).status_code == 404


def test_a_collection_gets_an_address_of_its_own(client, manager):
    for name, slug in (("New", "new"), ("Häfen im Norden", "hafen-im-norden"), ("港", "collection")):
        response = client.post(reverse("images:collection-create"), {"name": name, "description": "x"})
        made = Collection.objects.get(name=name)
        assert response["Location"] == f"{reverse('imports:import-choose')}?collection={made.slug}"
        assert re.fullmatch(rf"{slug}-[a-z2-9]{{8}}", made.slug)
        assert made.created_by == manager


def test_addresses_of_shared_collections_are_numbered():
    made = [create_collection(name=name, is_shared=True) for name in ("New", "Häfen", "Häfen")]
    assert [collection.slug for collection in made] == ["new-2", "hafen", "hafen-2"]


def test_a_name_is_given_once(client):
    client.post(reverse("images:collection-create"), {"name": "New"})

    again = client.post(reverse("images:collection-create"), {"name": "New"})
    assert again.status_code == 422
    assert "already" in again.text


def test_images_are_shown_with_who_made_them(client):
    collection = make_collection(images=0)
    waiting = make_image(state=JobState.QUEUED, author="Wanda")
    for position, image in enumerate([make_image(author="Ann"), waiting], start=1):
        CollectionImage.objects.create(collection=collection, image=image, key=f"key-{position}", position=position)

    text = client.get(reverse("images:collection-show", args=[collection.slug])).text

    assert "Ann" in text
    assert "CC BY 4.0" in text
    assert "being prepared" in text
    # The page of one image leads on to it; only one that is ready is fetched.
    assert len(re.findall(r"/images/[0-9a-f-]{36}/\d+/", text)) == 1 + len(sizes_of(640, 480))


def test_a_page_of_a_large_collection_asks_no_more_than_one_of_a_small_one(client, django_assert_max_num_queries):
    small, large = make_collection(images=1), make_collection(images=70)
    for collection in (small, large):
        with django_assert_max_num_queries(20):
            client.get(reverse("images:collection-show", args=[collection.slug]))
    second = client.get(reverse("images:collection-show", args=[large.slug]), {"page": 2})
    assert len(second.context["shown"]) == 10


def test_a_report_can_be_narrowed_and_downloaded(client, collection):
    job = make_job(collection, state=JobState.DONE)

    assert "b.jpg" in client.get(reverse("images:import-show", args=[job.pk])).text
    added = client.get(reverse("images:import-show", args=[job.pk]), {"outcome": "added"}).text
    assert "=1+1.jpg" in added
    assert "It is broken." not in added
    assert client.get(reverse("images:import-show", args=[job.pk]), {"outcome": "x", "page": "y"}).status_code == 200

    export = client.get(reverse("images:import-export", args=[job.pk]))
    table = list(csv.reader(io.StringIO(b"".join(export.streaming_content).decode())))
    assert table == [
        ["number", "name", "outcome", "added", "already", "rejected", "reason", "filled_in"],
        ["1", "'=1+1.jpg", "added", "1", "0", "0", "", ""],
        ["2", "b.jpg", "rejected", "0", "0", "1", "It is broken.", ""],
    ]


def test_progress_asks_for_itself_until_the_import_is_done(client, collection):
    job = make_job(collection, state=JobState.RUNNING, total=8, done=2)
    address = reverse("images:import-progress", args=[job.pk])

    running = client.get(address, headers={"HX-Request": "true"})
    assert "hx-get" in running.text
    assert "2 of 8" in running.text
    assert "HX-Refresh" not in running

    ImportJob.objects.update(state=JobState.DONE)
    done = client.get(address, headers={"HX-Request": "true"})
    assert "hx-get" not in done.text
    assert done["HX-Refresh"] == "true"
    assert client.get(address)["Location"] == reverse("images:import-show", args=[job.pk])


@pytest.fixture
def image() -> Image:
    made = make_image(width=1000, height=800, title="SECRET TITLE")
    for size in (320, 800, 1600):
        file_storage.put(file_storage.size_name(made.public_id, size), image_file("WEBP", size=(10, 8)))
    return made


def test_an_image_is_served_to_its_viewer_without_a_word_about_it(image):
    viewer = make_user("viewer")
    shown = served_image(image, viewer)

    for address in {shown.src, shown.large, *(part.split()[0] for part in shown.srcset.split(", "))}:
        response = client_of(viewer).get(address)
        assert response.status_code == 200
        assert response["Content-Type"] == "image/webp"
        assert response["Cache-Control"] == "private, max-age=86400, immutable"
        assert response["X-Content-Type-Options"] == "nosniff"
        assert not {"Content-Disposition", "ETag", "Last-Modified"} & set(response.headers)
        assert "SECRET" not in str(response.headers) + address
        assert image.sha256 not in str(response.headers) + address


def test_the_address_of_an_image_is_of_no_use_to_anybody_else(image):
    viewer, other = make_user("viewer"), make_user("other")
    address = served_image(image, viewer).src
    assert client_of(other).get(address).status_code == 404
    assert Client().get(address).status_code == 404


def test_an_address_that_was_tampered_with_or_ran_out_is_of_no_use(image):
    viewer = make_user("viewer")
    client = client_of(viewer)
    address = served_image(image, viewer).src
    old = served_image(image, viewer, now=timezone.now() - timedelta(days=2)).src
    yesterday = served_image(image, viewer, now=timezone.now() - timedelta(days=1)).src
    other_image = address.replace(str(image.public_id), str(make_image().public_id))
    day = address.split("/")[-2].partition(".")[0]

    assert client.get(yesterday).status_code == 200
    for wrong in (
        old,
        address.replace("/800/", "/320/"),
        other_image,
        address.replace(day, str(int(day) + 1)),
        address.replace(day, "9" * 7),
        address.replace(day, "9" * 30),
        address.replace(day, "²"),
        address.replace(day + ".", ""),
    ):
        assert client.get(wrong).status_code == 404, wrong


def test_an_image_whose_sizes_are_not_made_yet_says_when_to_ask_again():
    viewer = make_user("viewer")
    image = make_image(state=JobState.QUEUED)
    shown = served_image(image, viewer)
    response = client_of(viewer).get(shown.src)
    assert not shown.is_ready
    assert response.status_code == 503
    assert response["Retry-After"]
    assert response["Cache-Control"] == "private, no-store"


def test_addresses_stay_the_same_all_day_and_cost_no_query(image, django_assert_num_queries):
    viewer = make_user("viewer")
    with django_assert_num_queries(0):
        morning, evening = (served_image(image, viewer, now=NOW.replace(hour=hour)) for hour in (1, 23))
    assert morning == evening
    assert (morning.width, morning.height) == (800, 640)


def test_the_sweep_sends_again_what_was_lost(sent):
    lost = make_image(state=JobState.QUEUED)
    job = upload({"a.jpg": image_file()})
    sweep()
    sweep()
    assert sent == [lost.pk, job.pk]
    assert leases.rows_to_nudge(Image.objects.all(), now=timezone.now()) == []
