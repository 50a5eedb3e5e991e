"""One POST to an address from a manager: never to a private one, without redirects, within a time limit.

A name is resolved once, its address is checked, and that very address is connected to: a name that resolves differently
a moment later gains nothing.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

CONNECT_S, READ_S = 5.0, 10.0
MAX_RESPONSE_S = 15.0
"""For a whole response, however slowly it arrives; shorter than the first pause between two attempts."""
MAX_ANSWER_BYTES = 1_000
MAX_MESSAGE_CHARACTERS = 200
GONE_STATUS = 410

# Addresses that contain another one, to which a packet would be routed.
NAT64 = ipaddress.ip_network("64:ff9b::/96")
INTERNET6 = ipaddress.IPv6Network("2000::/3")
"""The whole allocated range; the rest belongs to private networks or nobody."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class AttemptResult:
    """The result of one attempt: the status, None if there was no response, and a description."""

    status: int | None
    said: str

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_gone(self) -> bool:
        return self.status == GONE_STATUS


Post = Callable[[str, bytes, Mapping[str, str]], AttemptResult]


class UnreachableError(Exception):
    """The address is not called; the message says why."""


def check_address(url: str) -> str | None:
    """Return why `url` may not be called, as a sentence; None if it may be called now."""
    try:
        _target(url)
    except UnreachableError as refused:
        return str(refused)
    return None


def post(url: str, body: bytes, headers: Mapping[str, str]) -> AttemptResult:
    """Send `body`, JSON; every outcome is returned as a result."""
    try:
        parts, address = _target(url)
        return _send(parts, address, body, headers)
    except UnreachableError as refused:
        return AttemptResult(None, str(refused))


def is_public(address: Address) -> bool:
    """Return whether it is a public address: not private, loopback, link-local, reserved or multicast."""
    if isinstance(address, ipaddress.IPv6Address):
        inside = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if address in NAT64:
            inside = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inside is not None:
            return is_public(inside)
        if address not in INTERNET6:
            return False
    return address.is_global and not address.is_multicast


def _target(url: str) -> tuple[SplitResult, str]:
    """Return the parts of `url` and the address that it resolves to.

    Raises UnreachableError.
    """
    parts = _parts(url)
    host = parts.hostname or ""
    try:
        resolved = socket.getaddrinfo(host, _port(parts), type=socket.SOCK_STREAM)
        addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in resolved]
    except (OSError, UnicodeError, ValueError):
        raise UnreachableError(_("The name %(host)s cannot be resolved. Check the address.") % {"host": host}) from None
    # All of them, not just the first: their order may change.
    if not settings.WEBHOOKS_TO_PRIVATE_ADDRESSES and not all(map(is_public, addresses)):
        text = _(
            "%(host)s leads to a private address. Webhooks are not sent there, because they could reach "
            "services that only this server can. Enter a public address, or ask the people who run this "
            "installation."
        )
        raise UnreachableError(text % {"host": host})
    return parts, str(addresses[0])


def _parts(url: str) -> SplitResult:
    allowed = ("https", "http") if settings.WEBHOOKS_TO_PRIVATE_ADDRESSES else ("https",)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UnreachableError(_("Enter a valid address.")) from None
    if parts.scheme not in allowed or not parts.hostname or port == 0 or not url.isascii() or not url.isprintable():
        raise UnreachableError(_("Enter an address that begins with https:// and names a host."))
    if parts.username is not None or parts.password is not None or " " in url:
        raise UnreachableError(
            _("Enter an address without a password or spaces. Each delivery is signed, so it needs no password.")
        )
    return parts


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _send(parts: SplitResult, address: str, body: bytes, headers: Mapping[str, str]) -> AttemptResult:
    sent = {
        "Host": parts.netloc,
        "Content-Type": "application/json",
        "User-Agent": "crosslens",
        # Compressed data could become huge, so none is accepted.
        "Accept-Encoding": "identity",
        "Connection": "close",
        **headers,
    }
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    with ExitStack() as until_done:
        try:
            raw = until_done.enter_context(socket.create_connection((address, _port(parts)), timeout=CONNECT_S))
            raw.settimeout(READ_S)
            until_done.callback(limit_of(raw, MAX_RESPONSE_S).cancel)
            connection = HTTPConnection(parts.hostname or "")
            connection.sock = raw if parts.scheme == "http" else until_done.enter_context(_encrypted(raw, parts))
            connection.request("POST", path, body=body, headers=sent)
            response = until_done.enter_context(connection.getresponse())
            return AttemptResult(response.status, _answer_text(response.status, response.read(MAX_ANSWER_BYTES)))
        except ssl.SSLCertVerificationError:
            raise UnreachableError(_("The server’s certificate is not trusted.")) from None
        except TimeoutError:
            raise UnreachableError(_("The server did not answer in time.")) from None
        except (OSError, HTTPException, ValueError):
            raise UnreachableError(_("The server refused the connection, or closed it before it answered.")) from None


def _encrypted(raw: socket.socket, parts: SplitResult) -> ssl.SSLSocket:
    # The certificate must be for the name, not for the address that it resolved to.
    return ssl.create_default_context().wrap_socket(raw, server_hostname=parts.hostname)


def limit_of(connection: socket.socket, seconds: float) -> threading.Timer:
    """Shut a connection after so many seconds, unless the timer is cancelled.

    A socket's own timeout starts again with every byte: a slow sender could block a worker for ever.
    """
    limit = threading.Timer(seconds, _shut, [connection.dup()])
    limit.daemon = True
    limit.start()
    return limit


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _answer_text(status: int, content: bytes) -> str:
    text = "".join(letter if letter.isprintable() else " " for letter in content.decode("utf-8", "replace"))
    text = " ".join(text.split())[:MAX_MESSAGE_CHARACTERS]
    if 300 <= status < 400:
        return _("%(status)s: a redirect, which is not followed. Enter the address that it leads to.") % {
            "status": status
        }
    return f"{status}: {text}" if text else str(status)
