"""Whether an e-mail address has an account, nobody learns who does not read its mail: same answers, same work."""

from __future__ import annotations

import re
from smtplib import SMTPException
from typing import Any
from unittest.mock import Mock, patch
from urllib.parse import urlsplit

import pytest
from allauth.account.models import EmailAddress
from axes.models import AccessAttempt
from celery.exceptions import Retry
from django.contrib.auth.hashers import get_hasher
from django.contrib.messages import get_messages
from django.core import mail
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from core.people import tasks
from core.people.models import Project, Role, User
from tests.people.conftest import PASSWORD
from tests.people.invitations import link_of, make_invitation
from tests.people.test_sign_in import is_signed_in, sign_in

pytestmark = pytest.mark.django_db
KNOWN, UNKNOWN = "ann@example.org", "zoe@example.org"
JOINING = {"password": PASSWORD, "consent": "on", "consent_version": "1"}


@pytest.fixture
def link(project: Project) -> str:
    """Lets everybody in, as that of an open season does."""
    return link_of(make_invitation(project, role=Role.PLAYER, places=1000, languages=[]))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What a worker was asked for; it does nothing yet."""
    asked: list[tuple[Any, ...]] = []
    for task in (tasks.send_reset, tasks.send_confirmation):
        monkeypatch.setattr(task, "delay_on_commit", lambda *about, task=task: asked.append((task, *about)))
    return asked


def join(link: str, name: str, email: str) -> tuple[Client, Any]:
    client = Client()
    return client, client.post(link, JOINING | {"username": name, "email": email})


def links_of(body: object) -> list[str]:
    return [urlsplit(link).path for link in re.findall(r"https?://\S+", str(body))]


def work_for(client: Client, address: str, data: dict[str, str]) -> tuple[Any, list[str]]:
    """The answer, and the statements that it took, without what is in them."""
    with CaptureQueriesContext(connection) as queries:
        answer = client.post(address, data)
    return answer, [re.sub(r"'[^']*'|\d+", "?", query["sql"]) for query in queries]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_joining_with_an_address_that_has_an_account_is_answered_and_worked_as_with_any_other(
    link: str, ann_with_password: User, asked: list[Any]
):
    seen = []
    for name, email in (("eve", KNOWN), ("bob", UNKNOWN)):
        client = Client()
        answer, work = work_for(client, link, JOINING | {"username": name, "email": email})
        told = [str(message).replace(email, "it") for message in get_messages(answer.wsgi_request)]
        seen.append((answer.status_code, answer["Location"], told, work, asked.pop()[0]))
        assert is_signed_in(client)

    assert seen[0] == seen[1]
    assert seen[0][0] == 302
    assert "SELECT" in seen[0][3][0]
    assert not any("email" in sql and "UPPER" in sql for sql in seen[0][3])


def test_asking_to_reset_a_password_is_the_same_work_for_every_address(
    client: Client, ann_with_password: User, asked: list[Any]
):
    client.get(reverse("account_reset_password"))
    seen = []
    for email in (KNOWN, UNKNOWN):
        answer, work = work_for(client, reverse("account_reset_password"), {"email": email})
        seen.append((answer.status_code, answer["Location"], work))

    assert seen[0] == seen[1] == (302, reverse("account_reset_password_done"), [])
    assert asked == [(tasks.send_reset, email, "http://testserver/", "en") for email in (KNOWN, UNKNOWN)]


def test_an_address_becomes_that_of_the_account_by_the_link_that_was_sent_there(link: str):
    client, _answer = join(link, "Zoe", "Zoe@Example.org")
    zoe = User.objects.get(username="Zoe")
    (message,) = mail.outbox

    assert (zoe.email, message.to) == ("", [UNKNOWN])
    assert "We have sent a link to" in client.get(reverse("people:profile-show")).content.decode()
    client.post(links_of(message.body)[0])
    zoe.refresh_from_db()
    assert zoe.email == UNKNOWN


def test_the_owner_of_an_address_is_told_that_there_is_an_account_and_keeps_it(link: str, ann_with_password: User):
    join(link, "eve", "Ann@Example.org")
    (message,) = mail.outbox

    assert message.to == [KNOWN]
    assert "already exists" in str(message.body)
    assert links_of(message.body) == [reverse("account_reset_password")]
    assert User.objects.get(username="eve").email == ""
    assert User.objects.get(email=KNOWN) == ann_with_password


def test_an_address_of_another_account_is_not_confirmed_however_the_link_is_come_by(link: str, ann_with_password: User):
    client, _answer = join(link, "eve", KNOWN)
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    mail.outbox.clear()
    cache.clear()  # one link in three minutes
    client.post(reverse("account_email"), {"action_send": "", "email": KNOWN})
    answer = Client().post(links_of(mail.outbox[0].body)[0], follow=True)

    assert answer.status_code == 200
    assert User.objects.get(username="eve").email == ""
    assert User.objects.get(email=KNOWN) == ann_with_password


def test_of_two_who_gave_the_same_address_it_is_whose_confirms_it(link: str):
    for name in ("zoe", "eve"):
        join(link, name, UNKNOWN)
        cache.clear()
    for message in mail.outbox:
        assert Client().post(links_of(message.body)[0], follow=True).status_code == 200

    assert User.objects.get(email=UNKNOWN).username == "zoe"
    assert User.objects.get(username="eve").email == ""


def test_who_joins_again_and_again_with_an_address_fills_no_mailbox(link: str):
    for number in range(3):
        join(link, f"eve{number}", UNKNOWN)

    assert len(mail.outbox) == 1


def test_what_could_not_be_sent_is_sent_later(link: str, asked: list[Any], monkeypatch: pytest.MonkeyPatch):
    join(link, "zoe", UNKNOWN)
    ((task, *about),) = asked
    with monkeypatch.context() as broken:
        broken.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", Mock(side_effect=SMTPException))
        with pytest.raises(Retry):
            task.apply(about, throw=True)
    task(*about)

    assert [message.to for message in mail.outbox] == [[UNKNOWN]]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_without_an_address_nothing_is_sent_or_said_of_one(link: str, asked: list[Any]):
    client, _answer = join(link, "Zoe", "")

    assert asked == []
    assert "We have sent" not in client.get(reverse("people:profile-show")).content.decode()
    assert not EmailAddress.objects.exists()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_password_is_reset_by_an_address_that_is_not_confirmed_yet_unless_it_is_anothers(
    client: Client, link: str, ann_with_password: User
):
    join(link, "zoe", UNKNOWN)
    join(link, "eve", KNOWN)
    mail.outbox.clear()
    for email in (UNKNOWN, KNOWN):
        client.post(reverse("account_reset_password"), {"email": email})

    assert [message.to for message in mail.outbox] == [[UNKNOWN], [KNOWN]]
    assert ["zoe" in str(mail.outbox[0].body), "Ann" in str(mail.outbox[1].body)] == [True, True]


def test_who_was_switched_off_is_sent_no_link(client: Client, ann_with_password: User):
    User.objects.update(is_active=False)
    client.post(reverse("account_reset_password"), {"email": KNOWN})

    assert mail.outbox == []


def test_mails_are_in_the_language_of_their_reader_and_lead_to_the_site_that_was_asked(
    client: Client, ann_with_password: User, settings: Any
):
    settings.ALLOWED_HOSTS = ["captions.example.org"]
    User.objects.update(interface_language="ar")
    client.post(reverse("account_reset_password"), {"email": KNOWN}, headers={"host": "captions.example.org"})

    assert "http://captions.example.org/accounts/password/reset/key/" in str(mail.outbox[0].body)
    assert re.search(r"[\u0600-\u06ff]", str(mail.outbox[0].body))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_an_address_lets_nobody_in_before_it_is_confirmed_whether_it_is_anothers_or_not(
    link: str, ann_with_password: User
):
    ann_with_password.set_password("nine small beavers")
    ann_with_password.save()
    EmailAddress.objects.create(user=ann_with_password, email=KNOWN, verified=True, primary=True)
    for name, email in (("eve", KNOWN), ("zoe", UNKNOWN)):
        join(link, name, email)
        assert sign_in(Client(), email).status_code == 200

    client = Client()
    assert sign_in(client, "zoe").status_code == 302
    client.post(links_of(mail.outbox[1].body)[0])
    assert sign_in(Client(), UNKNOWN).status_code == 302


@pytest.mark.parametrize("email", [KNOWN, UNKNOWN])
def test_no_form_makes_an_address_that_of_the_account_before_it_is_confirmed(
    link: str, ann_with_password: User, email: str
):
    client, _answer = join(link, "eve", email)
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})

    assert client.post(reverse("account_email"), {"action_primary": "", "email": email}).status_code == 302
    assert User.objects.get(username="eve").email == ""


def test_an_address_is_not_removed_to_have_one_that_is_not_confirmed_in_its_place(
    client: Client, ann_with_password: User
):
    sign_in(client, "ann")
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    client.post(reverse("account_email"), {"action_add": "", "email": UNKNOWN})
    client.post(reverse("account_email"), {"action_remove": "", "email": KNOWN})

    ann_with_password.refresh_from_db()
    assert ann_with_password.email == KNOWN


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("login", [KNOWN, UNKNOWN, "ann", "nobody"])
def test_a_failure_to_sign_in_takes_the_time_of_one_password(ann_with_password: User, login: str):
    hashing = Mock(side_effect=(hasher := get_hasher()).encode)
    with patch.object(type(hasher), "encode", hashing):
        sign_in(Client(), login, "wrong")

    assert hashing.call_count == 1


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_fails_at_confirming_who_one_is_counts_for_ones_own_account(link: str, ann_with_password: User):
    client, _answer = join(link, "eve", KNOWN)
    EmailAddress.objects.update(primary=True)
    client.post(reverse("account_reauthenticate"), {"password": "wrong"})

    assert AccessAttempt.objects.get().username == "eve"


@pytest.mark.parametrize("lookalike", ["ann@ıs.example.org", "ann@iſ.example.org"])
def test_no_link_goes_to_an_address_that_is_the_accounts_in_capitals_alone(
    client: Client, ann_with_password: User, lookalike: str
):
    User.objects.update(email="ann@is.example.org")
    client.post(reverse("account_reset_password"), {"email": lookalike})

    assert mail.outbox == []
