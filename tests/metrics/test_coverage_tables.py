"""The tables of coverage in the guide: what counts as outside of the bounds, and that no cell is."""

from __future__ import annotations

import pytest

from tools.coverage.__main__ import GUIDE, SUMMARY, SUMMARY_HEAD, between_markers, lines
from tools.coverage.tables import TABLES, CellRule, RunShare

ROWS = [(table, row) for table in TABLES for row in table.rows]
PART = 8
"""Of the runs that the tables of the guide take."""


def test_a_share_is_wrong_where_the_simulation_cannot_have_missed_by_so_much():
    for hits, refused, is_wrong in (
        (950, 0, False),
        (915, 0, False),
        (910, 0, True),
        (900, 40, False),
        (840, 80, True),
    ):
        assert RunShare(hits, 1_000, CellRule.HOLDS, refused).is_wrong is is_wrong, (hits, refused)
    for hits, is_wrong in ((60, False), (75, False), (80, True)):
        assert RunShare(hits, 1_000, CellRule.IS_RARE).is_wrong is is_wrong
    assert not RunShare(300, 1_000, CellRule.IS_OLD).is_wrong
    assert not RunShare(0, 10, CellRule.HOLDS, 10).is_wrong, "What is always refused claims nothing."
    assert [RunShare(hits, 1_000, CellRule.HOLDS).is_wide for hits in (974, 976)] == [False, True]


def test_a_share_says_how_many_intervals_were_refused():
    assert RunShare.of([True, True, False, None], CellRule.HOLDS).text == "50 (25)"
    assert RunShare.of([True, False], CellRule.HOLDS).text == "50"


def test_a_row_comes_out_the_same_each_time():
    table = next(table for table in TABLES if table.name == "game")
    assert table.cells((3,), runs=40) == table.cells((3,), runs=40)
    assert table.cells((3,), runs=40)[1:] != table.cells((5,), runs=40)[1:]


def test_the_guide_has_each_table_with_its_head_and_rows():
    text = GUIDE.read_text(encoding="utf-8")
    for name, head, rows in (
        (SUMMARY, SUMMARY_HEAD, TABLES),
        *((table.name, table.head, table.rows) for table in TABLES),
    ):
        part = text.partition(f"<!-- coverage: {name} -->\n")[2].partition("<!-- end of coverage -->")[0].splitlines()
        assert part[:1] == lines(head, []).splitlines()[:1], f"Run python -m tools.coverage: {name} is out of date."
        assert len(part) == 2 + len(rows)
    assert between_markers(text, SUMMARY, "x\n").count("<!-- coverage: ") == 1 + len(TABLES)
    with pytest.raises(ValueError, match="coverage: no such table"):
        between_markers(text, "no such table", "")


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(("table", "row"), ROWS, ids=lambda value: str(getattr(value, "name", value)))
def test_no_cell_is_outside_of_its_bounds(table, row):
    shares = [cell for cell in table.cells(row, runs=table.runs // PART) if isinstance(cell, RunShare)]
    # Two standard errors are passed by chance in a few of so many cells.
    assert sum(share.is_wrong for share in shares) <= 1, [share.text for share in shares]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_each_table_has_intervals_that_must_hold(table):
    cells = (cell for row in table.rows for cell in table.cells(row, runs=2))
    assert any(isinstance(cell, RunShare) and cell.rule is CellRule.HOLDS for cell in cells)
