"""Store vectors while a run makes them: first in parts of chunks, in the end in one file.

A part holds what was stored of a chunk at once; the chunk's row says how many vectors it has, so that a part which was
written by a worker that was killed before its transaction ended counts for nothing, and is written over.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from django.core.files.storage import default_storage
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from core.images.services import file_storage
from core.jobs.models import JobState
from research.inference.backends.encoders import EncoderSettingsError
from research.inference.models import Chunk, EmbeddingSet, RunFailure
from research.inference.rules.disk_space import allocate
from research.inference.rules.runs import unpack_ids
from research.inference.selectors.embeddings import IDS_FILE, VECTORS_FILE, digest_of, open_set, working_file

DIGITS_IN_NAME = 16
IDS_AT_ONCE = 500
PART = re.compile(r"(?P<position>\d+)-(?P<start>\d+)\.npy")


def put_part(chunk: Chunk, of: EmbeddingSet, ids: Sequence[int], vectors: NDArray[Any]) -> None:
    """Append vectors to a chunk. Call it in the transaction that counts them."""
    content = io.BytesIO()
    rows = np.zeros(len(ids), dtype=[("id", "<i8"), ("vector", vectors.dtype.newbyteorder("<"), vectors.shape[1:])])
    rows["id"], rows["vector"] = ids, vectors
    np.save(content, rows, allow_pickle=False)
    row = Chunk.objects.filter(pk=chunk.pk)
    start = row.values_list("vectors", flat=True).get()
    file_storage.put(f"{_parts_folder(of)}/{chunk.position:06}-{start}.npy", content.getvalue())
    row.update(vectors=start + len(ids))


def ids_stored(chunk: Chunk, of: EmbeddingSet) -> set[int]:
    """Return the images of the chunk whose vectors are stored and counted."""
    if not chunk.vectors:
        return set()
    stored_ids = {int(one) for rows in _parts(of, [chunk]) for one in rows["id"]}
    if of.file:
        ids = np.array(unpack_ids(chunk.image_ids))
        stored_ids |= {int(one) for one in ids[open_set(of).places(ids.tolist()) >= 0]}
    return stored_ids


def put_together(of: EmbeddingSet) -> None:
    """Join all chunks' vectors in one file, in the order of the images' keys, and then delete the parts.

    May be done twice, also at the same time: the same vectors are the same file.

    Raises
    ------
    EncoderSettingsError
        Where vectors are gone from storage.
    """
    chunks = list(of.run.chunks.filter(state=JobState.DONE))
    failed = set(RunFailure.objects.filter(run=of.run_id).values_list("image_id", flat=True))
    ids = np.array(sorted({one for chunk in chunks for one in unpack_ids(chunk.image_ids)} - failed), dtype="<i8")
    if not len(ids):
        raise EncoderSettingsError(_("No vector could be computed for any of the images."))
    before = of.file
    unfinished = working_file()
    try:
        vectors = _gathered(of, chunks, ids, unfinished)
        if vectors is None:
            _check_done_elsewhere(of, ids)
            return
        digest = digest_of(ids, vectors)
        name = f"{_folder(of)}/{digest[:DIGITS_IN_NAME]}/{VECTORS_FILE}"
        listed = io.BytesIO()
        np.save(listed, ids, allow_pickle=False)
        file_storage.put(_beside(name), listed.getvalue())
        with unfinished.open("rb") as file:
            file_storage.put(name, file)
        of.rows, of.dimensions, of.file, of.digest = len(ids), vectors.shape[1], name, digest
        of.save(update_fields=["rows", "dimensions", "file", "digest"])
    finally:
        unfinished.unlink(missing_ok=True)
    drop_parts(of)
    if before not in ("", name):
        default_storage.delete(before)
        default_storage.delete(_beside(before))


def drop_parts(of: EmbeddingSet) -> None:
    file_storage.remove_all(_parts_folder(of))


def _gathered(of: EmbeddingSet, chunks: Sequence[Chunk], ids: NDArray[np.int64], path: Path) -> NDArray[Any] | None:
    """Write all vectors to a local file in the order of `ids`, chunk by chunk; None if some are missing."""
    vectors: NDArray[Any] | None = None
    is_there = np.zeros(len(ids), dtype=bool)
    for positions, rows in _pieces(of, chunks):
        if vectors is None:
            kind = np.dtype(of.precision).newbyteorder("<")
            vectors = np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=(len(ids), rows.shape[1]))
            # Without holes: on a full disk this raises, whereas writing into a hole of a map ends the process.
            with path.open("r+b") as file:
                allocate(file.fileno(), path.stat().st_size)
        places = np.minimum(np.searchsorted(ids, positions), len(ids) - 1)
        is_ours = ids[places] == positions
        vectors[places[is_ours]] = rows[is_ours]
        is_there[places[is_ours]] = True
    return vectors if is_there.all() else None


def _check_done_elsewhere(of: EmbeddingSet, ids: NDArray[np.int64]) -> None:
    """Check that another worker has joined the vectors in the meantime and deleted the parts."""
    of.refresh_from_db()
    if not of.file or not np.array_equal(open_set(of).ids, ids):
        raise EncoderSettingsError(_("Computed vectors are missing from storage. Start another run."))


def _pieces(of: EmbeddingSet, chunks: Sequence[Chunk]) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """Yield ids with vectors: of the file joined before, and of the parts since."""
    if of.file:
        whole = open_set(of)
        for start in range(0, len(whole.ids), IDS_AT_ONCE):
            chosen = slice(start, start + IDS_AT_ONCE)
            yield whole.ids[chosen], whole.vectors[chosen]
    for rows in _parts(of, chunks):
        yield rows["id"], rows["vector"]


def _parts(of: EmbeddingSet, chunks: Sequence[Chunk]) -> Iterator[NDArray[Any]]:
    """Yield the parts that count and still exist."""
    counted = {chunk.position: chunk.vectors for chunk in chunks}
    try:
        _folders, names = default_storage.listdir(_parts_folder(of))
    except FileNotFoundError:
        return
    for name in sorted(names):
        match = PART.fullmatch(name)
        if match is None or int(match["start"]) >= counted.get(int(match["position"]), 0):
            continue
        with suppress(FileNotFoundError), default_storage.open(f"{_parts_folder(of)}/{name}") as file:
            yield np.load(io.BytesIO(file.read()), allow_pickle=False)


def _folder(of: EmbeddingSet) -> str:
    return f"embeddings/{of.pk}"


def _parts_folder(of: EmbeddingSet) -> str:
    return f"{_folder(of)}/parts"


def _beside(name: str) -> str:
    return name.removesuffix(VECTORS_FILE) + IDS_FILE
