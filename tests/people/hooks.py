"""Webhooks, what waits for them, and sending it; a server on loopback that takes them as badly as it is told to."""

from __future__ import annotations

import base64
import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any

from core.people.models import Delivery, Project, Webhook, WebhookEvent
from core.people.services import outgoing_http, webhooks
from core.people.services.outgoing_http import AttemptResult
from tests.factories import NOW, make_project

CLOSED = WebhookEvent.ROUND_CLOSED
PUBLIC = "93.184.216.34"


def make_webhook(project: Project | None = None, *, url: str = "https://hooks.example.org/", **fields: Any) -> Webhook:
    project = project or make_project()
    values = {"secret": "whsec_" + base64.b64encode(b"s" * 32).decode(), "events": [CLOSED], "created_at": NOW}
    return Webhook.objects.create(project=project, url=url, created_by=project.created_by, **(values | fields))


def make_delivery(hook: Webhook) -> Delivery:
    webhooks.queue_event(project=hook.project, event=CLOSED, payload={"round": "Pilot 1", "language": "de"}, now=NOW)
    return Delivery.objects.get(webhook=hook)


def send(
    delivery: Delivery, answer: AttemptResult | None = None, *, at: datetime = NOW, rng: Random | None = None
) -> Delivery:
    webhooks.deliver(
        delivery_id=delivery.pk,
        post=(lambda *_sent: answer) if answer else outgoing_http.post,
        clock=lambda: at,
        rng=rng or Random(1),
    )
    delivery.refresh_from_db()
    return delivery


HANGS_S = 20.0
"""Longer than any test waits; the thread ends with the process."""


@dataclass(frozen=True)
class Came:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class HookServer:
    """Answers with `status`, `said` and `location`; or `manner`: hangs, trickles, drops or chatters."""

    port: int = 0
    status: int = 204
    said: bytes = b""
    location: str = ""
    manner: str = ""
    came: list[Came] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?to=us"


@contextlib.contextmanager
def hook_server() -> Iterator[HookServer]:
    told = HookServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            # Lower case, as names of headers are compared.
            told.came.append(Came(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            with contextlib.suppress(OSError):
                self._misbehave() if told.manner else self._answer(told.said)

        def _answer(self, said: bytes) -> None:
            self.send_response(told.status)
            if told.location:
                self.send_header("Location", told.location)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def _misbehave(self) -> None:
            until = time.monotonic() + HANGS_S
            if told.manner == "chatters":
                self._answer(b"blah " * 1_000_000)
            elif told.manner == "drops":
                self.connection.close()
            elif told.manner == "trickles":
                while time.monotonic() < until:
                    self.wfile.write(b"H")
                    time.sleep(0.05)
            else:
                time.sleep(HANGS_S)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    told.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
