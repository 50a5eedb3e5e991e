"""The log of changes: numbered without a gap, whoever writes at once, and any edit shows."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core.people.models import AuditEntry, Project, User
from core.people.services import audit_log
from tests.concurrency import together

NOW = datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def manager(db) -> User:
    return User.objects.create_user("mara")


@pytest.fixture
def project(manager: User) -> Project:
    return Project.objects.create(slug="birds", name="Birds", created_by=manager)


def write(project: Project, manager: User, count: int = 3) -> None:
    for number in range(count):
        details = {"number": number, "share": 0.1 * number, "wörter": ["ä", None]}
        audit_log.record(project=project, action="round.opened", about="Pilot 1", by=manager, now=NOW, details=details)


def test_entries_are_numbered_nothing_is_broken_and_a_missing_entry_shows(project: Project, manager: User):
    write(project, manager)
    assert list(AuditEntry.objects.filter(project=project).values_list("number", flat=True)) == [3, 2, 1]
    assert list(audit_log.broken_entries(project)) == []
    AuditEntry.objects.filter(project=project, number=2).delete()
    assert list(audit_log.broken_entries(project)) == [3]


@pytest.mark.parametrize(
    "change", [{"about": "Pilot 2"}, {"details": {}}, {"action": "round.closed"}, {"by": None}, {"number": 7}]
)
def test_an_edited_entry_shows(project: Project, manager: User, change: dict[str, object]):
    write(project, manager)
    AuditEntry.objects.filter(project=project, number=2).update(**change)
    assert list(audit_log.broken_entries(project))


def test_what_is_said_of_a_thing_is_cut_to_what_fits(project: Project, manager: User):
    entry = audit_log.record(project=project, action="round.opened", about="x" * 1000, by=None, now=NOW)
    assert len(entry.about) == 200
    assert list(audit_log.broken_entries(project)) == []


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_who_write_at_once_take_turns(project: Project, manager: User):
    together(lambda _number: write(project, manager, 2), list(range(4)))
    assert sorted(AuditEntry.objects.filter(project=project).values_list("number", flat=True)) == list(range(1, 9))
    assert list(audit_log.broken_entries(project)) == []
