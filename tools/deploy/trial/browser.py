"""What reaches an installation from outside: a browser's requests, and connections that send a byte now and then."""

from __future__ import annotations

import asyncio
import http.client
import secrets
import ssl
import threading
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookies import SimpleCookie

from tools.deploy.trial.log import FailedError

HOST = "localhost"
PATIENCE_S = 60
Fields = Mapping[str, str | Sequence[str]]
File = tuple[str, bytes]


@dataclass(frozen=True)
class PageAnswer:
    status: int
    headers: http.client.HTTPMessage
    text: str

    @property
    def location(self) -> str:
        return urllib.parse.urlsplit(self.headers.get("Location", "")).path


@dataclass
class PageForm:
    action: str
    method: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


class FormParser(HTMLParser):
    """The forms of a page, with the values that a browser would send."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[PageForm] = []
        self._select: tuple[str, list[tuple[str, bool]]] | None = None
        self._text: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(PageForm(given.get("action", ""), given.get("method", "get").lower()))
        elif not self.forms:
            return
        elif tag == "option" and self._select:
            self._select[1].append((given.get("value", ""), "selected" in given))
        elif name := given.get("name"):
            self._field(tag, name, given)

    def _field(self, tag: str, name: str, given: Mapping[str, str]) -> None:
        form, kind = self.forms[-1], given.get("type", "text")
        if tag == "select":
            form.names.add(name)
            self._select = (name, [])
        elif tag == "textarea":
            form.names.add(name)
            form.fields.append((name, ""))
            self._text = name
        elif tag == "input" and kind not in ("submit", "button", "image"):
            form.names.add(name)
            is_choice = kind in ("checkbox", "radio")
            if kind != "file" and (not is_choice or "checked" in given):
                form.fields.append((name, given.get("value", "on" if is_choice else "")))

    def handle_data(self, data: str) -> None:
        if self._text:
            name, text = self.forms[-1].fields[-1]
            self.forms[-1].fields[-1] = (name, text + data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._text = None
        elif tag == "select" and self._select:
            name, options = self._select
            chosen = [value for value, is_selected in options if is_selected] or [value for value, _ in options[:1]]
            self.forms[-1].fields.extend((name, value) for value in chosen)
            self._select = None


class TrialBrowser:
    def __init__(self, port: int, trust: ssl.SSLContext) -> None:
        self.port, self.trust = port, trust
        self.origin = f"https://{HOST}" if port == 443 else f"https://{HOST}:{port}"
        self.cookies: dict[str, str] = {}

    def get(self, path: str, *, expected: int = 200) -> PageAnswer:
        return self._ask("GET", path, expected=expected)

    def post(
        self, path: str, fields: Fields, *, files: Mapping[str, File] | None = None, expected: int = 302
    ) -> PageAnswer:
        pairs = [
            (name, one) for name, value in fields.items() for one in ([value] if isinstance(value, str) else value)
        ]
        if files:
            kind, body = _multipart(pairs, files)
        else:
            kind, body = "application/x-www-form-urlencoded", urllib.parse.urlencode(pairs).encode()
        return self._ask("POST", path, body, kind, expected=expected)

    def submit(self, path: str, fields: Fields, *, files: Mapping[str, File] | None = None) -> PageAnswer:
        """Send the form of a page that has these fields, the others as they stand there; follows no redirect."""
        needed = {*fields, *(files or {})}
        forms = [
            form for form in FormParser(self.get(path).text).forms if form.method == "post" and needed <= form.names
        ]
        if not forms:
            raise FailedError(f"{path} has no form with {', '.join(sorted(needed))}.")
        values: dict[str, str | Sequence[str]] = {}
        for name, value in forms[0].fields:
            before = values.get(name)
            values[name] = value if before is None else [*([before] if isinstance(before, str) else before), value]
        return self.post(forms[0].action or path, {**values, **fields}, files=files)

    def sign_in(self, name: str, password: str) -> None:
        self.submit("/accounts/login/", {"login": name, "password": password})

    def _ask(self, method: str, path: str, body: bytes = b"", kind: str = "", *, expected: int) -> PageAnswer:
        headers = {"Host": self.origin.removeprefix("https://"), "Origin": self.origin, "Referer": self.origin + path}
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if kind:
            headers["Content-Type"] = kind
        for name, value in self.cookies.items():
            if name.endswith("csrftoken"):
                headers["X-CSRFToken"] = value
        connection = http.client.HTTPSConnection(HOST, self.port, timeout=PATIENCE_S, context=self.trust)
        try:
            connection.request(method, path, body or None, headers)
            response = connection.getresponse()
            answer = PageAnswer(response.status, response.headers, response.read().decode(errors="replace"))
        finally:
            connection.close()
        for line in response.headers.get_all("Set-Cookie") or ():
            for name, morsel in SimpleCookie(line).items():
                self.cookies[name] = morsel.value
        if answer.status != expected:
            raise FailedError(f"{method} {path}: {answer.status} instead of {expected}: {_said(answer.text)}")
        return answer


def _said(page: str) -> str:
    """What a page says against what was sent, or its beginning."""
    for mark in ('class="errorlist', 'role="alert"', 'class="error'):
        if mark in page:
            page = page[page.index(mark) :]
            break
    return " ".join(page.split())[:300]


def _multipart(pairs: Sequence[tuple[str, str]], files: Mapping[str, File]) -> tuple[str, bytes]:
    boundary = secrets.token_hex(16)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in pairs
    ]
    for name, (file_name, content) in files.items():
        disposition = f'Content-Disposition: form-data; name="{name}"; filename="{file_name}"'
        head = f"--{boundary}\r\n{disposition}\r\nContent-Type: application/octet-stream\r\n\r\n"
        parts += [head.encode(), content, b"\r\n"]
    return f"multipart/form-data; boundary={boundary}", b"".join([*parts, f"--{boundary}--\r\n".encode()])


BETWEEN_BYTES_S = 2
SMALL_BYTES, LARGE_BYTES = 20_000, 900_000
PATH = "/accounts/login/"
HEAD = "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n"


class SlowConnections:
    """Connections that announce a body and send a byte of it now and then: so many at once while the block lasts.

    Half of them announce more than 256 kB; `ended_s` tells after how long the proxy ended those. Of a smaller body
    Caddy 2.11.7 stops waiting, but closes the connection only after the rest: a fault of its own, mended since.
    """

    def __init__(self, count: int, port: int, trust: ssl.SSLContext) -> None:
        self.count, self.port, self.trust = count, port, trust
        self.opened = 0
        self.ended_s: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._all()), daemon=True)

    def __enter__(self) -> SlowConnections:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join(60)

    async def _all(self) -> None:
        sizes = [LARGE_BYTES if number % 2 else SMALL_BYTES for number in range(self.count)]
        around = [asyncio.create_task(self._one(size)) for size in sizes]
        while not self._stop.is_set() and not all(task.done() for task in around):
            await asyncio.sleep(0.2)
        for task in around:
            task.cancel()
        await asyncio.gather(*around, return_exceptions=True)

    async def _one(self, size: int) -> None:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(HOST, self.port, ssl=self.trust)
            self.opened += 1
            began = time.monotonic()
            try:
                writer.write(HEAD.format(PATH, HOST, size).encode())
                # A server that gives up answers, or ends the connection; either way there is something to read.
                answer = asyncio.create_task(reader.read(1))
                while not answer.done():
                    writer.write(b"x")
                    await writer.drain()
                    await asyncio.wait([answer], timeout=BETWEEN_BYTES_S)
            finally:
                if size == LARGE_BYTES:
                    self.ended_s.append(time.monotonic() - began)
                writer.close()
