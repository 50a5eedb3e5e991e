"""Distances from points to shapes nearby, in metres."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

DEGREE_M = 111_195.0
"""Of latitude, on a sphere of 6,371 km."""

PIECE = 32
"""Segments of an outline that are searched together."""


class NearestLand:
    """The outlines of shapes, cut into pieces that a tree finds by their boxes."""

    def __init__(self, shapes: Any) -> None:
        polygons, shape_of = shapely.get_parts(shapes, return_index=True)
        rings, polygon_of = shapely.get_rings(polygons, return_index=True)
        corners, ring_of = shapely.get_coordinates(rings, return_index=True)
        # A segment goes from a corner to the next one of the same ring.
        starts = np.flatnonzero(ring_of[:-1] == ring_of[1:])
        self._corners = corners
        # Segments of a piece follow one another in one ring, so a piece is its first segment and their number.
        position = np.arange(len(starts)) - np.searchsorted(ring_of[starts], ring_of[starts])
        firsts = np.flatnonzero(position % PIECE == 0)
        self._first = starts[firsts]
        self._count = np.diff(np.append(firsts, len(starts)))
        self._owner = shape_of[polygon_of[ring_of[self._first]]]
        low = np.minimum.reduceat(np.minimum(corners[starts], corners[starts + 1]), firsts)
        high = np.maximum.reduceat(np.maximum(corners[starts], corners[starts + 1]), firsts)
        self._tree = shapely.STRtree(shapely.box(low[:, 0], low[:, 1], high[:, 0], high[:, 1]))

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
            for start in range(0, len(points), 20_000):
                some, ours = points[start : start + 20_000], pieces[start : start + 20_000]
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
