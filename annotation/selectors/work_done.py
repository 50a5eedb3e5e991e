"""What each person did in each language of a project, and how good it was: tallies and stored figures, no answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.models import RoundFigures, RoundKind, Tally
from core.people.models import Project


@dataclass
class WorkDone:
    """Answers that count and their active time. `good` of the `verified` captions are good or better.

    `same` of the `pairs` of ratings by this person and by others, of the same English caption, are equal.
    """

    captions: int = 0
    ratings: int = 0
    active_ms: int = 0
    verified: int = 0
    good: int = 0
    pairs: int = 0
    same: int = 0


def work_done(project: Project) -> Mapping[tuple[int, str], WorkDone]:
    """Return the work of everybody who submitted any, by person and language tag, in three queries."""
    rounds = {pk: (kind, tag) for pk, kind, tag in project.rounds.values_list("pk", "kind", "language")}
    done: dict[tuple[int, str], WorkDone] = defaultdict(WorkDone)
    tallies = Tally.objects.filter(round__project=project)
    columns = ("round", "person", "captions", "rating_ms", "writing_ms")
    for round_id, person, count, rating_ms, writing_ms in tallies.values_list(*columns):
        kind, tag = rounds[round_id]
        one = done[person, tag]
        one.active_ms += rating_ms + writing_ms
        if kind == RoundKind.VERIFICATION:
            one.ratings += count
        else:
            one.captions += count
    figures = RoundFigures.objects.filter(round__project=project)
    for round_id, agreement, authors in figures.values_list(
        "round", "figures__agreement_of", "figures__quality__authors"
    ):
        _add_quality(done, rounds[round_id][1], agreement or {}, authors or [])
    return done


def _add_quality(
    done: Mapping[tuple[int, str], WorkDone], tag: str, agreement: Mapping[str, Any], authors: list[Mapping[str, int]]
) -> None:
    for person, shared in agreement.items():
        if (int(person), tag) in done:
            done[int(person), tag].pairs += shared["pairs"]
            done[int(person), tag].same += shared["same"]
    for author in authors:
        if (author["person"], tag) in done:
            done[author["person"], tag].verified += author["verified"]
            done[author["person"], tag].good += author["good"]
