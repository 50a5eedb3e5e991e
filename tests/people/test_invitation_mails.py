"""E-mails with links of invitations: each is sent once, whatever happens to workers and mail servers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from smtplib import SMTPDataError, SMTPRecipientsRefused, SMTPServerDisconnected
from typing import Any

import pytest
from django.core import mail
from django.core.mail import EmailMessage
from django.utils import timezone

from core.people import tasks
from core.people.models import Invitation, InvitationMail, MailState, Project, User
from core.people.rules.invitations import InvitationAction, InvitationState, why_no_mail, why_not
from core.people.rules.mail_failures import is_temporary, said_by
from core.people.services.invitations import INVITATIONS, InvitationMailing, change_many, queue_mails, revoke_invitation
from core.people.services.mails import INTERRUPTED_AFTER, MAX_ATTEMPTS, SendingFailure, post_by_server
from tests.concurrency import together
from tests.factories import NOW, make_language, make_project
from tests.people.invitations import link_of, make_invitation
from tests.people.test_constraints import refuses
from tests.sweeping import sweep

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
SITE = "https://crosslens.example.org/"


def mailing(by: User) -> InvitationMailing:
    return InvitationMailing(by=by, site=SITE, language="en")


def invited(project: Project, address: str = "zoe@example.org", **about: Any) -> Invitation:
    return make_invitation(project, email=address, expires_at=NOW + 30 * 24 * HOUR, **about)


def queued(project: Project, **about: Any) -> InvitationMail:
    invitation = invited(project, **about)
    queue_mails(invitations=[invitation], mailing=mailing(project.created_by), now=NOW)
    return invitation.mails.get()


def try_to_send(
    mail: InvitationMail, post: Callable[[EmailMessage], SendingFailure | None], at: datetime = NOW
) -> InvitationMail:
    INVITATIONS.send(mail_id=mail.pk, post=post, clock=lambda: at)
    mail.refresh_from_db()
    return mail


def taken(message: EmailMessage) -> None:
    return None


# What is sent


def test_the_mail_has_the_link_and_the_language_of_its_only_language(project: Project):
    german = queued(project, languages=[make_language("de")])
    assert german.language == "de"
    try_to_send(german, post_by_server)
    (message,) = mail.outbox
    assert message.to == ["zoe@example.org"]
    assert SITE.rstrip("/") + link_of(german.invitation) in message.body
    assert "Lions" in message.subject
    both = queued(project)
    assert both.language == "en"
    try_to_send(both, post_by_server)
    assert mail.outbox[1].subject == "Invitation to Lions"


def test_a_reminder_says_that_it_is_one(project: Project):
    one = invited(project)
    queue_mails(invitations=[one], mailing=mailing(project.created_by), is_reminder=True, now=NOW)
    try_to_send(one.mails.get(), post_by_server)
    assert mail.outbox[0].subject == "Reminder: invitation to Lions"


def test_what_is_due_is_sent_by_the_sweep(project: Project):
    first, second = queued(project), queued(project)
    Invitation.objects.update(expires_at=timezone.now() + HOUR)
    InvitationMail.objects.filter(pk=second.pk).update(due_at=timezone.now() + HOUR)
    sweep(tasks.send_invitation)
    assert [message.to for message in mail.outbox] == [["zoe@example.org"]]
    first.refresh_from_db()
    assert (first.state, first.sent_at is not None) == (MailState.SENT, True)


def test_an_invitation_that_was_closed_meanwhile_is_not_sent(project: Project):
    waiting = queued(project)
    revoke_invitation(invitation=waiting.invitation, by=project.created_by, now=NOW)
    try_to_send(waiting, post_by_server)
    assert (waiting.state, mail.outbox) == (MailState.FAILED, [])
    assert waiting.reason


# Whatever happens


def test_a_server_that_is_down_is_tried_again_at_growing_intervals_and_then_given_up(project: Project):
    waiting, at, pauses = queued(project), NOW, []
    for _attempt in range(MAX_ATTEMPTS):
        assert INVITATIONS.due(now=at) == [waiting.pk]
        try_to_send(waiting, lambda message: SendingFailure("ConnectionRefusedError", may_retry=True), at)
        pauses.append(waiting.due_at - at)
        at = waiting.due_at
    assert [pause // timedelta(minutes=1) for pause in pauses[:-1]] == [1, 4, 16, 64]
    assert (waiting.state, waiting.reason) == (MailState.FAILED, "ConnectionRefusedError")
    assert INVITATIONS.due(now=at + HOUR) == []


def test_an_address_that_the_server_refuses_is_not_tried_again(project: Project):
    waiting = try_to_send(queued(project), lambda message: SendingFailure("550 No such user", may_retry=False))
    assert (waiting.state, waiting.reason) == (MailState.FAILED, "550 No such user")


def test_a_mail_whose_worker_died_is_never_sent_again_by_itself_and_a_manager_sees_it(project: Project):
    class Killed(BaseException):
        pass

    def die(message: EmailMessage) -> None:
        raise Killed

    waiting = queued(project)
    with pytest.raises(Killed):
        try_to_send(waiting, die)
    waiting.refresh_from_db()
    assert waiting.state == MailState.SENDING
    assert try_to_send(waiting, lambda _message: pytest.fail("It was sent."), NOW + HOUR).state == MailState.SENDING
    assert INVITATIONS.due(now=NOW + INTERRUPTED_AFTER) == []
    waiting.refresh_from_db()
    assert waiting.state == MailState.SENDING
    assert INVITATIONS.due(now=NOW + INTERRUPTED_AFTER + HOUR) == []
    waiting.refresh_from_db()
    assert (waiting.state, "interrupted" in waiting.reason) == (MailState.FAILED, True)
    assert INVITATIONS.due(now=NOW + 24 * HOUR) == []
    changed = remind(project, waiting.invitation, now=NOW + 2 * HOUR)
    assert changed == 1, "A manager can send it again at once."


def test_a_slow_server_that_took_the_mail_after_all_is_believed(project: Project):
    def slow(message: EmailMessage) -> None:
        INVITATIONS.due(now=NOW + HOUR)

    assert try_to_send(queued(project), slow).state == MailState.SENT


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_workers_send_a_mail_once():
    posted: list[EmailMessage] = []
    waiting = queued(make_project("lions"))

    def work(number: int) -> None:
        INVITATIONS.send(mail_id=waiting.pk, post=posted.append, clock=lambda: NOW)

    together(work, range(4))
    assert len(posted) == 1
    waiting.refresh_from_db()
    assert (waiting.state, waiting.attempts) == (MailState.SENT, 1)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_control_without_the_claim_the_mail_is_sent_by_each_of_them():
    posted: list[int] = []
    waiting = queued(make_project("lions"))

    def work(number: int) -> None:
        if InvitationMail.objects.get(pk=waiting.pk).state == MailState.QUEUED:
            posted.append(number)

    together(work, range(4))
    assert len(posted) == 4


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_managers_who_remind_at_once_send_one_mail():
    project = make_project("lions")
    invitation = invited(project)
    assert sorted(together(lambda number: remind(project, invitation), range(3))) == [0, 0, 1]
    assert invitation.mails.count() == 1


def test_the_database_keeps_two_mails_of_one_invitation_from_waiting(project: Project):
    waiting = queued(project)
    refuses(
        "invitation_mail_one_at_a_time",
        lambda: queue_mails(invitations=[waiting.invitation], mailing=mailing(project.created_by), now=NOW),
    )
    refuses("invitation_mail_state_known", lambda: InvitationMail.objects.update(state="lost"))
    refuses("invitation_mail_sent_dated", lambda: InvitationMail.objects.update(state="sent"))


def remind(project: Project, invitation: Invitation, now: datetime = NOW) -> int:
    return change_many(
        project=project,
        invitations=[invitation.pk],
        action=InvitationAction.REMIND,
        mailing=mailing(project.created_by),
        now=now,
    ).mails


# Rules


@pytest.mark.parametrize(
    ("error", "temporary", "said"),
    [
        (SMTPDataError(451, b"Greylisted"), True, "451 Greylisted"),
        (SMTPDataError(554, b"Spam"), False, "554 Spam"),
        (SMTPRecipientsRefused({"a@b.c": (450, b"Try later")}), True, "450 Try later"),
        (SMTPRecipientsRefused({"a@b.c": (550, b"Unknown")}), False, "550 Unknown"),
        (SMTPServerDisconnected("gone"), False, "SMTPServerDisconnected: gone"),
        (TimeoutError(), False, "TimeoutError"),
    ],
)
def test_only_what_the_server_surely_did_not_take_is_tried_again(error: OSError, temporary: bool, said: str):
    assert (is_temporary(error), said_by(error)) == (temporary, said)


@pytest.mark.parametrize("fails_at", ["open", "send_messages"])
def test_a_server_that_does_not_answer_is_a_failure_to_retry_only_before_it_is_connected(
    project: Project, monkeypatch: pytest.MonkeyPatch, fails_at: str
):
    def fail(*about: Any) -> None:
        raise TimeoutError

    monkeypatch.setattr(f"django.core.mail.backends.locmem.EmailBackend.{fails_at}", fail)
    waiting = try_to_send(queued(project), post_by_server)
    assert waiting.state == (MailState.QUEUED if fails_at == "open" else MailState.FAILED)


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"address": ""}, "no e-mail address"),
        ({"mailing": True}, "on its way"),
        ({"mailed_at": NOW - 24 * HOUR + timedelta(seconds=1)}, "less than a day ago"),
        ({"mailed_at": NOW - 24 * HOUR}, None),
        ({}, None),
    ],
)
def test_nobody_gets_two_mails_within_a_day(about: dict[str, Any], said: str | None):
    values: dict[str, Any] = {"address": "a@b.c", "mailing": False, "mailed_at": None, "now": NOW}
    reason = why_no_mail(**values | about)
    assert (said in reason) if said and reason else reason is said


@pytest.mark.parametrize("action", InvitationAction)
def test_closed_invitations_stay_closed_and_expired_ones_are_extended(action: InvitationAction):
    for state in (InvitationState.REVOKED, InvitationState.USED_UP):
        assert why_not(action, state=state, no_mail=None)
    assert why_not(action, state=InvitationState.OPEN, no_mail=None) is None
    is_refused = why_not(action, state=InvitationState.EXPIRED, no_mail=None) is not None
    assert is_refused == (action is InvitationAction.REMIND)
