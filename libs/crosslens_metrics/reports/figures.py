"""What reports are made of: figures that are there, or say why they are not, and how both become JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from crosslens_metrics.intervals import Interval


class ReportFigure:
    """Base of all parts of a report."""

    def as_json(self) -> dict[str, Any]:
        return {field.name: as_json(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class AbsentFigure(ReportFigure):
    """Stands where a figure has no value; `reason` is a stable code. Each kind of report has messages of its own."""

    reason: StrEnum

    @property
    def message(self) -> str:
        raise NotImplementedError

    def as_json(self) -> dict[str, Any]:
        return {"undefined": str(self.reason), "message": self.message}


def as_json(value: Any) -> Any:
    """`value` of plain JSON types: no NaN, no infinity."""
    if isinstance(value, ReportFigure):
        return value.as_json()
    if isinstance(value, Interval):
        return {"low": value.low, "high": value.high}
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [as_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("A figure without a value must be Undefined.")
    return value
