"""Archive and restore a project, copy its settings without people and captions, and leave images out of results."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _

from annotation.models import GuidelineExample, Guidelines, Round, RoundKind, RoundState
from annotation.rules.campaign import PILOT_IMAGES, UnfinishedBatches
from annotation.services.campaign import LanguageBeginning, UnfinishedBatchesError, begin_language
from annotation.services.tallies import figures_changed
from core.allocation.models import Batch, BatchState
from core.allocation.services.lifecycle import expire_batches, return_batches
from core.allocation.services.locks import lock_pools
from core.images.models import Collection, CollectionImage
from core.images.services.collections import CollectionUsedError, record_change
from core.people.models import EMAIL_KINDS, ConsentText, Project, ProjectDeletion, TextKind, TextTranslation, User
from core.people.services import audit_log
from core.people.services.members import create_project
from office.dashboard.selectors.project_contents import pools_of, uses_of_image
from office.practice.models import PracticeSet
from office.practice.selectors.texts import TEXT_KINDS, newest_set
from office.recruitment.models import HourlyRate
from research.selection.models import LanguageTable
from sxs_eval.models import Instructions


class LifecycleError(Exception):
    """The project cannot be changed so; the message says why and what to do."""


def rename_project(*, project: Project, name: str, description: str, by: User, now: datetime) -> None:
    """Change the name and the description; the short name in addresses stays, so that links keep working."""
    with transaction.atomic():
        audit_log.lock(project, by)
        project.refresh_from_db()
        before = {"name": project.name, "description": project.description}
        after = {"name": name, "description": description}
        if before == after:
            return
        Project.objects.filter(pk=project.pk).update(**after)
        audit_log.record(
            project=project,
            action="project.renamed",
            about=project.slug,
            by=by,
            now=now,
            details={"before": before, "after": after},
        )
    project.name, project.description = name, description


def archive_project(*, project: Project, by: User, now: datetime, assigned: UnfinishedBatches | None = None) -> Project:
    """Archive a project: from then on nobody gets work in it. `assigned` says what happens to unfinished batches.

    Repeating it changes nothing.

    Raises UnfinishedBatchesError: there are unfinished batches, and `assigned` was not given.
    """
    with transaction.atomic():
        # Who is assigned a batch of a pool meanwhile has it before this, and counts; the next is refused.
        batches = Batch.objects.filter(pool__in=lock_pools(pools_of(project)))
        expire_batches(batches=batches, now=now)
        unfinished = list(batches.filter(state=BatchState.OPEN).select_related("person"))
        if unfinished and assigned is None:
            raise UnfinishedBatchesError(unfinished, _("Choose whether people finish them or they are returned."))
        if assigned == UnfinishedBatches.RETURN:
            return_batches(batches=batches, now=now)
        audit_log.lock(project, by)
        if Project.objects.filter(pk=project.pk, archived_at=None).update(archived_at=now):
            details = {"batches": len(unfinished), "assigned": str(assigned) if unfinished and assigned else ""}
            audit_log.record(
                project=project, action="project.archived", about=project.slug, by=by, now=now, details=details
            )
    project.refresh_from_db()
    return project


def restore_project(*, project: Project, by: User, now: datetime) -> None:
    """Take a project out of the archive, with rounds, invitations and batches as they were. Repeating changes nothing.

    Raises LifecycleError if its deletion was asked for.
    """
    with transaction.atomic():
        audit_log.lock(project, by)
        if ProjectDeletion.objects.filter(project=project).exists():
            raise LifecycleError(_("This project is being deleted. It cannot be restored any more."))
        if Project.objects.filter(pk=project.pk, archived_at__isnull=False).update(archived_at=None):
            audit_log.record(project=project, action="project.restored", about=project.slug, by=by, now=now)
    project.refresh_from_db()


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
            about = {name: getattr(text, name) for name in ("on_withdrawal", "licence", "contact")}
            ConsentText.objects.filter(project=made).update(**about)
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
    newest |= {text: newest_set(project, kind) for kind, text in TEXT_KINDS.items()}
    for kind, original in newest.items():
        if original is None:
            continue
        published = TextTranslation.objects.filter(
            project=project, kind=kind, version=original.version, published_at__isnull=False
        ).order_by("revision")
        for translation in {one.language_id: one for one in published}.values():
            _copy(translation, project=made, version=1, revision=1)
    # Each version of an e-mail is what was published in English of the one before.
    for translation in TextTranslation.objects.filter(
        project=project, kind__in=EMAIL_KINDS, published_at__isnull=False
    ):
        _copy(translation, project=made)


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


def take_out_image(*, entry: CollectionImage, by: User, now: datetime) -> None:
    """Take an image out of its collection. The image stays stored, with what models wrote about it.

    Raises CollectionUsedError: something was made of it there.
    """
    with transaction.atomic():
        Collection.objects.select_for_update(of=("self",)).get(pk=entry.collection_id)
        if uses_of_image(entry):
            raise CollectionUsedError(_("This image is in use, so it cannot be taken out."))
        CollectionImage.objects.filter(pk=entry.pk).delete()
        record_change(entry.collection, "image-taken-out", by=by, now=now, key=entry.key)


def leave_out_image(*, entry: CollectionImage, reason: str, by: User, now: datetime) -> bool:
    """Leave an image out of what is computed over its collection from now on; False if it was left out already.

    Work on it that was given out or is open goes on and is kept. Releases that were requested stay as they are.
    """
    return _change(entry, excluded_at=now, reason=reason, by=by, now=now)


def count_image_again(*, entry: CollectionImage, by: User, now: datetime) -> bool:
    """Take an image into results again; False if it was not left out."""
    return _change(entry, excluded_at=None, reason="", by=by, now=now)


def _change(entry: CollectionImage, *, excluded_at: datetime | None, reason: str, by: User, now: datetime) -> bool:
    is_in = excluded_at is not None
    with transaction.atomic():
        others = CollectionImage.objects.filter(pk=entry.pk, excluded_at__isnull=is_in)
        if not others.update(excluded_at=excluded_at, exclusion_reason=reason):
            return False
        # Scores follow by themselves: the sweep sees that their images changed.
        rounds = Round.objects.filter(collection=entry.collection_id).order_by("pk")
        for round_id in rounds.values_list("pk", flat=True):
            figures_changed(round_id=round_id)
        details = {"reason": reason} if reason else {}
        what = "image-left-out" if is_in else "image-counted-again"
        record_change(entry.collection, what, by=by, now=now, key=entry.key, **details)
    return True
