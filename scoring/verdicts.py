"""What people said of two models' captions of the same images, which the apps that ask them tell this one.

Scoring stands below the kinds of work and does not know them; so each says here how its verdicts are found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from people.models import Project


@dataclass(frozen=True)
class Verdicts:
    """On one model against another: by image, above 0 where people find the first one's caption better."""

    other_id: int
    other: str
    by_image: Mapping[int, float]


VerdictsOf = Callable[[Project, int, str], Sequence[Verdicts]]
_kinds: dict[str, VerdictsOf] = {}


def register(kind: str, verdicts_of: VerdictsOf) -> None:
    """`verdicts_of` takes a project, the key of a model and a language; call this when the app `kind` is ready."""
    _kinds[kind] = verdicts_of


def verdicts_on(project: Project, model_id: int, language: str) -> list[Verdicts]:
    """By the name of the other model."""
    found = [verdicts for kind in _kinds.values() for verdicts in kind(project, model_id, language)]
    return sorted(found, key=lambda verdicts: (verdicts.other, verdicts.other_id))
