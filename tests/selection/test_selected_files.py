"""Files of chosen candidates: listed for img2dataset and aria2c, and recognised when their folder is imported."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from core.images.models import CollectionImage, Image, ImportJob, ImportOutcome
from core.images.services import imports
from core.images.services.collections import create_collection
from core.jobs.models import JobState
from core.people.models import User
from research.selection.models import Candidate, CandidateList, LanguageCollection, SelectedImage, Selection
from tests.clients import client_of
from tests.factories import NOW, make_language, make_project, make_user
from tests.images.image_files import image_file, outcomes, report

pytestmark = pytest.mark.django_db

ADDRESSES = {"a": "https://x.org/photos/one.jpg", "b": "in/two.jpg", "c/d": "https://x.org/?id=3"}
MD5, SHA256 = "0123456789abcdef" * 2, "0123456789abcdef" * 4


def make_selection(addresses: dict[str, str], *, checksums: dict[str, str] | None = None) -> Selection:
    project = make_project(manager=make_user("mia"))
    candidates = CandidateList.objects.create(project=project, slug="world", name="World", created_at=NOW)
    selection = Selection.objects.create(
        project=project,
        number=1,
        name="India",
        candidates=candidates,
        languages=["de"],
        levels=["region"],
        per_language=9,
        seed=1,
        areas={},
        table="1",
        created_at=NOW,
        state=JobState.DONE,
        confirmed_at=NOW,
        collection=create_collection(name="India", project=project),
    )
    about = {"list": candidates, "latitude": 17.5, "longitude": 78.5, "author": "Ann", "licence": "CC BY 4.0"}
    for position, (key, address) in enumerate(addresses.items(), start=1):
        checksum = (checksums or {}).get(key, "")
        candidate = Candidate.objects.create(key=key, address=address, checksum=checksum, **about)
        SelectedImage.objects.create(
            selection=selection,
            language=make_language(),
            level="region",
            position=position,
            key=key,
            candidate=candidate,
        )
    return selection


def listed(selection: Selection, **options: Any) -> str:
    out = StringIO()
    call_command("list_selected", selection.project.slug, 1, stdout=out, **options)
    return out.getvalue()


def imported(selection: Selection, folder: Path) -> ImportJob:
    assert selection.collection is not None
    return imports.import_path(
        path=folder, collection=selection.collection, clock=lambda: NOW, announce=lambda image_id: None
    )


def keys_of(selection: Selection) -> list[str]:
    entries = CollectionImage.objects.filter(collection=selection.collection)
    return sorted(entries.values_list("key", flat=True))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What aria2c makes of the list, beside a file that was there."""
    path = tmp_path / "files"
    (path / "in").mkdir(parents=True)
    (path / "c").mkdir()
    (path / "a.jpg").write_bytes(image_file(shade=1))
    (path / "in" / "two.jpg").write_bytes(image_file(shade=2))
    (path / "c" / "d").write_bytes(image_file("PNG", shade=3))
    return path


def test_the_list_has_addresses_checksums_and_attribution_but_no_coordinates():
    selection = make_selection(ADDRESSES, checksums={"a": f"md5:{MD5}", "c/d": f"sha256:{SHA256}"})

    rows = list(csv.DictReader(StringIO(listed(selection))))

    assert [(row["key"], row["url"], row["md5"], row["sha256"]) for row in rows] == [
        ("a", ADDRESSES["a"], MD5, ""),
        ("c/d", ADDRESSES["c/d"], "", SHA256),
    ]
    assert (rows[0]["author"], rows[0]["licence"], rows[0]["language"], rows[0]["level"]) == (
        *("Ann", "CC BY 4.0"),
        *("de", "region"),
    )
    assert "latitude" not in rows[0]


def test_the_list_for_aria2c_names_files_by_key_and_has_checksums():
    selection = make_selection(ADDRESSES, checksums={"a": f"sha256:{SHA256}", "c/d": f"sha1:{'0' * 40}"})

    assert listed(selection, layout="aria2c").splitlines() == [
        ADDRESSES["a"],
        "  out=a.jpg",
        f"  checksum=sha-256={SHA256}",
        ADDRESSES["c/d"],
        "  out=c/d",
        f"  checksum=sha-1={'0' * 40}",
    ]


@pytest.mark.parametrize("key", ["../a", "/etc/a", "a/../../b", ".a", "in/.a", "ä" * 126, "x:y"])
def test_a_key_that_no_file_in_the_folder_may_have_is_left_out_for_aria2c(key):
    selection = make_selection({key: "https://x.org/a.jpg", "b": "https://x.org/b.jpg"})
    err = StringIO()

    assert "x.org/a.jpg" not in listed(selection, layout="aria2c", stderr=err)
    assert "Left out, because no file can be named as their key: 1" in err.getvalue()
    assert "x.org/a.jpg" in listed(selection)


def test_what_cannot_be_listed_is_told():
    selection = make_selection(ADDRESSES)
    with pytest.raises(CommandError, match="no selection 2"):
        call_command("list_selected", selection.project.slug, 2)
    Selection.objects.update(candidates=None, source=selection.collection)
    with pytest.raises(CommandError, match="stored already"):
        call_command("list_selected", selection.project.slug, 1)


def test_files_are_known_by_key_or_path_and_get_what_the_list_says_of_them(folder):
    selection = make_selection(ADDRESSES)

    job = imported(selection, folder)

    assert (job.state, job.error) == (JobState.DONE, "")
    assert outcomes(job) == dict.fromkeys(["a.jpg", "in/two.jpg", "c/d"], ImportOutcome.ADDED)
    assert keys_of(selection) == ["a", "b", "c/d"]
    assert not selection.selected_images.filter(image=None).exists()
    image = SelectedImage.objects.get(key="a").image
    assert image is not None
    assert (image.author, image.licence, image.source) == ("Ann", "CC BY 4.0", ADDRESSES["a"])
    assert (image.latitude, image.longitude) == (17.5, 78.5)
    assert listed(selection).splitlines()[1:] == []


def test_a_folder_of_img2dataset_is_known_by_the_addresses_beside_its_images(tmp_path):
    selection = make_selection({"a": ADDRESSES["a"], "c/d": ADDRESSES["c/d"]})
    shard = tmp_path / "00000"
    shard.mkdir()
    for number, address in enumerate([ADDRESSES["c/d"], ADDRESSES["a"]]):
        (shard / f"{number:09}.jpg").write_bytes(image_file(shade=number))
        (shard / f"{number:09}.json").write_text(json.dumps({"url": address, "key": f"{number:09}"}))
    (tmp_path / "00000_stats.json").write_text("{}")

    job = imported(selection, tmp_path)

    assert outcomes(job) == {
        "00000/000000000.jpg": ImportOutcome.ADDED,
        "00000/000000001.jpg": ImportOutcome.ADDED,
        "00000_stats.json": ImportOutcome.REJECTED,
    }
    digests = dict(selection.selected_images.values_list("key", "image__sha256"))
    stored = dict(CollectionImage.objects.values_list("key", "image__sha256"))
    assert digests == stored
    assert Image.objects.get(selected__key="a").source == ADDRESSES["a"]


def test_a_file_with_another_checksum_than_the_lists_is_refused(folder):
    digest = hashlib.md5((folder / "in" / "two.jpg").read_bytes(), usedforsecurity=False).hexdigest()
    selection = make_selection(ADDRESSES, checksums={"a": f"md5:{MD5}", "b": f"md5:{digest}"})

    job = imported(selection, folder)

    assert outcomes(job) == {
        "a.jpg": ImportOutcome.REJECTED,
        "in/two.jpg": ImportOutcome.ADDED,
        "c/d": ImportOutcome.ADDED,
    }
    assert "checksum of the list" in report(job)["a.jpg"][1]


def test_files_join_the_collection_of_their_language(folder):
    selection = make_selection(ADDRESSES)
    own = create_collection(name="India – German", project=selection.project)
    LanguageCollection.objects.create(selection=selection, language=make_language(), collection=own)

    imported(selection, folder)

    assert set(own.entries.values_list("key", flat=True)) == {"a", "b", "c/d"}


def test_files_of_other_images_and_of_exchanged_ones_are_refused(folder):
    selection = make_selection(ADDRESSES)
    SelectedImage.objects.filter(key="a").update(key="e")

    job = imported(selection, folder)

    assert outcomes(job)["a.jpg"] == ImportOutcome.REJECTED
    assert "no image with this key" in report(job)["a.jpg"][1]
    assert keys_of(selection) == ["b", "c/d"]


def test_two_files_with_the_same_image_are_told_apart_and_one_is_refused(folder):
    selection = make_selection(ADDRESSES)
    shutil.copy(folder / "a.jpg", folder / "in" / "two.jpg")

    job = imported(selection, folder)

    assert sorted(outcomes(job).values()) == [ImportOutcome.ADDED, ImportOutcome.ADDED, ImportOutcome.REJECTED]
    assert "is the same image as “a”" in report(job)["in/two.jpg"][1]
    assert SelectedImage.objects.get(key="b").image is None


def test_a_folder_is_imported_again_after_some_files_were_missing(folder):
    selection = make_selection({**ADDRESSES, "e": "https://x.org/e.jpg"})
    imported(selection, folder)
    assert listed(selection, layout="aria2c").splitlines() == ["https://x.org/e.jpg", "  out=e.jpg"]
    (folder / "e.jpg").write_bytes(image_file(shade=4))

    job = imported(selection, folder)

    assert outcomes(job)["e.jpg"] == ImportOutcome.ADDED
    assert outcomes(job)["a.jpg"] == ImportOutcome.ALREADY
    assert Image.objects.count() == 4


def test_a_manager_takes_the_lists_and_is_led_to_the_collection():
    selection = make_selection(ADDRESSES)
    assert selection.collection is not None
    client, about = client_of(User.objects.get(username="mia")), [selection.project.slug, 1]
    page = client.get(reverse("corpora:selected-files", args=about)).content.decode()
    assert f"{reverse('imports:import-choose')}?collection={selection.collection.slug}" in page
    address = reverse("corpora:selected-export", args=about)
    rows = client.get(address).getvalue().decode()
    assert ADDRESSES["a"] in rows
    assert "17.5" not in rows
    assert client.get(address, {"for": "aria2c"}).getvalue().decode().startswith(f"{ADDRESSES['a']}\n  out=a.jpg\n")
