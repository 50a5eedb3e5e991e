"""Find scorings whose captions or references have changed since."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Max, Q

from core.images.models import ImportJob, ImportKind
from core.jobs.models import OPEN_STATES
from research.scoring.models import Pass, Scoring
from research.scoring.selectors.setup import marks_of, material_of
from research.scoring.services.reference_translations import is_being_translated
from research.scoring.services.scorings import ask_again


def ask_where_changed(*, now: datetime) -> list[int]:
    """Create new passes for all scorings that need one; returns them. Earlier passes stay as history.

    While captions are being imported or translated it waits for the end: not every part of a file is worth a pass.
    """
    asked = [ask_again(scoring=scoring, now=now) for scoring in _changed()]
    return [new_pass.pk for new_pass in asked if new_pass is not None]


def _changed() -> Iterator[Scoring]:
    newest = Pass.objects.values("scoring").annotate(newest=Max("pk")).values("newest")
    ended = Pass.objects.filter(pk__in=newest).exclude(state__in=OPEN_STATES)
    # Without a mark it ended before anything was read, and would again.
    passes = list(
        ended.exclude(captions_mark="").select_related("scoring__references", "scoring__model").defer("image_ids")
    )
    marks = marks_of(done.scoring for done in passes)
    for done in passes:
        scoring, references = done.scoring, done.scoring.references
        has_new_references = done.references_digest != references.digest
        has_new_mark = done.captions_mark != marks[scoring.pk]
        if not (has_new_references or has_new_mark) or _is_importing(scoring):
            continue
        if has_new_references or _has_new_captions(done):
            yield scoring


def _has_new_captions(done: Pass) -> bool:
    """Whether other captions are scored now than then; if not, their mark is stored, to avoid another check."""
    material = material_of(done.scoring)
    if material.captions_digest != done.captions_digest:
        return True
    Pass.objects.filter(pk=done.pk).update(captions_mark=material.mark)
    return False


def _is_importing(scoring: Scoring) -> bool:
    of_captions = Q(kind=ImportKind.CAPTIONS, options__language=scoring.references.language_id)
    of_captions &= Q(options__model=scoring.model.name)
    of_references = Q(kind=ImportKind.REFERENCES, options__project=scoring.project_id)
    imports = ImportJob.objects.filter(of_captions | of_references, state__in=OPEN_STATES)
    return imports.exists() or is_being_translated([scoring.references]).exists()
