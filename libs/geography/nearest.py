"""Distances from points to shapes nearby, in metres."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

DEGREE_M = 111_195.0
"""Of latitude, on a sphere of 6,371 km."""

PIECE = 64
"""Segments of an outline that are searched together."""


AT_ONCE = 256
"""Shapes taken apart together, which bounds the memory."""

PAIRS = 2_000
"""Pairs of a point and a piece that are measured together, which bounds it too."""


PIECES = np.dtype(
    [
        ("first", np.int32),
        ("count", np.int32),
        ("owner", np.int32),
        ("low", np.float32, 2),
        ("high", np.float32, 2),
    ]
)
"""The first corner of a piece, its number of segments, the number of its shape, and its box."""


def _pieces(shapes: Any) -> tuple[Any, Any]:
    """Corners of outlines, and the pieces that they are cut into."""
    _, degrees, offsets = shapely.to_ragged_array(shapes)
    # Single precision is right to two metres, in half the memory.
    corners = degrees.astype(np.float32)
    ring_starts, polygon_starts, shape_starts = (np.asarray(each)[:-1] for each in offsets)
    segments = np.diff(offsets[0]) - 1
    pieces = -(-segments // PIECE)
    ring = np.repeat(np.arange(len(pieces)), pieces)
    position = np.arange(len(ring)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    made = np.empty(len(ring), dtype=PIECES)
    made["first"] = ring_starts[ring] + position * PIECE
    made["count"] = np.minimum(segments[ring] - position * PIECE, PIECE)
    polygon = np.searchsorted(polygon_starts, ring, side="right") - 1
    made["owner"] = np.searchsorted(shape_starts, polygon, side="right") - 1
    # The last corner of a piece is the first of the next one, or closes the ring.
    last = corners[made["first"] + made["count"]]
    made["low"] = np.minimum(np.minimum.reduceat(corners, made["first"]), last)
    made["high"] = np.maximum(np.maximum.reduceat(corners, made["first"]), last)
    return corners, made


class NearestLand:
    """The outlines of shapes, cut into pieces that a tree finds by their boxes."""

    def __init__(self, shapes: Any) -> None:
        self._corners = np.empty((int(shapely.get_num_coordinates(shapes).sum()), 2), dtype=np.float32)
        pieces, used = [], 0
        for start in range(0, len(shapes), AT_ONCE):
            corners, part = _pieces(shapes[start : start + AT_ONCE])
            self._corners[used : used + len(corners)] = corners
            part["first"] += used
            part["owner"] += start
            pieces.append(part)
            used += len(corners)
        together = np.concatenate(pieces)
        self._first, self._count, self._owner = (together[name].copy() for name in ("first", "count", "owner"))
        low, high = together["low"], together["high"]
        # The tree looks at boxes around shapes alone, and a diagonal has that of its rectangle, in less memory.
        self._tree = shapely.STRtree(shapely.linestrings(np.stack([low, high], axis=1)))

    def near(self, latitudes: Any, longitudes: Any, *, within_m: float) -> list[dict[int, float]]:
        """For each point the numbers of the shapes whose outlines are near, with their distances in metres.

        Distances are right to 1%, also beyond the 180th meridian.
        """
        found: list[dict[int, float]] = [{} for _ in latitudes]
        narrow = np.maximum(np.cos(np.radians(latitudes)), 0.01)
        height = within_m / DEGREE_M
        for turn in (0.0, 360.0, -360.0):
            numbers = np.flatnonzero(np.abs(longitudes + turn) - height / narrow <= 180)
            east, north, width = longitudes[numbers] + turn, latitudes[numbers], height / narrow[numbers]
            boxes = shapely.box(east - width, north - height, east + width, north + height)
            points, pieces = self._tree.query(boxes)
            for start in range(0, len(points), PAIRS):
                some, ours = points[start : start + PAIRS], pieces[start : start + PAIRS]
                distances = self._distances(east[some], north[some], narrow[numbers[some]], ours)
                for number, piece, distance in zip(numbers[some], ours, distances, strict=True):
                    if distance <= within_m:
                        owner = int(self._owner[piece])
                        found[number][owner] = min(float(distance), found[number].get(owner, np.inf))
        return found

    def _distances(self, east: Any, north: Any, narrow: Any, pieces: Any) -> Any:
        """From each point to its piece, in metres, on a plane that touches the earth at the point."""
        if not len(pieces):
            return np.empty(0)
        counts = self._count[pieces]
        pair = np.repeat(np.arange(len(pieces)), counts)
        offsets = np.arange(len(pair)) - np.repeat(np.cumsum(counts) - counts, counts)
        first = self._first[pieces][pair] + offsets
        scale = np.stack([narrow, np.ones_like(narrow)], axis=1)[pair] * DEGREE_M
        origin = np.stack([east, north], axis=1)[pair]
        start = (self._corners[first] - origin) * scale
        step = (self._corners[first + 1] - origin) * scale - start
        length = np.maximum((step**2).sum(axis=1), 1e-9)
        along = np.clip(-(start * step).sum(axis=1) / length, 0, 1)[:, None]
        squares = ((start + along * step) ** 2).sum(axis=1)
        return np.sqrt(np.minimum.reduceat(squares, np.cumsum(counts) - counts))
