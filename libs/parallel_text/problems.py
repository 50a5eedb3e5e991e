"""What is wrong with the files that a corpus is made from: counted by kind, with examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

EXAMPLES = 20
"""How many of each kind are kept with their file and line; the others are only counted."""


class CorpusError(Exception):
    """A step cannot go on, or its result would be wrong. The message says what, where and what to do."""


@dataclass(frozen=True)
class ProblemExample:
    """One line that was left out. `line` counts from 1; 0 is the file as a whole."""

    message: str
    file: str = ""
    line: int = 0


@dataclass
class LineProblems:
    """Lines that were left out: how many of each kind, and the first of each."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[ProblemExample]] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(self.counts.values())

    def add(self, kind: str, message: str, *, file: str = "", line: int = 0) -> None:
        """Count a problem, and keep it if it is among the first of its kind."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        kept = self.examples.setdefault(kind, [])
        if len(kept) < EXAMPLES:
            kept.append(ProblemExample(message, file, line))

    def merge(self, other: LineProblems) -> None:
        """Add the problems of another part, after those that are here."""
        for kind, count in other.counts.items():
            self.counts[kind] = self.counts.get(kind, 0) + count
            kept = self.examples.setdefault(kind, [])
            kept.extend(other.examples[kind][: EXAMPLES - len(kept)])

    def as_json(self) -> list[dict[str, Any]]:
        """List the kinds, each with its `count` and `examples`."""
        return [
            {"kind": kind, "count": count, "examples": [asdict(example) for example in self.examples[kind]]}
            for kind, count in sorted(self.counts.items())
        ]

    @classmethod
    def from_json(cls, data: list[Mapping[str, Any]]) -> Self:
        """Read what `as_json` gave."""
        problems = cls()
        for entry in data:
            problems.counts[entry["kind"]] = entry["count"]
            problems.examples[entry["kind"]] = [ProblemExample(**example) for example in entry["examples"]]
        return problems
