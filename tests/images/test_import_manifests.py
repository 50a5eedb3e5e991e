"""Manifests beside images: whose the images are, and what is said of lines that cannot be used."""

from __future__ import annotations

import json

import pytest

from core.images.models import CollectionImage, Image, ImportOutcome
from core.jobs.models import JobState
from tests.images.image_files import exif, image_file
from tests.images.importing import outcomes, run, run_path, upload, zipped
from tests.published import published

pytestmark = pytest.mark.django_db


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
