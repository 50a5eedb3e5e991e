"""Import captions of models by hundreds of lines, each with its row of the report in one transaction."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path

from django.db import transaction
from django.utils.translation import gettext as _

from core.images.models import Collection, Image, ImportJob, ImportKind, ImportOutcome, ImportRow
from core.images.permissions import collections_in
from core.images.selectors.filters import ImageSearch, NamedImages
from core.images.services import import_jobs
from core.images.services.import_jobs import Clock
from core.images.services.imports import Opener, run_local_file, unexpected_error_text
from core.languages.models import Language
from core.people.models import Project, User
from crosslens_metrics.formats.caption_rows import CaptionRow
from crosslens_metrics.formats.counted_captions import differing_captions
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.recognised_files import CaptionPlace
from crosslens_metrics.formats.recognition import captions_of
from crosslens_metrics.formats.records import count_lines
from research.inference.models import CaptioningModel, ModelCaption
from research.inference.permissions import may_steer, models_in
from research.inference.rules.captions import ModelText, texts_of_models

log = logging.getLogger(__name__)

LINES_PER_TRANSACTION = 250


def import_path(
    *,
    path: Path,
    model: str = "",
    language: Language | None = None,
    collection: Collection | None,
    project: Project | None = None,
    otherwise: str = "",
    said: Mapping[str, str] | None = None,
    folder: str = "",
    written_by: str = "",
    differing: Container[CaptionPlace] = (),
    opened: Opener | None = None,
    part_of: ImportJob | None = None,
    clock: Clock,
) -> ImportJob:
    """Import a file of this machine at once; a new model belongs to `project`, or is shared with all.

    Without `model` or `language`, the lines have to say theirs, or are in the language with the tag `otherwise`. `said`
    names columns, as `layout_of` takes them. `path` is what the report calls a file that is `opened` elsewhere.
    Images are looked for in `folder` first. With `written_by` only captions by models or by
    people are read, and nothing is taken of the places where the file has `differing` captions.
    """
    options = {"model": model, "language": language.tag if language else "", "otherwise": otherwise}
    return run_local_file(
        path,
        partial(_run, differing=differing),
        opened=opened,
        kind=ImportKind.CAPTIONS,
        collection=collection,
        project=project,
        options=options
        | {"is_shared": project is None, "map": dict(said or {}), "folder": folder, "written_by": written_by},
        part_of=part_of,
        clock=clock,
    )


def _run(job: ImportJob, open_file: Opener, *, differing: Container[CaptionPlace], clock: Clock) -> None:
    with import_jobs.to_the_end(job, clock=clock) as last, open_file() as file:
        job.lease_until = import_jobs.extend(job, now=clock())
        ImportJob.objects.filter(pk=job.pk).update(total=count_lines(file))
        about = {name: job.options.get(name, "") for name in ("folder", "written_by")}
        among = collections_in(job.project, by=job.created_by)
        search = ImageSearch(job.collection, among=among, images=Image.objects.only("pk"))
        rows = (row for row in captions_of(file, said=job.options.get("map"), **about) if row.number > last)

        def take(chunk: Sequence[CaptionRow | LineError]) -> None:
            _take_in_models(job, chunk, now=clock())
            import_jobs.report_stored(
                job, lambda: _ChunkOfCaptions(job, search, chunk, differing).stored(), clock=clock
            )

        def reject(row: CaptionRow | LineError, error: Exception) -> None:
            log.error("Import %s: line %s could not be taken.", job.pk, row.number, exc_info=error)
            row_of_report = import_jobs.report_row(
                job, row.number, _nameless(row.number), ImportOutcome.REJECTED, unexpected_error_text(error)
            )
            with transaction.atomic():
                job.lease_until = import_jobs.write_report(job, [row_of_report], now=clock())

        while chunk := list(islice(rows, LINES_PER_TRANSACTION)):
            import_jobs.take_together(chunk, take, reject)


class _ChunkOfCaptions:
    """Some lines of a file, stored together."""

    def __init__(
        self,
        job: ImportJob,
        search: ImageSearch,
        chunk: Sequence[CaptionRow | LineError],
        differing: Container[CaptionPlace],
    ) -> None:
        self.job, self.search, self.chunk, self.differing = job, search, chunk, differing
        self.known = set(Language.objects.values_list("pk", flat=True))
        self.models: dict[str, CaptioningModel | None] = {}
        self.refusals: dict[str, str] = {}
        self.stored_texts: dict[tuple[str, str], dict[int, str]] = {}
        self.fresh: list[tuple[str, str, Image, str]] = []

    def stored(self) -> list[ImportRow]:
        named = [row for row in self.chunk if isinstance(row, CaptionRow)]
        self.images_of = self.search.of_names(row.names for row in named)
        found = (self.images_of[row.names].only for row in named)
        self.image_ids = [image.pk for image in found if image is not None]
        rows = [self._taken(row) if isinstance(row, CaptionRow) else self._refused(row) for row in self.chunk]
        by = {
            name: self.models[name] or _model_of_job(self.job, name)
            for name in dict.fromkeys(one[0] for one in self.fresh)
        }
        # In the order in which runs store them, so that neither waits for the other's for ever.
        self.fresh.sort(key=lambda one: one[2].pk)
        ModelCaption.objects.bulk_create(
            ModelCaption(model=by[name], image=image, language_id=tag, text=text, import_job=self.job)
            for name, tag, image, text in self.fresh
        )
        return rows

    def _refused(self, line: LineError) -> ImportRow:
        name, counts = line.name or _nameless(line.number), {ImportOutcome.REJECTED: line.lost}
        return import_jobs.report_row(self.job, line.number, name, ImportOutcome.REJECTED, line.reason, counts=counts)

    def _taken(self, row: CaptionRow) -> ImportRow:
        options, image = self.job.options, self.images_of[row.names]
        counts: Counter[ImportOutcome] = Counter()
        reasons: dict[str, None] = {}
        hidden = 0
        for text in texts_of_models(
            row, model=options["model"], language=options["language"], otherwise=options.get("otherwise", "")
        ):
            if isinstance(text, LineError):
                outcome, reason = ImportOutcome.REJECTED, text.reason
            else:
                outcome, reason = self._outcome(text, image, CaptionPlace(row.name, text.language, text.model))
            counts[outcome] += text.captions if isinstance(text, LineError) else 1
            hidden += isinstance(text, ModelText) and text.had_hidden and outcome != ImportOutcome.REJECTED
            reasons |= {reason: None} if reason else {}
        if not counts:
            counts[ImportOutcome.REJECTED], reasons = 1, {_("There is no caption."): None}
        outcome = next(one for one in ImportOutcome if counts[one])
        only = None if outcome == ImportOutcome.REJECTED else image.only
        return import_jobs.report_row(
            self.job, row.number, row.name, outcome, " ".join(reasons), only, counts=counts, had_hidden=hidden
        )

    def _outcome(self, text: ModelText, named: NamedImages, place: CaptionPlace) -> tuple[ImportOutcome, str]:
        if text.language not in self.known:
            problem = _("There is no language %(tag)s on this installation.") % {"tag": text.language}
            return ImportOutcome.REJECTED, problem
        if problem := named.problem or self._why_not_into(text.model):
            return ImportOutcome.REJECTED, problem
        if place in self.differing:
            return ImportOutcome.REJECTED, differing_captions()
        image = named.images[0]
        texts = self._stored_texts(text.model, text.language)
        there = texts.get(image.pk)
        if there is None:
            texts[image.pk] = text.text
            self.fresh.append((text.model, text.language, image, text.text))
            return ImportOutcome.ADDED, ""
        if there == text.text:
            return ImportOutcome.ALREADY, _("The model already has this caption for the image.")
        return ImportOutcome.REJECTED, _(
            "The model already has another caption for the image. It is never changed, because people may have "
            "rated it. Import this one under another model name."
        )

    def _why_not_into(self, name: str) -> str:
        if name not in self.models:
            project, by = self.job.project, self.job.created_by
            self.models[name] = model_to_fill(name, project, by=by)
            self.refusals[name] = why_not_into(name, project, by=by) if by else ""
        return self.refusals[name]

    def _stored_texts(self, model: str, language: str) -> dict[int, str]:
        if (model, language) not in self.stored_texts:
            by, texts = self.models[model], dict[int, str]()
            if by is not None:
                captions = ModelCaption.objects.filter(model=by, language_id=language, image_id__in=self.image_ids)
                texts = dict(captions.values_list("image_id", "text"))
            self.stored_texts[model, language] = texts
        return self.stored_texts[model, language]


def model_to_fill(name: str, project: Project | None, *, by: User | None) -> CaptioningModel | None:
    """Find the model that an import for `project` adds to: the project's, or one of `by` that is in no project yet.

    Without a project, one of `by` or a shared one.
    """
    named = CaptioningModel.objects.filter(name=name)
    own = named.filter(project=None, created_by=by)
    if project is None:
        return (own | named.filter(is_shared=True)).order_by("is_shared").first()
    return named.filter(project=project).first() or (own.filter(is_shared=False).first() if by else None)


def why_not_into(name: str, project: Project | None, *, by: User) -> str:
    """Say why `by` cannot add captions to the model of this name, or return ""."""
    model = model_to_fill(name, project, by=by)
    if model is not None and not may_steer(by, model):
        return _("Only managers and researchers of its project can add captions to this model. Choose another name.")
    if model is None and models_in(project, by=by).filter(name=name).exists():
        return _("Another project shares a model with this name. Choose another name.")
    return ""


def _take_in_models(job: ImportJob, chunk: Sequence[CaptionRow | LineError], *, now: datetime) -> None:
    """Give the project of an import the models that it fills, if they are in none yet: otherwise there would be two."""
    rows = (row for row in chunk if isinstance(row, CaptionRow) and job.project is not None)
    for name in dict.fromkeys(job.options["model"] or given.model for row in rows for given in row.captions):
        model = model_to_fill(name, job.project, by=job.created_by)
        if model is not None and job.project is not None and model.project_id is None and not model.is_shared:
            # It brings backends and so numpy, which no process loads at its start.
            from research.inference.services.models import give_model

            give_model(model=model, project=job.project, is_shared=False, by=job.created_by, now=now)


def _model_of_job(job: ImportJob, name: str) -> CaptioningModel:
    is_shared = bool(job.options.get("is_shared"))
    owner = {"project": job.project, "is_shared": is_shared, "created_by": job.created_by}
    return CaptioningModel.objects.create(name=name, **owner)


def _nameless(number: int) -> str:
    return _("line %(number)s") % {"number": number}
