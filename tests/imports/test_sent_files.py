"""What a form of files brings: names, folders and manifests, how much at once, and what a preview calls them."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from core.images.models import Collection, CollectionImage, ImportJob
from core.images.rules import limits
from office.imports.services.file_imports import confirm
from office.imports.tasks import run_import
from tests.clients import client_of
from tests.factories import make_collection, make_project
from tests.images.image_files import image_file, outcomes, upload, zipped
from tests.imports.sent import run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]

ADDRESS = "/projects/lions/import/"
SCRIPT = {"Accept": "application/json"}


@pytest.fixture
def collection(monkeypatch):
    monkeypatch.setattr(run_import, "delay", lambda job_id: None)
    return make_collection(0, project=make_project("lions"), is_shared=False)


def send(collection: Collection, names: list[str], **more: Any) -> Any:
    files = [SimpleUploadedFile(name, image_file(shade=shade)) for shade, name in enumerate(names)]
    sent = {"images": files, "collection": collection.slug, **more}
    return client_of(collection.project.created_by).post(ADDRESS, sent, headers=SCRIPT)


def imported(job: ImportJob) -> dict[str, str]:
    """Look at the files, import them, and tell what became of each."""
    confirm(job=run(job))
    run(job)
    return outcomes(job)


def test_the_script_is_told_where_the_report_is(collection):
    answer = send(collection, ["a.jpg"])
    job = ImportJob.objects.get()
    assert (answer.status_code, answer.json()) == (
        200,
        {"location": reverse("imports:import-show", args=["lions", job.pk])},
    )


class NamedFile(io.BytesIO):
    """As a browser sends it; Django's own files for tests have their names cut."""

    def __init__(self, name: str, content: bytes) -> None:
        super().__init__(content)
        self.name = name


@pytest.mark.parametrize("name", ["a." + "x" * 300, "a" * 300 + ".zip", "ü" * 150 + ".jpg"])
def test_a_name_of_a_file_that_no_disk_could_hold_is_refused_with_what_to_do(collection, name):
    told = f"The name of the file “{name[:50]}…” is longer than 255 bytes. Rename it."
    by = client_of(collection.project.created_by)
    answer = by.post(ADDRESS, {"images": NamedFile(name, image_file())}, headers=SCRIPT)
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
    assert imported(job) == {"north/1.jpg": "added", "south/1.jpg": "added"}


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
    answer = client_of(collection.project.created_by).post(
        ADDRESS,
        {"images": [SimpleUploadedFile("a.zip", b"0" * 2_000_000)]},
        headers=SCRIPT,
    )
    assert answer.status_code == 413
    assert "1 MB at once" in answer.json()["errors"][0]


def test_too_many_files_at_once_are_refused_with_what_to_do(collection, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 1
    answer = send(collection, ["a.jpg", "b.jpg"])
    assert (answer.status_code, "Put them in a zip file" in answer.json()["errors"][0]) == (413, True)


def test_nothing_sent_is_told_in_the_form(collection):
    assert client_of(collection.project.created_by).post(ADDRESS, {}).status_code == 422


def test_a_form_of_the_page_itself_is_taken(collection):
    client = client_of(collection.project.created_by, enforce_csrf_checks=True)
    token = client.get(ADDRESS).context["csrf_token"]
    content = {"images": SimpleUploadedFile("a.jpg", image_file()), "csrfmiddlewaretoken": str(token)}
    assert client.post(ADDRESS, content).status_code == 302


def test_add_images_of_a_collection_is_an_import_with_preview_and_undo(collection):
    """The collection is chosen beforehand, though the person has another project and sees another collection."""
    make_project("tigers", manager=collection.project.created_by)
    make_collection(0)
    client = client_of(collection.project.created_by)
    link = f"{reverse('imports:import-choose')}?collection={collection.slug}"
    assert link in client.get(reverse("images:collection-show", args=[collection.slug])).text
    page = client.get(link, follow=True)
    assert page.redirect_chain[-1][0] == f"{ADDRESS}?collection={collection.slug}"
    assert f'<option value="{collection.slug}" selected>' in page.text

    job = ImportJob.objects.get(pk=send(collection, ["a.jpg", "b.jpg"]).json()["location"].split("/")[-2])
    assert run(job).options["gaps"] == []
    assert not collection.entries.exists()
    show = reverse("imports:import-show", args=["lions", job.pk])
    client.post(show, {"collection": collection.slug})
    assert outcomes(run(job)) == {"a.jpg": "added", "b.jpg": "added"}
    assert collection.entries.count() == 2
    client.post(reverse("imports:import-undo", args=["lions", job.pk]))
    run(job)
    assert not collection.entries.exists()


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["a.jpg"], "a.jpg"),
        (["a.jpg", "b.jpg"], "a.jpg, b.jpg"),
        (["a.jpg", "b.jpg", "c.jpg", "d.jpg"], "a.jpg, b.jpg, c.jpg, …"),
        (["lions/a.jpg", "lions/b/c.jpg"], "lions"),
    ],
)
def test_a_preview_and_a_report_call_images_what_somebody_chose(collection, names, shown):
    send(collection, names, paths=json.dumps(names))
    job = ImportJob.objects.get()
    assert set(imported(job).values()) == {"added"}
    assert [file["path"] for file in job.options["preview"]] == [shown]
    assert job.parts.get().source_name == shown


def test_files_among_images_are_called_by_their_own_names(collection):
    lines = b'{"image": "a.jpg", "caption": "Rot", "model": "m"}\n'
    by = client_of(collection.project.created_by)
    files = [SimpleUploadedFile("a.jpg", image_file()), SimpleUploadedFile("files.jsonl", lines)]
    by.post(ADDRESS, {"images": files, "collection": collection.slug})
    job = run(ImportJob.objects.get())
    assert [file["path"] for file in job.options["preview"]] == ["a.jpg", "files.jsonl"]
    assert [text for _part, text in job.options["gaps"]] == [
        "files.jsonl does not say which language its captions are in."
    ]
    alone = [SimpleUploadedFile("files", lines)]
    by.post(ADDRESS, {"images": alone, "collection": collection.slug})
    assert [file["path"] for file in run(ImportJob.objects.latest("pk")).options["preview"]] == ["files"]


def test_a_manifest_is_about_the_zip_beside_it_unless_that_has_its_own(collection):
    manifest = b'{"file": "set/c.jpg", "author": "Cem"}\n{"file": "b.jpg", "author": "Bob"}\n'
    own = {"manifest.csv": b"file,author\na.jpg,Ann\n", "a.jpg": image_file()}
    files = {
        "one.zip": zipped(own),
        "two.zip": zipped({"set/c.jpg": image_file(shade=20), "b.jpg": image_file(shade=30)}),
        "manifest.jsonl": manifest,
    }
    job = upload(files)
    assert [file["path"] for file in job.options["preview"]] == ["two.zip", "one.zip"]
    assert set(outcomes(run(job)).values()) == {"added"}
    authors = CollectionImage.objects.values_list("key", "image__author")
    assert dict(authors) == {"c": "Cem", "b": "Bob", "a": "Ann"}
