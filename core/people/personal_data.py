"""What apps store about a person, and what they do when the person withdraws consent or deletes the account.

The kinds of work do not know each other, and people is below them all, so each registers its part here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from core.people.models import Project, User


@dataclass(frozen=True)
class ExportPart:
    """One file of a data export: `name`.json, a sentence about its contents, and its rows.

    Rows have JSON values, dates and times. They contain nothing about other people, and nothing that the person must
    not see now.
    """

    name: str
    about: str
    rows: Iterable[Mapping[str, Any]]


class DataExport(Protocol):
    def __call__(self, person: User, /) -> Iterable[ExportPart]: ...


class OnWithdrawal(Protocol):
    def __call__(self, *, project: Project, person: User, keeps_answers: bool, now: datetime) -> int:
        """Return `person`'s batches in `project`; without `keeps_answers`, exclude their answers. Returns how many
        answers were excluded. Called within the transaction that withdraws the consent.
        """


class OnDeletion(Protocol):
    def __call__(self, *, person: User, now: datetime) -> None:
        """Return all batches of `person`, and erase what names them. Answers stay.

        Called within the transaction that empties the account.
        """


_kinds: dict[str, tuple[DataExport | None, OnWithdrawal | None, OnDeletion | None]] = {}


def register(
    kind: str,
    *,
    export: DataExport | None = None,
    on_withdrawal: OnWithdrawal | None = None,
    on_deletion: OnDeletion | None = None,
) -> None:
    """Register an app `kind`; call it when the app is ready."""
    _kinds[kind] = (export, on_withdrawal, on_deletion)


def parts_of(person: User) -> Iterator[tuple[str, ExportPart]]:
    """Return what every app stores about `person`, with the kind's name."""
    for kind, (export, _on_withdrawal, _on_deletion) in _kinds.items():
        for part in export(person) if export is not None else ():
            yield kind, part


def withdraw(*, project: Project, person: User, keeps_answers: bool, now: datetime) -> dict[str, int]:
    """Apply a withdrawal in every app; return by kind how many answers no longer count, if any."""
    counts = {
        kind: on_withdrawal(project=project, person=person, keeps_answers=keeps_answers, now=now)
        for kind, (_export, on_withdrawal, _on_deletion) in _kinds.items()
        if on_withdrawal is not None
    }
    return {kind: count for kind, count in counts.items() if count}


def forget(*, person: User, now: datetime) -> None:
    """Apply the deletion of an account in every app."""
    for _export, _on_withdrawal, on_deletion in _kinds.values():
        if on_deletion is not None:
            on_deletion(person=person, now=now)
