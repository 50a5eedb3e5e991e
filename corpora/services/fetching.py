"""Fetch the files of a selection's candidates, one image in one transaction with its row of the report."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from corpora.models import Candidate, SelectedImage, Selection
from corpora.services.downloads import PER_SECOND, FetchFailedError, Source, Web, check_sum
from corpora.services.selections import SelectionRefusedError, add_fetched
from crosslens_metrics.formats.problems import FileRefusedError
from images.models import OPEN_STATES, ImportJob, ImportKind, JobState, Outcome
from images.rules.image_checks import ImageRefusedError
from images.rules.manifests import Attribution
from images.services import jobs, leases
from images.services.collections import KeyTakenError, file_name_of
from images.services.images import image_of, store_original
from images.services.imports import NOT_OF_ONE_FILE, Announce, unexpected
from images.services.jobs import Clock
from people.models import User
from people.services import audit_log

SELECTION, PER_SECOND_OPTION, BACK = "selection", "per_second", "back"
LONGEST_SOURCE = 1000
BEAT_S = 10.0

log = jobs.log


class FetchRefusedError(Exception):
    """Nothing can be fetched; the message says why and what to do."""


def start_fetch(*, selection: Selection, back: str = "", by: User | None, clock: Clock) -> ImportJob:
    """Queue a job that fetches from the web what a confirmed selection still lacks.

    Raises
    ------
    FetchRefusedError
    """
    with transaction.atomic():
        _check(selection, by=by)
        _record(selection, "fetch_started", by=by, now=clock(), waiting=waiting_for_files(selection).count())
        return ImportJob.objects.create(**_job_options(selection, back), source_name=selection.name, created_by=by)


def fetch_here(
    *, selection: Selection, source: Source | None, per_second: float = PER_SECOND, clock: Clock, announce: Announce
) -> ImportJob:
    """Fetch at once, from `source` or, if there is none, from the web.

    Raises
    ------
    FetchRefusedError
    """
    options = _job_options(selection)
    with transaction.atomic():
        _check(selection, by=None, is_here=True)
        _record(selection, "fetch_started", by=None, now=clock(), waiting=waiting_for_files(selection).count())
        job = ImportJob.objects.create(
            **options | {"options": options["options"] | {PER_SECOND_OPTION: per_second, jobs.IS_INLINE: True}},
            source_name=selection.name,
            state=JobState.RUNNING,
            lease_until=clock() + leases.LEASE,
            attempts=1,
        )
    _run(job, source, clock=clock, announce=announce)
    job.refresh_from_db()
    return job


def run_fetch(*, job_id: int, clock: Clock, announce: Announce) -> None:
    """Run a job, or continue it where a worker that died left it."""
    jobs.run(
        job_id=job_id,
        kind=ImportKind.FETCH,
        clock=clock,
        work=lambda job: _run(job, None, clock=clock, announce=announce),
    )


def waiting_for_files(selection: Selection) -> QuerySet[SelectedImage]:
    """Find the chosen candidates whose files have not been fetched."""
    rows = selection.selected_images.filter(image__isnull=True, candidate__isnull=False)
    return rows.select_related("candidate").order_by("language", "position")


def _check(selection: Selection, *, by: User | None, is_here: bool = False) -> None:
    audit_log.lock(selection.project, by)
    selection = Selection.objects.select_for_update(no_key=True, of=("self",)).get(pk=selection.pk)
    if selection.candidates_id is None:
        raise FetchRefusedError(_("The images of this selection are stored already."))
    if selection.confirmed_at is None:
        raise FetchRefusedError(_("Confirm the selection first."))
    if not waiting_for_files(selection).exists():
        raise FetchRefusedError(_("The files of all images have been fetched."))
    going = ImportJob.objects.filter(
        kind=ImportKind.FETCH, state__in=OPEN_STATES, **{f"options__{SELECTION}": selection.pk}
    )
    if is_here:
        # A command that was killed is closed by the sweep; the next one need not wait for it.
        going = going.exclude(**{f"options__{jobs.IS_INLINE}": True})
    if going.exists():
        raise FetchRefusedError(_("The files are being fetched. Wait until that has ended."))


def _job_options(selection: Selection, back: str = "") -> dict[str, Any]:
    options = {SELECTION: selection.pk, BACK: back}
    about = {"project": selection.project, "collection": selection.collection}
    return {"kind": ImportKind.FETCH, "options": options, **about}


def _run(job: ImportJob, source: Source | None, *, clock: Clock, announce: Announce) -> None:
    with jobs.to_the_end(job, clock=clock) as last_row:
        selection = Selection.objects.filter(pk=job.options[SELECTION]).first()
        if selection is None:
            raise FileRefusedError(_("The selection was discarded."))
        fetched = _Fetch(job, source, last_row, clock, announce)
        # An image of this job that failed is tried again by the next job.
        failed = _failed(job)
        waiting = [row for row in waiting_for_files(selection) if row.key not in failed]
        ImportJob.objects.filter(pk=job.pk).update(total=last_row + len(waiting))
        for row in waiting:
            fetched.take(row)
        counts = {"fetched": job.rows.filter(outcome=Outcome.ADDED).count(), "failed": len(_failed(job))}
        _record(selection, "fetched", by=job.created_by, now=clock(), **counts)


def _failed(job: ImportJob) -> set[str]:
    return set(job.rows.filter(outcome=Outcome.REJECTED).values_list("name", flat=True))


def _record(selection: Selection, verb: str, *, by: User | None, now: datetime, **details: int) -> None:
    action, about = f"selection.{verb}", f"selection {selection.number}"
    audit_log.record(project=selection.project, action=action, about=about, by=by, now=now, details=details)


class _Fetch:
    """One run of a job."""

    def __init__(self, job: ImportJob, source: Source | None, number: int, clock: Clock, announce: Announce) -> None:
        self.job, self.number, self.clock, self.announce = job, number, clock, announce
        per_second = job.options.get(PER_SECOND_OPTION, PER_SECOND)
        self.source = source or Web(per_second=per_second, pause=self._pause, beat=self._beat)
        self.beaten_s = time.monotonic()

    def take(self, row: SelectedImage) -> None:
        assert row.candidate is not None
        self.job.lease_until = jobs.extend(self.job, now=self.clock())
        self.number += 1
        try:
            self._add(row, row.candidate)
            return
        except (FetchFailedError, ImageRefusedError, KeyTakenError, SelectionRefusedError) as refused:
            reason = str(refused)
        except NOT_OF_ONE_FILE:
            raise
        except Exception as error:
            log.exception("Fetch %s: image %s could not be taken.", self.job.pk, row.key)
            reason = unexpected(error)
        with transaction.atomic():
            line = jobs.row(self.job, self.number, row.key, Outcome.REJECTED, reason)
            self.job.lease_until = jobs.report(self.job, [line], now=self.clock())

    def _add(self, row: SelectedImage, candidate: Candidate) -> None:
        with self.source.fetch(candidate) as file:
            check_sum(file, candidate.checksum)
            size_bytes = file.seek(0, 2)
            name = file_name_of(candidate.address) or row.key
            sha256, facts = store_original(file, name=name, size_bytes=size_bytes)
        now = self.clock()
        with transaction.atomic():
            image, is_new, filled_in, _kept = image_of(
                sha256=sha256,
                facts=facts,
                attribution=_attribution(candidate),
                size_bytes=size_bytes,
                job=self.job,
                now=now,
            )
            add_fetched(selected=row, image=image, file_name=file_name_of(candidate.address), is_new=is_new)
            if is_new:
                self.announce(image.pk)
            line = jobs.row(self.job, self.number, row.key, Outcome.ADDED, "", image, filled_in)
            self.job.lease_until = jobs.report(self.job, [line], now=now)

    def _pause(self, seconds: float) -> None:
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            time.sleep(min(left_s, BEAT_S))
            self._beat()

    def _beat(self) -> None:
        """Renew the lease, now and then."""
        if time.monotonic() - self.beaten_s >= BEAT_S:
            self.job.lease_until = jobs.extend(self.job, now=self.clock())
            self.beaten_s = time.monotonic()


def _attribution(candidate: Candidate) -> Attribution:
    names = ("title", "author", "licence", "licence_url", "latitude", "longitude")
    source = candidate.address if len(candidate.address) <= LONGEST_SOURCE else ""
    return Attribution(key=candidate.key, source=source, **{name: getattr(candidate, name) for name in names})
