"""`select_images` from files, over the borders that come with the platform, without a database."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

AREAS = {
    "bn": {"region": ["IN-WB", "BD"], "country": ["IN", "BD"], "continent": ["AS"]},
    "te": {"region": ["IN-TG"], "country": ["IN"], "continent": ["AS"]},
    "fr": {"region": ["FR"], "country": ["FR"], "continent": ["EU"]},
}
POINTS = """key,latitude,longitude,title
kolkata,22.572,88.364,A street
hyderabad,17.385,78.487,A gate
paris,48.857,2.352,A tower
nowhere,0,0,
swapped,95.0,10.0,
kolkata,1,1,again
,1,1,without a key
empty,,,
odd,north,east,
delhi,28.61,77.21,A park
"""


@pytest.fixture
def run(tmp_path: Path):
    def run(points: str = POINTS, table: object = AREAS, *arguments: str) -> tuple[dict[str, Any], str]:
        (tmp_path / "points.csv").write_text(points)
        (tmp_path / "table.json").write_text(json.dumps(table))
        out, err = StringIO(), StringIO()
        files = [str(tmp_path / "points.csv"), "--table", str(tmp_path / "table.json")]
        options = ["--per-language", "1", "--seed", "3", "--json", *arguments]
        call_command("select_images", *files, *options, stdout=out, stderr=err)
        return json.loads(out.getvalue()), err.getvalue()

    return run


def test_images_are_chosen_from_files_without_a_database(run):
    answer, _ = run()

    assert {(one["key"], one["language"], one["level"]) for one in answer["images"]} == {
        ("kolkata", "bn", "region"),
        ("hyderabad", "te", "region"),
        ("paris", "fr", "region"),
    }
    assert answer["languages"]["bn"] == {"region": 1, "country": 0, "continent": 0, "anywhere": 0}
    assert answer["pools"]["te"] == {"region": 1, "country": 2, "continent": 0, "anywhere": 1}


def test_lines_that_cannot_be_used_are_named_and_counted_and_the_others_are_chosen(run):
    answer, said = run()

    assert sum(answer["left_out"].values()) == 6
    for part in ("Line 5: nowhere lies at 0, 0", "Line 6: swapped", "Line 7: kolkata is there twice", "Line 9: empty"):
        assert part in said
    assert len(answer["images"]) == 3


def test_fewer_candidates_than_asked_for_are_said_and_not_an_error(run):
    answer, said = run(POINTS, AREAS, "--per-language", "5")

    assert sum(answer["missing"].values()) == 15 - 4
    assert "images are missing" in said


def test_what_is_missing_at_the_levels_asked_for_may_be_there_at_others(run):
    _, said = run(POINTS, {"te": AREAS["te"]}, "--per-language", "2", "--levels", "region")

    assert "te: 1 of 2 images are missing; no candidate is left at these levels." in said


def test_a_language_without_any_place_is_named_and_the_others_keep_theirs(run):
    answer, said = run(POINTS, AREAS | {"mi": {"region": [], "country": [], "continent": []}})

    assert "The table has no place for mi" in said
    assert answer["languages"]["mi"]["anywhere"] == 1
    assert len(answer["images"]) == 4


def test_a_language_that_the_table_lacks_is_refused(run):
    with pytest.raises(CommandError, match=r"The table has no entry for xx\. It has: bn, fr, te\."):
        run(POINTS, AREAS, "--languages", "te,xx")


def test_places_in_the_file_are_taken_as_they_are(run):
    located = "key,latitude,longitude,countries,region,continent\na,0,1,FR,FR-75,EU\nb,48.8,2.3,IN,IN-WB,AS\n"
    answer, _ = run(located, AREAS, "--levels", "region")

    assert {(one["key"], one["language"]) for one in answer["images"]} == {("a", "fr"), ("b", "bn")}


def test_larger_regions_count_for_places_in_the_file(run):
    located = "KEY,Latitude,Longitude,Countries,Region,Continent\na,51.2,4.4,be,be-van,eu\n"
    answer, _ = run(located, {"nl": {"region": ["BE-VLG"]}})

    assert [(one["key"], one["level"]) for one in answer["images"]] == [("a", "region")]


def test_places_in_words_are_looked_up_by_their_coordinates(run):
    named = (
        "key,latitude,longitude,countries,region,continent\na,48.86,2.35,France,Paris,Europe\nb,48.86,2.35,,Paris,\n"
    )
    answer, _ = run(named, {"fr": AREAS["fr"]}, "--per-language", "2")

    assert answer["languages"]["fr"]["region"] == 2


@pytest.mark.parametrize(
    ("points", "table", "why"),
    [
        ("name,latitude\n", AREAS, "key"),
        ("key,lat,lon\na,1,2\n", AREAS, "latitude"),
        (POINTS, {"fr": {"region": ["France"]}}, "fr"),
        (POINTS, [], "table"),
    ],
)
def test_files_that_cannot_be_read_at_all_are_refused(run, points, table, why):
    with pytest.raises(CommandError, match=why):
        run(points, table)


def test_a_table_may_begin_with_a_mark_but_names_no_language_twice(tmp_path):
    (tmp_path / "points.csv").write_text(POINTS)
    table = tmp_path / "table.json"
    arguments = ["select_images", str(tmp_path / "points.csv"), "--table", str(table), "--seed", "1"]

    table.write_text('{"fr": {"region": ["FR"]}}', encoding="utf-8-sig")
    call_command(*arguments, stdout=StringIO(), stderr=StringIO())

    table.write_text('{"fr": {"region": ["FR"]}, "fr": {"region": ["BE"]}}')
    with pytest.raises(CommandError, match="“fr” comes twice"):
        call_command(*arguments)
