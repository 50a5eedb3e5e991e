"""A simulator of Prolific's API: a real server with studies, submissions and money, and faults on request."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "prolific-token-of-the-workspace"
FEES = 1.4


@dataclass
class Fault:
    """What happens once to a request whose method and path contain `to`.

    `lost`: it is carried out, and the connection closed without an answer. Otherwise it is answered with the status.
    """

    to: str
    status: int = 500
    is_lost: bool = False
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Prolific:
    currency: str = "GBP"
    faults: list[Fault] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    studies: dict[str, dict[str, Any]] = field(default_factory=dict)
    submissions: dict[str, dict[str, Any]] = field(default_factory=dict)
    bulks: dict[str, tuple[str, list[tuple[str, int]]]] = field(default_factory=dict)
    bonuses_cents: int = 0
    shows_bonuses: bool = True
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def spent_cents(self) -> int:
        """What left the account: places of published studies, and bonuses."""
        held = sum(one["total_cost"] for one in self.studies.values() if one["status"] != "UNPUBLISHED")
        return held + self.bonuses_cents

    @property
    def study(self) -> dict[str, Any]:
        (one,) = self.studies.values()
        return one

    def times(self, request: str) -> int:
        return sum(request in one for one in self.asked)

    def join(self, person: str, submission: str) -> None:
        assert self.study["status"] == "ACTIVE"
        taken = sum(one["status"] not in ("RETURNED", "TIMED-OUT") for one in self.submissions.values())
        assert taken < self.study["total_available_places"]
        about = {"id": submission, "participant_id": person, "status": "ACTIVE", "bonus_payments": []}
        self.submissions[submission] = about

    def complete(self, submission: str, code: str) -> None:
        assert code in {one["code"] for one in self.study["completion_codes"]}
        self.submissions[submission]["status"] = "AWAITING REVIEW"

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> tuple[int, Any]:
        parts = [part for part in path.removeprefix("/api/v1").split("/") if part]
        match method, parts:
            case "GET", ["users", "me"]:
                return 200, {"id": "me", "currency_code": self.currency}
            case "POST", ["study-cost-calculator"]:
                return 200, {"total_cost": cost(body["reward"], body["total_available_places"])}
            case "GET", ["studies"]:
                return 200, {"results": page(list(self.studies.values()), query)}
            case "POST", ["studies"]:
                return 201, self._made(body)
            case "GET", ["studies", id]:
                return 200, self.studies[id]
            case "PATCH", ["studies", id]:
                return self._places(self.studies[id], body["total_available_places"])
            case "POST", ["studies", id, "transition"]:
                return self._transition(self.studies[id], body["action"])
            case "GET", ["submissions"]:
                assert query["study"] == [self.study["id"]]
                return 200, {"results": page(list(self.submissions.values()), query)}
            case "POST", ["submissions", "bulk-approve"]:
                return self._approve(body["submission_ids"])
            case "POST", ["submissions", "bonus-payments"]:
                return self._set_up(body)
            case "POST", ["bulk-bonus-payments", id, "pay"]:
                return self._pay(id)
        return 404, problem("There is no such address.")

    def _made(self, body: Any) -> dict[str, Any]:
        id = f"study{len(self.studies) + 1}"
        total = cost(body["reward"], body["total_available_places"])
        about = {"id": id, "status": "UNPUBLISHED", "presentment_currency_code": self.currency, "total_cost": total}
        self.studies[id] = body | about
        return self.studies[id]

    def _places(self, study: dict[str, Any], places: int) -> tuple[int, Any]:
        if places < study["total_available_places"]:
            return 400, problem("Places can only be added.")
        study |= {"total_available_places": places, "total_cost": cost(study["reward"], places)}
        return 200, study

    def _transition(self, study: dict[str, Any], action: str) -> tuple[int, Any]:
        moves = {
            ("PUBLISH", "UNPUBLISHED"): "ACTIVE",
            ("PAUSE", "ACTIVE"): "PAUSED",
            ("START", "PAUSED"): "ACTIVE",
            ("STOP", "ACTIVE"): "AWAITING REVIEW",
            ("STOP", "PAUSED"): "AWAITING REVIEW",
        }
        if (action, study["status"]) not in moves:
            return 400, problem(f"A study that is {study['status']} cannot {action}.")
        study["status"] = moves[action, study["status"]]
        return 200, study

    def _approve(self, ids: list[str]) -> tuple[int, Any]:
        assert all(self.submissions[id]["status"] == "AWAITING REVIEW" for id in ids)
        for id in ids:
            self.submissions[id]["status"] = "APPROVED"
        return 200, {"message": "The request is in progress."}

    def _set_up(self, body: Any) -> tuple[int, Any]:
        rows = [line.split(",") for line in body["csv_bonuses"].splitlines()]
        if any(id not in self.submissions for id, _amount in rows):
            return 400, problem("These are not in the study.")
        cents = [(id, round(float(amount) * 100)) for id, amount in rows]
        id = f"bulk{len(self.bulks) + 1}"
        self.bulks[id] = (body["study_id"], cents)
        return 201, {"id": id, "study": body["study_id"], "total_amount": cost(sum(one for _id, one in cents), 1)}

    def _pay(self, id: str) -> tuple[int, Any]:
        _study, rows = self.bulks[id]
        self.bonuses_cents += cost(sum(cents for _id, cents in rows), 1)
        for submission, cents in rows:
            if self.shows_bonuses:
                self.submissions[submission]["bonus_payments"].append(cents)
        return 202, {"message": "The bonuses will be paid."}


def cost(cents: int, places: int) -> int:
    return -(-round(cents * places * FEES * 1000) // 1000)


def page(rows: list[Any], query: dict[str, list[str]]) -> list[Any]:
    number, size = int(query["page"][0]), int(query["page_size"][0])
    return rows[(number - 1) * size : number * size]


def problem(detail: str) -> dict[str, Any]:
    return {"error": {"status": 400, "error_code": 140100, "title": "Bad request", "detail": detail}}


class Handler(BaseHTTPRequestHandler):
    prolific: Prolific

    def _do(self) -> None:
        there, parts = self.prolific, urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = f"{self.command} {parts.path.removeprefix('/api/v1')}"
        with there.lock:
            there.asked.append(request)
            fault = next((one for one in there.faults if one.to in request), None)
            if fault is not None:
                there.faults.remove(fault)
            headers = fault.headers if fault else {}
            if self.headers["Authorization"] != f"Token {TOKEN}":
                status, answer = 401, problem(f"The token {self.headers['Authorization']} is wrong.")
            elif fault is not None and not fault.is_lost:
                status, answer = fault.status, problem("A fault.")
            else:
                body = json.loads(content) if content else None
                status, answer = there.answer(self.command, parts.path, parse_qs(parts.query), body)
        if fault is not None and fault.is_lost:
            self.close_connection = True
            return
        sent = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Type": "application/json", "Content-Length": len(sent)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(sent)

    do_GET = do_POST = do_PATCH = _do  # noqa: N815 the names that the server looks for

    def log_message(self, *_arguments: Any) -> None:
        """Write nothing to the tests' output."""


@contextmanager
def serving(there: Prolific) -> Iterator[str]:
    """Serve a simulator, and give the address of its API."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Serving", (Handler,), {"prolific": there}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/api/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
