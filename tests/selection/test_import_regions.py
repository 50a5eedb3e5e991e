"""`manage.py import_regions`: polygons of regions, refused as a whole with every fault, or imported once."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from geography.borders import shipped_borders
from research.selection.models import ImagePlace, ImportedRegion, RegionFile
from research.selection.services.places import current_borders, locate_images
from tests.factories import make_image
from tests.published import published


def square(west: float, south: float, size: float = 1) -> list[list[list[float]]]:
    east, north = west + size, south + size
    return [[[west, south], [east, south], [east, north], [west, north], [west, south]]]


def feature(code: str | None, coordinates: Any, kind: str = "Polygon") -> dict[str, Any]:
    properties = {} if code is None else {"iso_3166_2": code, "name": f"Name of {code}"}
    return {"type": "Feature", "properties": properties, "geometry": {"type": kind, "coordinates": coordinates}}


def region_file(folder: Path, *features: Any) -> Path:
    path = folder / "regions.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": list(features)}), encoding="utf-8")
    return path


def imported(path: Path, **options: object) -> str:
    out = io.StringIO()
    call_command("import_regions", str(path), stdout=out, **options)
    return out.getvalue()


@pytest.mark.django_db
def test_images_are_located_by_imported_regions(tmp_path: Path) -> None:
    cusco = make_image(latitude=-13.532, longitude=-71.967)
    locate_images()

    said = imported(region_file(tmp_path, feature("QUECHUA", square(-72.5, -14))), source="A survey, CC0")

    assert "1 new, 0 replaced, 0 unchanged" in said
    assert "Images located again: 1." in said
    assert "QUECHUA" in ImagePlace.objects.get(image=cusco).regions.split()
    assert ImportedRegion.objects.get().name == "Name of QUECHUA"
    assert RegionFile.objects.get().source == "A survey, CC0"


@pytest.mark.django_db
def test_the_same_file_twice_changes_nothing(tmp_path: Path) -> None:
    path = region_file(tmp_path, feature("A", square(0, 0)), feature("B", [square(5, 5)], "MultiPolygon"))
    imported(path)
    before = list(ImportedRegion.objects.values_list("pk", "code")), RegionFile.objects.get().imported_at

    assert "0 new, 0 replaced, 2 unchanged" in imported(path)

    assert (list(ImportedRegion.objects.values_list("pk", "code")), RegionFile.objects.get().imported_at) == before


@pytest.mark.django_db
def test_a_later_file_replaces_the_regions_that_it_has(tmp_path: Path) -> None:
    imported(region_file(tmp_path, feature("A", square(0, 0)), feature("B", square(5, 5))))
    version = current_borders().version

    assert "0 new, 1 replaced, 0 unchanged" in imported(region_file(tmp_path, feature("A", square(0, 1))))

    assert ImportedRegion.objects.count() == 2
    assert current_borders().version not in (version, shipped_borders().version)


@pytest.mark.django_db
def test_codes_are_canonical(tmp_path: Path) -> None:
    imported(region_file(tmp_path, feature(" in-ts ", square(78, 17))))

    assert ImportedRegion.objects.get().code == "IN-TG"


OPEN = [[[0, 0], [1, 0], [1, 1], [0, 1]]]
CROSSED = [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]


@pytest.mark.django_db
def test_a_wrong_file_is_refused_with_every_fault_and_nothing_is_done(tmp_path: Path) -> None:
    path = region_file(
        tmp_path,
        feature("GOOD", square(0, 0)),
        feature("OPEN", OPEN),
        feature("CROSSED", CROSSED),
        feature("FAR", square(200, 10)),
        feature("EMPTY", []),
        feature("LINE", [[0, 0], [1, 1]], "LineString"),
        feature(None, square(1, 1)),
        feature("GOOD", square(3, 3)),
        feature("SHORT", [[[0, 0], [1, 1], [0, 0]]]),
        feature("WORDS", [[["a", 0], [1, 0], [1, 1], ["a", 0]]]),
        "no feature",
    )

    with pytest.raises(CommandError) as refused:
        imported(path)

    said = str(refused.value)
    for part in (
        "feature 2 (OPEN): Polygon 1, ring 1: The ring is not closed.",
        "feature 3 (CROSSED): The outline crosses or touches itself (Self-intersection",
        "feature 4 (FAR): Polygon 1, ring 1: 200, 10 is out of range.",
        "feature 5 (EMPTY): It is empty.",
        "feature 6 (LINE): It is not a Polygon or MultiPolygon (LineString).",
        "feature 7 (no code): There is no code in the property “iso_3166_2”.",
        "feature 8 (GOOD): Feature 1 has the same code.",
        "feature 9 (SHORT): Polygon 1, ring 1: A ring needs at least four positions",
        "feature 10 (WORDS): Polygon 1, ring 1: A position is not two numbers",
        "feature 11 (no code)",
    ):
        assert part in said
    assert not RegionFile.objects.exists()
    assert not ImportedRegion.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "content", ["{", "[]", '{"type": "FeatureCollection"}', '{"type": "FeatureCollection", "features": []}']
)
def test_what_is_no_geojson_of_features_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "regions.geojson"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(CommandError, match="Nothing was imported from"):
        imported(path)


@pytest.mark.django_db
def test_the_published_state_with_a_wrong_ring_is_named_and_the_others_are_imported(tmp_path: Path) -> None:
    path = published("geography/admin1_50m.json")
    with pytest.raises(CommandError, match=r"1 fault\.\nfeature 20 \(BR-GO\): The outline crosses or touches itself"):
        imported(path)
    features = json.loads(path.read_text(encoding="utf-8"))["features"]

    said = imported(region_file(tmp_path, *(each for each in features if each["properties"]["iso_3166_2"] != "BR-GO")))

    assert "99 new" in said
    assert "US-CA" in current_borders().locate([37.82], [-122.2])[0].regions


HUGE = 10**400


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("faulty", "why"),
    [
        (feature("A", [[[170, 0], [-170, 0], [-170, 5], [170, 5], [170, 0]]]), "180th meridian"),
        (feature("A", [[[0, 0], [HUGE, 0], [1, 1], [0, 0]]]), "not two numbers"),
        (feature("IN", square(0, 0)), "code of a country"),
        (feature("A,B", square(0, 0)), "hyphens"),
        (feature("QUECHUA/SUR", square(0, 0)), "hyphens"),
    ],
)
def test_an_outline_or_code_that_would_mislead_is_refused(tmp_path: Path, faulty: Any, why: str) -> None:
    with pytest.raises(CommandError, match=why):
        imported(region_file(tmp_path, feature("GOOD", square(5, 5)), faulty))

    assert not ImportedRegion.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "is_taken"), [("urn:ogc:def:crs:OGC:1.3:CRS84", True), ("EPSG:3857", False)])
def test_a_file_in_other_coordinates_than_degrees_is_refused(tmp_path: Path, name: str, is_taken: bool) -> None:
    path = region_file(tmp_path, feature("A", square(0, 0)))
    crs = {"type": "name", "properties": {"name": name}}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"crs": crs}), encoding="utf-8")

    if is_taken:
        imported(path)
    else:
        with pytest.raises(CommandError, match=r"EPSG:3857.*WGS 84"):
            imported(path)

    assert ImportedRegion.objects.exists() == is_taken


@pytest.mark.django_db
def test_altitudes_are_ignored_wherever_they_are(tmp_path: Path) -> None:
    imported(region_file(tmp_path, feature("A", [[[0, 0, 5, 1], [1, 0], [1, 1, 7], [0, 0, 6]]])))

    assert ImportedRegion.objects.get().code == "A"
