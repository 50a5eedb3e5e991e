"""Imports of what was made to break them: each ends soon, with a report that says why."""

from __future__ import annotations

import io
import struct
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.db import OperationalError

from core.images.models import ImportJob, ImportKind
from core.images.rules import limits
from core.images.rules.archives import open_zip
from core.images.services import import_jobs, imports
from core.jobs.models import JobState
from core.jobs.services import leases
from crosslens_metrics.formats.limits import MAX_ROW_CHARACTERS
from crosslens_metrics.formats.problems import FileRefusedError
from office.imports.services.file_imports import ImportRefusedError
from tests.factories import NOW
from tests.images.image_files import image_file, outcomes, run_path, upload, zipped
from tests.imports.sent import run

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


def with_locator(place: int) -> bytes:
    """A zip whose table of contents is said to be described at `place`."""
    content = zipped({"a.jpg": image_file()})
    end = content.rindex(b"PK\x05\x06")
    return content[:end] + struct.pack("<4sLQL", b"PK\x06\x07", 0, place, 1) + content[end:]


@pytest.mark.parametrize("place", [2**64 - 1, 2**63, 2**63 - 1, 2**32, 10_000, 0])
def test_a_zip_whose_table_of_contents_lies_nowhere_is_no_zip(folder, place):
    (folder / "all.zip").write_bytes(with_locator(place))

    job = run_path(folder / "all.zip")

    assert job.state == JobState.FAILED
    assert "not a zip file" in job.error
    with pytest.raises(ImportRefusedError, match=r"all\.zip: This is not a zip file"):
        upload({"all.zip": with_locator(place), "b.jpg": image_file()})


@pytest.mark.parametrize("comment", [0, 65_535])
def test_a_table_of_contents_that_memory_would_not_hold_is_not_read(comment):
    content = zipped({"a.jpg": image_file()})
    at = content.rindex(b"PK\x05\x06")
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, limits.MEGABYTE * 10_000, 0)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, at, 1)
    end = content[at:-2] + struct.pack("<H", comment) + b"x" * comment
    with pytest.raises(FileRefusedError, match="more than 50000 files"):
        open_zip(io.BytesIO(content[:at] + record + locator + end))


def test_a_link_that_leads_to_itself_is_told_of_and_the_rest_goes_in(stocked):
    (stocked / "loop.jpg").symlink_to(stocked / "loop.jpg")
    (stocked / "to.jpg").symlink_to(stocked / "fro.jpg")
    (stocked / "fro.jpg").symlink_to(stocked / "to.jpg")

    job = run_path(stocked)

    assert job.state == JobState.DONE
    assert outcomes(job) == {"a.jpg": "added", "loop.jpg": "rejected", "to.jpg": "rejected", "fro.jpg": "rejected"}

    (stocked / "manifest.csv").write_text("file\na.jpg\nloop.jpg\n")
    assert outcomes(run_path(stocked / "manifest.csv")) == {"a.jpg": "already", "loop.jpg": "rejected"}


@pytest.mark.parametrize("long", ["x" * 300_000, '"' + "x" * 300_000 + '"', "," * 300_000, "x" * 3_000_000])
def test_a_row_that_is_far_too_long_is_told_by_its_number(stocked, long):
    (stocked / "manifest.csv").write_text(f"file,title\ngone.jpg,{long}\na.jpg,Harbour\n")

    job = run_path(stocked)

    assert {row.number: row.outcome for row in job.rows.all()} == {2: "rejected", 3: "added"}
    assert "more than 100000 characters" in job.rows.get(number=2).reason


def test_a_first_line_that_is_far_too_long_names_no_columns(stocked):
    (stocked / "manifest.csv").write_text("file," + "x" * 300_000 + "\na.jpg,\n")
    job = run_path(stocked)
    assert job.state == JobState.FAILED
    assert "first line" in job.error


@pytest.mark.parametrize("following", [3, 20_000])
def test_a_quotation_mark_that_is_never_closed_is_told_of_before_anything_is_taken(stocked, following):
    lines = ["file,title", "a.jpg,Harbour", '"b.jpg","Two\nlines"', 'c.jpg,"Dawn', *["d.jpg,Dusk"] * following]
    (stocked / "manifest.csv").write_text("\n".join(lines))

    job = run_path(stocked)

    assert job.state == JobState.FAILED
    assert "begins on line 5" in job.error
    assert not job.rows.exists()


def test_a_quotation_mark_that_is_open_on_the_last_line_costs_that_line(stocked):
    (stocked / "manifest.csv").write_text('file,title\na.jpg,Harbour\nb.jpg,"Dawn')
    assert {row.number: row.outcome for row in run_path(stocked).rows.all()} == {2: "added", 3: "rejected"}


@pytest.mark.long(reason="at least three others run each of its lines")
def test_lines_that_need_no_look_are_reported_some_hundred_at_a_time(stocked, django_assert_max_num_queries):
    lines = [f"gone{number}.jpg" for number in range(1_000)]
    (stocked / "manifest.csv").write_text("\n".join(["file", *lines[:500], "a.jpg", *lines[500:]]))

    with django_assert_max_num_queries(60):
        job = run_path(stocked)

    assert (job.done, job.rows.filter(outcome="rejected").count()) == (1_001, 1_000)
    assert job.rows.get(outcome="added").number == 502


def stumble(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def stumbles(*arguments):
        raise error

    monkeypatch.setattr(imports, "plan_of_path", stumbles)


@pytest.mark.parametrize("error", [ValueError("secret"), RecursionError(), MemoryError(), struct.error("secret")])
def test_an_error_that_comes_again_ends_the_import_at_the_second_time(monkeypatch, caplog, error):
    job = upload({"a.jpg": image_file()})
    stumble(monkeypatch, error)

    run(job)
    assert job.state == JobState.RUNNING
    assert leases.rows_to_nudge(ImportJob.objects.filter(kind=ImportKind.FILES), now=NOW) == [
        job.pk
    ]  # with the next sweep
    run(job)

    assert job.state == JobState.FAILED
    assert type(error).__name__ in job.error
    assert "secret" not in job.error
    assert caplog.records[-1].exc_info
    assert not default_storage.exists(job.folder)
    assert leases.rows_to_nudge(ImportJob.objects.filter(kind=ImportKind.FILES), now=NOW + 60 * MINUTE) == []


def test_an_error_that_is_gone_the_second_time_costs_nothing(monkeypatch):
    job = upload({"a.jpg": image_file()})
    with monkeypatch.context() as patch:
        stumble(patch, ValueError())
        run(job)
    run(job)
    assert (job.state, outcomes(job)) == (JobState.DONE, {"a.jpg": "added"})


@pytest.mark.parametrize("error", [OperationalError(), ConnectionResetError(), OSError(5, "Input/output error")])
def test_a_fault_that_may_pass_is_tried_for_longer(monkeypatch, error):
    job = upload({"a.jpg": image_file()})
    with monkeypatch.context() as patch:
        stumble(patch, error)
        for attempt in range(import_jobs.SKIP_AFTER_ATTEMPTS):
            with pytest.raises(type(error)):
                run(job, NOW + attempt * 5 * MINUTE)
    assert ImportJob.objects.get(pk=job.pk).state == JobState.RUNNING

    run(job, NOW + 60 * MINUTE)

    assert job.state == JobState.DONE


@pytest.mark.parametrize("error", [ValueError(), PermissionError(13, "Permission denied")])
def test_an_import_by_a_command_ends_at_the_first_error(stocked: Path, monkeypatch, error):
    stumble(monkeypatch, error)
    job = run_path(stocked)
    assert job.state == JobState.FAILED
    assert type(error).__name__ in job.error


def test_rows_are_as_long_as_their_columns_need():
    assert MAX_ROW_CHARACTERS > 2 * limits.MAX_EXTRA_CHARACTERS
