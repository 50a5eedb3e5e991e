"""What a form of files brings: names, folders and manifests, how much at once, and what a preview calls them."""

from __future__ import annotations

import errno
import io
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from core.images.models import Collection, CollectionImage, ImportJob
from core.images.rules import limits
from core.images.services.import_jobs import NAME_CHARACTERS, may_pass
from core.jobs.services.leases import LEASE
from office.imports.services import sent_files
from office.imports.services.file_imports import confirm
from office.imports.tasks import run_import
from tests.clients import client_of
from tests.factories import NOW, make_collection, make_project
from tests.images.image_files import image_file, outcomes, upload, zipped
from tests.imports.sent import run
from tests.imports.sent import send as send_one

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


BESIDE = {"manifest.csv": b"file,author\na.jpg,Ann\nx.jpg,Bob\nb/x.jpg,Cem\n"}


def problems(job: ImportJob) -> dict[str, str]:
    """What the preview says of the first file: an example by reason."""
    return {one["example"]: one["kind"] for one in job.options["preview"][0]["problems"]}


def test_a_file_that_is_refused_does_not_part_a_zip_from_its_manifest(collection):
    packed = {"a.jpg": image_file(), "x.jpg": image_file(shade=20), "raw.zip": zipped({})}
    job = upload(BESIDE | {"photos.zip": zipped(packed)})
    assert [file["path"] for file in job.options["preview"]] == ["photos.zip"]
    assert problems(job)["raw.zip"].startswith("This is a zip file inside the zip file.")
    by_file = outcomes(run(job))
    assert by_file == {"a.jpg": "added", "x.jpg": "added", "b/x.jpg": "rejected", "raw.zip": "rejected"}
    assert set(CollectionImage.objects.values_list("key", "image__author")) == {("a", "Ann"), ("x", "Bob")}


def test_a_zip_of_the_game_is_known_although_a_file_of_it_is_refused(collection):
    packed = {"set/en.items.tsv": b"1\tword\ttest\t\ta\n", "set/en.sents.tok": b"1\tA word\n", "raw.zip": zipped({})}
    job = send_one(zipped(packed), "game.zip")
    assert [file["path"] for file in job.options["preview"]] == ["game.zip/set"]
    assert "raw.zip" in problems(job)


def test_a_full_disk_while_a_zip_is_unpacked_does_not_pass_for_a_zip_of_two_halves(collection, monkeypatch):
    job = upload(BESIDE | {"photos.zip": zipped({"a.jpg": image_file(), "x.jpg": image_file(shade=20)})})
    copy = sent_files._copy

    def fails_later(archive, entry, target):
        if entry.filename == "x.jpg":
            raise OSError(errno.ENOSPC, "No space left on device")
        copy(archive, entry, target)

    with monkeypatch.context() as patch:
        patch.setattr(sent_files, "_copy", fails_later)
        with pytest.raises(OSError, match="No space"):
            run(job)
    assert not job.parts.exists()
    assert outcomes(run(job, NOW + LEASE)) == {"a.jpg": "added", "x.jpg": "added", "b/x.jpg": "rejected"}


def test_names_that_no_disk_could_hold_cost_only_their_files(collection):
    name = "ก" * 90 + ".jpg"
    deep = "/".join(["d" * 200] * 20) + "/a.jpg"
    packed = {"a.jpg": image_file(), name: image_file(shade=10), deep: image_file(shade=20), "x.jpg/y.jpg": b""}
    job = upload(BESIDE | {"photos.zip": zipped(packed | {"x.jpg": image_file(shade=30)})})
    assert problems(job)[name] == f"The name of the file “{name[:50]}…” is longer than 255 bytes. Rename it."
    refused = ["x.jpg", "b/x.jpg", "x.jpg/y.jpg", "photos/x.jpg", name, deep[:NAME_CHARACTERS]]
    assert outcomes(run(job)) == dict.fromkeys(refused, "rejected") | {"a.jpg": "added"}


@pytest.mark.parametrize("number", [errno.ENAMETOOLONG, errno.EEXIST, errno.ENOTDIR, errno.EISDIR])
def test_a_name_that_the_system_refuses_is_no_fault_that_passes(number):
    assert not may_pass(OSError(number, "…"))


def test_a_file_and_one_of_its_name_in_a_zip_are_two_files(collection):
    lines = b'{"image": "%s", "caption": "Red.", "model": "m", "language": "en"}\n'
    packed = zipped({"a.jpg": image_file(), "files.jsonl": lines % b"a.jpg"})
    images = {"x.jpg": image_file(shade=10), "photos.zip": packed, "files.jsonl": lines % b"x.jpg"}
    job = upload(BESIDE | images)
    run(job)
    names = ["files.jsonl", "photos/files.jsonl"]
    assert sorted(file["path"] for file in job.options["preview"])[:2] == names
    assert sorted(job.parts.values_list("source_name", "done").exclude(kind="images")) == [(name, 1) for name in names]


def test_equal_names_in_zips_beside_one_manifest_are_all_kept(collection):
    shades = iter(range(0, 60, 20))
    zips = {"a.zip": ["x.jpg", "b/x.jpg"], "b.zip": ["x.jpg"]}
    files = {name: zipped({one: image_file(shade=next(shades)) for one in names}) for name, names in zips.items()}
    by_file = outcomes(run(upload(BESIDE | files)))
    assert by_file == {"x.jpg": "added", "b/x.jpg": "added", "b-2/x.jpg": "rejected", "a.jpg": "rejected"}


def test_a_file_that_a_zip_says_to_begin_before_it_costs_only_that_file(collection):
    content = bytearray(zipped({"a.jpg": image_file(), "x.jpg": image_file(shade=20)}))
    end = content.rfind(b"PK\5\6") + 16
    # Where the list of files begins: each file then seems to begin so much earlier.
    content[end : end + 4] = (int.from_bytes(content[end : end + 4], "little") + 20).to_bytes(4, "little")
    by_file = outcomes(run(upload(BESIDE | {"photos.zip": bytes(content)})))
    assert by_file == dict.fromkeys(["a.jpg", "x.jpg", "b/x.jpg"], "rejected")
