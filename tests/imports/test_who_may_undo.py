"""Who may undo an import: those who may import the same now, whoever it was that imported it; and who may import."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from core.images.models import Collection, ImportJob, ImportKind, ImportStage
from core.jobs.models import JobState
from core.people.models import Membership, Project, Role
from core.people.services.accounts import delete_account
from office.imports.services.file_imports import confirm
from tests.clients import client_of
from tests.factories import NOW, make_collection, make_project, make_user
from tests.imports.sent import run, send

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]

OF_ALL = {ImportKind.CAPTIONS, ImportKind.REFERENCES, ImportKind.JUDGEMENTS}
PARTS = [kind for kind in ImportKind if kind != ImportKind.FILES]
MESSAGE = "Only managers of this project can do this."


@pytest.fixture
def project() -> Project:
    return make_project("lions")


@pytest.fixture
def collection(project: Project) -> Collection:
    return make_collection(images=1, project=project, is_shared=False)


def imported(project: Project, collection: Collection, kind: ImportKind) -> ImportJob:
    """An import by the manager of `project` that has one part of `kind`."""
    about = {"project": project, "created_by": project.created_by, "state": JobState.DONE}
    job = ImportJob.objects.create(kind=ImportKind.FILES, **about)
    ImportJob.objects.create(kind=kind, part_of=job, collection=collection, **about)
    return job


def is_undone(job: ImportJob) -> bool:
    job.refresh_from_db()
    return job.stage == ImportStage.UNDO


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("role", [Role.MANAGER, Role.RESEARCHER])
def test_it_takes_the_role_that_the_import_takes_now(project, collection, kind, role):
    on_page, by_program = (imported(project, collection, kind) for _ in range(2))
    Membership.objects.update(role=role)
    client = client_of(project.created_by)
    may = role == Role.MANAGER or kind in OF_ALL

    assert ("Undo the import" in client.get(reverse("imports:import-show", args=["lions", on_page.pk])).text) == may
    page = client.post(reverse("imports:import-undo", args=["lions", on_page.pk]))
    assert (page.status_code, is_undone(on_page)) == ((302, True) if may else (404, False))
    answer = client.post(f"/api/v1/projects/lions/imports/{by_program.pk}/undo/", content_type="application/json")
    assert (answer.status_code, is_undone(by_program)) == ((202, True) if may else (403, False))
    assert (MESSAGE in answer.text) == (not may)


def test_images_are_taken_out_by_those_who_may_change_their_collection(project, collection):
    job = imported(project, collection, ImportKind.IMAGES)
    Collection.objects.update(project=make_project("tigers"), is_shared=True)
    client = client_of(project.created_by)
    assert client.post(reverse("imports:import-undo", args=["lions", job.pk])).status_code == 404
    assert not is_undone(job)


def leave(job: ImportJob) -> None:
    Membership.objects.filter(user=job.created_by).delete()


def lose_their_account(job: ImportJob) -> None:
    assert job.created_by is not None
    Membership.objects.create(user=make_user("another"), project=job.project, role=Role.MANAGER)
    delete_account(user=job.created_by, now=NOW)


def become_nobody(job: ImportJob) -> None:
    ImportJob.objects.filter(pk=job.pk).update(created_by=None)


@pytest.mark.parametrize("gone", [leave, lose_their_account, become_nobody])
@pytest.mark.parametrize("line", [{"caption": "a", "model": "m", "language": "de"}, {"sentence": "a ___", "word": "b"}])
def test_nothing_comes_in_for_somebody_who_is_gone_when_it_begins(project, collection, gone, line):
    content = json.dumps({"image": collection.entries.get().key, "images": ["b1"], **line}).encode()
    job = send(content, "m.jsonl", project=project, collection=collection.slug)
    assert job.options["gaps"] == []
    confirm(job=job)
    gone(job)
    assert run(job).state == JobState.FAILED
    assert "is no longer a manager or researcher" in job.options["gaps"][0][1]
    assert "Something has changed since the preview" in job.error
    assert not job.parts.exists()
