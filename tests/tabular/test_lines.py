"""Lines of CSV and JSON have the bytes that the standard library's writers give."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable
from typing import Any

import pytest

from tabular.downloads import (
    BYTE_ORDER_MARK,
    FORMULA_STARTS,
    csv_line,
    csv_safe,
    json_line,
    json_texts,
    plain_cell,
    safe_cell,
    table_lines,
)
from tests.tabular.nasty import NASTY


def plain_csv_line(cells: Iterable[object]) -> str:
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL).writerow(csv_safe(cells))
    return line.getvalue()


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("text", NASTY)
def test_a_line_of_csv_is_what_the_csv_module_writes(text):
    for cells in ([text], [text, 1, None, "a"], ["a", text, text], ["", text, 2.5, True, ["a"]], [text] * 9):
        assert csv_line(cells) == csv_line(iter(cells)) == plain_csv_line(cells)


def test_all_nasty_texts_come_back_from_one_line_of_csv():
    (cells,) = csv.reader(io.StringIO(csv_line(NASTY), newline=""))
    assert [plain_cell(cell) for cell in cells] == NASTY


def test_a_table_in_csv_is_what_the_csv_module_writes():
    rows = [{"text": text, "number": 7, "none": None, "is": True, "list": (text, "b"), "empty": []} for text in NASTY]
    plain = [
        plain_csv_line([row["text"], 7, None, "true", f"{row['text']} b", ""])  # Each cell as the guide says.
        for row in rows
    ]
    lines = list(table_lines(rows[0], rows, as_csv=True))
    assert lines == [BYTE_ORDER_MARK + plain_csv_line(rows[0]), *plain]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_no_text_that_begins_with_a_letter_or_digit_could_be_a_formula():
    """So `csv_line` can leave those as they are."""
    first = [character for character in map(chr, range(sys.maxunicode + 1)) if character.isalnum()]
    assert FORMULA_STARTS.isdisjoint(first)
    assert all(map(str.isprintable, first))
    assert not any(map(str.isspace, first))
    assert safe_cell("=1") == "'=1"


VALUES: list[Any] = [
    *NASTY,
    None,
    0,
    -7,
    10**12,
    True,
    False,
    0.5,
    -0.0,
    1e300,
    (),
    ("a", 'b"'),
    ["c", None],
    {"d": (1,)},
]


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_the_json_of_a_value_is_what_the_json_module_writes(value):
    assert json_texts([value]) == [json.dumps(value, ensure_ascii=False)] == [json_line(value).removesuffix("\n")]


def test_what_json_does_not_have_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_texts([float("nan")])
