"""Duplicate a project: its settings, without people, captions and what was made of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Model, QuerySet

from annotation.models import GuidelineExample, Guidelines, Round, RoundKind, RoundState
from annotation.rules.campaign import PILOT_IMAGES
from annotation.services.campaign import LanguageBeginning, begin_language
from core.people.models import ConsentText, Project, TextKind, TextTranslation, User
from core.people.services import audit_log
from core.people.services.members import create_project
from office.practice.models import PracticeSet
from office.recruitment.models import HourlyRate
from research.selection.models import LanguageTable
from sxs_eval.models import Instructions

ModelT = TypeVar("ModelT", bound=Model)


def duplicate_project(
    *, project: Project, name: str, languages: Sequence[Round], seed: int, by: User, now: datetime
) -> Project:
    """Make a project with the newest texts and settings of another; `languages` are the main rounds to begin again.

    `by` manages it. Every text begins with version 1.
    """
    with transaction.atomic():
        text = project.consent_texts.order_by("version").last()
        made = create_project(
            name=name, manager=by, description=project.description, consent_body=text.body if text else ""
        )
        audit_log.record(
            project=made, action="project.created", about=made.slug, by=by, now=now, details={"from": project.slug}
        )
        if text:
            ConsentText.objects.filter(project=made).update(on_withdrawal=text.on_withdrawal)
        _copy_guidelines(project, made, by)
        _copy_newest(Instructions.objects.filter(project=project).order_by("version"), made, version=1, created_by=by)
        _copy_newest(LanguageTable.objects.filter(project=project).order_by("number"), made, number=1, created_by=by)
        _copy_translations(project, made)
        _copy_practice(project, made, by)
        for rate in HourlyRate.objects.filter(project=project):
            _copy(rate, project=made)
        for main in languages:
            _begin(main, made, seed=seed, by=by, now=now)
        audit_log.record(project=project, action="project.duplicated", about=made.slug, by=by, now=now)
    return made


def _copy(row: ModelT, **changes: object) -> ModelT:
    """Store `row` again with changes; the row itself is not used any more."""
    row.pk = None
    row._state.adding = True
    for name, value in changes.items():
        setattr(row, name, value)
    row.save(force_insert=True)
    return row


def _copy_newest(rows: QuerySet[ModelT], made: Project, **changes: object) -> None:
    if newest := rows.last():
        _copy(newest, project=made, **changes)


def _copy_guidelines(project: Project, made: Project, by: User) -> None:
    newest = Guidelines.objects.filter(project=project).latest("version")
    examples = list(GuidelineExample.objects.filter(guidelines=newest))
    guidelines = _copy(newest, project=made, version=1, note="", created_by=by)
    for example in examples:
        _copy(example, guidelines=guidelines)


def _copy_translations(project: Project, made: Project) -> None:
    """Copy the last published translation of each newest text into each language."""
    newest: dict[TextKind, Any] = {
        TextKind.CONSENT: project.consent_texts.order_by("version").last(),
        TextKind.INSTRUCTIONS: project.rater_instructions.order_by("version").last(),
    }
    guidelines = project.guidelines.order_by("version").last()
    newest |= {TextKind.RATING: guidelines, TextKind.WRITING: guidelines}
    for kind, original in newest.items():
        if original is None:
            continue
        published = TextTranslation.objects.filter(
            project=project, kind=kind, version=original.version, published_at__isnull=False
        ).order_by("revision")
        for translation in {one.language_id: one for one in published}.values():
            _copy(translation, project=made, version=1, revision=1)


def _copy_practice(project: Project, made: Project, by: User) -> None:
    newest = {one.kind: one for one in PracticeSet.objects.filter(project=project).order_by("version")}
    for practice in newest.values():
        items = list(practice.items.all())
        copy = _copy(practice, project=made, version=1, counts_from=1, created_by=by)
        for item in items:
            _copy(item, practice=copy)


def _begin(main: Round, made: Project, *, seed: int, by: User, now: datetime) -> None:
    pilot = Round.objects.filter(project=main.project_id, language=main.language_id, kind=RoundKind.PILOT)
    first = pilot.order_by("number").first()
    skipped = first.reason if first and first.state == RoundState.SKIPPED else ""
    begin_language(
        project=made,
        language=main.language,
        collection=main.collection,
        captioners=list(main.captioners.all()),
        replication=main.pool.replication,
        batch_size=main.pool.batch_size,
        lease_s=main.pool.lease_s,
        seed=seed,
        beginning=LanguageBeginning((first and first.sample_size) or PILOT_IMAGES, skipped),
        by=by,
        now=now,
    )
