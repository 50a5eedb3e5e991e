"""The practice that a project begins with: drawings and right answers. Its words are in `core.people.defaults`."""

from __future__ import annotations

from typing import NamedTuple

from office.practice.rules.grading import BETTER, SIMILAR

DRAWINGS = ("ball", "boat", "cat", "house", "umbrella")
DRAWING_SIZE = (480, 360)
PASS_PERCENT, TRIES = 50, 3


class FirstExample(NamedTuple):
    drawing: str
    answer: str = ""
    also_right: str = ""


FIRST_EXAMPLES: dict[str, tuple[FirstExample, ...]] = {
    "rating": (
        FirstExample("house", "EXCELLENT", "GOOD"),
        FirstExample("boat", "MEDIUM", "BAD"),
        FirstExample("ball", "BAD"),
    ),
    "writing": (FirstExample("cat"), FirstExample("umbrella")),
    "comparing": (FirstExample("house", BETTER), FirstExample("boat", BETTER), FirstExample("ball", SIMILAR)),
}
