"""Write the tables of coverage into docs/statistics.md, between their markers: minutes on two cores.

    python -m tools.coverage              all of them
    python -m tools.coverage gains game   these, and not the summary

It ends with status 1 where an interval holds the truth in fewer than 93% of the runs that have one, or something is
falsely found in more than 6%, beyond two standard errors of the simulation. Seeds are fixed: only the code changes the
tables.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from config import ROOT
from tools.coverage.tables import TABLES, Cell, CellRule, CoverageTable, RunShare

GUIDE = ROOT / "docs" / "statistics.md"
SUMMARY = "summary"
SUMMARY_HEAD = ("interval", "cells", "lowest", "highest", "below 93", "above 97", "most false findings")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.coverage", description=__doc__.split("\n")[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(table.name for table in TABLES))
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.tables) - {table.name for table in TABLES}:
        parser.error(f"There is no table {', '.join(sorted(unknown))}.")
    tables = [table for table in TABLES if table.name in chosen.tables or not chosen.tables]
    tasks = [(table.name, row) for table in tables for row in table.rows]
    # The last rows of a table take longest, so they begin first.
    with ProcessPoolExecutor(chosen.processes) as pool:
        found = dict(zip(reversed(tasks), pool.map(_measured, reversed(tasks)), strict=True))
    measured = {table.name: [found[table.name, row] for row in table.rows] for table in tables}
    text = GUIDE.read_text(encoding="utf-8")
    for table in tables:
        text = between_markers(text, table.name, lines(table.head, measured[table.name]))
    if not chosen.tables:
        text = between_markers(text, SUMMARY, lines(SUMMARY_HEAD, [summed(t, measured[t.name]) for t in tables]))
    GUIDE.write_text(text, encoding="utf-8")
    wrong = [
        f"{name}: {' | '.join(map(text_of, row))}" for name, rows in measured.items() for row in rows if _fails(row)
    ]
    sys.stdout.write("".join(f"Outside of its bounds: {row}\n" for row in wrong))
    return 1 if wrong else 0


def between_markers(text: str, name: str, table: str) -> str:
    """The text with this table in place of the one between the markers of its name."""
    begin, end = f"<!-- coverage: {name} -->\n", "<!-- end of coverage -->\n"
    before, _, rest = text.partition(begin)
    _, is_there, after = rest.partition(end)
    if not is_there:
        raise ValueError(f"{GUIDE} has no {begin.strip()} … {end.strip()}.")
    return f"{before}{begin}{table}{end}{after}"


def lines(head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """As a table of Markdown."""
    rule = ["---:" if is_number else "---" for is_number in (cell != "interval" for cell in head)]
    return "".join(f"| {' | '.join(map(text_of, row))} |\n" for row in (head, rule, *rows))


def text_of(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell.text


def summed(table: CoverageTable, rows: Sequence[Sequence[Cell]]) -> list[str]:
    """The row of the summary: how many cells of a table are outside of the bounds."""
    shares = [cell for row in rows for cell in row if isinstance(cell, RunShare)]
    held = [share for share in shares if share.rule is CellRule.HOLDS]
    false = [share.percent for share in shares if share.rule is CellRule.IS_RARE]
    ends = (f"{end(share.given for share in held):.0f}" for end in (min, max))
    outside = (str(sum(share.is_wrong for share in held)), str(sum(share.is_wide for share in held)))
    return [table.title, str(len(held)), *ends, *outside, f"{max(false):.0f}" if false else ""]


def _measured(task: tuple[str, tuple[Any, ...]]) -> list[Cell]:
    name, row = task
    return next(table for table in TABLES if table.name == name).cells(row)


def _fails(row: Sequence[Cell]) -> bool:
    return any(isinstance(cell, RunShare) and cell.is_wrong for cell in row)


if __name__ == "__main__":
    sys.exit(main())
