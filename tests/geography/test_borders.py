"""Places of points, from atlas knowledge."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import shapely

from geography import codes
from geography.borders import BorderRegion, Borders, shipped_borders
from geography.places import CONTINENTS, CoordinateFault, PointPlace, are_right, fault_of

# Name, latitude, longitude, countries, a region or None, continent.
POINTS = [
    ("Baarle-Hertog, a Belgian enclave", 51.4425, 4.9305, "BE", "BE-VAN", "EU"),
    ("Baarle-Nassau around it", 51.4470, 4.9280, "NL", "NL-NB", "EU"),
    ("Campione d'Italia", 45.9690, 8.9715, "IT", "IT-CO", "EU"),
    ("Llívia", 42.4640, 1.9810, "ES", "ES-GI", "EU"),
    ("Büsingen", 47.6970, 8.6900, "DE", "DE-BW", "EU"),
    ("Kaliningrad", 54.7104, 20.4522, "RU", "RU-KGD", "EU"),
    ("Cabinda", -5.5600, 12.1900, "AO", "AO-CAB", "AF"),
    ("Oecusse", -9.2050, 124.3650, "TL", "TL-OE", "AS"),
    ("Maseru", -29.3150, 27.4860, "LS", "LS-A", "AF"),
    ("San Marino", 43.9360, 12.4470, "SM", None, "EU"),
    ("Saint Peter's", 41.9022, 12.4535, "VA", None, "EU"),
    ("Monaco", 43.7384, 7.4246, "MC", None, "EU"),
    ("Ceuta", 35.8890, -5.3100, "ES", "ES-CE", "AF"),
    ("Saint-Denis, Réunion", -20.8820, 55.4500, "RE", "FR-974", "AF"),
    ("Cayenne", 4.9300, -52.3300, "GF", "FR-973", "SA"),
    ("Longyearbyen", 78.2200, 15.6300, "SJ", None, "EU"),
    ("Mariehamn", 60.0970, 19.9350, "AX", None, "EU"),
    ("Honolulu", 21.3000, -157.8500, "US", "US-HI", "OC"),
    ("Anchorage", 61.2200, -149.9000, "US", "US-AK", "NA"),
    ("San Juan", 18.4200, -66.0600, "PR", None, "NA"),
    ("Hong Kong", 22.3200, 114.1700, "HK", None, "AS"),
    ("Capri", 40.5507, 14.2430, "IT", None, "EU"),
    ("Christiansø", 55.3203, 15.1869, "DK", None, "EU"),
    ("Lerwick", 60.1550, -1.1450, "GB", "GB-ZET", "EU"),
    ("Lerwick in Scotland", 60.1550, -1.1450, "GB", "GB-SCT", "EU"),
    ("Venice in Veneto", 45.4270, 12.3280, "IT", "IT-34", "EU"),
    ("Barcelona's beach in Catalonia", 41.3850, 2.1970, "ES", "ES-CT", "EU"),
    ("Brussels", 50.8467, 4.3525, "BE", "BE-BRU", "EU"),
    ("Namur in Wallonia", 50.4670, 4.8670, "BE", "BE-WAL", "EU"),
    ("Hyderabad", 17.3850, 78.4870, "IN", "IN-TG", "AS"),
    ("Vladivostok", 43.1150, 131.8850, "RU", "RU-PRI", "AS"),
    ("Middle of the Golden Gate bridge", 37.8200, -122.4790, "US", "US-CA", "NA"),
    ("Taveuni, west of the 180th meridian", -16.9000, 179.9500, "FJ", "FJ-N", "OC"),
    ("Taveuni, on it", -16.8000, -180.0, "FJ", "FJ-N", "OC"),
    ("Chukotka, east of it", 66.0000, -175.0000, "RU", "RU-CHU", "AS"),
    ("South Pole", -90.0, 0.0, "AQ", None, "AN"),
    ("North Pole", 90.0, 0.0, "", None, ""),
    ("Mid-Atlantic", 0.5, -30.0, "", None, ""),
    ("Pacific between two islands of Japan", 31.0, 142.0, "", None, ""),
    ("Two kilometres off Nice", 43.67, 7.27, "", None, ""),
    ("Sevastopol", 44.6160, 33.5250, "RU UA", "UA-40", "EU"),
    ("Srinagar", 34.0830, 74.7970, "IN PK", "IN-JK", "AS"),
    ("Gilgit", 35.9200, 74.3000, "IN PK", "PK-GB", "AS"),
    ("Aksai Chin", 35.1000, 79.3000, "CN IN", None, "AS"),
    ("Tawang", 27.5800, 91.8700, "CN IN", "IN-AR", "AS"),
    ("Laâyoune", 27.1500, -13.2000, "EH MA", None, "AF"),
    ("North of Nicosia", 35.1900, 33.3600, "CY TR", None, "AS"),
    ("South of Nicosia", 35.1500, 33.3600, "CY", "CY-01", "AS"),
    ("Jerusalem's Old City", 31.7780, 35.2350, "IL PS", None, "AS"),
    ("West Jerusalem", 31.7800, 35.2000, "IL", "IL-JM", "AS"),
    ("Ramallah", 31.9000, 35.2050, "IL PS", "PS-WBK", "AS"),
    ("Gaza", 31.5100, 34.4600, "PS", "PS-GZZ", "AS"),
    ("Katzrin", 32.9900, 35.6900, "IL SY", None, "AS"),
    ("Prizren", 42.2100, 20.7400, "RS XK", None, "EU"),
    ("Sukhumi", 43.0000, 41.0200, "GE RU", "GE-AB", "AS"),
    ("Hargeisa", 9.5600, 44.0600, "SO", None, "AF"),
    ("Taipei", 25.0400, 121.5650, "TW", "TW-TPE", "AS"),
    ("Bir Tawil", 21.8700, 33.7000, "EG SD", None, "AF"),
]  # fmt: skip


@pytest.fixture(scope="module")
def places() -> dict[str, PointPlace]:
    found = shipped_borders().locate([point[1] for point in POINTS], [point[2] for point in POINTS])
    return {point[0]: place for point, place in zip(POINTS, found, strict=True)}


@pytest.mark.parametrize(("name", "countries", "region", "continent"), [(name, *rest) for name, _, _, *rest in POINTS])
def test_points_lie_where_an_atlas_has_them(
    places: dict[str, PointPlace], name: str, countries: str, region: str | None, continent: str
) -> None:
    place = places[name]

    assert place.countries == tuple(countries.split())
    assert place.continent == continent
    assert region is None or region in place.regions


def test_the_finest_region_comes_first_and_larger_ones_follow(places: dict[str, PointPlace]) -> None:
    assert places["Venice in Veneto"].regions == ("IT-VE", "IT-34")
    assert places["Lerwick"].regions == ("GB-ZET", "GB-SCT")
    assert places["Llívia"].region == "ES-GI"


def test_many_points_at_once_are_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    latitudes, longitudes = rng.uniform(-90, 90, 300), rng.uniform(-180, 180, 300)

    at_once = shipped_borders().locate(latitudes, longitudes)
    monkeypatch.setattr("geography.borders.CHUNK", 7)

    assert shipped_borders().locate(latitudes, longitudes) == at_once
    assert {place.continent for place in at_once} <= {"", *CONTINENTS}
    assert any(place.countries for place in at_once)


def test_no_points_have_no_places() -> None:
    assert shipped_borders().locate([], []) == []


def test_latitudes_without_longitudes_are_refused() -> None:
    with pytest.raises(ValueError, match="2 latitudes and 1 longitudes"):
        shipped_borders().locate([1, 2], [3])


def test_positions_that_cannot_be_right_have_no_place() -> None:
    assert shipped_borders().locate([0, 120, np.nan], [0, 45, 3]) == [PointPlace(), PointPlace(), PointPlace()]


def added(code: str, shape: object) -> Borders:
    return shipped_borders().adding([BorderRegion(code, shape)])


def test_an_added_region_replaces_the_shipped_one_and_only_where_its_country_is() -> None:
    # A box around Kolkata and land of Bangladesh; West Bengal is nothing else now.
    borders = added("IN-WB", shapely.box(88.2, 22.4, 89.5, 22.7))

    kolkata, siliguri, satkhira = borders.locate([22.572, 26.71, 22.69], [88.364, 88.43, 89.07])

    assert kolkata.regions == ("IN-WB",)
    assert siliguri.countries == ("IN",)
    assert siliguri.regions == ()
    assert (satkhira.countries, "IN-WB" in satkhira.regions) == (("BD",), False)


def test_an_added_region_without_a_country_crosses_borders() -> None:
    borders = added("BASQUE", shapely.box(-3.5, 42.5, -1.0, 43.6))

    bilbao, bayonne = borders.locate([43.26, 43.49], [-2.93, -1.47])

    assert set(bilbao.regions) >= {"BASQUE", "ES-BI"}
    assert "BASQUE" in bayonne.regions


def test_an_added_region_of_a_country_is_also_one_of_its_territories() -> None:
    (place,) = added("FR-974X", shapely.box(55, -22, 56, -20)).locate([-21.115], [55.536])

    assert "FR-974X" in place.regions


def test_the_version_follows_the_content_and_not_the_order() -> None:
    shipped = shipped_borders()
    one, other = BorderRegion("A", shapely.box(0, 0, 1, 1)), BorderRegion("B", shapely.box(0, 0, 1, 1))

    assert shipped.adding([]).version == shipped.version
    assert shipped.adding([one, other]).version == shipped.adding([other, one]).version
    versions = {shipped.version, shipped.adding([one]).version, shipped.adding([other]).version}
    assert len(versions) == 3
    assert max(map(len, versions)) <= 80


@pytest.mark.parametrize(
    ("latitude", "longitude", "fault"),
    [
        (52.5, 13.4, None),
        ("52.5", " 13.4 ", None),
        (-90, 180, None),
        (0, 13.4, None),
        (None, 13.4, CoordinateFault.MISSING),
        ("", "", CoordinateFault.MISSING),
        ("north", 3, CoordinateFault.NOT_A_NUMBER),
        (float("nan"), 3, CoordinateFault.NOT_A_NUMBER),
        (float("inf"), 3, CoordinateFault.NOT_A_NUMBER),
        (139.69, 35.68, CoordinateFault.SWAPPED),
        (-122.4, -37.8, CoordinateFault.SWAPPED),
        (95, 120, CoordinateFault.OUT_OF_RANGE),
        (10, 181, CoordinateFault.OUT_OF_RANGE),
        (200, 10, CoordinateFault.OUT_OF_RANGE),
        (0, 0, CoordinateFault.NULL_ISLAND),
        ("0.0", "-0", CoordinateFault.NULL_ISLAND),
    ],
)
def test_coordinates_that_cannot_be_right_are_told(
    latitude: object, longitude: object, fault: CoordinateFault | None
) -> None:
    assert fault_of(latitude, longitude) is fault


def test_many_positions_are_judged_like_one():
    degrees = [np.nan, -np.inf, -181, -180, -90.1, -90, -0.0, 0, 1e-9, 90, 95, 180, 200]
    latitudes, longitudes = (each.ravel() for each in np.meshgrid(degrees, degrees))

    assert are_right(latitudes, longitudes).tolist() == [
        fault_of(latitude, longitude) is None for latitude, longitude in zip(latitudes, longitudes, strict=True)
    ]


def test_codes_have_one_form_parents_and_names() -> None:
    assert codes.canonical("in-ts") == "IN-TG"
    assert codes.canonical("IC") == "ES"
    assert codes.parents_of("IT-VE") == ("IT-34",)
    assert codes.parents_of("ES-GC") == ("ES-CN",)
    assert codes.parents_of("BE-VAN") == ("BE-VLG",)
    assert codes.parents_of("BE-BRU") == ()
    assert codes.region_name("IN-TS") == "Telangana"
    assert codes.region_name("ES-CT") == "Catalonia"
    assert codes.country_name("GB") == "United Kingdom"
    assert codes.continent_name("SA") == "South America"
    assert codes.region_name("QUECHUA") == "QUECHUA"
    assert codes.is_known("BE-WAL")
    assert not codes.is_known("CD-HK")


def test_every_code_is_canonical_and_every_parent_is_named() -> None:
    data = codes._codes()

    known = {*data["regions"], *data["countries"]}
    assert {code for code in known if codes.canonical(code) != code} == set()
    assert {parent for parents in data["parents"].values() for parent in parents} <= set(data["regions"])
    assert {code for code in codes.ALIASES.values() if not codes.is_known(code)} == set()


def test_threads_look_up_points_at_the_same_time() -> None:
    """Without a lock the process ends: what one of them prepared and let go, another one looks into."""
    borders, rng = shipped_borders(), np.random.default_rng(1)
    north, east = rng.normal(48, 2, 600), rng.normal(5, 4, 600)
    expected = borders.locate(north, east)

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: borders.locate(north, east), range(16)))

    assert all(each == expected for each in found)
