"""Delete an archived project: every row of every app that is of it, then its files.

Apps above a table protect their rows from being deleted with others by mistake. So the rows are found by following
the foreign keys of all models down from the project, and deleted from the far end, in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.apps import apps
from django.db import models, transaction
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _

from annotation.models import Release, Round
from core.allocation.models import Assignment, Batch, Pool, Task
from core.allocation.services.lifecycle import return_batches
from core.allocation.services.locks import lock_pools
from core.images.models import ImportJob
from core.images.services import file_storage
from core.people.models import Invitation, Membership, Owned, Project, ProjectDeletion, User
from core.people.services import audit_log
from gapgame.models import Player, Season
from office.dashboard.selectors.project_contents import contents_of, pools_of
from office.dashboard.services.projects import LifecycleError
from office.practice.models import PracticeAttempt
from office.recruitment.models import Participant, Study
from research.scoring.models import ReferenceSet, Scoring
from sxs_eval.models import Comparison
from sxs_eval.services.judgement_imports import stand_ins_of

Path = tuple[str, ...]


def ask_for_deletion(*, project: Project, by: User, now: datetime) -> ProjectDeletion:
    """Note that an archived project is to be deleted. From then on nobody finds it; `delete_project` does the rest.

    Raises LifecycleError.
    """
    with transaction.atomic():
        pools = lock_pools(pools_of(project))
        # Nobody submits to a batch that will be gone.
        return_batches(batches=Batch.objects.filter(pool__in=pools), now=now)
        audit_log.lock(project, by)
        if not Project.objects.filter(pk=project.pk, archived_at__isnull=False).exists():
            raise LifecycleError(_("Only an archived project can be deleted. Archive it first."))
        if ProjectDeletion.objects.filter(project=project).exists():
            raise LifecycleError(_("This project is being deleted already."))
        audit_log.record(project=project, action="project.deletion-asked", about=project.slug, by=by, now=now)
        return ProjectDeletion.objects.create(
            project=project,
            slug=project.slug,
            name=project.name,
            asked_at=now,
            asked_by=by,
            lost=contents_of(project),
        )


def delete_project(*, deletion_id: int, now: datetime) -> None:
    """Delete all rows of a project, or none. Repeating it changes nothing.

    What it owned (collections, models, runs) stays with those who made it.
    """
    with transaction.atomic():
        deletion = ProjectDeletion.objects.select_for_update(of=("self",), skip_locked=True).filter(
            pk=deletion_id, deleted_at=None
        ).first()  # fmt: skip
        if deletion is None or deletion.project is None:
            return
        # A save to a batch, or of a new row of the project, is over before this, or finds nothing.
        pools = _lock_all(deletion.project)
        project = Project.objects.select_for_update().get(pk=deletion.project.pk)
        deletion.files = files_of(project)
        deletion.project, deletion.deleted_at = None, now
        deletion.save(update_fields=["files", "project", "deleted_at"])
        _give_to_makers(project)
        stand_ins = stand_ins_of(Comparison.objects.filter(project=project))
        for model, path in rows_of_projects():
            _detach_and_delete(model._default_manager.filter(**{"__".join(path): project.pk}))
        _delete(Assignment.objects.filter(task__pool__in=pools))
        _delete(Batch.objects.filter(pool__in=pools))
        _delete(Task.objects.filter(pool__in=pools))
        _delete(Pool.objects.filter(pk__in=pools))
        _delete(Project.objects.filter(pk=project.pk))
        User.objects.filter(pk__in=stand_ins).delete()


def remove_files(*, deletion_id: int, now: datetime) -> None:
    """Remove the files of a project whose rows are gone; it can be repeated until nothing is left."""
    deletion = ProjectDeletion.objects.filter(pk=deletion_id, deleted_at__isnull=False, done_at=None).first()
    if deletion is None:
        return
    for name in deletion.files:
        file_storage.remove_all(name)
    ProjectDeletion.objects.filter(pk=deletion_id).update(files=[], done_at=now)


def files_of(project: Project) -> list[str]:
    """Return the names of all files and folders in storage that are of the project alone."""
    names: list[str] = []
    for folder, archive in Release.objects.filter(project=project).values_list("folder", "archive"):
        names += [folder, archive, f"{folder}.sqlite3" if folder else ""]
    names += ImportJob.objects.filter(project=project).values_list("folder", flat=True)
    return sorted({name for name in names if name})


def rows_of_projects() -> list[tuple[type[Model], Path]]:
    """Return every model whose rows are of one project, with the path to it; those that refer to others come first."""
    paths: dict[type[Model], Path] = {Project: ()}
    nearest: list[type[Model]] = [Project]
    # A path that may be empty does not find all rows, and is taken only where there is no other.
    for takes_empty in (False, True):
        for model in nearest:
            for other, field in _references_to(model):
                is_kept = field.remote_field.on_delete is models.SET_NULL or _is_owner(field)
                if other not in paths and not is_kept and (takes_empty or not field.null):
                    paths[other] = (field.name, *paths[model])
                    nearest.append(other)
    del paths[Project]
    return sorted(paths.items(), key=lambda each: -len(each[1]))


def _lock_all(project: Project) -> list[int]:
    """Lock what others lock first, in the order of docs/decisions/0039; returns the primary keys of the pools."""

    def of_project(*wanted: type[Model]) -> list[QuerySet[Any]]:
        return [model._default_manager.filter(project=project) for model in wanted]

    people = User.objects.filter(pk__in=Participant.objects.filter(study__project=project).values("user"))
    above = of_project(Membership, Round, Comparison)
    for rows in [*of_project(Study), people, *above]:
        _lock(rows)
    pools = lock_pools(pools_of(project))
    below = [
        Batch.objects.filter(pool__in=pools),
        *of_project(ReferenceSet, Season),
        Player.objects.filter(season__project=project),
        *of_project(Invitation, Scoring),
        PracticeAttempt.objects.filter(practice__project=project),
    ]
    for rows in [*below, *of_project(*_owned_models())]:
        _lock(rows)
    # Work refers to these rows when it is committed, and locked a batch or a player before. So the locks that keep
    # others from referring to them come when nobody is at work any more.
    for rows in [*above, *below]:
        _lock(rows, no_key=False)
    return pools


def _lock(rows: QuerySet[Any], *, no_key: bool = True) -> None:
    list(rows.order_by("pk").select_for_update(of=("self",), no_key=no_key).values_list("pk", flat=True))


def _references_to(model: type[Model]) -> Iterator[tuple[type[Model], Any]]:
    """Yield models with a foreign key to `model`; those that may be empty come last, as others say it for all rows."""
    found = [
        (other, field)
        for other in apps.get_models(include_auto_created=True)
        for field in other._meta.concrete_fields
        if field.remote_field and field.related_model is model
    ]
    yield from sorted(found, key=lambda each: each[1].null)


def _is_owner(field: Any) -> bool:
    return issubclass(field.model, Owned) and field.name == "project"


def _give_to_makers(project: Project) -> None:
    for model in _owned_models():
        for thing in model._default_manager.filter(project=project, is_shared=False):
            if hasattr(thing, "name"):
                _rename_namesake(thing, project)
        model._default_manager.filter(project=project).update(project=None)


def _owned_models() -> list[type[Model]]:
    return [model for model in apps.get_models() if issubclass(model, Owned)]


def _rename_namesake(thing: Any, project: Project) -> None:
    """Say which project something was of, if its maker has another of that name."""
    namesakes = type(thing)._default_manager.filter(
        project=None, is_shared=False, created_by=thing.created_by_id, name=thing.name
    )
    if namesakes.exists():
        longest = type(thing)._meta.get_field("name").max_length
        suffix = f" ({project.slug})"
        type(thing)._default_manager.filter(pk=thing.pk).update(name=thing.name[: longest - len(suffix)] + suffix)


def _detach_and_delete(rows: QuerySet[Any]) -> None:
    for other, field in _references_to(rows.model):
        if field.remote_field.on_delete is models.SET_NULL:
            other._default_manager.filter(**{f"{field.name}__in": rows}).update(**{field.name: None})
    _delete(rows)


def _delete(rows: QuerySet[Any]) -> None:
    # Not `delete`, which reads all rows, and those that refer to them, into memory first.
    rows._raw_delete(rows.db)
