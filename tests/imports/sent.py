"""Files that somebody sends to a project, and what a worker does with them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from core.images.models import ImportJob
from core.people.models import Project, User
from office.imports.services import stages
from office.imports.services.file_imports import confirm, start_upload
from tests.factories import NOW, make_project


def run(job: ImportJob, now: datetime = NOW) -> ImportJob:
    """Do the next stage of a job."""
    stages.run(job_id=job.pk, clock=lambda: now, announce=lambda _image: None)
    job.refresh_from_db()
    return job


def send(
    content: bytes,
    file_name: str = "captions.jsonl",
    *,
    project: Project | None = None,
    by: User | None = None,
    **wish: Any,
) -> ImportJob:
    """Send one file, and look through it."""
    project = project or make_project()
    upload = SimpleUploadedFile(file_name, content)
    return run(start_upload(project=project, uploads=[upload], wish=wish, by=by or project.created_by))


def confirmed(*sent: Any, **about: Any) -> ImportJob:
    """Send one file and confirm its import, which then waits for a worker."""
    job = send(*sent, **about)
    confirm(job=job)
    job.refresh_from_db()
    return job
