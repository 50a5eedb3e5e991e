"""Polygons with properties in one small file: `countries.xz`, `regions.xz` and `disputed.xz` in `libs/geography/data`.

A file is an LZMA-compressed `.npz` of

- `coordinates`, int32 of shape (2, n): longitudes and latitudes in units of 1 / `scale` degrees, each as the difference
  to the one before it;
- `scale`, one int;
- `rings`, `polygons`, `shapes`, int64: offsets as of `shapely.to_ragged_array`: where each ring starts among the
  coordinates, each polygon among the rings, and each shape (a MultiPolygon) among the polygons;
- `properties`, uint8: UTF-8 text of a JSON list with an object for each shape.

In `countries.xz` a shape has `code` (ISO 3166-1 alpha-2 of who holds it), `name`, `continent` and `wikidata`; a country
may have several shapes. In `regions.xz` a shape has `code` (canonical ISO 3166-2, or "" for land without a code),
`within` (codes of countries whose points it serves) and `area` (square degrees of the original); a code may come twice.
In `disputed.xz` a shape has `name`, `countries` (all that are concerned) and `held`: it only tells of points that
`countries.xz` gives to one of `held`.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from geography import codes

FOLDER = Path(__file__).parent / "data"
COUNTRIES, REGIONS, DISPUTED = "countries.xz", "regions.xz", "disputed.xz"
SMALL_ISLANDS = "small_islands.json"
FILES = (COUNTRIES, REGIONS, codes.FILE.name, DISPUTED, SMALL_ISLANDS)


def write(path: Path, shapes: Sequence[Any], properties: Sequence[Mapping[str, Any]], *, scale: int) -> None:
    """Write polygons or multipolygons, their coordinates rounded to 1 / `scale` degrees."""
    rounded = shapely.transform(np.asarray(shapes), lambda degrees: np.rint(degrees * scale) / scale)
    broken = ~shapely.is_valid(rounded)
    rounded[broken] = shapely.set_precision(np.asarray(shapes)[broken], 1 / scale)
    whole = [shape if shape.geom_type == "MultiPolygon" else shapely.MultiPolygon([shape]) for shape in rounded]
    _, coordinates, offsets = shapely.to_ragged_array(whole)
    units = np.rint(coordinates.T * scale).astype(np.int32)
    packed = io.BytesIO()
    np.savez(
        packed,
        coordinates=np.diff(units, axis=1, prepend=0).astype(np.int32),
        scale=np.array(scale),
        rings=offsets[0],
        polygons=offsets[1],
        shapes=offsets[2],
        properties=np.frombuffer(json.dumps(list(properties), ensure_ascii=False).encode(), dtype=np.uint8),
    )
    path.write_bytes(lzma.compress(packed.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def read(path: Path) -> tuple[Any, list[dict[str, Any]]]:
    """Shapes (an array of MultiPolygons in degrees, longitude first) and the properties of each."""
    with np.load(io.BytesIO(lzma.decompress(path.read_bytes())), allow_pickle=False) as file:
        steps, scale = file["coordinates"], int(file["scale"])
        degrees = np.empty(steps.shape[::-1])
        for axis in range(2):
            np.divide(steps[axis].cumsum(dtype=np.int64), scale, out=degrees[:, axis])
        del steps
        offsets = (file["rings"], file["polygons"], file["shapes"])
        properties = json.loads(bytes(file["properties"]).decode())
    return shapely.from_ragged_array(
        shapely.GeometryType.MULTIPOLYGON, np.ascontiguousarray(degrees), offsets
    ), properties


@cache
def shipped_version() -> str:
    """Month and content of the files in `libs/geography/data`, such as "2026-11 0123456789ab"."""
    content = hashlib.sha256()
    for name in FILES:
        content.update((FOLDER / name).read_bytes())
    return f"2026-11 {content.hexdigest()[:12]}"
