"""A manager's pages of webhooks: the secret once, a test, the last deliveries, the way to turn one off."""

from __future__ import annotations

import pytest
from django.urls import reverse

from core.people.models import Delivery, DeliveryState, Webhook
from tests.clients import client_of
from tests.factories import NOW
from tests.people.hooks import make_delivery, make_webhook

pytestmark = pytest.mark.django_db
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
