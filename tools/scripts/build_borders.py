"""Make `libs/geography/data` anew: `python -m tools.scripts.build_borders BORDERS.json ADMIN_1.geojson`.

BORDERS.json is src/data/borders.json of country-coder (ISC), ADMIN_1.geojson Natural Earth's 1:10m states and provinces
(ne_10m_admin_1_states_provinces, public domain) as GeoJSON. Nobody needs this to run the platform: what it makes is
kept in the repository, with its sources in libs/geography/data/SOURCES.md. New borders are a new version: places of
images are looked up again.
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from shapely.geometry import shape

from geography import codes, outline_files
from geography.codes import canonical

COUNTRY_SCALE, REGION_SCALE = 100_000, 10_000
TOLERANCE = 0.005
"""Degrees: how much outlines of regions are simplified, neighbours together, so that no gaps appear."""

RESERVED = {"AC": "SH", "CP": "FR", "CQ": "GG", "DG": "IO", "EA": "ES", "FX": "FR", "IC": "ES", "TA": "SH"}
"""Codes that ISO 3166-1 only reserves, and the code that such a place has."""

WITHOUT_A_STATE = {"Q23681": "CY", "Q620634": ""}
"""Northern Cyprus and Bir Tawil: no country in the file."""

NOT_COUNTRIES = {"EU", "UN"}
CONTINENTS = {"002": "AF", "142": "AS", "150": "EU", "009": "OC"}
CODE = re.compile(r"[A-Z]{2}-[A-Z0-9]{1,3}")

SPAIN = {"CE": "", "NA": "NC", "PM": "IB", "LO": "RI", "MU": "MC"}
FRANCE = {"COR": "20R", "LRE": "", "GUA": "", "MTQ": "", "GUF": "", "MAY": ""}
BELGIUM = {"Flemish": "BE-VLG", "Walloon": "BE-WAL"}
BRITAIN = {"Scotland": "GB-SCT", "Wales": "GB-WLS", "England": "GB-ENG", "Northern Ireland": "GB-NIR"}
PARENTS = {
    "BE-VLG": "Flanders", "BE-WAL": "Wallonia",
    "GB-ENG": "England", "GB-NIR": "Northern Ireland", "GB-SCT": "Scotland", "GB-WLS": "Wales",
    "ES-AN": "Andalusia", "ES-AR": "Aragon", "ES-AS": "Asturias", "ES-CB": "Cantabria",
    "ES-CL": "Castile and León",
    "ES-CM": "Castilla-La Mancha",
    "ES-CN": "Canary Islands", "ES-CT": "Catalonia", "ES-EX": "Extremadura",
    "ES-GA": "Galicia", "ES-IB": "Balearic Islands", "ES-MC": "Region of Murcia",
    "ES-MD": "Community of Madrid", "ES-NC": "Navarre",
    "ES-PV": "Basque Country", "ES-RI": "La Rioja", "ES-VC": "Valencian Community",
}  # fmt: skip
"""Names of regions that consist of others and have no outline of their own; of Italy and France the file names them."""

NAMES = {"PK-GB": "Gilgit-Baltistan", "PK-KP": "Khyber Pakhtunkhwa", "PK-SD": "Sindh", "PK-BA": "Balochistan"}


@dataclass(frozen=True)
class DisputedArea:
    """An area that a state holds and another one counts as its own.

    - `countries`: all that are concerned.
    - `held`: whom country-coder, which goes by who administers, gives it to; other points in the outline are not meant.
    - `features` and `provinces`: its outline, from country-coder (Wikidata identifiers) or Natural Earth (iso_3166_2,
      perhaps only one `named`).
    - `corners`: longitude and latitude: drawn by hand, right to about 15 km, where neither file has it. It may reach
      beyond what is disputed where `held` cuts it off.
    """

    name: str
    countries: str
    held: str
    features: tuple[str, ...] = ()
    provinces: tuple[str, ...] = ()
    named: str = ""
    corners: tuple[tuple[float, float], ...] = ()


DISPUTED = (
    DisputedArea("Crimea", "RU UA", "RU", features=("Q7835",)),
    DisputedArea(
        "Donetsk, Kherson, Luhansk and Zaporizhzhia", "RU UA", "UA RU", provinces=("UA-09", "UA-14", "UA-23", "UA-65")
    ),
    DisputedArea("Northern Cyprus", "CY TR", "CY", features=("Q23681",)),
    DisputedArea("West Bank", "IL PS", "PS", features=("Q36678",)),
    DisputedArea(
        "East Jerusalem", "IL PS", "IL",
        corners=(
            (35.205, 31.865), (35.235, 31.865), (35.255, 31.835), (35.265, 31.80), (35.255, 31.745), (35.225, 31.725),
            (35.2, 31.73), (35.215, 31.745), (35.2235, 31.76), (35.2262, 31.7735), (35.2262, 31.7815), (35.227, 31.788),
            (35.228, 31.793), (35.22, 31.80), (35.20, 31.81), (35.18, 31.815), (35.18, 31.83), (35.2, 31.84),
        ),
    ),
    DisputedArea(
        "Golan Heights", "IL SY", "IL",
        corners=(
            (35.66, 32.68), (35.64, 32.72), (35.645, 32.80), (35.63, 32.88), (35.622, 32.95), (35.63, 33.05),
            (35.626, 33.10), (35.66, 33.23), (35.68, 33.26), (35.72, 33.33), (35.85, 33.42), (36.0, 33.4), (36.0, 32.7),
        ),
    ),
    DisputedArea(
        "Western Sahara", "EH MA", "EH MA",
        corners=((-17.6, 20.7), (-12.0, 20.7), (-8.0, 25.0), (-8.0, 27.667), (-13.6, 27.667), (-17.6, 27.0)),
    ),
    DisputedArea("Kosovo", "RS XK", "XK", features=("XK",)),
    DisputedArea("Abkhazia", "GE RU", "GE", provinces=("GE-AB",)),
    DisputedArea(
        "South Ossetia", "GE RU", "GE",
        corners=(
            (43.42, 42.5), (43.8, 42.75), (44.5, 42.8), (44.86, 42.7), (44.7, 42.3), (44.5, 42.08), (44.35, 42.05),
            (44.1, 42.12), (44.0, 42.17), (43.9, 42.17), (43.75, 42.1), (43.55, 42.2), (43.42, 42.3),
        ),
    ),
    DisputedArea("Jammu, Kashmir and Ladakh", "IN PK", "IN", provinces=("IN-JK", "IN-LA", "-99-X06~")),
    DisputedArea("Azad Kashmir and Gilgit-Baltistan", "IN PK", "PK", provinces=("PK-GB", "PK-JK")),
    DisputedArea(
        "Aksai Chin", "CN IN", "CN",
        corners=(
            (77.8, 35.45), (78.2, 35.75), (78.9, 35.95), (79.5, 35.8), (80.0, 35.6), (80.35, 35.4), (80.2, 35.1),
            (79.9, 34.65), (79.5, 34.45), (79.0, 34.3), (78.7, 34.35), (78.9, 33.9), (78.0, 34.5),
        ),
    ),
    DisputedArea(
        "Shaksgam Valley", "CN IN PK", "CN",
        corners=((75.3, 37.0), (76.0, 36.6), (76.6, 36.3), (77.2, 36.0), (77.8, 35.5), (76.0, 35.5), (75.0, 36.5)),
    ),
    DisputedArea("Arunachal Pradesh", "CN IN", "IN", provinces=("IN-AR",)),
    DisputedArea("Paracel Islands", "CN TW VN", "CN", provinces=("CN-X01~",)),
    DisputedArea(
        "Southern Kuril Islands", "JP RU", "RU",
        corners=((145.3, 43.2), (149.0, 43.2), (149.0, 45.6), (147.0, 45.0), (145.35, 44.5)),
    ),
    DisputedArea(
        "Hala'ib Triangle", "EG SD", "EG",
        corners=((34.08, 21.9), (34.6, 22.3), (35.2, 22.85), (35.6, 23.14), (36.0, 23.1), (37.2, 22.0), (37.0, 21.9)),
    ),
    DisputedArea("Bir Tawil", "EG SD", "", features=("Q620634",)),
    DisputedArea(
        "Abyei", "SD SS", "SD SS", corners=((27.83, 9.35), (29.0, 9.35), (29.0, 10.17), (27.83, 10.17)),
    ),
)  # fmt: skip
"""Areas of which two states have hold or count them among their provinces.

A claim on the whole of a country or territory with a code of its own (TW, FK, GI and others) is not among them: its
code says where a point is. Breakaway areas that no state but their own authorities counts as anything else than their
country's (Somaliland, Transnistria) belong to that country. Gaza is PS alone.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("borders", type=Path, metavar="BORDERS.json")
    parser.add_argument("admin_1", type=Path, metavar="ADMIN_1.geojson")
    options = parser.parse_args()
    features = json.loads(options.borders.read_text(encoding="utf-8"))["features"]
    countries = _countries(features)
    names = {each["properties"].get("iso1A2", ""): each["properties"]["nameEn"] for each in features}
    provinces = json.loads(options.admin_1.read_text(encoding="utf-8"))["features"]
    shapes = np.array([shapely.make_valid(shape(each["geometry"])) for each in provinces])
    folder = outline_files.FOLDER
    outline_files.write(
        folder / outline_files.COUNTRIES, [each for _, each in countries], [about for about, _ in countries],
        scale=COUNTRY_SCALE,
    )  # fmt: skip
    _write_regions(provinces, shapes, countries, names)


def _countries(features: list[dict[str, Any]]) -> list[tuple[dict[str, Any], Any]]:
    known = {}
    for feature in features:
        about = feature["properties"]
        for key in ("iso1A2", "m49", "wikidata"):
            if key in about:
                known[about[key]] = about
    made = []
    for feature in features:
        about = feature["properties"]
        if feature["geometry"] is None:
            continue
        code = _country_code(about, known)
        polygons = shape(feature["geometry"])
        if not polygons.is_valid:
            polygons = _polygons_of(shapely.make_valid(polygons))
        name = about["nameEn"]
        made.append(
            ({"code": code, "name": name, "continent": _continent(about), "wikidata": about["wikidata"]}, polygons)
        )
    return sorted(made, key=lambda each: (each[0]["code"], each[0]["wikidata"]))


def _country_code(about: dict[str, Any], known: dict[str, dict[str, Any]]) -> str:
    if about["wikidata"] in WITHOUT_A_STATE:
        return WITHOUT_A_STATE[about["wikidata"]]
    code = about.get("iso1A2")
    for group in () if code else about.get("groups", ()):
        group_code = known.get(group, {}).get("iso1A2")
        if group_code and group_code not in NOT_COUNTRIES:
            code = group_code
    code = code or about["country"]
    return RESERVED.get(code, code)


def _continent(about: dict[str, Any]) -> str:
    groups = about.get("groups", ())
    if about.get("iso1A2") == "AQ":
        return "AN"
    if "005" in groups:
        return "SA"
    if "019" in groups:
        return "NA"
    return next(CONTINENTS[group] for group in groups if group in CONTINENTS)


def _polygons_of(geometry: Any) -> Any:
    parts = [part for part in shapely.get_parts(geometry) if part.geom_type in ("Polygon", "MultiPolygon")]
    return shapely.union_all(parts)


def _write_regions(
    provinces: list[dict[str, Any]],
    shapes: Any,
    countries: list[tuple[dict[str, Any], Any]],
    country_names: dict[str, str],
) -> None:
    simple = shapely.coverage_simplify(shapes, TOLERANCE)
    tree = shapely.STRtree([polygons for _, polygons in countries])
    outlines, about = [], []
    names: dict[str, str] = {}
    parents: dict[str, list[str]] = {}
    parent_names = dict(PARENTS)
    for province, outline, original in zip(provinces, simple, shapes, strict=True):
        it = province["properties"]
        code = (it["iso_3166_2"] or "").strip()
        is_coded = CODE.fullmatch(code) is not None and not code.endswith("-99")
        code = canonical(code) if is_coded else ""
        outline = _kept(outline, original)
        hits = tree.query(shapely.point_on_surface(original), predicate="intersects")
        within = {countries[hit][0]["code"] for hit in hits} - {""}
        prefix = (it["iso_3166_2"] or "")[:2]
        if prefix.isalpha():
            within.add(prefix)
        outlines.append(outline)
        about.append({"code": code, "within": sorted(within), "area": round(original.area, 6), "adm1": it["adm1_code"]})
        if code:
            names.setdefault(code, NAMES.get(code) or (it["name_en"] or it["name"]).strip())
            parent, parent_name = _parent(code, it)
            if parent:
                parents[code] = [parent]
                parent_names.setdefault(parent, parent_name)
    used = {parent for several in parents.values() for parent in several}
    names.update({code: name for code, name in parent_names.items() if code in used and code not in names})
    _write_disputed(countries, provinces, outlines)
    order = sorted(range(len(about)), key=lambda index: (about[index]["code"], about[index]["adm1"]))
    rows = [{key: value for key, value in about[index].items() if key != "adm1"} for index in order]
    outline_files.write(
        outline_files.FOLDER / outline_files.REGIONS, [outlines[index] for index in order], rows, scale=REGION_SCALE
    )
    text = json.dumps(
        {
            "regions": {code: names[code] for code in sorted(names)},
            "parents": {code: parents[code] for code in sorted(parents)},
            "countries": {code: country_names[code] for code in sorted({row["code"] for row, _ in countries} - {""})},
        },
        ensure_ascii=False,
        indent=0,
    )
    codes.FILE.write_text(text + "\n", encoding="utf-8")


def _kept(outline: Any, original: Any) -> Any:
    """The simplified outline as valid polygons, or the original of what is too small to simplify."""
    if outline.is_empty:
        outline = original
    if not outline.is_valid:
        outline = shapely.make_valid(outline)
    return outline if outline.geom_type in ("Polygon", "MultiPolygon") else _polygons_of(outline)


def _parent(code: str, it: dict[str, Any]) -> tuple[str, str]:
    country, group, name = code[:2], (it["region_cod"] or "").strip(), (it["region"] or "").strip()
    parent = ""
    if country == "IT":
        parent = group
    elif country == "FR" and group:
        suffix = group.removeprefix("FR-")
        suffix = FRANCE.get(suffix, suffix)
        parent = f"FR-{suffix}" if suffix else ""
    elif country == "ES" and group:
        suffix = group.removeprefix("ES.")
        suffix = SPAIN.get(suffix, suffix)
        parent = f"ES-{suffix}" if suffix else ""
    elif country == "BE":
        parent = BELGIUM.get(name, "")
    elif country == "GB":
        parent = BRITAIN[it["geonunit"]]
    return ("", "") if parent == code else (parent, name)


def _write_disputed(
    countries: list[tuple[dict[str, Any], Any]], provinces: list[dict[str, Any]], outlines: Any
) -> None:
    shapes, about = [], []
    for area in DISPUTED:
        parts = [polygons for row, polygons in countries if {row["wikidata"], row["code"]} & set(area.features)]
        for province, outline in zip(provinces, outlines, strict=True):
            it = province["properties"]
            if it["iso_3166_2"] in area.provinces and (not area.named or it["name"] == area.named):
                parts.append(outline)
        if area.corners:
            parts.append(shapely.Polygon(area.corners))
        if not parts:
            raise SystemExit(f"Neither file has {area.name}.")
        shapes.append(_kept(shapely.union_all(parts), None))
        about.append({"name": area.name, "countries": sorted(area.countries.split()), "held": area.held.split()})
    outline_files.write(outline_files.FOLDER / outline_files.DISPUTED, shapes, about, scale=REGION_SCALE)


if __name__ == "__main__":
    main()
