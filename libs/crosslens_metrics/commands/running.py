"""What a command takes and returns, from a shell or from a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Protocol

Write = Callable[[str], object]
"""Takes a line, without its end."""


class CommandFailedError(Exception):
    """The command cannot do what was asked; says why and what to do."""


class CommandReport(Protocol):
    def as_json(self) -> dict[str, Any]: ...
    def lines(self, *, digits: int) -> Iterable[str]: ...


def as_json(value: object) -> str:
    """JSON for programs: indented, unrounded, without NaN."""
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)


def write_report(write: Write, report: CommandReport, *, digits: int, for_programs: bool) -> None:
    """Write lines rounded to `digits`, or JSON with values as they are."""
    if for_programs:
        write(as_json(report.as_json()))
        return
    for line in report.lines(digits=digits):
        write(line)
