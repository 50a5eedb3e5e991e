"""Requests to the API: sent again while the server is busy or lost, and refusals as errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

API = "api/v1/"
ATTEMPTS = 6
FIRST_PAUSE_S, MAX_PAUSE_S = 1.0, 60.0
TIMEOUT_S = 60.0
BUSY = frozenset({429, 503, 507})
"""The server did nothing, and says when to try again."""


class CrosslensError(Exception):
    """The server refused.

    `code` names the refusal and never changes, `errors` has the reasons by field, `status` is that of HTTP.
    """

    def __init__(self, status: int, code: str, detail: str, errors: Mapping[str, list[str]] | None = None) -> None:
        self.status, self.code, self.detail, self.errors = status, code, detail, dict(errors or {})
        lines = [f"{name}: {reason}" for name, reasons in self.errors.items() for reason in reasons]
        super().__init__("\n".join([f"{detail} ({code})", *lines]))


class Connection:
    """To one installation, with one token. `transport` is httpx's, for tests and proxies."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout_s: float = TIMEOUT_S,
        transport: httpx.BaseTransport | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        if not token.isascii():
            raise ValueError("A token has only letters, digits and signs of ASCII. Copy it again from your profile.")
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self.base = httpx.URL(f"{url.rstrip('/')}/")
        self.pause = pause
        self._http = httpx.Client(headers=headers, timeout=timeout_s, transport=transport)

    def close(self) -> None:
        self._http.close()

    def json(self, method: str, address: str, **sent: Any) -> Any:
        """Return what an address answers; None if that is nothing."""
        answer = self._request(method, address, **sent)
        return answer.json() if answer.content and answer.is_success else None

    def start(self, address: str, **sent: Any) -> str:
        """Start background work, and return the address of its job."""
        return str(self._request("POST", address, **sent).headers["Location"])

    def text(self, address: str) -> str:
        return self._request("GET", address).text

    def download(self, address: str, path: Path) -> Path:
        """Write what an address answers to a file, which is there only once it is complete."""
        unfinished = path.with_name(f"{path.name}.part")

        def write(answer: httpx.Response) -> None:
            with unfinished.open("wb") as file:
                for piece in answer.iter_bytes():
                    file.write(piece)

        try:
            self._request("GET", address, read=write)
            return unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)

    def _url(self, address: str) -> httpx.URL:
        """An address below /api/v1/, or a whole one as answers have, always on the server that the token is for."""
        if address.startswith(("http://", "https://", "/")):
            return self.base.copy_with(raw_path=httpx.URL(address).raw_path)
        return httpx.URL(f"{self.base}{API}{address}")

    def _request(
        self, method: str, address: str, *, read: Callable[[httpx.Response], object] = httpx.Response.read, **sent: Any
    ) -> httpx.Response:
        """Return the answer once `read` has read it."""
        if method == "POST":
            # With it, what arrives twice is done once, so that it can be sent again when the answer is lost.
            sent["headers"] = {"Idempotency-Key": str(uuid4())}
        wait_s = FIRST_PAUSE_S
        for attempt in range(1, ATTEMPTS + 1):
            is_last = attempt == ATTEMPTS
            try:
                with self._http.stream(method, self._url(address), **sent) as answer:
                    if answer.is_success:
                        read(answer)
                        return answer
                    answer.read()
                    if method == "DELETE" and attempt > 1 and answer.status_code == httpx.codes.NOT_FOUND:
                        # It was deleted by the request whose answer was lost.
                        return answer
                    if answer.status_code not in BUSY or is_last:
                        raise _refusal(answer)
                    wait_s = _seconds(answer.headers.get("Retry-After"), wait_s)
            except httpx.TransportError:
                if is_last:
                    raise
            self.pause(min(wait_s, MAX_PAUSE_S))
            wait_s *= 2
        raise AssertionError("unreachable")


def _seconds(text: str | None, otherwise: float) -> float:
    return float(text) if text and text.isdecimal() else otherwise


def _refusal(answer: httpx.Response) -> CrosslensError:
    try:
        problem = answer.json()
        return CrosslensError(answer.status_code, problem["code"], problem["detail"], problem.get("errors"))
    except (ValueError, KeyError, TypeError):
        said = f"{answer.url} answered {answer.status_code} {answer.reason_phrase}. Is it a Crosslens installation?"
        return CrosslensError(answer.status_code, "no-crosslens", said)
