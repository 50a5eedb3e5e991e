"""Uploads, and the work in the background: nothing of an import is lost or done twice, each image gets its sizes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from core.images.models import CollectionImage, Image, ImportJob, ImportKind, ImportOutcome, ImportRow
from core.images.services import file_storage, images, import_jobs, imports
from core.images.services.collections import find_or_create_collection
from core.jobs.models import JobState
from core.jobs.services import leases
from core.jobs.services.leases import LeaseLostError
from tests.concurrency import together
from tests.factories import NOW
from tests.images.image_files import image_file, outcomes, run_path, upload
from tests.imports.sent import run

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
SOON = timedelta(seconds=30)


@pytest.fixture
def image(stocked: Path) -> Image:
    """An image that has just been imported and has no sizes yet."""
    run_path(stocked)
    return Image.objects.get()


def test_an_import_that_was_killed_goes_on_where_it_was(monkeypatch):
    job = upload({f"{number}.jpg": image_file(shade=number) for number in range(5)})
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
    assert (job.state, job.parts.get().done) == (JobState.RUNNING, 2)

    run(job, NOW + SOON)
    assert taken == ["0.jpg", "1.jpg", "2.jpg"]  # somebody else may still be at it
    assert leases.rows_to_nudge(ImportJob.objects.filter(kind=ImportKind.FILES), now=NOW + SOON) == []

    later = NOW + 5 * MINUTE
    assert leases.rows_to_nudge(ImportJob.objects.filter(kind=ImportKind.FILES), now=later) == [job.pk]
    run(job, later)

    part = job.parts.get()
    assert (job.state, part.state, part.done, part.total) == (JobState.DONE, JobState.DONE, 5, 5)
    assert taken == ["0.jpg", "1.jpg", "2.jpg", "2.jpg", "3.jpg", "4.jpg"]
    assert set(outcomes(job).values()) == {"added"}


def test_a_file_that_stops_the_worker_each_time_is_passed_over(monkeypatch):
    job = upload({"deadly.jpg": image_file(), "e.jpg": image_file(shade=10)})
    real = imports._add

    def dies(job, entry, file, **more):
        if entry.name == "deadly.jpg":
            raise KeyboardInterrupt
        return real(job, entry, file, **more)

    monkeypatch.setattr(imports, "_add", dies)
    for attempt in range(import_jobs.SKIP_AFTER_ATTEMPTS):
        with pytest.raises(KeyboardInterrupt):
            run(job, NOW + attempt * 5 * MINUTE)
    run(job, NOW + 60 * MINUTE)

    assert outcomes(job) == {"deadly.jpg": "rejected", "e.jpg": "added"}
    assert job.state == JobState.DONE


def test_who_lost_the_lease_writes_nothing_more():
    job = upload({"a.jpg": image_file()})
    mine = import_jobs.claim(job_id=job.pk, kind=ImportKind.FILES, now=NOW)
    later = NOW + 5 * MINUTE
    theirs = import_jobs.claim(job_id=job.pk, kind=ImportKind.FILES, now=later)
    assert mine is not None
    assert theirs is not None

    with pytest.raises(LeaseLostError):
        import_jobs.extend(mine, now=later)
    import_jobs.finish(mine, now=later)

    job.refresh_from_db()
    assert job.state == JobState.RUNNING
    assert default_storage.exists(f"{job.folder}/1")


def test_an_interrupted_command_is_closed_when_the_sweep_sends_its_job(folder):
    job = ImportJob.objects.create(
        kind=ImportKind.IMAGES, options={import_jobs.IS_INLINE: True}, state=JobState.RUNNING, lease_until=NOW
    )
    run(job, NOW + MINUTE)
    assert job.state == JobState.FAILED
    assert "Run it again" in job.error


def test_a_lost_message_is_sent_again_but_not_with_every_sweep():
    job = upload({"a.jpg": image_file()})
    assert leases.rows_to_nudge(ImportJob.objects.filter(kind=ImportKind.FILES), now=NOW) == [job.pk]
    assert leases.rows_to_nudge(ImportJob.objects.filter(kind=ImportKind.FILES), now=NOW) == []
    assert leases.rows_to_nudge(ImportJob.objects.filter(kind=ImportKind.FILES), now=NOW + 2 * MINUTE) == [job.pk]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_imports_of_the_same_images_at_the_same_time_store_each_once(folder):
    for number in range(6):
        (folder / f"{number}.jpg").write_bytes(image_file(shade=number))
    find_or_create_collection("Harbour")
    for name in ("One", "Two"):
        find_or_create_collection(name)

    done = together(lambda name: run_path(folder, name), ["Harbour", "Harbour", "One", "Two"])

    assert [job.state for job in done] == [JobState.DONE] * 4
    assert Image.objects.count() == 6
    assert CollectionImage.objects.count() == 18
    rows = ImportRow.objects.filter(job__in=done[:2])
    assert rows.filter(outcome=ImportOutcome.ADDED).count() == 6
    assert rows.filter(outcome=ImportOutcome.ALREADY).count() == 6


@pytest.mark.long(reason="at least three others run each of its lines")
def test_sizes_are_made_in_the_background_once(folder):
    (folder / "a.jpg").write_bytes(image_file(size=(1000, 800)))
    run_path(folder)
    image = Image.objects.get()
    assert image.state == JobState.QUEUED

    images.make_sizes(image_id=image.pk, now=NOW)

    image.refresh_from_db()
    assert (image.state, image.lease_until, image.attempts) == (JobState.DONE, None, 1)
    assert leases.rows_to_nudge(Image.objects.all(), now=timezone.now() + timedelta(days=1)) == []
    names = default_storage.listdir(f"sizes/{image.public_id.hex[:2]}/{image.public_id.hex}")[1]
    assert sorted(names) == ["1600.webp", "320.webp", "800.webp"]


def test_sizes_whose_maker_was_killed_are_made_by_the_next(image, monkeypatch):
    def dies(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(file_storage, "put", dies)
        with pytest.raises(KeyboardInterrupt):
            images.make_sizes(image_id=image.pk, now=NOW)
    assert leases.rows_to_nudge(Image.objects.all(), now=NOW + SOON) == []
    later = NOW + 5 * MINUTE
    assert leases.rows_to_nudge(Image.objects.all(), now=later) == [image.pk]
    images.make_sizes(image_id=image.pk, now=later)

    image.refresh_from_db()
    assert (image.state, image.attempts) == (JobState.DONE, 2)


def test_sizes_that_cannot_be_made_are_given_up_in_the_end(image):
    default_storage.delete(image.original)

    for attempt in range(images.MAX_ATTEMPTS):
        images.make_sizes(image_id=image.pk, now=NOW + attempt * 5 * MINUTE)

    image.refresh_from_db()
    assert image.state == JobState.FAILED
    assert "FileNotFoundError" in image.error
    assert leases.rows_to_nudge(Image.objects.all(), now=NOW + timedelta(days=1)) == []
