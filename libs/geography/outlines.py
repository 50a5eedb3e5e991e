"""Outlines of countries for a world map, made from the borders by `tools.scripts.build_outlines`.

The projection is Equal Earth: areas are right, so that no part of the world looks more than it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

FOLDER = Path(__file__).parent / "data"
FILE, REGIONS_FILE = "outlines.json", "region_outlines.json"
WIDTH, HEIGHT = 2000, 974
"""Units of the map."""

_A1, _A2, _A3, _A4 = 1.340264, -0.081106, 0.000893, 0.003796
_HALF_WIDTH = 2 * math.sqrt(3) * math.pi / (3 * _A1)


def project(longitudes: ArrayLike, latitudes: ArrayLike) -> tuple[Any, Any]:
    """Project degrees onto the map: x to the right and y down, in its units.

    References
    ----------
    B. Šavrič, T. Patterson, B. Jenny (2019), The Equal Earth map projection.
    """
    angle = np.arcsin(math.sqrt(3) / 2 * np.sin(np.radians(latitudes)))
    square = angle * angle
    sixth = square**3
    slope = 9 * _A4 * sixth * square + 7 * _A3 * sixth + 3 * _A2 * square + _A1
    x = 2 * math.sqrt(3) * np.radians(longitudes) * np.cos(angle) / (3 * slope)
    y = angle * (_A4 * sixth * square + _A3 * sixth + _A2 * square + _A1)
    scale = WIDTH / 2 / _HALF_WIDTH
    return WIDTH / 2 + scale * x, HEIGHT / 2 - scale * y


@cache
def country_paths() -> Mapping[str, str]:
    """Return the outline of each country by its code, as data of an SVG path in units of the map."""
    paths: dict[str, str] = json.loads((FOLDER / FILE).read_text(encoding="utf-8"))
    return paths


@cache
def region_paths() -> Mapping[str, str]:
    """Return the outlines of regions that the shipped table of languages names, as `country_paths` does."""
    paths: dict[str, str] = json.loads((FOLDER / REGIONS_FILE).read_text(encoding="utf-8"))
    return paths


@cache
def continents() -> Mapping[str, frozenset[str]]:
    """Return the continents of each country by its code; those with a fifth of its borders’ area at least."""
    from geography import outline_files  # with shapely, 4 MB, for a page that few look at

    shapes, about = outline_files.read(outline_files.FOLDER / outline_files.COUNTRIES)
    areas: dict[str, dict[str, float]] = {}
    for shape, properties in zip(shapes, about, strict=True):
        if properties["code"]:
            of_country = areas.setdefault(properties["code"], {})
            of_country[properties["continent"]] = of_country.get(properties["continent"], 0.0) + shape.area
    return {code: _main_parts(of_country) for code, of_country in areas.items()}


def _main_parts(areas: Mapping[str, float]) -> frozenset[str]:
    return frozenset(continent for continent, area in areas.items() if area >= sum(areas.values()) / 5)
