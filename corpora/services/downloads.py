"""Get the files of candidates: from a storage, or from the web with retries, at most so many a second from one host."""

from __future__ import annotations

import hashlib
import ipaddress
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath
from threading import Event, Thread
from typing import IO, Protocol, Self
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

import urllib3
from django.core.exceptions import SuspiciousFileOperation
from django.core.files.storage import Storage
from django.utils.translation import gettext as _

from corpora.models import Candidate
from corpora.rules.candidates import is_address, is_web
from images.rules import limits
from people.services.outgoing_http import is_public

CONNECT_S, READ_S = 5.0, 20.0
LONGEST_S = 120.0
"""For a whole answer, however slowly it arrives."""
SILENT_S = 30.0
"""For the head of an answer, and between two pieces of a file. A worker renews its lease, of a minute, in between."""
PIECE_BYTES = 1 << 16
KEPT_IN_MEMORY_BYTES = 4 * limits.MEGABYTE
TRIES = 4
PAUSES_S = (1.0, 4.0, 16.0)
LONGEST_PAUSE_S = 120.0
"""A server that asks for more is left for another time."""

MAX_REDIRECTS = 5
PER_SECOND = 4.0
"""Requests to one host, unless somebody asks for another rate."""

TRY_LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
USER_AGENT = "Crosslens (fetches images chosen for captioning)"
SUFFIXES = ("", ".jpg", ".jpeg", ".png", ".webp")


class FetchFailedError(Exception):
    """The file could not be fetched; the message says why."""


class _TryAgainError(Exception):
    """It may work in a while; `after_s` is when the server says so."""

    def __init__(self, reason: str, after_s: float | None = None) -> None:
        super().__init__(reason)
        self.after_s = after_s


class Source(Protocol):
    def fetch(self, candidate: Candidate) -> IO[bytes]:
        """Return the file of a candidate, or raise FetchFailedError."""


@dataclass(frozen=True)
class StoredFiles:
    """Files in a folder or a bucket, named as the address, its last part, or the key."""

    storage: Storage

    def fetch(self, candidate: Candidate) -> IO[bytes]:
        for name in self._names(candidate):
            try:
                if self.storage.exists(name):
                    with self.storage.open(name) as file:
                        return _copied(iter(lambda: file.read(PIECE_BYTES), b""))
            except (IsADirectoryError, SuspiciousFileOperation):
                continue
        raise FetchFailedError(_("There is no file named as the address or the key of this image."))

    def _names(self, candidate: Candidate) -> Iterator[str]:
        if not is_web(candidate.address):
            yield candidate.address
        last = PurePosixPath(unquote(urlsplit(candidate.address).path)).name
        if last:
            yield last
        if is_address(candidate.key):
            yield from (candidate.key + suffix for suffix in SUFFIXES)


@dataclass
class Web:
    """Files at http:// and https:// addresses, never private ones.

    `pause` waits so many seconds; `beat` is called between pieces, for whoever has to show that work goes on.
    """

    per_second: float = PER_SECOND
    pause: Callable[[float], None] = time.sleep
    beat: Callable[[], None] = lambda: None
    clock_s: Callable[[], float] = time.monotonic
    _next: dict[str, float] = field(default_factory=dict)

    def fetch(self, candidate: Candidate) -> IO[bytes]:
        if not is_web(candidate.address):
            raise FetchFailedError(_("The address is a path in a folder. Fetch it from the folder."))
        for pause_s in (*PAUSES_S, None):
            try:
                return self._fetch(candidate.address)
            except _TryAgainError as error:
                wait_s = max(pause_s or 0, error.after_s or 0)
                if pause_s is None or wait_s > LONGEST_PAUSE_S:
                    raise FetchFailedError(str(error)) from error
                self.pause(wait_s)
        raise AssertionError  # the last pass returns or raises

    def _fetch(self, url: str) -> IO[bytes]:
        for _redirect in range(MAX_REDIRECTS + 1):
            parts, address = _target(url)
            self._wait_for(parts.hostname or "")
            self.beat()
            end_s = self.clock_s() + LONGEST_S
            with _Silence() as silence, _pool(parts, address, silence) as pool:
                try:
                    response = _ask(pool, parts)
                    try:
                        if location := response.get_redirect_location():
                            url = urljoin(url, location)
                            continue
                        return self._received(response, end_s, silence)
                    finally:
                        response.close()
                except _TryAgainError:
                    self._check_time(end_s)
                    raise
        raise FetchFailedError(_("The address redirects more than %(limit)s times.") % {"limit": MAX_REDIRECTS})

    def _wait_for(self, host: str) -> None:
        now = self.clock_s()
        start = max(now, self._next.get(host, now))
        self._next[host] = start + 1 / self.per_second
        if start > now:
            self.pause(start - now)

    def _check_time(self, end_s: float) -> None:
        if self.clock_s() >= end_s:
            raise FetchFailedError(_("The file took longer than %(limit)s seconds.") % {"limit": int(LONGEST_S)})

    def _received(self, response: urllib3.BaseHTTPResponse, end_s: float, silence: _Silence) -> IO[bytes]:
        if response.status in TRY_LATER:
            raise _TryAgainError(_status(response.status), _retry_after_s(response.headers.get("Retry-After")))
        if response.status != 200:
            raise FetchFailedError(_status(response.status))
        try:
            return _copied(self._pieces(response, end_s, silence))
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _TryAgainError(_("The connection broke off.")) from error

    def _pieces(self, response: urllib3.BaseHTTPResponse, end_s: float, silence: _Silence) -> Iterator[bytes]:
        # What has arrived, however little: a slow server takes minutes to fill a piece.
        while piece := response.read1(PIECE_BYTES, decode_content=False):
            silence.end()
            self.beat()
            self._check_time(end_s)
            yield piece
        # Otherwise a connection that was shut would look as if the file had ended.
        silence.check()


class _Silence:
    """Shuts a connection over which nothing arrives for `SILENT_S`.

    A socket's own timeout starts again with every byte: a server that sends one now and then could keep a worker.
    """

    def __init__(self) -> None:
        self._ended = Event()
        self._is_closed = self._has_shut = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_closed = True
        self._ended.set()

    def watch(self, connection: socket.socket) -> None:
        Thread(target=self._watch, args=[connection.dup()], name="silence", daemon=True).start()

    def end(self) -> None:
        """Begin to count anew, because something has arrived."""
        self._ended.set()

    def check(self) -> None:
        if self._has_shut:
            raise TimeoutError

    def _watch(self, connection: socket.socket) -> None:
        with connection:
            while self._ended.wait(min(SILENT_S, LONGEST_S)):
                self._ended.clear()
                if self._is_closed:
                    return
            self._has_shut = True
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def check_sum(file: IO[bytes], checksum: str) -> None:
    """
    Raises
    ------
    FetchFailedError
        Where the file does not have the checksum (algorithm:hexadecimal).
    """
    algorithm, _colon, digest = checksum.partition(":")
    file.seek(0)
    if digest and hashlib.file_digest(file, algorithm).hexdigest() != digest:  # type: ignore[arg-type]
        raise FetchFailedError(_("The file does not have the checksum of the list: it is another file by now."))


def _copied(pieces: Iterator[bytes]) -> IO[bytes]:
    copy: tempfile.SpooledTemporaryFile[bytes] = tempfile.SpooledTemporaryFile(max_size=KEPT_IN_MEMORY_BYTES)  # noqa: SIM115
    try:
        for piece in pieces:
            copy.write(piece)
            if copy.tell() > limits.MAX_IMAGE_BYTES:
                megabytes = limits.MAX_IMAGE_BYTES // limits.MEGABYTE
                raise FetchFailedError(_("The file is larger than %(limit)s MB.") % {"limit": megabytes})
    except BaseException:
        copy.close()
        raise
    return copy


def _target(url: str) -> tuple[SplitResult, str]:
    """Resolve the host once; the very address that was checked is connected to."""
    if not is_web(url) or not is_address(url):
        raise FetchFailedError(_("The address leads to one that is not http:// or https://."))
    parts = urlsplit(url)
    try:
        found = socket.getaddrinfo(parts.hostname, _port(parts), type=socket.SOCK_STREAM)
        addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    except (OSError, UnicodeError, ValueError) as error:
        raise _TryAgainError(_("The name %(host)s cannot be resolved.") % {"host": parts.hostname}) from error
    if not all(map(is_public, addresses)):
        raise FetchFailedError(_("%(host)s leads to a private address.") % {"host": parts.hostname})
    return parts, str(addresses[0])


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _pool(parts: SplitResult, address: str, silence: _Silence) -> urllib3.HTTPConnectionPool:
    """Make a pool whose connection `silence` watches."""
    timeout = urllib3.Timeout(connect=CONNECT_S, read=READ_S)
    pool: urllib3.HTTPConnectionPool
    if parts.scheme == "http":
        pool = urllib3.HTTPConnectionPool(address, _port(parts), timeout=timeout)
    else:
        # The certificate must be for the name, not for the address that it resolved to.
        names = {"server_hostname": parts.hostname, "assert_hostname": parts.hostname}
        pool = urllib3.HTTPSConnectionPool(address, _port(parts), timeout=timeout, **names)  # type: ignore[arg-type]

    class Limited(pool.ConnectionCls):  # type: ignore[name-defined]
        def _new_conn(self) -> socket.socket:
            made: socket.socket = super()._new_conn()
            silence.watch(made)
            return made

    pool.ConnectionCls = Limited
    return pool


def _ask(pool: urllib3.HTTPConnectionPool, parts: SplitResult) -> urllib3.BaseHTTPResponse:
    path = urllib3.util.parse_url(parts.geturl()).request_uri
    # Compressed data could become huge, so none is accepted.
    headers = {"Host": parts.netloc, "User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
    try:
        return pool.urlopen(
            "GET", path, headers=headers, redirect=False, retries=False, preload_content=False, assert_same_host=False
        )
    except urllib3.exceptions.SSLError as error:
        raise FetchFailedError(_("The server’s certificate is not trusted.")) from error
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise _TryAgainError(_("The server did not answer.")) from error


def _status(status: int) -> str:
    return _("The server answered with status %(status)s.") % {"status": status}


def _retry_after_s(value: str | None) -> float | None:
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None
