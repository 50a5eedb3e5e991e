"""What is wrong with a file that somebody made, by line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.utils.translation import gettext as _

MOST_SHOWN = 20


@dataclass(frozen=True)
class Problem:
    """`number` as in `crosslens_metrics.formats.records.Record`; 0 for the file as a whole."""

    number: int
    message: str


class GapFileError(Exception):
    """The file cannot be used; says what is wrong, where, and what to do."""

    def __init__(self, file: Path, problems: Iterable[Problem]) -> None:
        self.file = file
        self.problems = sorted(problems, key=lambda problem: problem.number)
        super().__init__(self._text())

    def _text(self) -> str:
        lines = [f"{self._place(problem)}: {problem.message}" for problem in self.problems[:MOST_SHOWN]]
        if len(self.problems) > MOST_SHOWN:
            lines.append(_("and %(number)s more problems.") % {"number": len(self.problems) - MOST_SHOWN})
        return "\n".join(lines)

    def _place(self, problem: Problem) -> str:
        if not problem.number:
            return str(self.file)
        return _("%(file)s, line %(number)s") % {"file": self.file, "number": problem.number}
