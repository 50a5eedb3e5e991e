"""Files as the script of the page sends them: with their paths in a folder, and an answer that it can read."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from core.images import tasks
from core.images.models import ImportJob
from core.images.rules import limits
from tests.clients import client_of
from tests.factories import make_collection, make_project, make_user
from tests.images.image_files import image_file

pytestmark = pytest.mark.django_db

SCRIPT = {"Accept": "application/json"}


@pytest.fixture
def collection(monkeypatch):
    monkeypatch.setattr(tasks.run_import, "delay", lambda job_id: None)
    manager = make_user("mara")
    return make_collection(0, project=make_project(manager=manager), created_by=manager)


def send(collection, names, **more: Any):
    files = [SimpleUploadedFile(name, image_file(shade=shade)) for shade, name in enumerate(names)]
    address = reverse("images:images-add", args=[collection.slug])
    return client_of(collection.created_by).post(address, {"images": files, **more}, headers=SCRIPT)


def test_the_script_is_told_where_the_report_is(collection):
    answer = send(collection, ["a.jpg"])
    job = ImportJob.objects.get()
    assert (answer.status_code, answer.json()) == (200, {"location": reverse("images:import-show", args=[job.pk])})


class NamedFile(io.BytesIO):
    """As a browser sends it; Django's own files for tests have their names cut."""

    def __init__(self, name: str, content: bytes) -> None:
        super().__init__(content)
        self.name = name


@pytest.mark.parametrize("name", ["a." + "x" * 300, "a" * 300 + ".zip", "ü" * 150 + ".jpg"])
def test_a_name_of_a_file_that_no_disk_could_hold_is_refused_with_what_to_do(collection, name):
    told = f"The name of the file “{name[:50]}…” is longer than 255 bytes. Rename it."
    by = client_of(collection.created_by)
    address = reverse("images:images-add", args=[collection.slug])
    answer = by.post(address, {"images": NamedFile(name, image_file())}, headers=SCRIPT)
    assert (answer.status_code, answer.json()) == (400, {"errors": [told]})
    # On every other page, too, where Django keeps small files in memory.
    address = reverse("people:invitation-import", args=[collection.project.slug])
    for size in (10, 3_000_000):
        page = by.post(address, {"file": NamedFile(name, b"x" * size)})
        assert page.status_code == 400
        assert told in page.content.decode()


def test_files_keep_the_paths_that_they_have_in_their_folder(collection):
    send(collection, ["1.jpg", "1.jpg"], paths=json.dumps(["north/1.jpg", "south/1.jpg"]))
    job = ImportJob.objects.get()
    tasks.run_import(job.pk)
    assert [row.name for row in job.rows.all()] == ["north/1.jpg", "south/1.jpg"]


@pytest.mark.parametrize(
    "paths",
    [["a.jpg"], ["../1.jpg", "b.jpg"], ["/1.jpg", "b.jpg"], [1, 2], {"a": 1}, "x", ["a//1.jpg", "b.jpg"], ["", "b"]],
)
def test_paths_that_do_not_fit_are_refused(collection, paths):
    answer = send(collection, ["1.jpg", "2.jpg"], paths=json.dumps(paths))
    assert answer.status_code == 422
    assert answer.json()["errors"]
    assert not ImportJob.objects.exists()


def test_too_much_at_once_is_refused_with_the_limit(collection, monkeypatch):
    monkeypatch.setattr(limits, "MAX_UPLOAD_BYTES", 10**6)
    answer = client_of(collection.created_by).post(
        reverse("images:images-add", args=[collection.slug]),
        {"images": [SimpleUploadedFile("a.zip", b"0" * 2_000_000)]},
        headers=SCRIPT,
    )
    assert answer.status_code == 413
    assert "1 MB at once" in answer.json()["errors"][0]
