"""Import a model's captions by hundreds of lines, each with its row of the report in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils.translation import gettext as _

from core.images.models import Collection, Image, ImportJob, ImportKind, ImportOutcome, ImportRow
from core.images.permissions import collections_in
from core.images.selectors.filters import NamedImages, images_named
from core.images.services import import_jobs
from core.images.services.import_jobs import Clock
from core.images.services.imports import Opener, queue_file, run_local_file, run_queued_file, unexpected_error_text
from core.languages.models import Language
from core.people.models import Project, User
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.records import LineRecord, count_lines, json_records, read_record
from research.inference.models import CaptioningModel, ModelCaption
from research.inference.rules.captions import CaptionLine, caption_line

log = logging.getLogger(__name__)

LINES_PER_TRANSACTION = 250


def start_upload(
    *,
    model: str,
    language: Language,
    collection: Collection | None,
    project: Project | None = None,
    is_shared: bool = False,
    upload: UploadedFile[Any],
    by: User,
) -> ImportJob:
    """Store an uploaded file and queue a job to import it.

    `project` and `is_shared` are of the model, where it is made.
    """
    return queue_file(upload, **_job_options(model, language, collection, project, is_shared=is_shared), by=by)


def import_path(
    *,
    path: Path,
    model: str,
    language: Language,
    collection: Collection | None,
    project: Project | None = None,
    clock: Clock,
) -> ImportJob:
    """Import a file of this machine at once; a new model belongs to `project`, or is shared with all."""
    options = _job_options(model, language, collection, project, is_shared=project is None)
    return run_local_file(path, _run, **options, clock=clock)


def run_import(*, job_id: int, clock: Clock) -> None:
    run_queued_file(_run, job_id=job_id, kind=ImportKind.CAPTIONS, clock=clock)


def _job_options(
    model: str, language: Language, collection: Collection | None, project: Project | None, *, is_shared: bool
) -> dict[str, Any]:
    return {
        "kind": ImportKind.CAPTIONS,
        "collection": collection,
        "project": project,
        "options": {"model": model, "language": language.tag, "is_shared": is_shared},
    }


def _run(job: ImportJob, open_file: Opener, *, clock: Clock) -> None:
    with import_jobs.to_the_end(job, clock=clock) as last, open_file() as file:
        _take_in_model(job, now=clock())
        job.lease_until = import_jobs.extend(job, now=clock())
        ImportJob.objects.filter(pk=job.pk).update(total=count_lines(file))
        records = (record for record in json_records(file) if record.number > last)

        def take(chunk: Sequence[LineRecord | LineError]) -> None:
            import_jobs.report_stored(job, partial(_rows, job, chunk), clock=clock)

        def reject(record: LineRecord | LineError, error: Exception) -> None:
            log.error("Import %s: line %s could not be taken.", job.pk, record.number, exc_info=error)
            row = import_jobs.report_row(
                job, record.number, _nameless(record.number), ImportOutcome.REJECTED, unexpected_error_text(error)
            )
            with transaction.atomic():
                job.lease_until = import_jobs.write_report(job, [row], now=clock())

        while chunk := list(islice(records, LINES_PER_TRANSACTION)):
            import_jobs.take_together(chunk, take, reject)


def _rows(job: ImportJob, chunk: Sequence[LineRecord | LineError]) -> Iterator[ImportRow]:
    lines: dict[int, CaptionLine] = {}
    rows: dict[int, ImportRow] = {}
    for record in chunk:
        line = read_record(record, partial(caption_line, language=job.options["language"]))
        if isinstance(line, LineError):
            name = line.name or _nameless(record.number)
            rows[record.number] = import_jobs.report_row(job, record.number, name, ImportOutcome.REJECTED, line.reason)
        else:
            lines[record.number] = line
    among = collections_in(job.project, by=job.created_by)
    images_of = images_named({line.reference for line in lines.values()}, job.collection, among=among)
    by = model_to_fill(job.options["model"], job.project, by=job.created_by)
    found = [one.only.pk for one in images_of.values() if one.only is not None]
    stored = _stored_texts(by, job.options["language"], found)
    fresh: list[tuple[Image, str]] = []
    for number, line in lines.items():
        image = images_of[line.reference].only
        outcome, reason = _outcome(line, images_of[line.reference], stored)
        if outcome == ImportOutcome.ADDED and image is not None:
            stored[image.pk] = line.text
            fresh.append((image, line.text))
        hidden = int(line.had_hidden and outcome != ImportOutcome.REJECTED)
        rows[number] = import_jobs.report_row(job, number, line.reference, outcome, reason, image, had_hidden=hidden)
    if fresh:
        by = by or _model_of_job(job)
        # In the order in which runs store them, so that neither waits for the other's for ever.
        fresh.sort(key=lambda pair: pair[0].pk)
        ModelCaption.objects.bulk_create(
            ModelCaption(model=by, image=image, language_id=job.options["language"], text=text) for image, text in fresh
        )
    yield from (rows[record.number] for record in chunk)


def model_to_fill(name: str, project: Project | None, *, by: User | None) -> CaptioningModel | None:
    """Find the model that an import for `project` adds to: the project's, or one of `by` that is in no project yet.

    Without a project, one of `by` or a shared one.
    """
    named = CaptioningModel.objects.filter(name=name)
    own = named.filter(project=None, created_by=by)
    if project is None:
        return (own | named.filter(is_shared=True)).order_by("is_shared").first()
    return named.filter(project=project).first() or (own.filter(is_shared=False).first() if by else None)


def _take_in_model(job: ImportJob, *, now: datetime) -> None:
    """Give the project of an import the model that it fills, if that is in none yet: otherwise there would be two."""
    model = model_to_fill(job.options["model"], job.project, by=job.created_by)
    if model is not None and model.project_id is None and not model.is_shared and job.project is not None:
        # It brings backends and so numpy, which no process loads at its start.
        from research.inference.services.models import give_model

        give_model(model=model, project=job.project, is_shared=False, by=job.created_by, now=now)


def _model_of_job(job: ImportJob) -> CaptioningModel:
    is_shared = bool(job.options.get("is_shared"))
    owner = {"project": job.project, "is_shared": is_shared, "created_by": job.created_by}
    return CaptioningModel.objects.create(name=job.options["model"], **owner)


def _stored_texts(model: CaptioningModel | None, language: str, image_ids: Iterable[int]) -> dict[int, str]:
    if model is None:
        return {}
    captions = ModelCaption.objects.filter(model=model, language_id=language, image_id__in=list(image_ids))
    return dict(captions.values_list("image_id", "text"))


def _outcome(line: CaptionLine, named: NamedImages, stored: dict[int, str]) -> tuple[ImportOutcome, str]:
    if named.only is None:
        return ImportOutcome.REJECTED, named.problem
    text = stored.get(named.only.pk)
    if text is None:
        return ImportOutcome.ADDED, ""
    if text == line.text:
        return ImportOutcome.ALREADY, _("The model already has this caption for the image.")
    return ImportOutcome.REJECTED, _(
        "The model already has another caption for the image. It is never changed, because people may have "
        "rated it. Import this one under another model name."
    )


def _nameless(number: int) -> str:
    return _("line %(number)s") % {"number": number}
