"""Find what people judged of two models' captions of the same images.

Scoring is below the apps that ask people and does not know them, so each registers its query here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from core.people.models import Project


@dataclass(frozen=True)
class HumanJudgements:
    """Of one model against another: by image, above 0 where people find the first one's caption better."""

    other_id: int
    other: str
    by_image: Mapping[int, float]


JudgementsQuery = Callable[[Project, int, str], Sequence[HumanJudgements]]
_kinds: dict[str, JudgementsQuery] = {}


def register(kind: str, query: JudgementsQuery) -> None:
    """Register a query by project, key of a model and language; call this when the app `kind` is ready."""
    _kinds[kind] = query


def human_judgements_on(project: Project, model_id: int, language: str) -> list[HumanJudgements]:
    """List the judgements on a model, by the name of the other model."""
    judgements = [one for query in _kinds.values() for one in query(project, model_id, language)]
    return sorted(judgements, key=lambda one: (one.other, one.other_id))
