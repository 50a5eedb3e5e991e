"""Import files of any layout in one job: a preview, then one part for each file, and the report of them all."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from core.images.models import ImportJob, ImportKind, ImportStage
from core.images.permissions import collections_in
from core.images.services import import_jobs, imports
from core.images.services.import_jobs import DATABASE_IS_GONE, Clock
from core.jobs.models import JobState
from core.jobs.services import leases
from core.people.models import Project, User
from gapgame.rules.item_sources import CHOICE_LIMITS, ItemChoice
from office.imports.services.previews import ImportGap, ImportWish, PreviewedFile, gaps_of, guessed_model, preview
from office.imports.services.sent_files import SentFiles, sent_files
from office.imports.services.taking import take

WISH, PREVIEW, GAPS, COLUMNS, TABLES = "wish", "preview", "gaps", "columns", "tables"
"""Options of a job: what somebody said, what was seen, what is still to be said, columns to be named, and tables."""
SHOWN_TABLES = 5
STOPPED = "stopped"
"""Option of a job: whether its import stopped before anything was stored, so that it waits for answers again."""

log = logging.getLogger(__name__)


class ImportRefusedError(Exception):
    """The import cannot go on; the message says why and what to do."""


def start_upload(
    *,
    project: Project,
    uploads: Iterable[UploadedFile[Any]],
    paths: Sequence[str] | None = None,
    wish: Mapping[str, Any],
    by: User,
) -> ImportJob:
    """Store uploaded files, and queue a job that looks through them. `wish` has fields of `ImportWish`."""
    folder, names = imports.keep_waiting(uploads)
    names = [path[: import_jobs.NAME_CHARACTERS] for path in paths] if paths else names
    return ImportJob.objects.create(
        kind=ImportKind.FILES,
        stage=ImportStage.PREVIEW,
        project=project,
        options={imports.FILE_NAMES: names, WISH: dict(wish)},
        source_name=names[0] if len(names) == 1 else _("%(count)s files") % {"count": len(names)},
        folder=folder,
        created_by=by,
    )


def answer(*, job: ImportJob, wish: Mapping[str, Any]) -> bool:
    """Look through the files again with other answers; returns whether there were others.

    After an import that stopped they are looked through again in any case. Raises ImportRefusedError.
    """
    if dict(wish) == job.options[WISH] and not job.options.get(STOPPED):
        return False
    options = job.options | {WISH: dict(wish), STOPPED: False}
    if not _waiting(job).update(options=options, state=JobState.QUEUED, attempts=0, error=""):
        raise ImportRefusedError(_("These files are being imported already."))
    return True


def confirm(*, job: ImportJob) -> None:
    """Let what was looked through be imported.

    Raises ImportRefusedError where something has still to be said, or somebody else was faster.
    """
    if gaps := job.options.get(GAPS):
        raise ImportRefusedError(gaps[0][1])
    again = {"state": JobState.QUEUED, "attempts": 0, "total": 0, "done": 0, "error": ""}
    # First rows may have names of people, and words of the game; nobody needs them any more.
    options = {name: value for name, value in job.options.items() if name != TABLES} | {STOPPED: False}
    if not _waiting(job).update(stage=ImportStage.IMPORT, options=options, **again):
        raise ImportRefusedError(_("These files are being imported already."))


def waits_for_answers(job: ImportJob) -> bool:
    """Whether its files were looked through, and nothing of them is stored or being stored."""
    is_over = job.state == JobState.DONE or (job.state == JobState.FAILED and job.options.get(STOPPED, False))
    return job.stage == ImportStage.PREVIEW and is_over


def _waiting(job: ImportJob) -> QuerySet[ImportJob]:
    """The row of a job that waits for answers, unless somebody was faster."""
    state = job.state if waits_for_answers(job) else JobState.DONE
    return ImportJob.objects.filter(pk=job.pk, stage=ImportStage.PREVIEW, state=state)


def wish_of(job: ImportJob) -> ImportWish:
    said = dict(job.options[WISH])
    among = collections_in(job.project, by=job.created_by)
    collection = among.filter(slug=said.pop("collection", "")).first()
    choice = ItemChoice(**{name: said.pop(name) for name in CHOICE_LIMITS if name in said})
    return ImportWish(project=job.project, collection=collection, choice=choice, by=job.created_by, **said)


def look_through(job: ImportJob, *, clock: Clock) -> None:
    """Store what uploaded files hold, so that somebody can read it before anything is imported."""
    renew = partial(_renew, job, clock)
    with _ended_if_it_fails(job, clock=clock), sent_files(job, renew=renew) as sent:
        wish = wish_of(job)
        paths = sent.paths()
        previewed = preview(paths, wish, after_each=renew)
        if model := guessed_model(previewed, wish):
            job.options[WISH]["model"] = model
            wish = wish_of(job)
            previewed = preview(paths, wish, after_each=renew)
        _show(job, previewed, gaps_of(previewed, wish), sent, clock=clock)


def _show(
    job: ImportJob,
    previewed: Sequence[PreviewedFile],
    gaps: Sequence[ImportGap],
    sent: SentFiles,
    *,
    clock: Clock,
    error: str = "",
) -> None:
    """Store what was seen; with an `error`, of an import that stopped before anything was stored."""
    for path, errors in sent.refused.items():
        about = next((one.file for one in previewed if path in (one.file.path, one.file.inside)), previewed[0].file)
        for refused in errors:
            about.add_problem(refused.reason, refused.name)
    tables = sorted((one for one in previewed if one.file.columns), key=lambda one: one.is_recognised)
    seen = {
        PREVIEW: [one.as_json() for one in previewed],
        GAPS: [list(gap) for gap in gaps],
        COLUMNS: list(dict.fromkeys(name for one in tables for name in one.file.columns if name)),
        TABLES: [one.first_rows_as_json() for one in tables[:SHOWN_TABLES]],
    }
    options = job.options | json.loads(sent.shown(json.dumps(seen), spelt=lambda name: json.dumps(name)[1:-1]))
    leases.finish_row(
        job, now=clock(), options=options | {STOPPED: bool(error)}, stage=ImportStage.PREVIEW, error=error
    )


def import_uploaded(job: ImportJob, *, clock: Clock, announce: imports.Announce) -> None:
    """Import what was confirmed, or continue it where a worker that died left it.

    Nothing is asked any more once a part has begun: what is in of it would be taken for somebody else's.
    """
    renew = partial(_renew, job, clock)
    with _ended_if_it_fails(job, clock=clock), sent_files(job, renew=renew) as sent:
        wish = wish_of(job)
        previewed = preview(sent.paths(), wish, after_each=renew)
        if not job.parts.exists() and (gaps := gaps_of(previewed, wish)):
            error = _("Something has changed since the preview, so nothing was imported. Look at it again.")
            _show(job, previewed, gaps, sent, clock=clock, error=error)
            return
        take(job, previewed, wish, shown=sent.shown, refused=sent.refused, clock=clock, announce=announce)


def import_local(
    previewed: Sequence[PreviewedFile], wish: ImportWish, *, clock: Clock, announce: imports.Announce
) -> ImportJob:
    """Import files of this machine at once that were looked through and have no gaps."""
    name = (
        Path(previewed[0].file.path) if len(previewed) == 1 else Path(_("%(count)s files") % {"count": len(previewed)})
    )
    job = import_jobs.start_inline(name, kind=ImportKind.FILES, collection=None, project=wish.project, clock=clock)
    take(job, previewed, wish, clock=clock, announce=announce)
    job.refresh_from_db()
    return job


def _renew(job: ImportJob, clock: Clock) -> None:
    job.lease_until = import_jobs.extend(job, now=clock())


@contextmanager
def _ended_if_it_fails(job: ImportJob, *, clock: Clock) -> Iterator[None]:
    """Limit the time without a result, and close the job with the reason where its files cannot be read."""
    try:
        with import_jobs.limited_time():
            yield
    except (*DATABASE_IS_GONE, leases.LeaseLostError):
        raise
    except FileNotFoundError:
        import_jobs.finish(job, now=clock(), error=_("The uploaded files are no longer there. Upload them again."))
    except import_jobs.ReadingTimeError:
        reason = _(
            "Reading a file went on for more than %(limit)d seconds without a result. Split it into smaller files."
        )
        import_jobs.finish(job, now=clock(), error=reason % {"limit": import_jobs.MAX_SILENT_S})
    except Exception as error:
        is_of_content = isinstance(error, ValueError | TypeError | LookupError | ArithmeticError)
        if import_jobs.may_pass(error) or (job.attempts == 1 and not is_of_content):
            raise
        log.exception("Import %s stopped.", job.pk)
        reason = _("An error stopped the import (%(error)s). For details, see the server log.")
        import_jobs.finish(job, now=clock(), error=reason % {"error": type(error).__name__})
