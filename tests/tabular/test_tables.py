"""Tables of pages: each column is declared once, and what people wrote is text in every cell."""

from __future__ import annotations

import re

from django.http import QueryDict
from django.template.loader import render_to_string

from tabular.tables import TEXT, PageTable, TableColumn, isolated, link, note, parts, tag

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
