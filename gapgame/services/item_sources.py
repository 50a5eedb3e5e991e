"""The input of an import of items: its lines, the images that come with them, embeddings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO

from core.images.services.imports import Opener
from core.images.services.sources import ImportEntry, plan_of_path
from crosslens_metrics.formats.layouts import layout_of
from crosslens_metrics.formats.manifests import NAMES
from crosslens_metrics.formats.object_rows import Records
from crosslens_metrics.formats.opening import opened_text
from crosslens_metrics.formats.problems import LayoutError, LineError
from crosslens_metrics.formats.records import LineRecord, count_lines, json_records
from gapgame.formats.sources import Vectors, corpus_records, is_corpus, multisubs_records, read_embeddings
from gapgame.rules.item_sources import ItemChoice, as_item, looks_like_it
from gapgame.services.item_image_files import ItemFiles


@dataclass(frozen=True)
class ItemSource:
    """The opened input of an import."""

    records: Iterator[LineRecord | LineError]
    total: int
    files: ItemFiles
    embeddings: Vectors = field(default_factory=dict)


def source_of_path(
    path: Path,
    *,
    opened: Opener | None,
    images: Path | None,
    embeddings: Opener | None,
    choice: ItemChoice | None,
    said: Mapping[str, str] | None = None,
    stack: ExitStack,
) -> ItemSource:
    """Open files on this machine, or draw from a corpus by `choice`; `opened` opens items that are in an archive.

    `said` are names of columns of a table by what they hold.

    Raises FileRefusedError where they cannot be used as a whole.
    """
    files = _files_of(path, images, stack)
    vectors = read_embeddings(stack.enter_context(embeddings())) if embeddings else {}
    if is_corpus(path):
        records = corpus_records(path, choice or ItemChoice())
        return ItemSource(iter(records), len(records), files, vectors)
    if path.is_dir():
        return ItemSource(multisubs_records(path), 0, files, vectors)
    file = stack.enter_context((opened or partial(opened_text, path))())
    total = count_lines(file)
    return ItemSource(_records(file, said), total, files, vectors)


def _files_of(path: Path, images: Path | None, stack: ExitStack) -> ItemFiles:
    """Find the images beside the file of items and in `images`, a folder or a zip, with their manifests."""
    homes = [path if path.is_dir() else path.parent]
    plan: list[ImportEntry | LineError] = []
    if images is not None and images.is_dir():
        homes.insert(0, images)
    elif images is not None:
        plan = plan_of_path(images, stack)
    for home in homes:
        for name in NAMES:
            if (home / name).is_file():
                plan += plan_of_path(home / name, stack)
    return ItemFiles(plan, homes)


def _records(file: IO[bytes], said: Mapping[str, str] | None) -> Iterator[LineRecord | LineError]:
    read: Callable[[IO[bytes]], Records] = json_records
    with suppress(LayoutError):
        read = layout_of(file, said=said).records or json_records
    records = read(file)
    first = list(islice(records, 1))
    records = chain(first, records)
    if not any(isinstance(record, LineRecord) and looks_like_it(record.value) for record in first):
        return records
    return (
        LineRecord(record.number, as_item(record.value)) if isinstance(record, LineRecord) else record
        for record in records
    )
