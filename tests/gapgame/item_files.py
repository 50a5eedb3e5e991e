"""What tests of importing items have in common: writing a file of items, importing it, and what comes of it."""

from __future__ import annotations

import io
import json
from functools import partial
from pathlib import Path
from typing import Any

from core.images.models import ImportJob
from core.images.services.images import sha256_of
from gapgame.models import GapItem, ItemSet
from gapgame.services import item_imports
from tests.factories import NOW

WORD = "walrus"
LINE = {
    "key": "one",
    "language": "en",
    "sentence": "A ____ lies on the ice.",
    "word": WORD,
    "split": "intersect_3",
    "sense": ["bn:1"],
    "images": ["a.jpg", "b.jpg"],
}


def write(folder: Path, *lines: Any) -> Path:
    path = folder / "items.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def run(item_set: ItemSet, path: Path, *, embeddings: Path | None = None, **options: Any) -> ImportJob:
    if embeddings is not None:
        options["embeddings"] = partial(embeddings.open, "rb")
    return item_imports.import_path(
        path=path, item_set=item_set, clock=lambda: NOW, announce=lambda image_id: None, **options
    )


def told(job: ImportJob) -> list[tuple[str, str]]:
    return list(job.rows.order_by("number").values_list("outcome", "reason"))


def shas(item: GapItem) -> list[str]:
    return [entry.image.sha256 for entry in item.images.select_related("image")]


def sha_of(path: Path) -> str:
    return sha256_of(io.BytesIO(path.read_bytes()))
