"""Deleting a project: all of it goes, nothing of others, and never half."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.files.storage import default_storage
from django.db import IntegrityError, connection
from django.db.models import Model
from django.urls import reverse
from django.utils import timezone

from annotation.models import Release, Round
from annotation.rules.campaign import UnfinishedBatches
from core.images.models import Collection, Image, ImportJob
from core.images.services import file_storage
from core.people.models import Project, ProjectDeletion, User
from core.people.permissions import project_for
from office.dashboard import tasks
from office.dashboard.services import project_deletion
from office.dashboard.services.project_deletion import ask_for_deletion, delete_project, remove_files, rows_of_projects
from office.dashboard.services.projects import LifecycleError, archive_project, restore_project
from research.inference.models import CaptioningModel
from tests.clients import client_of
from tests.doors.world import World
from tests.factories import NOW, make_captioner, make_collection, make_project, make_round
from tests.sweeping import sweep

pytestmark = pytest.mark.django_db


def counts() -> dict[str, int]:
    return {model.__name__: model._default_manager.count() for model in apps.get_models(include_auto_created=True)}


def rows_of_others(model: type[Model], path: tuple[str, ...], project_id: int) -> set[Any]:
    rows = model._default_manager
    mine = set(rows.filter(**{"__".join(path): project_id}).values_list("pk", flat=True))
    return set(rows.values_list("pk", flat=True)) - mine


def archived(project: Project) -> Project:
    return archive_project(
        project=project, assigned=UnfinishedBatches.RETURN, by=project.created_by, now=timezone.now()
    )


def deleted(project: Project) -> ProjectDeletion:
    deletion = ask_for_deletion(project=archived(project), by=project.created_by, now=timezone.now())
    delete_project(deletion_id=deletion.pk, now=timezone.now())
    remove_files(deletion_id=deletion.pk, now=timezone.now())
    deletion.refresh_from_db()
    return deletion


def test_no_row_of_any_model_is_left_and_no_file(world: World, media: Path):
    project = world.seeded.project
    job = ImportJob.objects.filter(project=project).first()
    assert job is not None
    ImportJob.objects.filter(pk=job.pk).update(folder="imports/waiting")
    file_storage.put("imports/waiting/1", b"x")
    release = Release.objects.get(project=project)
    assert default_storage.exists(release.folder)
    make_round()
    images, people = Image.objects.count(), User.objects.count()
    owned = [*Collection.objects.filter(project=project), *CaptioningModel.objects.filter(project=project)]
    assert owned
    of_others = {model: rows_of_others(model, path, project.pk) for model, path in rows_of_projects()}
    assert of_others[Round]

    deletion = deleted(project)

    assert not Project.objects.filter(pk=project.pk).exists()
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.concrete_fields:
            if field.related_model is Project:
                assert not model._default_manager.filter(**{field.attname: project.pk}).exists(), model
    for model, _path in rows_of_projects():
        assert set(model._default_manager.values_list("pk", flat=True)) == of_others[model], model
    # No foreign key leads to a row that is gone.
    connection.check_constraints()
    assert (Image.objects.count(), User.objects.count()) == (images, people)
    for thing in owned:
        thing.refresh_from_db()
        assert thing.project is None
    for name in (release.folder, release.archive, "imports/waiting/1"):
        assert not name or not default_storage.exists(name)
    assert (deletion.slug, deletion.project, deletion.asked_by) == (project.slug, None, project.created_by)
    assert deletion.done_at is not None
    assert deletion.lost["captions"] > 0
    assert deletion.files == []


def test_control_a_protected_row_keeps_django_from_deleting_it():
    round = make_round()
    with pytest.raises(Exception, match="protected"):
        round.project.delete()


def test_only_an_archived_project_is_deleted():
    project = make_round().project
    with pytest.raises(LifecycleError, match="Archive it first"):
        ask_for_deletion(project=project, by=project.created_by, now=NOW)
    assert not ProjectDeletion.objects.exists()


def test_its_page_shows_a_name_as_text():
    project = archived(make_project("lions"))
    Project.objects.update(name="<img src=x>")
    page = client_of(project.created_by).get(reverse("dashboard:project-delete", args=["lions"])).content.decode()
    assert "Type “&lt;img src=x&gt;” to confirm." in page
    assert "<img src=x" not in page


def test_once_asked_for_it_is_found_by_nobody_and_cannot_be_restored():
    project = archived(make_round().project)
    ask_for_deletion(project=project, by=project.created_by, now=NOW)
    with pytest.raises(Exception, match="no project"):
        project_for(project.created_by, project.slug)
    with pytest.raises(LifecycleError, match="being deleted"):
        restore_project(project=project, by=project.created_by, now=NOW)
    with pytest.raises(LifecycleError, match="already"):
        ask_for_deletion(project=project, by=project.created_by, now=NOW)


def test_the_sweep_finishes_what_a_killed_worker_left(media: Path):
    project = archived(make_round().project)
    deletion = ask_for_deletion(project=project, by=project.created_by, now=NOW)
    file_storage.put("releases/left/x", b"x")
    delete_project(deletion_id=deletion.pk, now=NOW)
    ProjectDeletion.objects.update(files=["releases/left"])
    sweep(tasks.delete_project)
    deletion.refresh_from_db()
    assert deletion.done_at is not None
    assert not default_storage.exists("releases/left/x")


@pytest.mark.postgres
def test_a_failure_half_way_changes_nothing(monkeypatch: pytest.MonkeyPatch):
    project = archived(make_round().project)
    deletion = ask_for_deletion(project=project, by=project.created_by, now=NOW)
    before = counts()
    real = project_deletion._delete

    def fail_at_the_end(rows: Any) -> None:
        if rows.model is Project:
            raise IntegrityError
        real(rows)

    monkeypatch.setattr(project_deletion, "_delete", fail_at_the_end)
    with pytest.raises(IntegrityError):
        delete_project(deletion_id=deletion.pk, now=NOW)
    assert counts() == before
    assert ProjectDeletion.objects.get(done_at=None) == deletion


def test_what_goes_back_to_its_maker_gets_another_name_where_they_have_one_of_that_name():
    round = make_round()
    maker = round.project.created_by
    collection = make_collection()
    theirs = make_captioner(collection, "Model", project=None, is_shared=False, created_by=maker)
    of_project = make_captioner(collection, "Model", project=round.project, is_shared=False, created_by=maker)
    deleted(round.project)
    of_project.refresh_from_db()
    assert (of_project.name, of_project.project) == (f"Model ({round.project.slug})", None)
    assert theirs.name == "Model"
