"""Addresses of webhooks: only a public one is called, however a name or a redirect may lead to a private one."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from core.people.models import DeliveryState
from core.people.services import outgoing_http, webhooks
from tests.factories import NOW, make_project
from tests.people.hooks import CLOSED, PUBLIC, make_delivery, make_webhook, send

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
    assert "private address" in (outgoing_http.check_address(f"https://{host}/hook") or "")


@pytest.mark.parametrize("host", [PUBLIC, "[2606:2800:220:1::1]", "hooks.example.org", "hooks.example.org:8443"])
@pytest.mark.usefixtures("names")
def test_a_public_address_is_not(host):
    assert outgoing_http.check_address(f"https://{host}/hook") is None


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://hooks.example.org/", "begins with https://"),
        ("ftp://hooks.example.org/", "begins with https://"),
        ("https:///nowhere", "begins with https://"),
        ("https://hooks.example.org:0/", "begins with https://"),
        ("https://hooks.example.org/\r\nHost: other", "begins with https://"),
        ("https://[::1/", "Enter a valid address"),
        ("https://hooks.example.org:99999/", "Enter a valid address"),
        ("https://me:secret@hooks.example.org/", "password"),
        ("https://unknown.example.org/", "cannot be resolved"),
    ],
)
@pytest.mark.usefixtures("names")
def test_what_is_no_address_to_call_is_refused_with_the_reason(url, why):
    assert why in (outgoing_http.check_address(url) or "")


@pytest.mark.usefixtures("names")
def test_a_name_is_refused_where_one_of_its_addresses_is_private(names):
    names["hooks.example.org"] = [PUBLIC, "10.0.0.1"]
    assert "private address" in (outgoing_http.check_address("https://hooks.example.org/") or "")


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

    monkeypatch.setattr("core.people.services.outgoing_http.socket.create_connection", connect)
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
