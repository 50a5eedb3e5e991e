"""Deliveries of events: signed, tried again for a day where a server answers badly, and sent by one worker."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from django.utils import timezone

from core.jobs.services.leases import due_rows
from core.people.models import Delivery, DeliveryState
from core.people.services import outgoing_http, webhooks
from core.people.services.outgoing_http import AttemptResult
from tests.concurrency import together
from tests.factories import NOW
from tests.people.hooks import HookServer, make_delivery, make_webhook, send
from tests.servers import ROOT
from tests.sweeping import sweep

SOON = timedelta(seconds=1)


@pytest.fixture
def delivery() -> Delivery:
    """Waits to be sent to a public address."""
    return make_delivery(make_webhook())


@pytest.fixture
def to_server(server: HookServer, to_private: None) -> Delivery:
    """Waits to be sent to the server on loopback, as private addresses may be called."""
    return make_delivery(make_webhook(url=server.url))


@pytest.mark.django_db
def test_what_arrives_is_signed_as_standard_webhooks_has_it(server, to_server):
    delivery = send(to_server)

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
def test_the_program_in_the_guide_knows_what_comes_from_here_and_nothing_else(server, to_server):
    hook, now = to_server.webhook, timezone.now()
    send(to_server, at=now)
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
def test_a_repetition_has_the_same_id_and_a_new_time(server, to_server):
    server.status = 500
    send(to_server)
    server.status = 200
    send(to_server, at=NOW + timedelta(hours=1))

    first, second = (came.headers for came in server.came)
    assert first["webhook-id"] == second["webhook-id"]
    assert int(second["webhook-timestamp"]) - int(first["webhook-timestamp"]) == 3600
    assert to_server.state == DeliveryState.DONE


def _always(moment: datetime) -> Callable[[], datetime]:
    return lambda: moment


@pytest.mark.django_db
def test_it_is_tried_nine_times_over_a_day_ever_later_and_then_given_up(delivery):
    rng, made = Random(2), []
    for _ in range(webhooks.MAX_ATTEMPTS):
        deadline = Delivery.objects.get(pk=delivery.pk).due_at
        made.append(deadline)
        about: dict[str, Any] = {
            "delivery_id": delivery.pk,
            "post": lambda *_sent: AttemptResult(503, "503: busy"),
            "rng": rng,
        }
        for moment in (deadline - SOON, deadline):
            webhooks.deliver(**about, clock=_always(moment))

    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, delivery.answer) == (DeliveryState.FAILED, 9, "503: busy")
    pauses = [later - earlier for earlier, later in pairwise(made)]
    assert pauses == sorted(pauses)
    assert timedelta(hours=20) < made[-1] - made[0] < timedelta(hours=36)
    assert not due_rows(Delivery.objects.filter(state=DeliveryState.WAITING), now=NOW + timedelta(days=9))


def test_two_that_fail_at_once_are_not_tried_again_at_once():
    pauses = {webhooks.pause_after(3, Random(seed)) for seed in range(20)}
    assert len(pauses) == 20
    middle = timedelta(seconds=30 * 9)
    assert all(0.8 * middle <= pause <= 1.2 * middle for pause in pauses)


@pytest.mark.django_db
def test_one_that_was_given_up_is_begun_anew_by_hand_and_one_that_arrived_is_not(delivery):
    Delivery.objects.update(state=DeliveryState.FAILED, attempts=9, done_at=NOW)
    webhooks.retry(delivery=delivery, now=NOW)
    assert send(delivery, AttemptResult(200, "200")).state == DeliveryState.DONE
    webhooks.retry(delivery=delivery, now=NOW)
    delivery.refresh_from_db()
    assert delivery.state == DeliveryState.DONE


@pytest.mark.django_db
@pytest.mark.parametrize(("manner", "said"), [("hangs", "in time"), ("trickles", "closed it"), ("drops", "closed it")])
def test_a_server_that_does_not_answer_costs_seconds_and_is_asked_again(server, to_server, monkeypatch, manner, said):
    monkeypatch.setattr(outgoing_http, "READ_S", 0.4)
    monkeypatch.setattr(outgoing_http, "MAX_RESPONSE_S", 0.8)
    server.manner = manner

    began = time.monotonic()
    delivery = send(to_server)

    assert time.monotonic() - began < 5
    assert (delivery.state, delivery.attempts) == (DeliveryState.WAITING, 1)
    assert said in delivery.answer
    assert delivery.due_at > NOW


@pytest.mark.django_db
def test_a_redirect_is_not_followed(server, to_server):
    server.status, server.location = 307, f"http://127.0.0.1:{server.port}/elsewhere"
    delivery = send(to_server)
    assert [came.path for came in server.came] == ["/hook?to=us"]
    assert delivery.state == DeliveryState.WAITING
    assert "a redirect, which is not followed" in delivery.answer


@pytest.mark.django_db
def test_of_a_long_answer_little_is_kept(server, to_server):
    server.status, server.manner = 500, "chatters"
    delivery = send(to_server)
    assert delivery.answer.startswith("500: blah")
    assert len(delivery.answer) <= 210


@pytest.mark.django_db
def test_an_answer_in_no_encoding_at_all_can_be_kept(server, to_server):
    server.status, server.said = 500, b"\xff\x00\x1b[31m"
    assert send(to_server).answer.startswith("500: ")


@pytest.mark.django_db
def test_a_worker_that_dies_over_an_attempt_costs_a_pause_not_the_delivery(delivery):
    def die(*_sent: object) -> AttemptResult:
        raise SystemExit

    with pytest.raises(SystemExit):
        webhooks.deliver(delivery_id=delivery.pk, post=die, clock=lambda: NOW, rng=Random(1))

    assert due_rows(Delivery.objects.filter(state=DeliveryState.WAITING), now=NOW) == []
    assert due_rows(Delivery.objects.filter(state=DeliveryState.WAITING), now=NOW + timedelta(minutes=1)) == [
        delivery.pk
    ]
    assert send(delivery, AttemptResult(200, "200"), at=NOW + timedelta(minutes=1)).state == DeliveryState.DONE


@pytest.mark.django_db
def test_a_worker_that_dies_over_the_last_attempt_leaves_nothing_waiting_for_ever(delivery):
    Delivery.objects.update(attempts=webhooks.MAX_ATTEMPTS)
    assert send(delivery, AttemptResult(200, "200")).state == DeliveryState.FAILED


@pytest.mark.django_db
def test_the_sweep_asks_for_what_is_due_and_nothing_else(delivery, nudged):
    later = make_delivery(make_webhook())
    Delivery.objects.filter(pk=delivery.pk).update(due_at="2000-01-01T00:00Z")
    Delivery.objects.filter(pk=later.pk).update(due_at="2100-01-01T00:00Z")
    sweep()
    assert nudged == [delivery.pk]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_workers_that_are_nudged_at_once_send_it_once(delivery):
    sent, lock = [], threading.Lock()

    def post(*_sent: object) -> AttemptResult:
        with lock:
            sent.append(1)
        time.sleep(0.1)
        return AttemptResult(200, "200")

    together(
        lambda seed: webhooks.deliver(delivery_id=delivery.pk, post=post, clock=lambda: NOW, rng=Random(seed)), range(6)
    )
    assert len(sent) == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_control_without_the_claim_it_is_sent_by_each(delivery):
    sent, seen = [], threading.Barrier(6)

    def send_unclaimed(_seed: int) -> None:
        unclaimed = Delivery.objects.get(pk=delivery.pk)
        seen.wait(60)
        if unclaimed.state == DeliveryState.WAITING and unclaimed.due_at <= NOW:
            sent.append(1)

    together(send_unclaimed, range(6))
    assert len(sent) == 6
