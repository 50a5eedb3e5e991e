"""Importing pictures: what goes in, what does not and why, and that nothing is lost or done twice."""

from __future__ import annotations

import csv
import io
import json
import os
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import DataError, OperationalError
from django.utils import timezone

from corpus.models import CollectionImage, Image, ImportJob, ImportKind, ImportRow, JobState, Outcome
from corpus.rules import limits
from corpus.rules.records import csv_safe
from corpus.services import files, images, imports, jobs
from corpus.services.collections import collection_named, put_in
from tests.concurrency import together
from tests.corpus.pictures import bomb, exif, picture
from tests.factories import NOW, make_user
from tests.published import published

MINUTE = timedelta(minutes=1)
SOON = timedelta(seconds=30)


def run_path(path: Path, collection: str = "Harbour") -> ImportJob:
    return imports.import_path(
        path=path, collection=collection_named(collection), clock=lambda: NOW, announce=lambda image_id: None
    )


def upload(files: dict[str, bytes], collection: str = "Harbour") -> ImportJob:
    return imports.start_upload(
        collection=collection_named(collection),
        uploads=[SimpleUploadedFile(name, content) for name, content in files.items()],
        by=make_user(),
    )


def run(job: ImportJob, now=NOW) -> ImportJob:
    imports.run_import(job_id=job.pk, clock=lambda: now, announce=lambda image_id: None)
    job.refresh_from_db()
    return job


def report(job: ImportJob) -> dict[str, tuple[str, str]]:
    return {row.name: (row.outcome, row.reason) for row in job.rows.all()}


def outcomes(job: ImportJob) -> dict[str, str]:
    return {name: outcome for name, (outcome, _) in report(job).items()}


def zipped(files: dict[str, bytes]) -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return output.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    return folder


@pytest.mark.django_db
def test_of_a_folder_the_pictures_go_in_and_the_rest_is_told_about(folder):
    (folder / "a.jpg").write_bytes(picture())
    (folder / "more").mkdir()
    (folder / "more" / "b.png").write_bytes(picture("PNG", shade=10))
    (folder / "same.jpg").write_bytes(picture())
    (folder / "wrong.png").write_bytes(picture("JPEG", shade=20))
    (folder / "cut.jpg").write_bytes(picture(size=(400, 300))[:-300])
    (folder / "bomb.png").write_bytes(bomb(60_000, 60_000))
    (folder / "empty.jpg").write_bytes(b"")
    (folder / ".DS_Store").write_bytes(b"x")
    (folder / "out.jpg").symlink_to("/etc/hostname")

    job = run_path(folder)

    assert job.state == JobState.DONE
    assert outcomes(job) == {
        "a.jpg": "added",
        "more/b.png": "added",
        "same.jpg": "already",
        "wrong.png": "rejected",
        "cut.jpg": "rejected",
        "bomb.png": "rejected",
        "empty.jpg": "rejected",
        "1 hidden files": "rejected",
        "out.jpg": "rejected",
    }
    assert all(reason for outcome, reason in report(job).values() if outcome != "added")
    assert (job.total, job.done) == (9, 9)
    assert list(job.collection.entries.values_list("key", "file_name", "position")) == [
        ("a", "a.jpg", 1),
        ("b", "b.png", 2),
    ]
    assert Image.objects.count() == 2


@pytest.mark.django_db
def test_a_second_run_takes_nothing_twice(folder):
    (folder / "a.jpg").write_bytes(picture())
    run_path(folder)
    assert outcomes(run_path(folder)) == {"a.jpg": "already"}
    assert (Image.objects.count(), CollectionImage.objects.count()) == (1, 1)


@pytest.mark.django_db
def test_a_picture_of_another_collection_is_stored_once(folder):
    (folder / "a.jpg").write_bytes(picture())
    run_path(folder, "One")
    outcome, reason = report(run_path(folder, "Two"))["a.jpg"]
    assert outcome == "added"
    assert "kept once" in reason
    assert (Image.objects.count(), CollectionImage.objects.count()) == (1, 2)


@pytest.mark.django_db
def test_a_key_that_another_picture_has_is_reported_and_leaves_nothing_behind(folder):
    (folder / "one").mkdir()
    (folder / "two").mkdir()
    (folder / "one" / "1.jpg").write_bytes(picture())
    (folder / "two" / "1.jpg").write_bytes(picture(shade=10))

    outcome, reason = report(run_path(folder))["two/1.jpg"]

    assert outcome == "rejected"
    assert "another key" in reason
    assert Image.objects.count() == 1


@pytest.mark.django_db
def test_a_manifest_says_whose_the_pictures_are(folder):
    (folder / "a.jpg").write_bytes(
        picture(exif=exif(artist="Camera Owner", gps=(("N", (1.0, 0, 0)), ("E", (2.0, 0, 0)))))
    )
    (folder / "b.jpg").write_bytes(
        picture(shade=10, exif=exif(artist="Ben", gps=(("N", (1.0, 0, 0)), ("E", (2.0, 0, 0)))))
    )
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


@pytest.mark.django_db
def test_what_was_blank_is_filled_in_later_and_what_was_there_is_kept(folder):
    (folder / "a.jpg").write_bytes(picture())
    manifest = folder / "list.jsonl"
    manifest.write_text(json.dumps({"file": "a.jpg", "author": "Ann"}))
    run_path(manifest)
    manifest.write_text(json.dumps({"file": "a.jpg", "author": "Bob", "license": "CC0", "year": 1999}))

    assert outcomes(run_path(manifest)) == {"a.jpg": "already"}

    image = Image.objects.get()
    assert (image.author, image.licence, image.extra) == ("Ann", "CC0", {"year": 1999})


BROKEN_LINES = [
    ('{"file": "gone.jpg"}', "no such file"),
    ('{"file": "../outside.jpg"}', "leaves the folder"),
    ('{"file": "/etc/passwd"}', "leaves the folder"),
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
    ('{"title": "no file"}', "No file"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("line", "says"), BROKEN_LINES)
def test_a_line_of_a_manifest_that_cannot_be_used_is_told_by_its_number(folder, line, says):
    (folder.parent / "outside.jpg").write_bytes(picture(shade=30))
    (folder / "a.jpg").write_bytes(picture())
    (folder / "b.jpg").write_bytes(picture(shade=10))
    manifest = folder / "list.jsonl"
    manifest.write_text('{"file": "b.jpg"}\n' + line + "\n")

    job = run_path(manifest)

    broken = job.rows.get(number=2)
    assert (broken.outcome, job.rows.get(number=1).outcome) == (Outcome.REJECTED, Outcome.ADDED)
    assert broken.reason.startswith("line 2 of the manifest: ")
    assert says in broken.reason
    assert Image.objects.count() == 1


@pytest.mark.django_db
def test_lines_in_another_encoding_and_lines_that_name_one_file_twice_are_reported(folder):
    (folder / "a.jpg").write_bytes(picture())
    manifest = folder / "list.csv"
    manifest.write_bytes(b"file;author\na.jpg;Ann\nb.jpg;J\xf6rg\na.jpg;Bob\n")

    job = run_path(manifest)

    reasons = {row.number: row.reason for row in job.rows.all()}
    assert reasons[2] == ""
    assert "UTF-8" in reasons[3]
    assert "Line 2 names the same file" in reasons[4]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("list.csv", b"name,title\na.jpg,x\n", "no column “file”"),
        ("list.csv", b"file,key,key\n", "twice"),
        ("list.csv", "file\na.jpg\n".encode("utf-16"), "UTF-16"),
        ("list.csv", b"", "empty"),
        ("list.zip", b"PK nothing", "no zip"),
        ("list.txt", b"a.jpg", "neither"),
    ],
)
def test_a_source_that_cannot_be_used_at_all_fails_with_one_sentence(folder, name, content, says):
    (folder / name).write_bytes(content)
    job = run_path(folder / name)
    assert job.state == JobState.FAILED
    assert says in job.error


@pytest.mark.django_db
def test_a_zip_is_unpacked_without_being_believed(folder, monkeypatch):
    monkeypatch.setattr(limits, "MAX_PICTURE_BYTES", 5_000_000)
    archive = folder / "all.zip"
    archive.write_bytes(
        zipped(
            {
                "in/a.jpg": picture(),
                "../b.jpg": picture(shade=10),
                "/c.jpg": picture(shade=20),
                "inner.zip": zipped({"d.jpg": picture(shade=30)}),
                "__MACOSX/._a.jpg": b"x",
                "in/.DS_Store": b"x",
                "zeros.png": b"\0" * 3_000_000,
            }
        )
    )

    job = run_path(archive)

    found = report(job)
    assert found["in/a.jpg"][0] == "added"
    assert "leaves the folder" in found["../b.jpg"][1]
    assert "leaves the folder" in found["/c.jpg"][1]
    assert "zip inside the zip" in found["inner.zip"][1]
    assert "packed more than" in found["zeros.png"][1]
    assert "2 hidden files" in found
    assert Image.objects.count() == 1


@pytest.mark.django_db
def test_a_zip_that_would_fill_the_disk_is_refused_as_a_whole(folder, monkeypatch):
    monkeypatch.setattr(limits, "MAX_ZIP_BYTES", 1_000)
    (folder / "all.zip").write_bytes(zipped({"a.jpg": picture(), "b.jpg": picture(size=(900, 900))}))
    assert "Unpacked" in run_path(folder / "all.zip").error

    monkeypatch.setattr(limits, "MAX_ZIP_ENTRIES", 1)
    assert "more than 1 files" in run_path(folder / "all.zip").error


@pytest.mark.django_db
def test_a_broken_entry_of_a_zip_does_not_stop_the_others(folder):
    content = bytearray(zipped({"a.jpg": picture(), "b.jpg": picture(shade=10)}))
    content[60] ^= 0xFF
    (folder / "all.zip").write_bytes(content)

    found = outcomes(run_path(folder / "all.zip"))

    assert found == {"a.jpg": "rejected", "b.jpg": "added"}


@pytest.mark.django_db
def test_a_manifest_inside_a_zip_or_among_sent_files_counts():
    job = upload(
        {
            "one.zip": zipped(
                {
                    "set/manifest.csv": b"file,author\na.jpg,Ann\n",
                    "set/a.jpg": picture(),
                    "set/unlisted.jpg": picture(shade=10),
                }
            ),
            "two.zip": zipped({"c.jpg": picture(shade=20)}),
            "b.jpg": picture(shade=30),
            "manifest.jsonl": b'{"file": "b.jpg", "author": "Bob"}\n{"file": "c.jpg", "author": "Cem"}\n',
        }
    )

    found = outcomes(run(job))

    assert found == {
        "b.jpg": "added",
        "c.jpg": "added",
        "set/a.jpg": "added",
        "set/unlisted.jpg": "rejected",
    }
    authors = CollectionImage.objects.values_list("key", "image__author")
    assert dict(authors) == {"b": "Bob", "c": "Cem", "a": "Ann"}


@pytest.mark.django_db
def test_sent_files_wait_in_storage_until_they_are_in():
    job = upload({"a.jpg": picture(), "b.jpg": b""})
    assert default_storage.exists(f"{job.folder}/1")

    run(job)

    assert job.state == JobState.DONE
    assert outcomes(job) == {"a.jpg": "added", "b.jpg": "rejected"}
    assert not default_storage.exists(job.folder)


@pytest.mark.django_db
def test_an_import_that_was_killed_goes_on_where_it_was(monkeypatch):
    job = upload({f"{number}.jpg": picture(shade=number) for number in range(5)})
    taken: list[str] = []
    real = imports._add

    def dies_at_the_third(job, entry, file, **more):
        taken.append(entry.name)
        if len(taken) == 3:
            raise KeyboardInterrupt
        return real(job, entry, file, **more)

    monkeypatch.setattr(imports, "_add", dies_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        run(job)
    job.refresh_from_db()
    assert (job.state, job.done) == (JobState.RUNNING, 2)

    run(job, NOW + SOON)
    assert taken == ["0.jpg", "1.jpg", "2.jpg"]  # somebody else may still be at it
    assert jobs.jobs_waiting(kind=ImportKind.IMAGES, now=NOW + SOON) == []

    later = NOW + 5 * MINUTE
    assert jobs.jobs_waiting(kind=ImportKind.IMAGES, now=later) == [job.pk]
    run(job, later)

    assert (job.state, job.done, job.total) == (JobState.DONE, 5, 5)
    assert taken == ["0.jpg", "1.jpg", "2.jpg", "2.jpg", "3.jpg", "4.jpg"]
    assert set(outcomes(job).values()) == {"added"}


@pytest.mark.django_db
def test_a_file_that_stops_the_worker_each_time_is_passed_over(monkeypatch):
    job = upload({"deadly.jpg": picture(), "b.jpg": picture(shade=10)})
    real = imports._add

    def dies(job, entry, file, **more):
        if entry.name == "deadly.jpg":
            raise KeyboardInterrupt
        return real(job, entry, file, **more)

    monkeypatch.setattr(imports, "_add", dies)
    for attempt in range(jobs.SKIP_AFTER_ATTEMPTS):
        with pytest.raises(KeyboardInterrupt):
            run(job, NOW + attempt * 5 * MINUTE)
    run(job, NOW + 60 * MINUTE)

    assert outcomes(job) == {"deadly.jpg": "rejected", "b.jpg": "added"}
    assert job.state == JobState.DONE


@pytest.mark.django_db
def test_who_lost_the_lease_writes_nothing_more():
    job = upload({"a.jpg": picture()})
    mine = jobs.claim(job_id=job.pk, kind=ImportKind.IMAGES, now=NOW)
    later = NOW + 5 * MINUTE
    theirs = jobs.claim(job_id=job.pk, kind=ImportKind.IMAGES, now=later)
    assert mine is not None
    assert theirs is not None

    with pytest.raises(jobs.LeaseLost):
        jobs.extend(mine, now=later)
    jobs.finish(mine, now=later)

    job.refresh_from_db()
    assert job.state == JobState.RUNNING
    assert default_storage.exists(f"{job.folder}/1")


@pytest.mark.django_db
def test_an_interrupted_command_is_closed_by_the_sweep(folder):
    job = ImportJob.objects.create(
        kind=ImportKind.IMAGES, options={jobs.IS_INLINE: True}, state=JobState.RUNNING, lease_until=NOW
    )
    assert jobs.jobs_waiting(kind=ImportKind.IMAGES, now=NOW + MINUTE) == []
    job.refresh_from_db()
    assert job.state == JobState.FAILED
    assert "Run it again" in job.error


@pytest.mark.django_db
def test_a_lost_message_is_sent_again_but_not_with_every_sweep():
    job = upload({"a.jpg": picture()})
    assert jobs.jobs_waiting(kind=ImportKind.IMAGES, now=NOW) == [job.pk]
    assert jobs.jobs_waiting(kind=ImportKind.IMAGES, now=NOW) == []
    assert jobs.jobs_waiting(kind=ImportKind.IMAGES, now=NOW + 2 * MINUTE) == [job.pk]


@pytest.mark.django_db(transaction=True)
def test_imports_of_the_same_pictures_at_the_same_time_store_each_once(folder):
    for number in range(6):
        (folder / f"{number}.jpg").write_bytes(picture(shade=number))
    collection_named("Harbour")
    for name in ("One", "Two"):
        collection_named(name)

    done = together(lambda name: run_path(folder, name), ["Harbour", "Harbour", "One", "Two"])

    assert [job.state for job in done] == [JobState.DONE] * 4
    assert Image.objects.count() == 6
    assert CollectionImage.objects.count() == 18
    rows = ImportRow.objects.filter(job__in=done[:2])
    assert rows.filter(outcome=Outcome.ADDED).count() == 6
    assert rows.filter(outcome=Outcome.ALREADY).count() == 6


@pytest.mark.django_db
def test_the_command_prints_what_was_not_taken_and_writes_a_report_no_spreadsheet_runs(folder, tmp_path):
    (folder / "a.jpg").write_bytes(picture())
    (folder / "=cmd().jpg").write_bytes(b"")
    printed = io.StringIO()

    call_command("import_images", folder, collection="Harbour", report=tmp_path / "report.csv", stdout=printed)

    assert "=cmd().jpg: Not taken. The file is empty." in printed.getvalue()
    assert "Added: 1, Already there: 0, Not taken: 1" in printed.getvalue()
    with (tmp_path / "report.csv").open(newline="") as file:
        table = list(csv.reader(file))
    assert table[1][1] == "'=cmd().jpg"

    with pytest.raises(CommandError, match="no file or folder"):
        call_command("import_images", folder / "gone", collection="Harbour", stdout=printed)


@pytest.mark.django_db
def test_the_real_photographs_go_in_with_their_manifest():
    manifest = published("photos") / "manifest.json"
    job = run_path(manifest)
    listed = json.loads(manifest.read_text())
    assert (job.state, job.done) == (JobState.DONE, len(listed))
    assert list(job.rows.exclude(outcome=Outcome.ADDED)) == []
    assert not Image.objects.filter(licence="").exists()


@pytest.mark.django_db
def test_sizes_are_made_in_the_background_once(folder):
    (folder / "a.jpg").write_bytes(picture(size=(1000, 800)))
    run_path(folder)
    image = Image.objects.get()
    assert image.sizes_state == JobState.QUEUED

    images.make_sizes(image_id=image.pk, now=NOW)

    image.refresh_from_db()
    assert (image.sizes_state, image.sizes_lease_until, image.sizes_attempts) == (JobState.DONE, None, 1)
    assert images.images_waiting(now=timezone.now() + timedelta(days=1)) == []
    names = default_storage.listdir(f"sizes/{image.public_id.hex[:2]}/{image.public_id.hex}")[1]
    assert sorted(names) == ["1600.webp", "320.webp", "800.webp"]


@pytest.mark.django_db
def test_sizes_whose_maker_was_killed_are_made_by_the_next(folder, monkeypatch):
    (folder / "a.jpg").write_bytes(picture())
    run_path(folder)
    image = Image.objects.get()

    def dies(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(files, "put", dies)
        with pytest.raises(KeyboardInterrupt):
            images.make_sizes(image_id=image.pk, now=NOW)
    assert images.images_waiting(now=NOW + SOON) == []
    later = NOW + 5 * MINUTE
    assert images.images_waiting(now=later) == [image.pk]
    images.make_sizes(image_id=image.pk, now=later)

    image.refresh_from_db()
    assert (image.sizes_state, image.sizes_attempts) == (JobState.DONE, 2)


@pytest.mark.django_db
def test_sizes_that_cannot_be_made_are_given_up_in_the_end(folder):
    (folder / "a.jpg").write_bytes(picture())
    run_path(folder)
    image = Image.objects.get()
    default_storage.delete(image.original)

    for attempt in range(images.MAX_SIZES_ATTEMPTS):
        images.make_sizes(image_id=image.pk, now=NOW + attempt * 5 * MINUTE)

    image.refresh_from_db()
    assert image.sizes_state == JobState.FAILED
    assert "FileNotFoundError" in image.sizes_error
    assert images.images_waiting(now=NOW + timedelta(days=1)) == []


@pytest.mark.django_db
def test_a_number_that_json_does_not_know_rejects_its_line_alone(folder):
    (folder / "a.jpg").write_bytes(picture())
    (folder / "b.jpg").write_bytes(picture(shade=10))
    (folder / "manifest.jsonl").write_bytes(b'{"file": "a.jpg", "height_m": 1e400}\n{"file": "b.jpg"}\n')
    assert outcomes(run_path(folder)) == {"a.jpg": "rejected", "b.jpg": "added"}


@pytest.mark.django_db
@pytest.mark.parametrize("error", [AssertionError, ValueError, DataError])
def test_an_error_that_nobody_foresaw_costs_one_file(folder, monkeypatch, caplog, error):
    for number in range(3):
        (folder / f"{number}.jpg").write_bytes(picture(shade=number))
    real = put_in

    def fails_for_one(*args, file_name, **more):
        if file_name == "1.jpg":
            raise error("secret")
        return real(*args, file_name=file_name, **more)

    monkeypatch.setattr(imports, "put_in", fails_for_one)
    job = run_path(folder)

    assert (job.state, job.done) == (JobState.DONE, 3)
    assert outcomes(job) == {"0.jpg": "added", "1.jpg": "rejected", "2.jpg": "added"}
    assert error.__name__ in report(job)["1.jpg"][1]
    assert "secret" not in report(job)["1.jpg"][1]
    assert caplog.records[-1].exc_info


@pytest.mark.django_db
def test_a_database_that_is_gone_is_not_blamed_on_the_file(folder, monkeypatch):
    (folder / "a.jpg").write_bytes(picture())

    def fails(*args, **more):
        raise OperationalError

    monkeypatch.setattr(imports, "put_in", fails)
    with pytest.raises(OperationalError):
        run_path(folder)
    assert not ImportRow.objects.exists()


@pytest.mark.django_db
def test_a_csv_manifest_may_end_its_lines_as_old_macs_do_and_has_to_be_utf8(folder):
    (folder / "a.jpg").write_bytes(picture())
    (folder / "manifest.csv").write_bytes(b"file,title\ra.jpg,Harbour\rgone.jpg,x\r")
    assert outcomes(run_path(folder)) == {"a.jpg": "added", "gone.jpg": "rejected"}
    assert Image.objects.get().title == "Harbour"

    (folder / "manifest.csv").write_bytes(b"fichier,\xe9tat\np0.jpg,x\n")
    job = run_path(folder)
    assert (job.state, job.rows.count()) == (JobState.FAILED, 0)
    assert "UTF-8" in job.error


@pytest.mark.django_db
def test_names_that_are_not_utf8_do_not_stop_an_import(folder):
    (folder / "a.jpg").write_bytes(picture())
    for name, content in ((b"\xff\xe9.jpg", picture(shade=10)), (b"\xfe\xe9.jpg", picture(shade=20)), (b"\xe9", b"")):
        Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).write_bytes(content)  # noqa: PTH118

    job = run_path(folder)

    assert (job.state, job.done) == (JobState.DONE, 4)
    assert sorted(job.rows.values_list("outcome", flat=True)) == ["added", "added", "rejected", "rejected"]
    assert set(job.collection.entries.values_list("key", flat=True)) == {"a", "\ufffd\ufffd"}


@pytest.mark.parametrize("text", ["=1", " =1", "\u200b+1", "＝1", "\t1", "'1"])
def test_a_report_holds_nothing_that_a_spreadsheet_takes_for_a_formula(text):
    assert csv_safe([1, text, "a"]) == [1, f"'{text}", "a"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "wrong", [{"collection": name} for name in ("", " ", "!!!", "x" * 121, "a\nb")] + [{"report": Path("/gone/r.csv")}]
)
def test_the_command_checks_what_it_was_told_before_it_takes_anything(folder, wrong):
    (folder / "a.jpg").write_bytes(picture())
    with pytest.raises(CommandError):
        call_command("import_images", folder, **({"collection": "Harbour"} | wrong))
    assert not ImportJob.objects.exists()
