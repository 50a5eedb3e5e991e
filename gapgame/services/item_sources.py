"""The input of an import of items: its lines, the images that come with them, embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import IO

from django.core.files.storage import default_storage

from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.records import Record, count_lines, json_records
from gapgame.formats import corpora
from gapgame.formats import multisubs as multisubs_files
from gapgame.formats.embeddings import Vectors, read_embeddings
from gapgame.rules import multisubs
from gapgame.rules.corpus_items import Choice
from gapgame.services.item_image_files import Files
from images.models import ImportJob
from images.rules import manifests
from images.services.imports import FILE_NAMES
from images.services.sources import ImportEntry, plan_of_path, plan_of_upload

OURS, MULTISUBS = "crosslens", "multisubs"
LAYOUTS = (OURS, MULTISUBS)
ITEMS_FILE, EMBEDDINGS_FILE = "items", "embeddings"


@dataclass(frozen=True)
class Source:
    """The opened input of an import."""

    records: Iterator[Record | LineError]
    total: int
    files: Files
    embeddings: Vectors = field(default_factory=dict)


def source_of_upload(job: ImportJob, stack: ExitStack) -> Source:
    """Open an upload from storage.

    Raises
    ------
    FileRefusedError
        Where it cannot be used as a whole.
    """

    def stored(name: str) -> IO[bytes]:
        return stack.enter_context(default_storage.open(f"{job.folder}/{name}"))

    plan = plan_of_upload(job.folder, job.options[FILE_NAMES], stack)
    vectors = read_embeddings(stored(EMBEDDINGS_FILE)) if job.options[EMBEDDINGS_FILE] else {}
    file = stored(ITEMS_FILE)
    total = count_lines(file)
    return Source(_records(file, None), total, Files(plan), vectors)


def source_of_path(
    path: Path,
    *,
    images: Path | None,
    embeddings: Path | None,
    layout: str | None,
    choice: Choice | None,
    stack: ExitStack,
) -> Source:
    """Open files on this machine, or draw from a corpus by `choice`; raises FileRefusedError as `source_of_upload`."""
    files = _files_of(path, images, stack)
    vectors = read_embeddings(stack.enter_context(embeddings.open("rb"))) if embeddings else {}
    if choice is not None:
        records = corpora.records_of(path, choice)
        return Source(iter(records), len(records), files, vectors)
    if path.is_dir():
        return Source(multisubs_files.records_of(path), 0, files, vectors)
    file = stack.enter_context(path.open("rb"))
    total = count_lines(file)
    return Source(_records(file, layout), total, files, vectors)


def _files_of(path: Path, images: Path | None, stack: ExitStack) -> Files:
    """Find the images beside the file of items and in `images`, a folder or a zip, with their manifests."""
    homes = [path if path.is_dir() else path.parent]
    plan: list[ImportEntry | LineError] = []
    if images is not None and images.is_dir():
        homes.insert(0, images)
    elif images is not None:
        plan = plan_of_path(images, stack)
    for home in homes:
        for name in manifests.NAMES:
            if (home / name).is_file():
                plan += plan_of_path(home / name, stack)
    return Files(plan, homes)


def _records(file: IO[bytes], layout: str | None) -> Iterator[Record | LineError]:
    records = json_records(file)
    if layout is None:
        first = list(islice(records, 1))
        is_theirs = any(isinstance(record, Record) and multisubs.looks_like_it(record.value) for record in first)
        layout, records = (MULTISUBS if is_theirs else OURS), chain(first, records)
    if layout == OURS:
        return records
    return (
        Record(record.number, multisubs.as_item(record.value)) if isinstance(record, Record) else record
        for record in records
    )
