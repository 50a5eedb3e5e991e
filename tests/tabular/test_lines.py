"""Lines of tables as spreadsheets and programs read them, and columns of tables on pages."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterable
from typing import Any

import pytest
from django.http import QueryDict
from django.template.loader import render_to_string

from tabular.downloads import (
    BYTE_ORDER_MARK,
    FORMULA_STARTS,
    csv_line,
    csv_lines,
    csv_safe,
    json_line,
    json_texts,
    plain_cell,
    safe_cell,
)
from tabular.tables import TEXT, PageTable, TableColumn, isolated, link, note, parts, tag
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
    lines = list(csv_lines(rows[0], (row.values() for row in rows)))
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


ROWS = [("b", 1), ("<i>", None), ("a", 2)]
COLUMNS: list[TableColumn[tuple[str, int | None]]] = [
    TableColumn("name", "Name", lambda row: row[0], kind=TEXT),
    TableColumn(
        "much", "How <much>", lambda row: row[1], lambda row: parts(row[1], note(row[0]), tag(row[0], "warning"))
    ),
]


def shown(table: PageTable[tuple[str, int | None]]) -> str:
    return re.sub(r">\s+<", "><", render_to_string("_table.html", {"table": table}))


def test_what_is_shown_is_escaped_in_heads_and_cells():
    text = shown(PageTable("many", "All & more", COLUMNS, ROWS))
    assert '<caption id="many">All &amp; more</caption>' in text
    assert '<th scope="col" class="number">How &lt;much&gt;</th>' in text
    assert "<i>" not in text
    assert '<th scope="row">&lt;i&gt;</th>' in text


def test_parts_of_a_cell_are_escaped_and_empty_ones_are_left_out():
    assert link('/?a="&b', isolated("<b>")) == '<a href="/?a=&quot;&amp;b"><bdi>&lt;b&gt;</bdi></a>'
    assert parts("", None, "<b>", note("")) == "&lt;b&gt;"


def test_a_table_without_rows_says_so_over_its_whole_width():
    assert '<td colspan="2">Nobody</td>' in shown(PageTable("many", "", COLUMNS, [], "Nobody"))


def test_its_heads_say_how_it_is_sorted_and_keep_the_filters():
    text = shown(PageTable("many", "All", COLUMNS, ROWS, query=QueryDict("sort=-much&find=x&page=3")))
    assert 'class="number" aria-sort="descending"><a href="?sort=much&amp;find=x">' in re.sub(r"\s+", " ", text)
    assert text.count("aria-sort") == 1
