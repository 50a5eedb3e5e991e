"""What apps hold about a person, and what they do when the person withdraws consent or deletes the account.

The kinds of work do not know each other, and people stands below them all; so each says here what it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from people.models import Project, User


@dataclass(frozen=True)
class Part:
    """One file of a person's own data: `name`.json, what is in it in a sentence, and its rows.

    Rows hold what JSON can hold, and moments and dates. They have nothing of other people, and nothing that the
    person must not see at present.
    """

    name: str
    about: str
    rows: Iterable[Mapping[str, Any]]


class Export(Protocol):
    def __call__(self, person: User, /) -> Iterable[Part]: ...


class OnWithdrawal(Protocol):
    def __call__(self, *, project: Project, person: User, keeps_answers: bool, now: datetime) -> int:
        """Give back what `person` has in hand in `project`; without `keeps_answers` let what they answered count no
        longer. Returns how many answers that are. Called within the transaction that withdraws the consent.
        """


class OnDeletion(Protocol):
    def __call__(self, *, person: User, now: datetime) -> None:
        """Give back what `person` has in hand anywhere, and forget what names them. Answers stay.

        Called within the transaction that empties the account.
        """


@dataclass(frozen=True)
class _Holder:
    export: Export | None
    on_withdrawal: OnWithdrawal | None
    on_deletion: OnDeletion | None


_kinds: dict[str, _Holder] = {}


def register(
    kind: str,
    *,
    export: Export | None = None,
    on_withdrawal: OnWithdrawal | None = None,
    on_deletion: OnDeletion | None = None,
) -> None:
    """Call this when the app `kind` is ready."""
    _kinds[kind] = _Holder(export, on_withdrawal, on_deletion)


def parts_of(person: User) -> Iterator[tuple[str, Part]]:
    """What every app holds of `person`, with the kind's name."""
    for kind, holder in _kinds.items():
        if holder.export is not None:
            for part in holder.export(person):
                yield kind, part


def withdraw(*, project: Project, person: User, keeps_answers: bool, now: datetime) -> dict[str, int]:
    """Let every app do what a withdrawal asks; how many answers ceased to count, by kind, where any did."""
    counts = {
        kind: holder.on_withdrawal(project=project, person=person, keeps_answers=keeps_answers, now=now)
        for kind, holder in _kinds.items()
        if holder.on_withdrawal is not None
    }
    return {kind: count for kind, count in counts.items() if count}


def forget(*, person: User, now: datetime) -> None:
    """Let every app do what the deletion of an account asks."""
    for holder in _kinds.values():
        if holder.on_deletion is not None:
            holder.on_deletion(person=person, now=now)
