"""Imports as the tests run them: of a folder or of files that were sent, and what their reports say."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from django.core.files.uploadedfile import SimpleUploadedFile

from core.images.models import ImportJob
from core.images.services import imports
from core.images.services.collections import find_or_create_collection
from tests.factories import NOW, make_user


def run_path(path: Path, collection: str = "Harbour") -> ImportJob:
    return imports.import_path(
        path=path, collection=find_or_create_collection(collection), clock=lambda: NOW, announce=lambda image_id: None
    )


def upload(files: dict[str, bytes], collection: str = "Harbour") -> ImportJob:
    return imports.start_upload(
        collection=find_or_create_collection(collection),
        uploads=[SimpleUploadedFile(name, content) for name, content in files.items()],
        by=make_user(),
    )


def run(job: ImportJob, now=NOW) -> ImportJob:
    imports.run_import(job_id=job.pk, clock=lambda: now, announce=lambda image_id: None)
    job.refresh_from_db()
    return job


def report(job: ImportJob) -> dict[str, tuple[str, str]]:
    return {row.name: (row.outcome, row.reason) for row in job.rows.all()}


def outcomes(job: ImportJob) -> dict[str, str]:
    return {name: outcome for name, (outcome, _) in report(job).items()}


def zipped(files: dict[str, bytes]) -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return output.getvalue()
