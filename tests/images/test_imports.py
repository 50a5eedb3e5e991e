"""Importing images from folders, zips, manifests and sent files: what goes in, what does not and why."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import DataError, OperationalError

from core.images.models import CollectionImage, Image, ImportJob, ImportOutcome, ImportRow
from core.images.rules import limits
from core.images.services import file_storage, imports
from core.images.services.collections import put_in
from core.jobs.models import JobState
from tabular.downloads import csv_safe
from tests.images.image_files import bomb, exif, image_file, outcomes, report, run_path, upload, zipped
from tests.imports.sent import run
from tests.published import published

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
    rejected = ["wrong.png", "cut.jpg", "bomb.png", "empty.jpg", "1 hidden file", "out.jpg"]
    taken = {"a.jpg": "added", "more/b.png": "added", "same.jpg": "already"}
    assert outcomes(job) == taken | dict.fromkeys(rejected, "rejected")
    assert all(reason for outcome, reason in report(job).values() if outcome != "added")
    assert (job.total, job.done) == (9, 9)
    entries = job.collection.entries.values_list("key", "file_name", "position")
    assert list(entries) == [("a", "a.jpg", 1), ("b", "b.png", 2)]
    assert Image.objects.count() == 2


def test_to_remove_all_of_no_name_removes_nothing(media):
    file_storage.put("images/a.webp", b"x")
    file_storage.remove_all("")
    assert default_storage.exists("images/a.webp")
    file_storage.remove_all("images")
    assert not default_storage.exists("images/a.webp")


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
        ("list.csv", b"", "empty"),
        ("list.zip", b"PK nothing", "not a zip file"),
        ("list.txt", b"a.jpg", "is not an image, a folder"),
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
    assert job.rows.get(name="2 hidden files").rejected == 2
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
        call_command("import", stocked, **({"collection": "Harbour"} | wrong))
    assert not ImportJob.objects.exists()


def test_the_command_prints_what_was_not_taken_and_writes_a_report_no_spreadsheet_runs(stocked, tmp_path):
    (stocked / "=cmd().jpg").write_bytes(b"")
    printed = io.StringIO()

    call_command("import", stocked, collection="Harbour", report=tmp_path / "report.csv", stdout=printed)

    assert "=cmd().jpg: The file is empty." in printed.getvalue()
    assert "Added: 1, Already there: 0, Not imported: 1" in printed.getvalue()
    with (tmp_path / "report.csv").open(newline="") as file:
        table = list(csv.reader(file))
    assert table[1][1] == "'=cmd().jpg"

    with pytest.raises(CommandError, match="no file or folder"):
        call_command("import", stocked / "gone", collection="Harbour", stdout=printed)


@pytest.mark.parametrize("text", ["=1", " =1", "\u200b+1", "＝1", "\t1", "'1"])
def test_a_report_holds_nothing_that_a_spreadsheet_takes_for_a_formula(text):
    assert csv_safe([1, text, "a"]) == [1, f"'{text}", "a"]


def test_a_manifest_says_whose_the_images_are(folder):
    place = (("N", (1.0, 0, 0)), ("E", (2.0, 0, 0)))
    (folder / "a.jpg").write_bytes(image_file(exif=exif(artist="Camera Owner", gps=place)))
    (folder / "b.jpg").write_bytes(image_file(shade=10, exif=exif(artist="Ben", gps=place)))
    manifest = folder / "list.csv"
    manifest.write_text(
        "file,key,title,author,licence,licence_url,source,latitude,longitude,mood\n"
        "a.jpg,harbour,Dawn,Ann,CC BY 4.0,https://creativecommons.org/licenses/by/4.0/,Flickr,53.5,9.9,calm\n"
        "b.jpg,,,,,,,,,\n",
        encoding="utf-8-sig",
    )

    job = run_path(manifest)

    assert outcomes(job) == {"a.jpg": "added", "b.jpg": "added"}
    image = CollectionImage.objects.get(key="harbour").image
    assert (image.title, image.author, image.licence, image.source) == ("Dawn", "Ann", "CC BY 4.0", "Flickr")
    assert (image.latitude, image.longitude, image.extra) == (53.5, 9.9, {"mood": "calm"})
    plain = CollectionImage.objects.get(key="b").image
    assert (plain.author, plain.latitude, plain.longitude) == ("Ben", 1.0, 2.0)


@pytest.mark.parametrize(
    "beside", ['{"url": "https://x.org/a?id=1", "key": "0"}', '{"url": 1}', "[]", "{", '{"url": "\\u0000"}']
)
def test_without_a_manifest_the_source_is_what_img2dataset_writes_beside_an_image(beside):
    job = run(upload({"all.zip": zipped({"00000/0.jpg": image_file(), "00000/0.json": beside.encode()})}))

    assert outcomes(job) == {"00000/0.jpg": "added"}
    assert Image.objects.get().source == ("https://x.org/a?id=1" if "x.org" in beside else "")


@pytest.mark.parametrize(
    ("field", "value", "called"),
    [
        ("title", "x" * 501, "Title"),
        ("title", ["a", "b"], "Title"),
        ("licence_url", "see the page", "Address of the licence"),
        ("license", 4, "Licence"),
        ("author", "\ud800", "Author"),
    ],
)
def test_a_field_beside_an_image_that_cannot_be_kept_is_named_and_takes_no_other_away(field, value, called):
    fine = {"title": "Dawn", "author": "Ann", "licence": "CC BY 4.0", "source": 17}
    said = {name: of for name, of in fine.items() if (name, field) != ("licence", "license")} | {field: value}
    job = run(upload({"all.zip": zipped({"0.jpg": image_file(), "0.json": json.dumps(said).encode()})}))

    assert report(job) == {"0.jpg": ("added", f"Of the data beside the image, this could not be kept: {called}.")}
    image = Image.objects.get()
    kept = {name: str(of) for name, of in said.items() if name != field}
    assert {name: getattr(image, name) for name in fine if getattr(image, name)} == kept


def test_a_camera_without_a_fix_is_named_in_the_report_unless_the_manifest_knows_better(folder):
    nowhere = exif(gps=(("N", (0.0, 0, 0)), ("E", (0.0, 0, 0))))
    (folder / "a.jpg").write_bytes(image_file(exif=nowhere))
    (folder / "b.jpg").write_bytes(image_file(shade=10, exif=nowhere))
    manifest = folder / "list.csv"
    manifest.write_text("file,latitude,longitude\na.jpg,,\nb.jpg,53.5,9.9\n")

    job = run_path(manifest)

    assert outcomes(job) == {"a.jpg": "added", "b.jpg": "added"}
    reasons = dict(job.rows.values_list("name", "reason"))
    assert reasons["a.jpg"].startswith("The place in its EXIF data was left out. The coordinates are 0, 0")
    assert reasons["b.jpg"] == ""
    assert list(Image.objects.order_by("pk").values_list("latitude", flat=True)) == [None, 53.5]


def test_what_was_blank_is_filled_in_later_and_what_was_there_is_kept(stocked):
    manifest = stocked / "list.jsonl"
    manifest.write_text(json.dumps({"file": "a.jpg", "author": "Ann"}))
    run_path(manifest)
    manifest.write_text(json.dumps({"file": "a.jpg", "author": "Bob", "license": "CC0", "year": 1999}))

    assert outcomes(run_path(manifest)) == {"a.jpg": "already"}

    image = Image.objects.get()
    assert (image.author, image.licence, image.extra) == ("Ann", "CC0", {"year": 1999})


BROKEN_LINES = [
    ('{"file": "gone.jpg"}', "no such file"),
    ('{"file": "../outside.jpg"}', "leads out of the folder"),
    ('{"file": "/etc/passwd"}', "leads out of the folder"),
    ('{"file": "a.jpg", "latitude": 91, "longitude": 0}', "latitude"),
    ('{"file": "a.jpg", "latitude": "52,5", "longitude": "13,4"}', "latitude"),
    ('{"file": "a.jpg", "latitude": NaN, "longitude": 1}', "JSON"),
    ('{"file": "a.jpg", "latitude": 1}', "go together"),
    ('{"file": "a.jpg", "licence_url": "javascript:alert(1)"}', "https://"),
    ('{"file": "a.jpg", "title": "' + "x" * 501 + '"}', "at most 500"),
    ('{"file": "a.jpg", "mood": "\\u0000"}', "UTF-8"),
    ('{"file": "a.jpg", "mood": "\\ud800"}', "UTF-8"),
    ('{"file": "a.jpg", "key": "a\\u0007b"}', "control"),
    ('{"file": "a.jpg"', "JSON"),
    ('["a.jpg"]', "object"),
    ('{"title": "no file"}', "names no file"),
]


@pytest.mark.parametrize(("line", "says"), BROKEN_LINES)
def test_a_line_of_a_manifest_that_cannot_be_used_is_told_by_its_number(stocked, line, says):
    (stocked.parent / "outside.jpg").write_bytes(image_file(shade=30))
    (stocked / "b.jpg").write_bytes(image_file(shade=10))
    manifest = stocked / "list.jsonl"
    manifest.write_text('{"file": "b.jpg"}\n' + line + "\n")

    job = run_path(manifest)

    broken = job.rows.get(number=2)
    assert (broken.outcome, job.rows.get(number=1).outcome) == (ImportOutcome.REJECTED, ImportOutcome.ADDED)
    assert broken.reason.startswith("line 2 of the manifest: ")
    assert says in broken.reason
    assert Image.objects.count() == 1


def test_lines_in_another_encoding_and_lines_that_name_one_file_twice_are_reported(stocked):
    manifest = stocked / "list.csv"
    manifest.write_bytes(b"file;author\na.jpg;Ann\nb.jpg;J\xf6rg\na.jpg;Bob\n")

    job = run_path(manifest)

    reasons = {row.number: row.reason for row in job.rows.all()}
    assert reasons[2] == ""
    assert "UTF-8" in reasons[3]
    assert "Line 2 already names this file" in reasons[4]


def test_a_number_that_json_does_not_know_rejects_its_line_alone(stocked):
    (stocked / "b.jpg").write_bytes(image_file(shade=10))
    (stocked / "manifest.jsonl").write_bytes(b'{"file": "a.jpg", "height_m": 1e400}\n{"file": "b.jpg"}\n')
    assert outcomes(run_path(stocked)) == {"a.jpg": "rejected", "b.jpg": "added"}


def test_a_csv_manifest_may_end_its_lines_as_old_macs_do_and_has_to_be_utf8(stocked):
    (stocked / "manifest.csv").write_bytes(b"file,title\ra.jpg,Harbour\rgone.jpg,x\r")
    assert outcomes(run_path(stocked)) == {"a.jpg": "added", "gone.jpg": "rejected"}
    assert Image.objects.get().title == "Harbour"

    (stocked / "manifest.csv").write_bytes(b"fichier,\xe9tat\np0.jpg,x\n")
    job = run_path(stocked)
    assert (job.state, job.rows.count()) == (JobState.FAILED, 0)
    assert "UTF-8" in job.error


@pytest.mark.parametrize(
    "header", ["sep=;\r\nfile;key;license", "File ;Key; License", '\ufeff"sep=;"\n"FILE";"KEY";"LICENCE"']
)
def test_the_first_lines_of_a_table_may_be_as_spreadsheets_write_them(stocked, header):
    (stocked / "manifest.csv").write_text(f"{header}\na.jpg;harbour;CC0 1.0\n", encoding="utf-8")
    job = run_path(stocked)
    assert outcomes(job) == {"a.jpg": "added"}
    assert (job.collection.entries.get().key, Image.objects.get().licence) == ("harbour", "CC0 1.0")


def test_a_manifest_inside_a_zip_or_among_sent_files_counts():
    images = {"set/a.jpg": image_file(), "set/unlisted.jpg": image_file(shade=10)}
    files = {
        "one.zip": zipped({"set/manifest.csv": b"file,author\na.jpg,Ann\n", **images}),
        "two.zip": zipped({"c.jpg": image_file(shade=20)}),
        "b.jpg": image_file(shade=30),
        "manifest.jsonl": b'{"file": "b.jpg", "author": "Bob"}\n{"file": "c.jpg", "author": "Cem"}\n',
    }
    by_file = outcomes(run(upload(files)))

    assert by_file == dict.fromkeys(["b.jpg", "c.jpg", "set/a.jpg"], "added") | {"set/unlisted.jpg": "rejected"}
    authors = CollectionImage.objects.values_list("key", "image__author")
    assert dict(authors) == {"b": "Bob", "c": "Cem", "a": "Ann"}


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_real_photographs_go_in_with_their_manifest():
    manifest = published("photos") / "manifest.json"
    job = run_path(manifest)
    listed = json.loads(manifest.read_text())
    assert (job.state, job.done) == (JobState.DONE, len(listed))
    assert list(job.rows.exclude(outcome=ImportOutcome.ADDED)) == []
    assert not Image.objects.filter(licence="").exists()
