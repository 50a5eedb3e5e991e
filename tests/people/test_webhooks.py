"""Webhooks: which events they wait for, how many there may be, their pages; only public addresses are called."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from django.urls import reverse

from core.people.models import AuditEntry, Delivery, DeliveryState, Webhook, WebhookEvent
from core.people.services import webhooks
from core.people.services.outgoing_http import AttemptResult
from tests.clients import client_of
from tests.factories import NOW, make_project
from tests.people.hooks import CLOSED, make_delivery, make_webhook, send

pytestmark = pytest.mark.django_db


def test_an_event_waits_for_each_active_webhook_of_the_project_that_wants_it():
    project = make_project()
    wanting = make_webhook(project)
    make_webhook(project, events=[WebhookEvent.RELEASE_DONE])
    make_webhook(project, is_active=False)
    make_webhook()

    assert webhooks.queue_event(project=project, event=CLOSED, payload={"round": "Pilot 1"}, now=NOW) == 1

    delivery = Delivery.objects.get()
    assert (delivery.webhook, delivery.state, delivery.event) == (wanting, DeliveryState.WAITING, "round.closed")
    assert delivery.payload == {
        "type": "round.closed",
        "timestamp": NOW.isoformat(),
        "project": project.slug,
        "data": {"round": "Pilot 1"},
    }


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_what_did_not_happen_is_not_told():
    hook = make_webhook()

    def change() -> None:
        with transaction.atomic():
            webhooks.queue_event(project=hook.project, event=CLOSED, payload={}, now=NOW)
            raise ValueError("undone")

    with pytest.raises(ValueError, match="undone"):
        change()
    assert not Delivery.objects.exists()


@pytest.mark.usefixtures("names")
def test_a_project_has_at_most_twenty():
    project = make_project()
    for _ in range(webhooks.MAX_WEBHOOKS):
        make_webhook(project)
    about: dict[str, Any] = {"project": project, "url": "https://hooks.example.org/", "events": [CLOSED]}
    with pytest.raises(webhooks.WebhookError, match="at most 20"):
        webhooks.add_webhook(**about, by=project.created_by, now=NOW)
    webhooks.turn_off(webhook=project.webhooks.first(), by=project.created_by, now=NOW)
    assert webhooks.add_webhook(**about, by=project.created_by, now=NOW).secret.startswith("whsec_")


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


def test_a_410_turns_the_webhook_off_with_all_that_waits_for_it():
    hook = make_webhook()
    delivery, waiting = make_delivery(hook), webhooks.send_test(webhook=hook, now=NOW)

    send(delivery, AttemptResult(410, "410"))

    hook.refresh_from_db()
    waiting.refresh_from_db()
    assert (delivery.state, waiting.state, hook.is_active) == (DeliveryState.FAILED, DeliveryState.FAILED, False)
    entry = AuditEntry.objects.get(project=hook.project, action="webhook.removed")
    assert (entry.by, entry.details["reason"]) == (None, "410 Gone")
    assert webhooks.queue_event(project=hook.project, event=CLOSED, payload={}, now=NOW) == 0


def test_nothing_goes_to_a_webhook_that_is_turned_off():
    hook = make_webhook()
    delivery = make_delivery(hook)
    webhooks.turn_off(webhook=hook, by=None, now=NOW)
    hook.refresh_from_db()
    delivery = send(delivery, AttemptResult(200, "200"))
    assert delivery.state == DeliveryState.FAILED
    with pytest.raises(webhooks.WebhookError):
        webhooks.retry(delivery=delivery, now=NOW)
    with pytest.raises(webhooks.WebhookError):
        webhooks.send_test(webhook=hook, now=NOW)


def test_nothing_goes_to_a_webhook_that_was_turned_off_while_an_event_was_on_its_way_into_the_table():
    hook = make_webhook()
    waits = make_delivery(hook)
    # What `turn_off` leaves where it could not see the row yet.
    Webhook.objects.filter(pk=hook.pk).update(is_active=False)
    assert send(waits, AttemptResult(200, "200")).state == DeliveryState.FAILED
    assert Delivery.objects.get(pk=waits.pk).attempts == 0


EVENTS = ["round.closed", "release.done"]


def addresses(webhook: Webhook) -> dict[str, str]:
    of_it = [webhook.project.slug, webhook.pk]
    delivery = make_delivery(webhook)
    return {
        "list": reverse("people:webhook-list", args=of_it[:1]),
        "show": reverse("people:webhook-show", args=of_it),
        "test": reverse("people:webhook-test", args=of_it),
        "off": reverse("people:webhook-turn-off", args=of_it),
        "retry": reverse("people:delivery-retry", args=[of_it[0], delivery.pk]),
    }


@pytest.mark.usefixtures("names")
def test_adding_one_shows_its_secret_once(project, manager):
    client, page = client_of(manager), reverse("people:webhook-list", args=[project.slug])
    made = client.post(page, {"url": "https://hooks.example.org/a", "events": EVENTS})
    hook = project.webhooks.get()
    assert (hook.events, hook.created_by) == (EVENTS, manager)
    assert hook.secret in made.content.decode()
    assert "no-store" in made["Cache-Control"]
    for address in (page, reverse("people:webhook-show", args=[project.slug, hook.pk])):
        later = client.get(address).content.decode()
        assert "https://hooks.example.org/a" in later
        assert hook.secret not in later


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"url": "https://10.0.0.1/", "events": EVENTS}, "private address"),
        ({"url": "http://hooks.example.org/", "events": EVENTS}, "https://"),
        ({"url": "https://hooks.example.org/"}, "required"),
        ({"url": "https://hooks.example.org/", "events": ["round.eaten"]}, "round.eaten"),
        ({"events": EVENTS}, "required"),
    ],
)
def test_what_cannot_be_called_is_refused_with_the_reason(project, manager, sent, said):
    refused = client_of(manager).post(reverse("people:webhook-list", args=[project.slug]), sent)
    assert refused.status_code == 422
    assert said in refused.content.decode()
    assert not project.webhooks.exists()


def test_a_test_is_sent_at_once(project, manager, nudged, django_capture_on_commit_callbacks):
    hook = make_webhook(project)
    address = reverse("people:webhook-test", args=[project.slug, hook.pk])
    with django_capture_on_commit_callbacks(execute=True):
        client_of(manager).post(address)
    delivery = Delivery.objects.get(webhook=hook)
    assert delivery.payload["type"] == "webhook.test"
    assert nudged == [delivery.pk]


def test_the_last_deliveries_say_what_was_answered_and_are_sent_again_by_hand(
    project, manager, nudged, django_capture_on_commit_callbacks
):
    hook = make_webhook(project)
    delivery, client = make_delivery(hook), client_of(manager)
    Delivery.objects.update(state=DeliveryState.FAILED, answer="503: <busy>", attempts=9, done_at=NOW)
    page = client.get(reverse("people:webhook-show", args=[project.slug, hook.pk])).content.decode()
    assert "503: &lt;busy&gt;" in page
    assert "Given up" in page
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("people:delivery-retry", args=[project.slug, delivery.pk]))
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == (DeliveryState.WAITING, 0)
    assert nudged == [delivery.pk]


def test_turning_one_off_ends_it_and_what_was_asked_of_it_since_is_refused_with_a_sentence(project, manager):
    hook = make_webhook(project)
    there, client = addresses(hook), client_of(manager)
    client.post(there["off"])
    hook.refresh_from_db()
    assert not hook.is_active
    for name in ("test", "retry"):
        assert "turned off" in client.post(there[name], follow=True).content.decode()
