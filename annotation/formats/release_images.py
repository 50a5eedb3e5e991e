"""Images with their captions as one Parquet file, which Hugging Face's `datasets` and its viewer show as images."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from annotation.formats.release_tables import TEXT
from core.images.rules.attributions import FIELDS

WITH_IMAGES = "with_images"
"""The table, which is there only if a release has images."""
TEXT_COLUMNS = ("key", "sha256", *FIELDS)
CAPTION = pa.struct([("language", TEXT), ("caption", TEXT)])
SCHEMA = pa.schema(
    [
        ("image", pa.struct([("bytes", pa.binary()), ("path", TEXT)])),
        *((name, TEXT) for name in TEXT_COLUMNS),
        ("captions", pa.list_(CAPTION)),
    ]
)
_STRING = {"dtype": "string", "_type": "Value"}
FEATURES = {
    "image": {"_type": "Image"},
    **dict.fromkeys(TEXT_COLUMNS, _STRING),
    "captions": [dict.fromkeys(("language", "caption"), _STRING)],
}
"""What the columns are, as `datasets` keeps it in the file."""
IMAGES_PER_GROUP = 100
"""So many are in memory at once."""


class ReleaseImages:
    """Writes `with_images.parquet` into a folder, if any image comes."""

    def __init__(self, folder: Path) -> None:
        self.count = 0
        self._path = folder / f"{WITH_IMAGES}.parquet"
        self._rows: list[dict[str, Any]] = []
        self._file: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is None:
            self._write_group()
        if self._file is not None:
            self._file.close()

    def add(self, content: bytes, fields: Mapping[str, str], captions: Mapping[str, Sequence[str]]) -> None:
        """Add an image: its WebP, its `TEXT_COLUMNS`, and its captions by language."""
        said = [{"language": tag, "caption": text} for tag, texts in captions.items() for text in texts]
        path = f"{fields['sha256']}.webp"
        self._rows.append({"image": {"bytes": content, "path": path}, **fields, "captions": said})
        self.count += 1
        if len(self._rows) == IMAGES_PER_GROUP:
            self._write_group()

    def _write_group(self) -> None:
        if not self._rows:
            return
        if self._file is None:
            about = {"huggingface": json.dumps({"info": {"features": FEATURES}})}
            # The images are compressed already.
            self._file = pq.ParquetWriter(self._path, SCHEMA.with_metadata(about), version="2.6", compression="none")
        self._file.write_table(pa.Table.from_pylist(self._rows, schema=self._file.schema))
        self._rows.clear()
