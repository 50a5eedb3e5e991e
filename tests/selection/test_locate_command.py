"""`manage.py locate`: from a file of points to their places, without a database."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.published import published

HEADER = "key,latitude,longitude\n"
LARGE = ("scipy", "pandas", "pyarrow", "torch", "sklearn", "matplotlib")
IN_A_PROCESS = f"""
import sys
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", "locate", sys.argv[1], "--json"])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak.split()[1], *({set(LARGE)} & set(sys.modules)), file=sys.stderr)
"""


def located(path: Path, **options: object) -> tuple[str, str]:
    out, errors = io.StringIO(), io.StringIO()
    call_command("locate", str(path), stdout=out, stderr=errors, no_color=True, **options)
    return out.getvalue(), errors.getvalue()


def points_file(folder: Path, text: str) -> Path:
    path = folder / "points.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_points_have_their_countries_region_and_continent(tmp_path: Path) -> None:
    path = points_file(tmp_path, HEADER + "a,17.385,78.487\nb,44.616,33.525\nc,0.5,-30\n")

    out, errors = located(path, for_programs=True)

    assert json.loads(out)["points"] == [
        {"key": "a", "countries": ["IN"], "region": "IN-TG", "continent": "AS", "regions": ["IN-TG"]},
        {"key": "b", "countries": ["RU", "UA"], "region": "UA-40", "continent": "EU", "regions": ["UA-40"]},
        {"key": "c", "countries": [], "region": None, "continent": None, "regions": []},
    ]
    assert errors == ""


def test_wrong_lines_are_named_and_counted_and_the_others_located(tmp_path: Path) -> None:
    path = points_file(
        tmp_path, HEADER + "swapped,139.69,35.68\nzero,0,0\n,1,2\nlong,1,2,3\nword,north,2\nok,52.5,13.4\n"
    )

    out, errors = located(path, for_programs=True)

    found = {point["key"]: point for point in json.loads(out)["points"]}
    assert found["ok"]["countries"] == ["DE"]
    assert {key: point.get("problem") for key, point in found.items()} == {
        "swapped": "swapped",
        "zero": "null_island",
        "word": "not_a_number",
        "ok": None,
    }
    assert "Line 2: Latitude and longitude seem to be swapped." in errors
    assert "Line 4: This line has no key." in errors
    assert "5 of 6 lines could not be located." in errors


def test_without_json_it_is_a_table(tmp_path: Path) -> None:
    out, _ = located(points_file(tmp_path, HEADER + "venice,45.427,12.328\n"))

    assert out.splitlines()[1].split() == ["venice", "IT", "IT-VE", "IT-34", "EU"]


def test_no_points_are_an_empty_list(tmp_path: Path) -> None:
    out, _ = located(points_file(tmp_path, HEADER), for_programs=True)

    assert json.loads(out)["points"] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [("key,lat,lon\na,1,2\n", "no column “latitude”"), ("name,latitude,longitude\n", "no column “key”"), ("", "empty")],
)
def test_a_file_without_the_columns_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        located(points_file(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"none\.csv cannot be read: No such file"):
        located(tmp_path / "none.csv")


def test_the_published_points_lie_where_they_are_said_to(tmp_path: Path) -> None:
    points = json.loads(published("geography/points.json").read_text(encoding="utf-8"))
    lines = [f"{number},{latitude},{longitude}\n" for number, (_, latitude, longitude, *_) in enumerate(points)]

    out, _ = located(points_file(tmp_path, HEADER + "".join(lines)), for_programs=True)

    for (name, _, _, country, region), found in zip(points, json.loads(out)["points"], strict=True):
        allowed = set() if country == "sea" else set(country.rstrip("*").split("/"))
        assert bool(found["countries"]) == bool(allowed), name
        assert not allowed or allowed & set(found["countries"]), name
        assert region is None or region in found["regions"], name


def test_a_file_that_is_refused_at_its_end_prints_no_half(tmp_path: Path) -> None:
    path = points_file(tmp_path, HEADER + "a,48.85,2.35\n" * 2_500 + '"open,48.85,2.35\nb,1,2\n')
    out = io.StringIO()

    with pytest.raises(CommandError, match="line 2502"):
        call_command("locate", str(path), for_programs=True, stdout=out, stderr=io.StringIO())

    assert out.getvalue() == ""


def test_the_case_of_columns_and_a_short_first_line_do_not_matter(tmp_path: Path) -> None:
    path = points_file(tmp_path, "KEY;Latitude;LONGITUDE\nshort\nparis;48.85;2.35\n")

    out, errors = located(path, for_programs=True)

    assert [point["countries"] for point in json.loads(out)["points"]] == [[], ["FR"]]
    assert "1 of 2 lines could not be located." in errors


@pytest.mark.parametrize("start", ["key,lat,lon\n", "\n\nkey,latitude\n", "key,latitude\n\n\na,1\n"])
def test_a_file_without_a_column_is_refused(tmp_path: Path, start: str) -> None:
    with pytest.raises(CommandError, match="names no column"):
        located(points_file(tmp_path, start + "b,1,2\n"))


def test_numbers_as_python_writes_them_are_none(tmp_path: Path) -> None:
    out, _ = located(points_file(tmp_path, HEADER + "a,1_0,1_0\nb,1e1,+10\n"), for_programs=True)

    assert [point.get("problem") for point in json.loads(out)["points"]] == ["not_a_number", None]


@pytest.mark.process
@pytest.mark.long(reason="a process of its own, whose memory is measured")
def test_points_all_over_the_world_are_located_in_less_than_200_mb(tmp_path: Path) -> None:
    """Also without the libraries that other parts need, which no command should load at its start."""
    grid = [(north + 0.1, east + 0.1) for north in range(-88, 90, 8) for east in range(-180, 180, 8)]
    path = points_file(tmp_path, HEADER + "".join(f"{key},{at[0]},{at[1]}\n" for key, at in enumerate(grid)))

    done = subprocess.run([sys.executable, "-c", IN_A_PROCESS, path], capture_output=True, text=True, check=True)

    peak_kib, *loaded = done.stderr.split()
    assert len(json.loads(done.stdout)["points"]) == len(grid)
    assert loaded == []
    assert int(peak_kib) * 1024 < 200_000_000
