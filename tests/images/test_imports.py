"""Importing images from folders, zips and sent files: what goes in, what does not and why."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import DataError, OperationalError

from core.images.models import CollectionImage, Image, ImportJob, ImportRow
from core.images.rules import limits
from core.images.services import imports
from core.images.services.collections import put_in
from core.jobs.models import JobState
from tabular.downloads import csv_safe
from tests.images.image_files import bomb, image_file
from tests.images.importing import outcomes, report, run, run_path, upload, zipped

pytestmark = pytest.mark.django_db


def test_of_a_folder_the_images_go_in_and_the_rest_is_told_about(folder):
    (folder / "a.jpg").write_bytes(image_file())
    (folder / "more").mkdir()
    (folder / "more" / "b.png").write_bytes(image_file("PNG", shade=10))
    (folder / "same.jpg").write_bytes(image_file())
    (folder / "wrong.png").write_bytes(image_file("JPEG", shade=20))
    (folder / "cut.jpg").write_bytes(image_file(size=(400, 300))[:-300])
    (folder / "bomb.png").write_bytes(bomb(60_000, 60_000))
    (folder / "empty.jpg").write_bytes(b"")
    (folder / ".DS_Store").write_bytes(b"x")
    (folder / "out.jpg").symlink_to("/etc/hostname")

    job = run_path(folder)

    assert job.state == JobState.DONE
    rejected = ["wrong.png", "cut.jpg", "bomb.png", "empty.jpg", "1 hidden files", "out.jpg"]
    taken = {"a.jpg": "added", "more/b.png": "added", "same.jpg": "already"}
    assert outcomes(job) == taken | dict.fromkeys(rejected, "rejected")
    assert all(reason for outcome, reason in report(job).values() if outcome != "added")
    assert (job.total, job.done) == (9, 9)
    entries = job.collection.entries.values_list("key", "file_name", "position")
    assert list(entries) == [("a", "a.jpg", 1), ("b", "b.png", 2)]
    assert Image.objects.count() == 2


def test_links_to_folders_are_told_about_and_not_followed(folder, tmp_path):
    (folder / "a.jpg").write_bytes(image_file())
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.jpg").write_bytes(image_file(shade=10))
    (folder / "album").symlink_to(tmp_path / "outside")
    (folder / "itself").symlink_to(folder)
    assert outcomes(run_path(folder)) == {"a.jpg": "added", "album": "rejected", "itself": "rejected"}


def test_a_second_run_takes_nothing_twice(stocked):
    run_path(stocked)
    assert outcomes(run_path(stocked)) == {"a.jpg": "already"}
    assert (Image.objects.count(), CollectionImage.objects.count()) == (1, 1)


def test_an_image_of_another_collection_is_stored_once(stocked):
    run_path(stocked, "One")
    outcome, reason = report(run_path(stocked, "Two"))["a.jpg"]
    assert outcome == "added"
    assert "stored only once" in reason
    assert (Image.objects.count(), CollectionImage.objects.count()) == (1, 2)


def test_a_key_that_another_image_has_is_reported_and_leaves_nothing_behind(folder):
    (folder / "one").mkdir()
    (folder / "two").mkdir()
    (folder / "one" / "1.jpg").write_bytes(image_file())
    (folder / "two" / "1.jpg").write_bytes(image_file(shade=10))
    (folder / "manifest.csv").write_text("file,key\none/1.jpg,harbour\ntwo/1.jpg,harbour\n", encoding="utf-8")

    outcome, reason = report(run_path(folder))["two/1.jpg"]

    assert outcome == "rejected"
    assert "another key" in reason
    assert Image.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("list.csv", b"name,title\na.jpg,x\n", "no column “file”"),
        ("list.csv", b"file,key,key\n", "twice"),
        ("list.csv", "file\na.jpg\n".encode("utf-16"), "UTF-16"),
        ("list.csv", b"", "empty"),
        ("list.zip", b"PK nothing", "not a zip file"),
        ("list.txt", b"a.jpg", "is not a folder"),
    ],
)
def test_a_source_that_cannot_be_used_at_all_fails_with_one_sentence(folder, name, content, says):
    (folder / name).write_bytes(content)
    job = run_path(folder / name)
    assert job.state == JobState.FAILED
    assert says in job.error


def test_a_zip_is_unpacked_without_being_believed(folder, monkeypatch):
    monkeypatch.setattr(limits, "MAX_IMAGE_BYTES", 5_000_000)
    archive = folder / "all.zip"
    images = {"in/a.jpg": image_file(), "../b.jpg": image_file(shade=10), "/c.jpg": image_file(shade=20)}
    inner = zipped({"d.jpg": image_file(shade=30)})
    hidden = {"__MACOSX/._a.jpg": b"x", "in/.DS_Store": b"x"}
    archive.write_bytes(zipped({**images, "inner.zip": inner, **hidden, "zeros.png": b"\0" * 3_000_000}))

    job = run_path(archive)

    rows = report(job)
    assert rows["in/a.jpg"][0] == "added"
    assert "leads out of the folder" in rows["../b.jpg"][1]
    assert "leads out of the folder" in rows["/c.jpg"][1]
    assert "zip file inside the zip file" in rows["inner.zip"][1]
    assert "unpack to more than" in rows["zeros.png"][1]
    assert "2 hidden files" in rows
    assert Image.objects.count() == 1


def test_a_zip_that_would_fill_the_disk_is_refused_as_a_whole(folder, monkeypatch):
    monkeypatch.setattr(limits, "MAX_ZIP_BYTES", 1_000)
    (folder / "all.zip").write_bytes(zipped({"a.jpg": image_file(), "b.jpg": image_file(size=(900, 900))}))
    assert "would unpack" in run_path(folder / "all.zip").error

    monkeypatch.setattr(limits, "MAX_ZIP_ENTRIES", 1)
    assert "more than 1 files" in run_path(folder / "all.zip").error


def test_a_broken_entry_of_a_zip_does_not_stop_the_others(folder):
    content = bytearray(zipped({"a.jpg": image_file(), "b.jpg": image_file(shade=10)}))
    content[60] ^= 0xFF
    (folder / "all.zip").write_bytes(content)

    by_file = outcomes(run_path(folder / "all.zip"))

    assert by_file == {"a.jpg": "rejected", "b.jpg": "added"}


def test_sent_files_wait_in_storage_until_they_are_in():
    job = upload({"a.jpg": image_file(), "b.jpg": b""})
    assert default_storage.exists(f"{job.folder}/1")

    run(job)

    assert job.state == JobState.DONE
    assert outcomes(job) == {"a.jpg": "added", "b.jpg": "rejected"}
    assert not default_storage.exists(job.folder)


def test_names_that_are_not_utf8_do_not_stop_an_import(stocked):
    for name, content in (
        (b"\xff\xe9.jpg", image_file(shade=10)),
        (b"\xfe\xe9.jpg", image_file(shade=20)),
        (b"\xe9", b""),
    ):
        Path(os.fsdecode(os.path.join(os.fsencode(stocked), name))).write_bytes(content)  # noqa: PTH118

    job = run_path(stocked)

    assert (job.state, job.done) == (JobState.DONE, 4)
    assert sorted(job.rows.values_list("outcome", flat=True)) == ["added", "added", "rejected", "rejected"]
    assert set(job.collection.entries.values_list("key", flat=True)) == {"a", "\ufffd\ufffd"}


@pytest.mark.parametrize("error", [AssertionError, ValueError, DataError])
def test_an_error_that_nobody_foresaw_costs_one_file(folder, monkeypatch, caplog, error):
    for number in range(3):
        (folder / f"{number}.jpg").write_bytes(image_file(shade=number))
    real = put_in

    def fails_for_one(*args, path, **more):
        if path == "1.jpg":
            raise error("secret")
        return real(*args, path=path, **more)

    monkeypatch.setattr(imports, "put_in", fails_for_one)
    job = run_path(folder)

    assert (job.state, job.done) == (JobState.DONE, 3)
    assert outcomes(job) == {"0.jpg": "added", "1.jpg": "rejected", "2.jpg": "added"}
    assert error.__name__ in report(job)["1.jpg"][1]
    assert "secret" not in report(job)["1.jpg"][1]
    assert caplog.records[-1].exc_info


def test_a_database_that_is_gone_is_not_blamed_on_the_file(stocked, monkeypatch):
    def fails(*args, **more):
        raise OperationalError

    monkeypatch.setattr(imports, "put_in", fails)
    with pytest.raises(OperationalError):
        run_path(stocked)
    assert not ImportRow.objects.exists()


@pytest.mark.parametrize(
    "wrong", [{"collection": name} for name in ("", " ", "!!!", "x" * 121, "a\nb")] + [{"report": Path("/gone/r.csv")}]
)
def test_the_command_checks_what_it_was_told_before_it_takes_anything(stocked, wrong):
    with pytest.raises(CommandError):
        call_command("import_images", stocked, **({"collection": "Harbour"} | wrong))
    assert not ImportJob.objects.exists()


def test_the_command_prints_what_was_not_taken_and_writes_a_report_no_spreadsheet_runs(stocked, tmp_path):
    (stocked / "=cmd().jpg").write_bytes(b"")
    printed = io.StringIO()

    call_command("import_images", stocked, collection="Harbour", report=tmp_path / "report.csv", stdout=printed)

    assert "=cmd().jpg: Not imported. The file is empty." in printed.getvalue()
    assert "Added: 1, Already there: 0, Not imported: 1" in printed.getvalue()
    with (tmp_path / "report.csv").open(newline="") as file:
        table = list(csv.reader(file))
    assert table[1][1] == "'=cmd().jpg"

    with pytest.raises(CommandError, match="no file or folder"):
        call_command("import_images", stocked / "gone", collection="Harbour", stdout=printed)


@pytest.mark.parametrize("text", ["=1", " =1", "\u200b+1", "＝1", "\t1", "'1"])
def test_a_report_holds_nothing_that_a_spreadsheet_takes_for_a_formula(text):
    assert csv_safe([1, text, "a"]) == [1, f"'{text}", "a"]
