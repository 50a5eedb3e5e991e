"""Reading files line by line: what is gathered, and what a field may hold."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crosslens_metrics.formats.lines import LineFields, LineReader
from crosslens_metrics.formats.problems import FileProblemsError, FileRefusedError, LineError
from crosslens_metrics.formats.records import READ_BYTES, json_members, json_records


def read_names(file: Path) -> list[str]:
    names = []
    with LineReader(file, suffixes=(".csv", ".jsonl", ".json")) as reader:
        for record in reader.records(column="name"):
            with reader.line(record):
                fields = LineFields(record.value, example='{"name": …}', is_csv=reader.is_csv)
                names.append(fields.text("name", needed=True, longest=5))
    return names


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "name\nann\n'=bob\n"),
        ("a.jsonl", '{"name": "ann"}\n{"name": "=bob"}\n'),
        ("a.json", '[{"name": "ann"}, {"name": "=bob"}]'),
    ],
)
def test_the_same_lines_are_read_from_every_kind_of_file(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_names(tmp_path / name) == ["ann", "=bob"]


def test_all_problems_are_told_in_the_order_of_their_lines(tmp_path):
    file = tmp_path / "names.jsonl"
    file.write_text('{"name": "ann"}\n{"name": ""}\n{\n[1]\n{"name": 5}\n{"name": "longer"}\n')

    with pytest.raises(FileProblemsError) as refused:
        read_names(file)

    assert [problem.number for problem in refused.value.problems] == [2, 3, 4, 5, 6]
    told = str(refused.value).splitlines()
    assert told[0] == f"{file}, line 2: name is empty. Fill it in."
    assert told[2] == f'{file}, line 4: Not an object. Write each line as {{"name": …}}.'
    assert told[4] == f"{file}, line 6: name has 6 characters; at most 5 are allowed."


def test_entries_of_a_list_are_counted_as_entries(tmp_path):
    file = tmp_path / "names.json"
    file.write_text('[{"name": "ann"}, {}]')
    with pytest.raises(FileProblemsError, match="entry 2: name is empty"):
        read_names(file)


def test_a_file_that_cannot_be_read_or_is_of_another_kind_is_refused(tmp_path):
    with pytest.raises(FileRefusedError, match="cannot be read: No such file"):
        read_names(tmp_path / "none.csv")
    with pytest.raises(FileRefusedError, match=r"must end in one of \.csv, \.jsonl, \.json"):
        read_names(tmp_path / "names.xlsx")


def test_other_errors_pass_through_as_they_are(tmp_path):
    def fail() -> None:
        with LineReader(tmp_path / "none") as reader:
            reader.refuse("This is told only where the file was read.")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


def test_fields_are_read_by_their_kind():
    fields = LineFields({"at": "2026-01-31T12:00:00+00:00", "is": True, "of": [1], "in": "Red", "many": 12, "no": None})

    assert fields.moment("at") == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert fields.moment("no") is None
    assert fields.flag("is") is True
    assert (fields.list("of"), fields.list("no")) == ([1], [])
    assert fields.one_of("in", ("red", "blue"), any_case=True) == "red"
    assert fields.one_of("no", ("", "red")) == ""
    assert fields.whole("many") == 12
    assert fields.text("is", numbers=True) == "true"


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (lambda fields: fields.text("of"), "of is not text"),
        (lambda fields: fields.text("half"), "half holds characters that are not valid"),
        (lambda fields: fields.text("bell", is_name=True), "bell holds characters that are not valid"),
        (lambda fields: fields.flag("in"), "in is neither true nor false"),
        (lambda fields: fields.list("in"), "in is not a list"),
        (lambda fields: fields.whole("in"), "in is “Red”. Give a whole number"),
        (lambda fields: fields.moment("day"), "day is “2026-01-31”. Give a time with its offset"),
        (lambda fields: fields.one_of("in", ("red", "blue")), "in is “Red”. Give one of: red, blue"),
    ],
)
def test_a_field_of_another_kind_is_told_with_its_name(read, said):
    fields = LineFields({"of": [1], "in": "Red", "half": "\ud800", "bell": "a\x07", "day": "2026-01-31"})
    with pytest.raises(LineError) as wrong:
        read(fields)
    assert said in wrong.value.reason


def test_of_a_long_list_no_more_is_read_than_is_asked_for() -> None:
    file = io.BytesIO(json.dumps([{"name": "ann"}] * 50_000).encode())
    assert next(iter(json_records(file))).number == 1
    assert file.tell() <= 2 * READ_BYTES


@pytest.mark.parametrize("more", ['[{"name": "bob"}]', '{"name": "bob"}', "x", "]", ","])
def test_what_follows_a_list_is_told(tmp_path, more):
    file = tmp_path / "names.json"
    file.write_text('[{"name": "ann"}]\n' + " " * READ_BYTES + more)
    with pytest.raises(FileProblemsError, match="entry 2: More follows after the end of the list"):
        read_names(file)


@pytest.mark.parametrize("whole", ['{"annotations": [{"id": 1}]}', "{}"])
def test_what_follows_an_object_is_told(whole):
    assert len(list(json_members(io.BytesIO(whole.encode() + b" \n")))) == whole.count("1")
    with pytest.raises(FileRefusedError, match="More follows after the end of the object"):
        list(json_members(io.BytesIO(f"{whole}\n{whole}".encode())))
