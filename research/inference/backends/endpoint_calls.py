"""Send requests to an OpenAI-compatible endpoint: rate limits, retries, and answers.

A fault that the question may have caused is a `NoAnswerError`, and only that question fails. A fault that only the
endpoint can have is a `BackendDownError`: it stops everything, so that a server that is away does not fail images by
the thousand. No reason has a key, an address or words of a caption in it.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import urllib3
from django.utils.translation import gettext as _
from urllib3 import exceptions as broken

from research.inference.backends.captioners import BackendDownError
from research.inference.backends.endpoint_answers import NoAnswerError
from research.inference.rules.endpoints import key_variable

MAX_ANSWER_BYTES = 1_000_000
READ_AT_ONCE_BYTES = 65_536
MAX_MESSAGE_CHARACTERS = 200
"""Characters of what a server says that are repeated."""
MIN_REPEATED_CHARACTERS = 12
"""Characters in a row of what was sent that a server must not be seen to say again."""
FIRST_PAUSE_S, MAX_PAUSE_S = 1.0, 30.0
MAX_PROBE_S = 10.0

ASKED_AGAIN = (408, 429, 500, 502, 503, 504, 529)
OVERLOADED_STATUSES = (429, 503, 529)
"""Answers after which fewer requests are sent at once."""
LOOK_AGAIN_S = 0.1
ENDPOINTS_FAULT = (401, 402, 404, 405, 429, 503, 529)
"""Answers for which no image can be to blame."""

Clock = Callable[[], float]
Wait = Callable[[float], None]


@dataclass(frozen=True)
class RequestPolicy:
    """How to send requests to an endpoint. `per_minute` is None if there is no limit."""

    connect_s: float
    read_s: float
    retries: int
    concurrency: int
    per_minute: float | None
    longest_wait_s: float


class RateLimiter:
    """Lets requests through one by one, as many a minute as allowed, and none while the endpoint rests."""

    def __init__(self, per_minute: float | None, *, clock: Clock, wait: Wait) -> None:
        self._gap_s = 60 / per_minute if per_minute else 0.0
        self._clock, self._wait = clock, wait
        self._lock = threading.Lock()
        self._next = self._closed_until = float("-inf")

    def enter(self) -> None:
        with self._lock:
            start = max(self._clock(), self._next, self._closed_until)
            self._next = start + self._gap_s
        # Somebody who went through may come back and close it for everybody.
        while (until := max(start, self._closed_until)) > (now := self._clock()):
            self._wait(until - now)

    def close_for(self, seconds: float) -> None:
        with self._lock:
            self._closed_until = max(self._closed_until, self._clock() + seconds)


class AdaptiveLimit:
    """How many requests may be on their way at once: half as many after each wave that the server cannot take.

    One more is let through after as many answers in a row as the limit is, up to `most`.
    """

    def __init__(self, most: int) -> None:
        self.limit = self._most = most
        self._in_flight = self._answered = 0
        self._wave = 0
        self._changed = threading.Condition()

    def enter(self, is_halted: Callable[[], bool]) -> int:
        """Wait for a place; returns the wave that the request belongs to."""
        with self._changed:
            while self._in_flight >= self.limit and not is_halted():
                self._changed.wait(LOOK_AGAIN_S)
            self._in_flight += 1
            return self._wave

    def leave(self, wave: int, *, is_too_much: bool) -> None:
        with self._changed:
            self._in_flight -= 1
            if is_too_much:
                # All of a wave say the same: only the first halves it.
                if wave == self._wave:
                    self.limit, self._wave = max(1, self.limit // 2), self._wave + 1
                self._answered = 0
            elif wave == self._wave:
                self._answered += 1
                if self._answered >= self.limit and self.limit < self._most:
                    self.limit, self._answered = self.limit + 1, 0
            self._changed.notify_all()


class EndpointClient:
    """Sends requests to one endpoint. Many threads may call `ask` at once; `halted` stops all of them."""

    def __init__(
        self,
        *,
        name: str,
        address: str,
        key: str | None,
        policy: RequestPolicy,
        clock: Clock = time.monotonic,
        wait: Wait | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._name, self._key, self._policy = name, key, policy
        self._path = urlsplit(address).path.rstrip("/")
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "crosslens"}
        # What was packed small could be huge; so nothing is to be packed.
        self._headers["Accept-Encoding"] = "identity"
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        self.halted = threading.Event()
        self._clock, self._wait = clock, wait or self._wait_unless_halted
        self._rng = rng or random.Random()
        self._limiter = RateLimiter(policy.per_minute, clock=clock, wait=self._wait)
        self.at_once = AdaptiveLimit(policy.concurrency)
        self._pool = urllib3.connection_from_url(
            address,
            maxsize=policy.concurrency,
            retries=False,
            timeout=urllib3.Timeout(connect=policy.connect_s, read=policy.read_s),
        )

    def ask(self, body: Mapping[str, Any], *, private: str = "") -> Any:
        """Return the endpoint's JSON answer; error messages must not repeat `private`.

        Raises NoAnswerError, BackendDownError.
        """
        payload = json.dumps(body).encode()
        for attempt in range(self._policy.retries + 1):
            self._limiter.enter()
            wave, is_too_much = self.at_once.enter(self.halted.is_set), False
            try:
                if self.halted.is_set():
                    raise self._halt()
                return self._once(payload, private)
            except _AttemptError as trouble:
                last, is_too_much = trouble, trouble.is_too_much
            finally:
                self.at_once.leave(wave, is_too_much=is_too_much)
            if not last.again:
                break
            if attempt < self._policy.retries:
                self._rest(attempt, last)
        message = str(last)
        if attempt:
            message = f"{message} {_('It was asked %(count)s times.') % {'count': attempt + 1}}"
        if last.is_endpoints:
            raise BackendDownError(message)
        raise NoAnswerError(message, is_silence=last.is_silence)

    def is_alive(self) -> bool:
        """Whether it answers anything at all to a simple request."""
        try:
            response = self._pool.request(
                "GET",
                f"{self._path}/models",
                headers=self._headers,
                redirect=False,
                preload_content=False,
                timeout=min(self._policy.connect_s + self._policy.read_s, MAX_PROBE_S),
            )
        except broken.HTTPError:
            return False
        # Unread: the list may be long, and a connection is made again soon enough.
        response.close()
        return response.status < 500 and response.status != 429

    def close(self) -> None:
        self.halted.set()
        self._pool.close()

    def _once(self, payload: bytes, private: str) -> Any:
        began = self._clock()
        try:
            response = self._pool.request(
                "POST",
                f"{self._path}/chat/completions",
                body=payload,
                headers=self._headers,
                redirect=False,
                preload_content=False,
            )
            content = self._content(response, began)
        except (broken.NewConnectionError, broken.ConnectTimeoutError) as error:
            raise _AttemptError(self._about(_unreachable(error)), again=True, is_endpoints=True) from None
        except broken.SSLError:
            message = _("The endpoint “%(name)s” does not use TLS, or its certificate is not trusted.")
            raise _AttemptError(self._about(message), is_endpoints=True) from None
        except broken.TimeoutError:
            raise self._too_slow() from None
        except broken.HTTPError:
            message = _("The endpoint “%(name)s” closed the connection before it answered.")
            raise _AttemptError(self._about(message), again=True, is_silence=True) from None
        if response.status != 200:
            raise self._not_answered(response, content, private)
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            message = _("The endpoint “%(name)s” answered with something that is not JSON.")
            if content.lstrip()[:1] == b"<":
                message = _(
                    "The endpoint “%(name)s” answered with HTML instead of a caption. The answer may come from a proxy."
                )
            raise NoAnswerError(self._about(message)) from None

    def _about(self, sentence: str, **more: Any) -> str:
        return sentence % {"name": self._name, **more}

    def _halt(self) -> BackendDownError:
        return BackendDownError(self._about(_("The endpoint “%(name)s” is not being called any more.")))

    def _content(self, response: urllib3.BaseHTTPResponse, began: float) -> bytes:
        """Read the answer, unless it is too large or trickles in for ever."""
        content = b""
        while some := response.read1(READ_AT_ONCE_BYTES, decode_content=False):
            content += some
            if len(content) > MAX_ANSWER_BYTES:
                response.close()
                message = _("The endpoint “%(name)s” answered with more than %(limit)s bytes, too many for a caption.")
                raise NoAnswerError(self._about(message, limit=MAX_ANSWER_BYTES))
            if self._clock() - began > self._policy.connect_s + self._policy.read_s:
                response.close()
                raise self._too_slow()
        response.release_conn()
        return content

    def _too_slow(self) -> _AttemptError:
        message = _("The endpoint “%(name)s” did not answer within %(seconds)s s.")
        return _AttemptError(self._about(message, seconds=f"{self._policy.read_s:g}"), again=True, is_silence=True)

    def _not_answered(self, response: urllib3.BaseHTTPResponse, content: bytes, private: str) -> _AttemptError:
        status = response.status
        if 300 <= status < 400:
            message = _(
                "The endpoint “%(name)s” answers with a redirect (%(status)s), which is not followed. Set "
                "%(variable)s to the address that it leads to."
            )
            return _AttemptError(self._about(message, status=status, variable="CAPTION_ENDPOINTS"), is_endpoints=True)
        otherwise = _("The endpoint “%(name)s” rejected the request (%(said)s).")
        if status >= 500:
            otherwise = _("The endpoint “%(name)s” failed (%(said)s).")
        sentence = {
            401: _("The endpoint “%(name)s” does not accept the key in %(variable)s (%(said)s)."),
            402: _("The endpoint “%(name)s” requires payment (%(said)s)."),
            404: _("The endpoint “%(name)s” does not know this model or address (%(said)s)."),
            429: _("The endpoint “%(name)s” has received too many requests (%(said)s)."),
        }.get(status, otherwise)
        return _AttemptError(
            self._about(sentence, said=self._said(status, content, private), variable=key_variable(self._name)),
            again=status in ASKED_AGAIN,
            is_endpoints=status in ENDPOINTS_FAULT,
            is_silence=status >= 500,
            is_too_much=status in OVERLOADED_STATUSES,
            retry_after_s=_seconds_of(response.headers.get("Retry-After")),
        )

    def _said(self, status: int, content: bytes, private: str) -> str:
        """Describe the status, with the server's message if that can be repeated."""
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            return str(status)
        error = answer.get("error", answer) if isinstance(answer, dict) else None
        message = error if isinstance(error, str) else None
        if isinstance(error, dict):
            message = next((error[name] for name in ("message", "detail") if isinstance(error.get(name), str)), None)
        if not message:
            return str(status)
        if _repeats(message, private) or "base64" in message:
            return _("%(status)s; its message repeats the request") % {"status": status}
        if self._key is not None:
            message = message.replace(self._key, "…")
        line = "".join(character if character.isprintable() else " " for character in message)
        return f"{status}, “{line[:MAX_MESSAGE_CHARACTERS]}”"

    def _rest(self, attempt: int, trouble: _AttemptError) -> None:
        """Wait as long as the server asks, with all threads; else twice as long each time, randomly less."""
        if trouble.retry_after_s is not None:
            if trouble.retry_after_s > self._policy.longest_wait_s:
                message = _("It asks for a wait of %(asked)s s, more than the limit of %(limit)s s.") % {
                    "asked": round(trouble.retry_after_s),
                    "limit": round(self._policy.longest_wait_s),
                }
                raise BackendDownError(f"{trouble} {message}")
            self._limiter.close_for(trouble.retry_after_s)
            return
        pause_s = min(FIRST_PAUSE_S * 2**attempt, MAX_PAUSE_S)
        self._wait(self._rng.uniform(pause_s / 2, pause_s))

    def _wait_unless_halted(self, seconds: float) -> None:
        if self.halted.wait(seconds):
            raise self._halt()


class _AttemptError(Exception):
    """One attempt failed. `is_endpoints`: the endpoint is to blame for sure; `is_silence`: perhaps."""

    def __init__(
        self,
        reason: str,
        *,
        again: bool = False,
        is_endpoints: bool = False,
        is_silence: bool = False,
        is_too_much: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(reason)
        self.again, self.retry_after_s = again, retry_after_s
        self.is_endpoints, self.is_silence, self.is_too_much = is_endpoints, is_silence, is_too_much


def _unreachable(error: Exception) -> str:
    if isinstance(error, broken.NameResolutionError):
        return _("The host name of the endpoint “%(name)s” cannot be resolved.")
    # What cannot connect is a kind of what takes too long to, for urllib3.
    if not isinstance(error, broken.NewConnectionError):
        return _("The endpoint “%(name)s” does not accept connections: it did not answer in time.")
    return _("The endpoint “%(name)s” does not accept connections.")


def _seconds_of(retry_after: str | None) -> float | None:
    if retry_after is None:
        return None
    try:
        return urllib3.Retry(retry_after_max=10**9).parse_retry_after(retry_after)
    except (broken.InvalidHeader, ValueError, OverflowError):
        return None


def _repeats(message: str, private: str) -> bool:
    """Whether the server's message repeats a part of the request."""
    message, private = message.casefold(), private.casefold()
    if not private:
        return False
    starts: Sequence[int] = range(max(1, len(private) - MIN_REPEATED_CHARACTERS + 1))
    return any(private[start : start + MIN_REPEATED_CHARACTERS] in message for start in starts)
