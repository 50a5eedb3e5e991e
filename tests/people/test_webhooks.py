"""Events reach the addresses that want them, signed, again and again, and none that only this server can reach."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from people import callouts, tasks, webhooks
from people.callouts import Answer
from people.models import AuditEntry, Delivery, DeliveryState, Project, Webhook, WebhookEvent
from tests.concurrency import together
from tests.factories import NOW, make_project
from tests.people.hook_server import HookServer, hook_server
from tests.servers import ROOT

CLOSED = WebhookEvent.ROUND_CLOSED
PUBLIC = "93.184.216.34"
SOON = timedelta(seconds=1)


@pytest.fixture
def server() -> Iterator[HookServer]:
    with hook_server() as told:
        yield told


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What each name leads to; names that are not in it lead nowhere."""
    known: dict[str, list[str]] = {"hooks.example.org": [PUBLIC]}
    really = socket.getaddrinfo

    def resolve(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        numbers = known.get(host, [host])
        try:
            found = [really(number, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST) for number in numbers]
        except OSError:
            raise socket.gaierror from None
        return [entry for entries in found for entry in entries]

    monkeypatch.setattr("socket.getaddrinfo", resolve)
    return known


@pytest.fixture
def to_private(settings: Any) -> None:
    settings.WEBHOOKS_TO_PRIVATE_ADDRESSES = True


def make_webhook(project: Project | None = None, *, url: str = "https://hooks.example.org/", **fields: Any) -> Webhook:
    project = project or make_project()
    values = {"secret": "whsec_" + base64.b64encode(b"s" * 32).decode(), "events": [CLOSED], "created_at": NOW}
    return Webhook.objects.create(project=project, url=url, created_by=project.created_by, **(values | fields))


def make_delivery(hook: Webhook) -> Delivery:
    webhooks.emit(project=hook.project, event=CLOSED, payload={"round": "Pilot 1", "language": "de"}, now=NOW)
    return Delivery.objects.get(webhook=hook)


def send(
    delivery: Delivery, answer: Answer | None = None, *, at: datetime = NOW, rng: Random | None = None
) -> Delivery:
    webhooks.deliver(
        delivery_id=delivery.pk,
        post=(lambda *_sent: answer) if answer else callouts.post,
        clock=lambda: at,
        rng=rng or Random(1),
    )
    delivery.refresh_from_db()
    return delivery


@pytest.mark.django_db
def test_an_event_waits_for_each_active_webhook_of_the_project_that_wants_it():
    project = make_project()
    wanting = make_webhook(project)
    make_webhook(project, events=[WebhookEvent.RELEASE_DONE])
    make_webhook(project, is_active=False)
    make_webhook()

    assert webhooks.emit(project=project, event=CLOSED, payload={"round": "Pilot 1"}, now=NOW) == 1

    delivery = Delivery.objects.get()
    assert (delivery.webhook, delivery.state, delivery.event) == (wanting, DeliveryState.WAITING, "round.closed")
    assert delivery.payload == {
        "type": "round.closed",
        "timestamp": NOW.isoformat(),
        "project": project.slug,
        "data": {"round": "Pilot 1"},
    }


@pytest.mark.django_db(transaction=True)
def test_what_did_not_happen_is_not_told():
    hook = make_webhook()

    def change() -> None:
        with transaction.atomic():
            webhooks.emit(project=hook.project, event=CLOSED, payload={}, now=NOW)
            raise ValueError("undone")

    with pytest.raises(ValueError, match="undone"):
        change()
    assert not Delivery.objects.exists()


@pytest.mark.django_db
@pytest.mark.usefixtures("to_private")
def test_what_arrives_is_signed_as_standard_webhooks_has_it(server):
    hook = make_webhook(url=server.url)

    delivery = send(make_delivery(hook))

    assert (delivery.state, delivery.answer, delivery.done_at) == (DeliveryState.DONE, "204", NOW)
    came = server.came[0]
    assert came.path == "/hook?to=us"
    assert came.headers["content-type"] == "application/json"
    assert json.loads(came.body)["data"] == {"round": "Pilot 1", "language": "de"}
    assert came.headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    signed = f"{came.headers['webhook-id']}.{came.headers['webhook-timestamp']}.".encode() + came.body
    digest = hmac.new(b"s" * 32, signed, hashlib.sha256).digest()
    assert came.headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()


def verifier() -> Any:
    """The program that docs/api.md shows."""
    guide = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    code = next(block for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if "is_from_crosslens" in block)
    there: dict[str, Any] = {}
    exec(code, there)  # noqa: S102 of our own guide
    return there["is_from_crosslens"]


@pytest.mark.django_db
@pytest.mark.usefixtures("to_private")
def test_the_program_in_the_guide_knows_what_comes_from_here_and_nothing_else(server):
    hook, now = make_webhook(url=server.url), timezone.now()
    send(make_delivery(hook), at=now)
    came, is_from_crosslens = server.came[0], verifier()
    assert is_from_crosslens(hook.secret, came.headers, came.body)
    assert not is_from_crosslens(hook.secret, came.headers, came.body.replace(b"Pilot", b"Trial"))
    assert not is_from_crosslens("whsec_" + base64.b64encode(b"t" * 32).decode(), came.headers, came.body)
    assert not is_from_crosslens(hook.secret, {**came.headers, "webhook-id": "msg_0"}, came.body)
    old = str(int(now.timestamp()) - 301)
    signed = webhooks.signature(hook.secret, came.headers["webhook-id"], old, came.body)
    late = {**came.headers, "webhook-timestamp": old, "webhook-signature": signed}
    assert not is_from_crosslens(hook.secret, late, came.body)


@pytest.mark.django_db
@pytest.mark.usefixtures("to_private")
def test_a_repetition_has_the_same_id_and_a_new_time(server):
    delivery = make_delivery(make_webhook(url=server.url))
    server.status = 500
    send(delivery)
    server.status = 200
    send(delivery, at=NOW + timedelta(hours=1))

    first, second = (came.headers for came in server.came)
    assert first["webhook-id"] == second["webhook-id"]
    assert int(second["webhook-timestamp"]) - int(first["webhook-timestamp"]) == 3600
    assert delivery.state == DeliveryState.DONE


def _always(moment: datetime) -> Callable[[], datetime]:
    return lambda: moment


@pytest.mark.django_db
def test_it_is_tried_nine_times_over_a_day_ever_later_and_then_given_up():
    delivery, rng = make_delivery(make_webhook()), Random(2)
    made = []
    for _ in range(webhooks.MOST_ATTEMPTS):
        due_at = Delivery.objects.get(pk=delivery.pk).next_at
        made.append(due_at)
        about: dict[str, Any] = {
            "delivery_id": delivery.pk,
            "post": lambda *_sent: Answer(503, "503: busy"),
            "rng": rng,
        }
        for moment in (due_at - SOON, due_at):
            webhooks.deliver(**about, clock=_always(moment))

    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, delivery.answer) == (DeliveryState.FAILED, 9, "503: busy")
    pauses = [later - earlier for earlier, later in pairwise(made)]
    assert pauses == sorted(pauses)
    assert timedelta(hours=20) < made[-1] - made[0] < timedelta(hours=36)
    assert not webhooks.due(now=NOW + timedelta(days=9))


def test_two_that_fail_at_once_are_not_tried_again_at_once():
    pauses = {webhooks.pause_after(3, Random(seed)) for seed in range(20)}
    assert len(pauses) == 20
    middle = timedelta(seconds=30 * 9)
    assert all(0.8 * middle <= pause <= 1.2 * middle for pause in pauses)


@pytest.mark.django_db
def test_a_410_turns_the_webhook_off_with_all_that_waits_for_it():
    hook = make_webhook()
    delivery, waiting = make_delivery(hook), webhooks.send_test(webhook=hook, now=NOW)

    send(delivery, Answer(410, "410"))

    hook.refresh_from_db()
    waiting.refresh_from_db()
    assert (delivery.state, waiting.state, hook.is_active) == (DeliveryState.FAILED, DeliveryState.FAILED, False)
    entry = AuditEntry.objects.get(project=hook.project, action="webhook.removed")
    assert (entry.by, entry.details["reason"]) == (None, "410 Gone")
    assert webhooks.emit(project=hook.project, event=CLOSED, payload={}, now=NOW) == 0


@pytest.mark.django_db
@pytest.mark.usefixtures("to_private")
@pytest.mark.parametrize(("manner", "said"), [("hangs", "in time"), ("trickles", "broke it"), ("drops", "broke it")])
def test_a_server_that_does_not_answer_costs_seconds_and_is_asked_again(server, monkeypatch, manner, said):
    monkeypatch.setattr(callouts, "READ_S", 0.4)
    monkeypatch.setattr(callouts, "LONGEST_S", 0.8)
    server.manner = manner

    began = time.monotonic()
    delivery = send(make_delivery(make_webhook(url=server.url)))

    assert time.monotonic() - began < 5
    assert (delivery.state, delivery.attempts) == (DeliveryState.WAITING, 1)
    assert said in delivery.answer
    assert delivery.next_at > NOW


@pytest.mark.django_db
@pytest.mark.usefixtures("to_private")
def test_a_redirect_is_not_followed(server):
    server.status, server.location = 307, f"http://127.0.0.1:{server.port}/elsewhere"
    delivery = send(make_delivery(make_webhook(url=server.url)))
    assert [came.path for came in server.came] == ["/hook?to=us"]
    assert delivery.state == DeliveryState.WAITING
    assert "a redirect, which is not followed" in delivery.answer


@pytest.mark.django_db
@pytest.mark.usefixtures("to_private")
def test_of_a_long_answer_little_is_kept(server):
    server.status, server.manner = 500, "chatters"
    delivery = send(make_delivery(make_webhook(url=server.url)))
    assert delivery.answer.startswith("500: blah")
    assert len(delivery.answer) <= 210


@pytest.mark.django_db
@pytest.mark.usefixtures("to_private")
def test_an_answer_in_no_encoding_at_all_can_be_kept(server):
    server.status, server.said = 500, b"\xff\x00\x1b[31m"
    assert send(make_delivery(make_webhook(url=server.url))).answer.startswith("500: ")


PRIVATE = (
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",  # noqa: S104 an address to refuse
    "224.0.0.1",
    "[::1]",
    "[fe80::1]",
    "[fd00::1]",
    "[ff02::1]",
    "[::ffff:127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[::7f00:1]",
    "[::10.1.2.3]",
    "[fec0::1]",
    "[64:ff9b:1::a01:203]",
    "[5f00::1]",
)


@pytest.mark.parametrize("host", PRIVATE)
@pytest.mark.usefixtures("names")
def test_a_private_address_is_refused_when_it_is_added(host):
    assert "private address" in (callouts.check_address(f"https://{host}/hook") or "")


@pytest.mark.parametrize("host", [PUBLIC, "[2606:2800:220:1::1]", "hooks.example.org", "hooks.example.org:8443"])
@pytest.mark.usefixtures("names")
def test_a_public_address_is_not(host):
    assert callouts.check_address(f"https://{host}/hook") is None


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://hooks.example.org/", "begin with https://"),
        ("ftp://hooks.example.org/", "begin with https://"),
        ("https:///nowhere", "begin with https://"),
        ("https://hooks.example.org:0/", "begin with https://"),
        ("https://hooks.example.org/\r\nHost: other", "begin with https://"),
        ("https://[::1/", "not an address"),
        ("https://hooks.example.org:99999/", "not an address"),
        ("https://me:secret@hooks.example.org/", "password"),
        ("https://unknown.example.org/", "leads nowhere"),
    ],
)
@pytest.mark.usefixtures("names")
def test_what_is_no_address_to_call_is_refused_with_the_reason(url, why):
    assert why in (callouts.check_address(url) or "")


@pytest.mark.usefixtures("names")
def test_a_name_is_refused_where_one_of_its_addresses_is_private(names):
    names["hooks.example.org"] = [PUBLIC, "10.0.0.1"]
    assert "private address" in (callouts.check_address("https://hooks.example.org/") or "")


@pytest.mark.django_db
def test_a_name_that_leads_inside_by_the_time_of_the_delivery_is_not_called(names, server):
    project = make_project()
    url = f"https://hooks.example.org:{server.port}/"
    hook = webhooks.add_webhook(project=project, url=url, events=[CLOSED], by=project.created_by, now=NOW)
    names["hooks.example.org"] = ["127.0.0.1"]

    delivery = send(make_delivery(hook))

    assert not server.came
    assert delivery.state == DeliveryState.WAITING
    assert "private address" in delivery.answer


@pytest.mark.django_db
@pytest.mark.usefixtures("to_private")
def test_the_address_that_was_looked_at_is_the_one_that_is_called(names, server, monkeypatch):
    called = []
    really = socket.create_connection

    def connect(address: Any, **options: Any) -> socket.socket:
        called.append(address)
        return really(address, **options)

    monkeypatch.setattr("people.callouts.socket.create_connection", connect)
    names["hooks.example.org"] = ["127.0.0.1"]
    delivery = send(make_delivery(make_webhook(url=f"http://hooks.example.org:{server.port}/")))
    assert delivery.state == DeliveryState.DONE
    assert called == [("127.0.0.1", server.port)]
    assert server.came[0].headers["host"] == f"hooks.example.org:{server.port}"


@pytest.mark.django_db
@pytest.mark.usefixtures("to_private")
def test_a_server_without_a_certificate_that_is_trusted_is_told_nothing(server):
    delivery = send(make_delivery(make_webhook(url=server.url.replace("http:", "https:"))))
    assert not server.came
    assert delivery.state == DeliveryState.WAITING


@pytest.mark.django_db
@pytest.mark.usefixtures("names")
def test_adding_and_turning_off_stand_in_the_log_without_the_path_of_the_address():
    project = make_project()
    by: dict[str, Any] = {"by": project.created_by, "now": NOW}
    url = "https://hooks.example.org/services/T0P5ECRET"
    hook = webhooks.add_webhook(project=project, url=url, events=[CLOSED], **by)
    webhooks.turn_off(webhook=hook, **by)
    webhooks.turn_off(webhook=hook, **by)

    entries = AuditEntry.objects.filter(project=project).order_by("number")
    assert [entry.action for entry in entries] == ["webhook.added", "webhook.removed"]
    assert {entry.about for entry in entries} == {"hooks.example.org"}
    assert "T0P5ECRET" not in str([entry.details for entry in entries])


@pytest.mark.django_db
@pytest.mark.usefixtures("names")
def test_a_project_has_at_most_twenty():
    project = make_project()
    for _ in range(webhooks.MOST_WEBHOOKS):
        make_webhook(project)
    about: dict[str, Any] = {"project": project, "url": "https://hooks.example.org/", "events": [CLOSED]}
    with pytest.raises(webhooks.Refused, match="at most 20"):
        webhooks.add_webhook(**about, by=project.created_by, now=NOW)
    webhooks.turn_off(webhook=project.webhooks.first(), by=project.created_by, now=NOW)
    assert webhooks.add_webhook(**about, by=project.created_by, now=NOW).secret.startswith("whsec_")


@pytest.mark.django_db
def test_one_that_was_given_up_is_begun_anew_by_hand_and_one_that_arrived_is_not():
    delivery = make_delivery(make_webhook())
    Delivery.objects.update(state=DeliveryState.FAILED, attempts=9, done_at=NOW)
    webhooks.retry(delivery=delivery, now=NOW)
    assert send(delivery, Answer(200, "200")).state == DeliveryState.DONE
    webhooks.retry(delivery=delivery, now=NOW)
    delivery.refresh_from_db()
    assert delivery.state == DeliveryState.DONE


@pytest.mark.django_db
def test_nothing_goes_to_a_webhook_that_is_turned_off():
    hook = make_webhook()
    delivery = make_delivery(hook)
    webhooks.turn_off(webhook=hook, by=None, now=NOW)
    hook.refresh_from_db()
    delivery = send(delivery, Answer(200, "200"))
    assert delivery.state == DeliveryState.FAILED
    with pytest.raises(webhooks.Refused):
        webhooks.retry(delivery=delivery, now=NOW)
    with pytest.raises(webhooks.Refused):
        webhooks.send_test(webhook=hook, now=NOW)


@pytest.mark.django_db
def test_a_worker_that_dies_over_an_attempt_costs_a_pause_not_the_delivery():
    delivery = make_delivery(make_webhook())

    def die(*_sent: object) -> Answer:
        raise SystemExit

    with pytest.raises(SystemExit):
        webhooks.deliver(delivery_id=delivery.pk, post=die, clock=lambda: NOW, rng=Random(1))

    assert webhooks.due(now=NOW) == []
    assert webhooks.due(now=NOW + timedelta(minutes=1)) == [delivery.pk]
    assert send(delivery, Answer(200, "200"), at=NOW + timedelta(minutes=1)).state == DeliveryState.DONE


@pytest.mark.django_db
def test_a_worker_that_dies_over_the_last_attempt_leaves_nothing_waiting_for_ever():
    delivery = make_delivery(make_webhook())
    Delivery.objects.update(attempts=webhooks.MOST_ATTEMPTS)
    assert send(delivery, Answer(200, "200")).state == DeliveryState.FAILED


@pytest.mark.django_db
def test_the_sweep_asks_for_what_is_due_and_nothing_else(monkeypatch):
    delivery = make_delivery(make_webhook())
    later = make_delivery(make_webhook())
    Delivery.objects.filter(pk=delivery.pk).update(next_at="2000-01-01T00:00Z")
    Delivery.objects.filter(pk=later.pk).update(next_at="2100-01-01T00:00Z")
    asked: list[int] = []
    monkeypatch.setattr(tasks.deliver, "delay", asked.append)
    tasks.sweep_deliveries()
    assert asked == [delivery.pk]


@pytest.mark.django_db(transaction=True)
def test_workers_that_are_nudged_at_once_send_it_once():
    delivery, sent, lock = make_delivery(make_webhook()), [], threading.Lock()

    def post(*_sent: object) -> Answer:
        with lock:
            sent.append(1)
        time.sleep(0.1)
        return Answer(200, "200")

    together(
        lambda seed: webhooks.deliver(delivery_id=delivery.pk, post=post, clock=lambda: NOW, rng=Random(seed)),
        range(6),
    )
    assert len(sent) == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_the_claim_it_is_sent_by_each():
    delivery, sent, seen = make_delivery(make_webhook()), [], threading.Barrier(6)

    def send_unclaimed(_seed: int) -> None:
        found = Delivery.objects.get(pk=delivery.pk)
        seen.wait(60)
        if found.state == DeliveryState.WAITING and found.next_at <= NOW:
            sent.append(1)

    together(send_unclaimed, range(6))
    assert len(sent) == 6


@pytest.mark.django_db
def test_nothing_goes_to_a_webhook_that_was_turned_off_while_an_event_was_on_its_way_into_the_table():
    hook = make_webhook()
    waits = make_delivery(hook)
    # What `turn_off` leaves where it could not see the row yet.
    Webhook.objects.filter(pk=hook.pk).update(is_active=False)
    assert send(waits, Answer(200, "200")).state == DeliveryState.FAILED
    assert Delivery.objects.get(pk=waits.pk).attempts == 0
