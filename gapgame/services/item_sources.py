"""The input of an import of items: its lines, the images that come with them, embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import IO

from django.core.files.storage import default_storage

from core.images.models import ImportJob
from core.images.rules import manifests
from core.images.services.imports import FILE_NAMES
from core.images.services.sources import ImportEntry, plan_of_path, plan_of_upload
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.records import LineRecord, count_lines, json_records
from gapgame.formats.sources import Vectors, corpus_records, multisubs_records, read_embeddings
from gapgame.rules.item_sources import ItemChoice, as_item, looks_like_it
from gapgame.services.item_image_files import ItemFiles

CROSSLENS, MULTISUBS = "crosslens", "multisubs"
LAYOUTS = (CROSSLENS, MULTISUBS)
ITEMS_FILE, EMBEDDINGS_FILE = "items", "embeddings"


@dataclass(frozen=True)
class ItemSource:
    """The opened input of an import."""

    records: Iterator[LineRecord | LineError]
    total: int
    files: ItemFiles
    embeddings: Vectors = field(default_factory=dict)


def source_of_upload(job: ImportJob, stack: ExitStack) -> ItemSource:
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
    return ItemSource(_records(file, None), total, ItemFiles(plan), vectors)


def source_of_path(
    path: Path,
    *,
    images: Path | None,
    embeddings: Path | None,
    layout: str | None,
    choice: ItemChoice | None,
    stack: ExitStack,
) -> ItemSource:
    """Open files on this machine, or draw from a corpus by `choice`; raises FileRefusedError as `source_of_upload`."""
    files = _files_of(path, images, stack)
    vectors = read_embeddings(stack.enter_context(embeddings.open("rb"))) if embeddings else {}
    if choice is not None:
        records = corpus_records(path, choice)
        return ItemSource(iter(records), len(records), files, vectors)
    if path.is_dir():
        return ItemSource(multisubs_records(path), 0, files, vectors)
    file = stack.enter_context(path.open("rb"))
    total = count_lines(file)
    return ItemSource(_records(file, layout), total, files, vectors)


def _files_of(path: Path, images: Path | None, stack: ExitStack) -> ItemFiles:
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
    return ItemFiles(plan, homes)


def _records(file: IO[bytes], layout: str | None) -> Iterator[LineRecord | LineError]:
    records = json_records(file)
    if layout is None:
        first = list(islice(records, 1))
        is_theirs = any(isinstance(record, LineRecord) and looks_like_it(record.value) for record in first)
        layout, records = (MULTISUBS if is_theirs else CROSSLENS), chain(first, records)
    if layout == CROSSLENS:
        return records
    return (
        LineRecord(record.number, as_item(record.value)) if isinstance(record, LineRecord) else record
        for record in records
    )
