"""The audit log of a project. Entries are only added; a chain of digests shows any edit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import connection, transaction

from core.people.models import AuditEntry, Project, User


def record(
    *,
    project: Project,
    action: str,
    about: str,
    by: User | None,
    now: datetime,
    person: User | None = None,
    details: dict[str, Any] | None = None,
) -> AuditEntry:
    """Add an entry, in the transaction of the change that it records.

    - `action`: noun and verb of what was done, such as `round.opened`.
    - `about`: what it was done to, in words that still say something when the row is gone. Never a caption's words, and
      never what a person is called: an entry stays as it is, and people may want to be forgotten.
    - `by`: None where nobody asked for it, such as background work.
    - `person`: whom it concerns, such as an annotator who was paused. The log names them for as long as they have an
      account.
    - `details`: what JSON can hold: settings before and after, reasons, counts. Nobody's name or address.
    """
    (entry,) = record_each(project=project, action=action, about=about, by=by, now=now, each=[(person, details or {})])
    return entry


def record_each(
    *,
    project: Project,
    action: str,
    about: str,
    by: User | None,
    now: datetime,
    each: Sequence[tuple[User | None, dict[str, Any]]],
) -> list[AuditEntry]:
    """Add an entry as `record` does for each person that the same change concerns, with its details."""
    with transaction.atomic():
        # Entries of one project take turns, so that none gets the number, or the previous digest, of another.
        lock(project, by, *(person for person, _details in each))
        earlier = AuditEntry.objects.filter(project=project).order_by("-number")
        number, before = earlier.values_list("number", "digest").first() or (0, "")
        entries = []
        for person, details in each:
            number += 1
            entry = AuditEntry(
                project=project,
                number=number,
                at=now,
                by=by,
                person=person,
                action=action,
                about=about[: AuditEntry._meta.get_field("about").max_length],
                details=details,
            )
            entry.digest = before = digest_of(entry, before=before)
            entries.append(entry)
        return AuditEntry.objects.bulk_create(entries)


def lock(project: Project, *people: User | None) -> None:
    """Serialise changes to a project until the transaction ends; `people` are those whom the log will name.

    It first waits for changes to these people's names: the deletion of an account writes into the log last. A foreign
    key takes the same lock, only later, and holders of it do not wait for each other.
    """
    _lock_names([one.pk for one in people if one is not None])
    Project.objects.select_for_update(no_key=True).values_list("pk").get(pk=project.pk)


def _lock_names(people: list[int]) -> None:
    if people and connection.features.has_select_for_update:
        table = connection.ops.quote_name(User._meta.db_table)
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT 1 FROM {table} WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE", [people])  # noqa: S608


def digest_of(entry: AuditEntry, *, before: str) -> str:
    """Return the SHA-256 of all fields of the entry and of the digest `before` it."""
    when, who = entry.at.timestamp(), (entry.by_id, entry.person_id)
    content = [before, entry.project_id, entry.number, when, *who, entry.action, entry.about, entry.details]
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def broken_entries(project: Project) -> Iterator[int]:
    """Return numbers of entries that were changed, or before which one is missing."""
    before, number = "", 0
    for entry in AuditEntry.objects.filter(project=project).order_by("number").iterator():
        if entry.number != number + 1 or entry.digest != digest_of(entry, before=before):
            yield entry.number
        before, number = entry.digest, entry.number
