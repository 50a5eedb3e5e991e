"""`manage.py fetch_selected PROJECT NUMBER`: fetch the files of a selection from the web, a folder or a bucket."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.core.files.storage import FileSystemStorage, Storage
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.module_loading import import_string

from corpora.management.selections import selection_numbered
from corpora.services.downloads import PER_SECOND, StoredFiles
from corpora.services.fetching import FetchRefusedError, fetch_here
from images.management.reports import add_report, check_report, finish
from images.tasks import ask_for_sizes

BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
S3_SETTINGS = {"region": "region_name", "endpoint": "endpoint_url"}


class Command(BaseCommand):
    help = "Fetch the files of a confirmed selection that was made from candidates."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="the project's slug")
        parser.add_argument("number", type=int, help="number of the selection")
        places = parser.add_mutually_exclusive_group()
        places.add_argument("--folder", type=Path, help="take the files from this folder")
        places.add_argument("--s3", help="take the files from s3://BUCKET/FOLDER?region=…&endpoint=…")
        parser.add_argument(
            "--per-second", type=float, default=PER_SECOND, help="requests to one host a second (default: %(default)s)"
        )
        add_report(parser)

    def handle(self, *, project: str, number: int, **options: Any) -> None:
        check_report(options["report"])
        if not 0.01 <= options["per_second"] <= 100:
            raise CommandError("--per-second must be from 0.01 to 100.")
        selection = selection_numbered(project, number)
        storage = storage_of(options["folder"], options["s3"])
        try:
            job = fetch_here(
                selection=selection,
                source=StoredFiles(storage) if storage else None,
                per_second=options["per_second"],
                clock=timezone.now,
                announce=ask_for_sizes,
            )
        except FetchRefusedError as refused:
            raise CommandError(str(refused)) from refused
        finish(job, self, report=options["report"], strict=options["strict"])


def storage_of(folder: Path | None, bucket: str | None) -> Storage | None:
    if folder is not None:
        if not folder.is_dir():
            raise CommandError(f"There is no folder {folder}.")
        return FileSystemStorage(location=folder.resolve())
    if bucket is None:
        return None
    parts = urlsplit(bucket)
    given = parse_qs(parts.query, keep_blank_values=True)
    is_known = set(given) <= set(S3_SETTINGS) and all(len(values) == 1 and values[0] for values in given.values())
    endpoint = urlsplit(given.get("endpoint", ["https://s3"])[-1])
    is_endpoint = endpoint.scheme in ("http", "https") and bool(endpoint.netloc)
    if parts.scheme != "s3" or not is_known or not is_endpoint or not BUCKET.fullmatch(parts.netloc) or parts.fragment:
        raise CommandError(
            "--s3 must look like s3://BUCKET/FOLDER?region=eu-central-1&endpoint=https://s3.example.org."
        )
    storage: Storage = import_string("storages.backends.s3.S3Storage")(
        bucket_name=parts.netloc,
        location=parts.path.strip("/"),
        **{S3_SETTINGS[name]: value for name, [value] in given.items()},
    )
    return storage
