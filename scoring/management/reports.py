"""What commands print of a report: for people, or for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Protocol

from django.core.management.base import OutputWrapper


class Report(Protocol):
    def as_json(self) -> dict[str, Any]: ...
    def lines(self, *, digits: int) -> Iterable[str]: ...


def write_report(out: OutputWrapper, report: Report, *, digits: int, for_programs: bool) -> None:
    """Lines rounded to `digits`, or JSON with values as they are."""
    if for_programs:
        out.write(json.dumps(report.as_json(), ensure_ascii=False, indent=2, allow_nan=False))
        return
    for line in report.lines(digits=digits):
        out.write(line)
