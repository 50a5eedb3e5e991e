"""The log of a project: numbered without a gap, any edit shows; its page, its file, and the command that checks it."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse

from core.people.models import AuditEntry, Project, Role, User
from core.people.rules import audit_sentences
from core.people.selectors.audit_log import ENTRIES_PER_PAGE, EntryFilters, log_page, sentence_of_entry
from core.people.services import audit_log
from core.people.services.consent import publish_consent_text
from core.people.services.invitations import accept_invitation, invite, revoke_invitation
from core.people.services.members import remove_member
from tests.clients import client_of
from tests.commands import output_of
from tests.concurrency import together
from tests.factories import NOW, make_project, make_user
from tests.queries import queries_of

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).parents[2]
APPS = (
    "core/people",
    "core/images",
    "core/allocation",
    "research/inference",
    "research/scoring",
    "annotation",
    "sxs_eval",
    "gapgame",
    "office/operations",
)
NO_ACTIONS = {"webhook.test", "captions.jsonl", "images.jsonl", "language.pk", "statistics.captions"}
"""What is written like one in modules that write the log."""
PAGE = reverse("people:log-show", args=["lions"])
FILE = reverse("people:log-export", args=["lions"])


def record(project: Project, action: str = "round.opened", about: str = "pilot 1, de", **fields: Any) -> AuditEntry:
    values: dict[str, Any] = {"by": project.created_by, "now": NOW}
    return audit_log.record(project=project, action=action, about=about, **(values | fields))


def shown(client: Client, **filters: str) -> str:
    response = client.get(PAGE, filters)
    assert response.status_code == 200
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def test_every_action_that_the_code_records_has_a_sentence():
    actions = set[str]()
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            source = path.read_text(encoding="utf-8")
            actions |= set(re.findall(r'\brecord\([\w.]+, "([a-z-]+\.[a-z-]+)"', source))
            if "import audit" not in source and "audit.record" not in source:
                continue
            actions |= set(re.findall(r'"((?:[a-z]+-)*[a-z]+\.[a-z-]+)"', source))
            if path.name == "campaign.py" and "record_of_round" in source:
                actions |= {f"round.{what}" for what in re.findall(r'record_of_round\(\w+, "([a-z-]+)"', source)}
    assert len(actions) > 20
    assert actions - NO_ACTIONS - set(audit_sentences.SENTENCES) == set()


def test_choices_of_what_was_done_end_without_a_full_stop_and_are_of_this_project(manager: User, project: Project):
    record(project)
    text = shown(client_of(manager))
    assert "A round was opened: … " in text
    assert "…." not in text
    record(make_project("zebras"), about="pilot 9, xx")
    assert "pilot 9" not in shown(client_of(manager))


def test_every_sentence_can_be_said_of_an_entry_without_details(project: Project):
    for code in audit_sentences.SENTENCES:
        text = sentence_of_entry(record(project, code, person=project.created_by))
        assert "%(" not in text
        assert text.endswith(".")


def test_the_page_says_who_did_what_to_whom_and_why_and_that_an_account_was_deleted(
    manager: User, annotator: User, project: Project
):
    record(project, "annotator.paused", "de", person=annotator, details={"reason": "Too quick <b>", "batches": 2})
    page = shown(client_of(manager))
    assert "ann was paused in de. Reason: Too quick &lt;b&gt; Details" in page
    assert "mia 2 Mar 2026" in page
    assert "batches 2" in page
    User.objects.filter(pk=annotator.pk).update(deleted_at=NOW, username="deleted-1")
    assert "a deleted account was paused" in shown(client_of(manager))


def test_a_long_log_is_read_stretch_by_stretch(manager: User, project: Project):
    for number in range(ENTRIES_PER_PAGE + 1):
        record(project, about=f"pilot {number}, de")
    first = log_page(project, EntryFilters())
    assert [line["number"] for line in first["lines"]] == list(range(ENTRIES_PER_PAGE + 1, 1, -1))
    assert [line["number"] for line in log_page(project, EntryFilters(), before=first["older"])["lines"]] == [1]
    client = client_of(manager)
    assert "Older" in shown(client)
    assert "Older" not in shown(client, before="2")


def test_entries_are_filtered_by_action_person_and_day(manager: User, annotator: User, project: Project):
    record(project, "annotator.paused", "de", person=annotator, now=NOW)
    record(project, "round.closed", "main 1, fr", now=NOW + timedelta(days=1))
    client = client_of(manager)
    paused, closed = "was paused in de", "closed: main 1, fr"
    for filters, expected in (
        ({"action": "round.closed"}, {closed}),
        ({"person": "ANN"}, {paused}),
        ({"person": "mia"}, {paused, closed}),
        ({"since": "2026-03-03"}, {closed}),
        ({"until": "2026-03-02"}, {paused}),
        ({"since": "2026-03-04"}, set()),
    ):
        page = shown(client, **filters)
        assert {said for said in (paused, closed) if said in page} == expected, filters


@pytest.mark.parametrize("filters", [{"person": "nobody"}, {"since": "soon"}, {"action": "x"}, {"before": "-1"}])
def test_a_filter_that_cannot_be_understood_is_told_beside_its_field(
    manager: User, project: Project, filters: dict[str, str]
):
    record(project)
    for address in (PAGE, FILE):
        assert client_of(manager).get(address, filters).status_code == 422


@pytest.mark.parametrize("name", ["zoe", "nobody"])
def test_nobody_learns_from_a_filter_who_has_an_account_elsewhere(manager: User, project: Project, name: str):
    make_user("zoe")
    response = client_of(manager).get(PAGE, {"person": name})
    assert response.status_code == 422
    assert "There is nobody with this name. Check the spelling." in response.content.decode()


def test_who_left_the_project_is_found_in_what_was_said_of_them(manager: User, project: Project):
    record(project, "annotator.paused", "de", person=make_user("zoe"))
    assert "was paused in de" in shown(client_of(manager), person="zoe")


def test_the_file_has_every_entry_from_the_first_and_no_formula(manager: User, annotator: User, project: Project):
    record(project, "annotator.paused", "de", person=annotator, details={"reason": "=1+1"})
    record(project)
    response = client_of(manager).get(FILE)
    rows = list(csv.DictReader(io.StringIO(b"".join(response).decode("utf-8-sig"))))
    assert [row["number"] for row in rows] == ["1", "2"]
    assert rows[0]["reason"] == "'=1+1"
    assert (rows[0]["by"], rows[0]["person"], rows[0]["at"]) == ("mia", "ann", NOW.isoformat())
    assert "no-store" in response["Cache-Control"]


def test_the_page_asks_as_much_for_many_entries_as_for_few(manager: User, project: Project):
    client = client_of(manager)
    counts = []
    for _ in range(2):
        for _ in range(10):
            record(project, person=make_user(), by=make_user())
        counts.append(len(queries_of(lambda: client.get(PAGE))))
    assert counts[0] == counts[1]


def test_what_managers_do_with_people_stands_in_the_log(manager: User, annotator: User, project: Project):
    invitation = invite(project=project, role=Role.RATER, expires_at=NOW + timedelta(1), created_by=manager, now=NOW)
    newcomer = make_user()
    accept_invitation(token=invitation.token, user=newcomer, levels={}, reads_english=False, consent_version=1, now=NOW)
    revoke_invitation(invitation=invitation, by=manager, now=NOW)
    revoke_invitation(invitation=invitation, by=manager, now=NOW)
    remove_member(membership=newcomer.memberships.get(), by=manager, now=NOW)
    publish_consent_text(project=project, body="New.", by=manager, now=NOW)
    entries = AuditEntry.objects.filter(project=project).order_by("number")
    assert list(entries.values_list("action", "person")) == [
        ("invitation.made", None),
        ("role.given", newcomer.pk),
        ("invitation.revoked", None),
        ("role.removed", newcomer.pk),
        ("consent-text.published", None),
    ]
    assert list(audit_log.broken_entries(project)) == []


def test_players_who_come_by_an_open_door_do_not_fill_the_log(manager: User, project: Project):
    door = invite(
        project=project, role=Role.PLAYER, places=9, expires_at=NOW + timedelta(1), created_by=manager, now=NOW
    )
    accept_invitation(token=door.token, user=make_user(), levels={}, reads_english=False, consent_version=1, now=NOW)
    assert not AuditEntry.objects.filter(action="role.given").exists()


def test_the_command_says_how_far_the_logs_go_and_fails_where_one_was_edited(project: Project):
    zebras = make_project("zebras")
    record(project)
    last = record(zebras)
    assert output_of("check_audit_log").splitlines() == [
        f"lions: 1 entries, the last one {AuditEntry.objects.get(project=project).digest}",
        f"zebras: 1 entries, the last one {last.digest}",
    ]
    AuditEntry.objects.filter(pk=last.pk).update(about="main 1, de")
    with pytest.raises(CommandError, match="zebras 1"):
        output_of("check_audit_log")
    output_of("check_audit_log", "lions")
    with pytest.raises(CommandError, match="no project 'tigers'"):
        output_of("check_audit_log", "tigers")


TO_THE_MICROSECOND = datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=UTC)


def write(project: Project, manager: User, count: int = 3) -> None:
    for number in range(count):
        details = {"number": number, "share": 0.1 * number, "wörter": ["ä", None]}
        audit_log.record(
            project=project, action="round.opened", about="Pilot 1", by=manager, now=TO_THE_MICROSECOND, details=details
        )


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
    entry = audit_log.record(project=project, action="round.opened", about="x" * 1000, by=None, now=TO_THE_MICROSECOND)
    assert len(entry.about) == 200
    assert list(audit_log.broken_entries(project)) == []


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_who_write_at_once_take_turns(project: Project, manager: User):
    together(lambda _number: write(project, manager, 2), list(range(4)))
    assert sorted(AuditEntry.objects.filter(project=project).values_list("number", flat=True)) == list(range(1, 9))
    assert list(audit_log.broken_entries(project)) == []
