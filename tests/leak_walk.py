"""A walk through all that one person can reach, looking for what they must not learn.

It asks for every address of the URL configuration, with all arguments the person could know or guess, and for every
address found in what comes back; sends every form; and looks in three ways. Words that only the secrets have are
searched for, in whatever guise. Everything is asked for a second time while the secrets are others: where the answer
is then another one, something of them is in it, a rating as data for instance. And after whatever changed the database
the pages are looked at again. Each request is undone, so that one tells the next nothing.
"""

from __future__ import annotations

import base64
import copy
import html
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import product
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode, urljoin, urlsplit
from zipfile import ZipFile

from django.conf import settings
from django.core import mail
from django.core.cache import cache
from django.db import connection, transaction
from django.test import Client, override_settings
from django.urls import Resolver404, URLPattern, get_resolver, resolve
from django.utils.regex_helper import normalize
from PIL import Image as Pillow

SENTENCE = "Eine Katze schläft auf dem Sofa."
FILLERS = {"number": "1", "email": "x@example.org", "password": "wrong-Passw0rd", "date": "2030-01-01"}
SENSIBLE = {
    "rating": "GOOD",
    "text": SENTENCE,
    "revision": "0",
    "active_ms": "10",
    "go": "following",
    "open": "1",
    "language": "ar",
    "next": "/work/",
}
HEADERS = ({"HX-Request": "true"}, {"Accept": "application/json"}, {"Accept-Language": "ar"})
TOO_MANY = 4000
TRIES = 3
PAGES_LOOKED_AT_AGAIN = 3
LIKE_ONE_ANOTHER = ("admin:login",)
"""Routes of which one address stands for all: hundreds lead there, each with another `next`."""
CLOSED, CLOSED_ENOUGH = (302, 403, 404), 3
"""Answers that show nothing, and of how many addresses of a route with one of them everything else is tried, too."""
# Refused before anything of theirs runs, to whoever is not of the staff: it is enough to see that they all are.
GUARDED = "/admin/"
API = "/api/"
"""Where programs send and are sent JSON."""
WRITES = re.compile(r'^\s*(?:INSERT|UPDATE|DELETE)[^"]*"(?!django_session|axes_|account_)', re.IGNORECASE)
UNSTEADY_FOR_ANYBODY = frozenset({"metrics-show", "readiness-show"})
"""Routes that answer otherwise each time, whoever asks: one counts what is asked, one says what is slow just now."""
OF_THE_MOMENT = ("Expires", "X-Request-ID")
"""Headers that are others each time."""
TOKEN = re.compile(rb"\b[A-Za-z0-9]{64}\b|\b[A-Za-z0-9]{32}\b")


class Unfillable(Exception):
    """A pattern has an argument that nobody told the walk values for."""


@dataclass(frozen=True)
class Route:
    """A pattern of the URL configuration; `template` has a %(name)s for each argument."""

    name: str
    template: str
    arguments: Sequence[str]

    def addresses(self, known: Mapping[str, Sequence[object]]) -> list[str]:
        """The pattern with every combination of values in `known`, by "name" or "route name".

        Raises
        ------
        Unfillable
        """
        choices = []
        for argument in self.arguments:
            values = known.get(f"{self.name} {argument}") or known.get(argument)
            if not values:
                raise Unfillable(
                    f"The walk does not know what to put for <{argument}> of /{self.template} ({self.name}). Add to "
                    f"World.known in tests/test_leaks.py, under {argument!r}, what an annotator could know or guess."
                )
            choices.append(values)
        return ["/" + self.template % dict(zip(self.arguments, chosen, strict=True)) for chosen in product(*choices)]


urlpatterns: list[Any] = []


@contextmanager
def serving(*patterns: Any) -> Iterator[None]:
    """Serve these addresses and no others."""
    urlpatterns[:] = patterns
    with override_settings(ROOT_URLCONF=__name__):
        yield


def routes() -> list[Route]:
    """All patterns of the URL configuration in force."""
    return list(_routes(get_resolver().url_patterns, "", ()))


def _routes(patterns: Sequence[Any], prefix: str, namespaces: tuple[str, ...]) -> Iterator[Route]:
    for pattern in patterns:
        regex = prefix + pattern.pattern.regex.pattern.removeprefix("^")
        if not isinstance(pattern, URLPattern):
            inner = (*namespaces, pattern.namespace) if pattern.namespace else namespaces
            yield from _routes(pattern.url_patterns, regex, inner)
            continue
        for template, arguments in normalize(regex):
            yield Route(":".join((*namespaces, pattern.name or template)), template, arguments)


@dataclass(frozen=True)
class Secrets:
    """`words`: found in nothing but a secret, with what each is part of. `change` makes every secret another one."""

    words: Mapping[str, str]
    change: Callable[[], None]

    def found_in(self, text: str) -> list[str]:
        """What of the secrets is in `text`: as it is, escaped for HTML, JSON or an address, or in base 64."""
        guises = "\n".join((text, html.unescape(text), unquote_plus(text), _without_json_escapes(text))).casefold()
        return [
            f"{word!r} of {what}"
            for word, what in self.words.items()
            if word.casefold() in guises or any(piece in text for piece in _in_base64(word))
        ]


def _without_json_escapes(text: str) -> str:
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text).replace("\\", "")


def _in_base64(word: str) -> list[str]:
    """The characters that `word` always becomes, wherever in a longer text it begins."""
    encoded = word.encode()
    pieces = []
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + encoded).decode()
        pieces.append(whole[-(-before * 8 // 6) : (before + len(encoded)) * 8 // 6])
    return pieces


@dataclass(frozen=True)
class Answer:
    method: str
    address: str
    status: int
    headers: Mapping[str, str]
    cookies: str
    body: bytes

    @property
    def kind(self) -> str:
        return self.headers.get("Content-Type", "").partition(";")[0]

    @property
    def text(self) -> str:
        """All that the browser is sent, and what is hidden in a picture or packed in an archive."""
        parts = [f"{name}: {value}" for name, value in self.headers.items()] + [self.cookies]
        if self.body and self.kind.startswith("image/") and self.kind != "image/svg+xml":
            parts += [self.body.decode("latin-1"), _metadata(self.body)]
        elif self.body and self.kind == "application/zip":
            parts += _packed(self.body)
        else:
            parts.append(self.body.decode(errors="replace"))
        return "\n".join(parts)

    def comparable(self) -> tuple[object, ...]:
        headers = sorted((name, value) for name, value in self.headers.items() if name not in OF_THE_MOMENT)
        return self.status, tuple(headers), TOKEN.sub(b"#", self.body)

    def __str__(self) -> str:
        return f"{self.method} {self.address} ({self.status})"


def _packed(archive: bytes) -> list[str]:
    with ZipFile(io.BytesIO(archive)) as opened:
        return [opened.read(name).decode(errors="replace") for name in opened.namelist()]


def _metadata(picture: bytes) -> str:
    with Pillow.open(io.BytesIO(picture)) as opened:
        exif = opened.getexif()
        return repr((opened.info, dict(exif), [dict(exif.get_ifd(ifd)) for ifd in (0x8769, 0x8825, 0xA005)]))


class Page(HTMLParser):
    """The addresses in a page, whatever attribute holds them, and its forms."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.forms: list[tuple[dict[str, str], list[dict[str, str]]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        for name, value in attributes.items():
            pieces = [part.split()[0] for part in value.split(",") if part.strip()] if name == "srcset" else [value]
            self.addresses += [piece for piece in pieces if name in ("href", "src", "action") or piece.startswith("/")]
        if tag == "form":
            self.forms.append((attributes, []))
        elif tag in ("input", "textarea", "select", "button", "option") and self.forms:
            self.forms[-1][1].append(attributes | {"tag": tag})

    def submissions(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """(method, address, data) of every way to send a form: one for each of its named buttons."""
        for form, parts in self.forms:
            data: dict[str, str] = {}
            buttons: list[dict[str, str]] = [{}]
            chosen_from = ""
            for part in parts:
                name, value, kind = part.get("name", ""), part.get("value", ""), part.get("type", part["tag"])
                if part["tag"] == "select":
                    chosen_from = name
                elif part["tag"] == "option":
                    data[chosen_from] = value or data.get(chosen_from, "")
                elif name and (part["tag"] == "button" or kind == "submit"):
                    buttons.append({name: value})
                elif name and kind != "file":
                    data[name] = value or FILLERS.get(kind, SENTENCE)
            for button in buttons:
                method = form.get("method", "get").upper()
                if method in ("GET", "POST"):
                    yield method, form.get("action", ""), data | button


@dataclass
class Walk:
    """`known`: values for the arguments of patterns. `may_know`: words that some routes may tell this person.

    `not_compared`: routes that answer otherwise each time. What else does so is in `unsteady` afterwards.
    `looked_at_after_a_write`: how many pages of those that the person can reach are looked at again after each change
    that they make, all by turns; None: all of them after every change.
    """

    client: Client
    known: Mapping[str, Sequence[object]]
    secrets: Secrets
    may_know: Mapping[str, Sequence[str]] = field(default_factory=dict)
    not_compared: Collection[str] = ()
    looked_at_after_a_write: int | None = None
    leaks: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    unsteady: set[str] = field(default_factory=set)
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    spared: set[str] = field(default_factory=set)
    _waiting: list[str] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _first_of_shape: dict[object, str] = field(default_factory=dict)
    _forms: dict[object, tuple[str, str, dict[str, str]]] = field(default_factory=dict)
    _has_written: bool = False
    _turn: int = 0
    _closed: Counter[tuple[str, int]] = field(default_factory=Counter)

    def run(self) -> Walk:
        """Walk until nothing new turns up.

        Raises
        ------
        Unfillable
        """
        found = [address for route in routes() for address in route.addresses(self.known)]
        for address in found:
            self._note(address, "/")
        while self._waiting:
            self._visit(self._waiting.pop(0))
        pages = [page for answers in self.answers.values() for page in _pages(answers)]
        for address in sorted(self._first_of_shape.values()):
            if not address.startswith((settings.STATIC_URL, GUARDED)):
                for data in (SENSIBLE, {}):
                    self._send("POST", address, data, pages)
            if address.startswith(API):
                self._send("PUT", address, SENSIBLE, pages)
        for method, address, data in list(self._forms.values()):
            self._send(method, address, data, pages)
        for message in mail.outbox:
            self._report("mail", self.secrets.found_in(f"{message.subject}\n{message.body}"), "")
        return self

    def reached(self, status: int = 200) -> set[str]:
        """Names of the routes that answered with `status`."""
        return {name for name, answers in self.answers.items() if any(answer.status == status for answer in answers)}

    def _note(self, found: str, page: str) -> None:
        parts = urlsplit(urljoin(f"http://testserver{page}", found))
        address = parts.path + (f"?{parts.query}" if parts.query else "")
        if name_of(address) in LIKE_ONE_ANOTHER:
            address = parts.path
        if parts.scheme == "http" and parts.netloc == "testserver" and address not in self._seen:
            assert len(self._seen) < TOO_MANY, f"The walk finds no end; the last address: {address}"
            self._seen.add(address)
            self._waiting.append(address)

    def _visit(self, address: str) -> None:
        answer = self._look("GET", address)
        self.answers.setdefault(name_of(address), []).append(answer)
        self._read(answer)
        # The same page sorted or filtered otherwise is read, and not asked for in all other ways as well; nor is all
        # that a route has and does not show this person.
        closed = (name_of(address), answer.status)
        self._closed[closed] += answer.status in CLOSED
        is_one_more = self._closed[closed] > CLOSED_ENOUGH or _shape(address) in self._first_of_shape
        if is_one_more or address.startswith((settings.STATIC_URL, GUARDED)):
            return
        self._first_of_shape[_shape(address)] = address
        self._look("HEAD", address)
        self._look("OPTIONS", address)
        if answer.status == 200:
            for headers in HEADERS:
                self._look("GET", address, headers=headers)

    def _read(self, answer: Answer) -> None:
        """Note every address and form of an answer."""
        text = answer.body.decode(errors="replace")
        found = [
            answer.headers[name] for name in ("Location", "Content-Location", "HX-Redirect") if name in answer.headers
        ]
        if answer.kind == "text/html":
            page = Page(text)
            found += page.addresses
            for method, action, data in page.submissions():
                target = urlsplit(urljoin(answer.address, action)).path
                chosen = tuple(sorted((name, data[name]) for name in ("go", "open", "language") if name in data))
                self._forms.setdefault((method, target, tuple(sorted(data)), chosen), (method, target, data))
        elif answer.kind == "application/json":
            found += [text for text in _strings(json.loads(text)) if text.startswith("/")]
        elif answer.kind == "text/css":
            found += re.findall(r"""url\(["']?([^)"']+)""", text)
        elif answer.kind == "text/javascript":
            found += re.findall(r"""from ["'](\.[^"']+)""", text)
        for address in found:
            self._note(address, answer.address)

    def _send(self, method: str, address: str, data: Mapping[str, str], pages: Sequence[str]) -> None:
        """Send a form; where that changed anything, look at what the person sees then."""
        if method == "GET":
            self._look("GET", f"{address}?{urlencode(data)}")
            return
        with self._undone():
            self._has_written = False
            answer = self._ask(method, address, data)
            self._examine(answer)
            if self._has_written:
                new = [answer.headers["Location"]] if "Location" in answer.headers else []
                for page in dict.fromkeys([*new, *self._links(new), *self._by_turns(pages)]):
                    self._examine(self._ask("GET", page), f"after {method} {address}")
        self._compare(answer, data)

    def _by_turns(self, pages: Sequence[str]) -> Sequence[str]:
        number = self.looked_at_after_a_write
        if number is None or number >= len(pages):
            return pages
        self._turn = (self._turn + number) % len(pages)
        return (*pages, *pages)[self._turn : self._turn + number]

    def _links(self, pages: Sequence[str]) -> list[str]:
        """The addresses on `pages`, and on those that they lead on to."""
        found: list[str] = []
        for page in pages:
            answer = self._ask("GET", page)
            while "Location" in answer.headers and len(found) < TOO_MANY:
                found.append(answer.headers["Location"])
                answer = self._ask("GET", found[-1])
            if answer.kind == "text/html":
                found += [
                    address
                    for address in Page(answer.body.decode()).addresses
                    if address.startswith("/") and not address.startswith(settings.STATIC_URL)
                ]
        return found

    def _look(self, method: str, address: str, data: Mapping[str, str] | None = None, **more: Any) -> Answer:
        """Ask, search the answer, and see whether it would be the same were the secrets others."""
        with self._undone():
            answer = self._ask(method, address, data, **more)
        self._examine(answer, f"with {more}" if more else "")
        self._compare(answer, data, **more)
        return answer

    def _compare(self, answer: Answer, data: Mapping[str, str] | None, **more: Any) -> None:
        if answer.status in (404, 405) or answer.address.startswith((settings.STATIC_URL, GUARDED)):
            return
        name = name_of(answer.address)
        if name in self.not_compared or name in UNSTEADY_FOR_ANYBODY:
            return
        for _ in range(TRIES):
            with self._undone():
                self.secrets.change()
                other = self._ask(answer.method, answer.address, data, **more)
            if other.comparable() == answer.comparable():
                return
            with self._undone():
                again = self._ask(answer.method, answer.address, data, **more)
            if again.comparable() == answer.comparable():
                self.leaks.append(f"{answer}: is another one where the captions and ratings are others")
                return
            answer = again  # perhaps a clock went on in between
        self.unsteady.add(name)

    def _examine(self, answer: Answer, when: str = "") -> None:
        name = name_of(answer.address)
        if answer.status >= 500 and answer.status != 503:
            self.broken.append(f"{answer} {when}")
        allowed = self.may_know.get(name, ())
        found = self.secrets.found_in(answer.text)
        left = [one for one in found if not any(word in one for word in allowed)]
        if len(left) < len(found):
            self.spared.add(name)
        self._report(str(answer), left, when)

    def _report(self, what: str, found: Sequence[str], when: str) -> None:
        if found:
            self.leaks.append(f"{what} {when}: has {', '.join(found)}")

    def _ask(
        self,
        method: str,
        address: str,
        data: Mapping[str, str] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        cache.clear()  # limits of how often something may be asked for
        send = getattr(self.client, method.lower())
        shape = {"content_type": "application/json"} if data is not None and address.startswith(API) else {}
        with connection.execute_wrapper(self._watch):
            response = send(address, *([] if data is None else [data]), headers=headers, **shape)
            body = b"".join(response.streaming_content) if response.streaming else response.content
        cookies = "\n".join(morsel.OutputString() for morsel in response.cookies.values())
        return Answer(method, address, response.status_code, dict(response.headers), cookies, body)

    def _watch(self, execute: Any, sql: str, *more: Any) -> Any:
        self._has_written = self._has_written or bool(WRITES.match(sql))
        return execute(sql, *more)

    @contextmanager
    def _undone(self) -> Iterator[None]:
        cookies = copy.deepcopy(self.client.cookies)
        point = transaction.savepoint()
        try:
            yield
        finally:
            transaction.savepoint_rollback(point)
            self.client.cookies = cookies


def _pages(answers: Sequence[Answer]) -> list[str]:
    """Some of what a route shows; of what it tells programs one is enough, as their rows are those of the pages."""
    shown = [one for one in answers if one.status == 200 and not one.address.startswith("/accounts/")]
    if any(one.address.startswith(API) for one in shown):
        return [one.address for one in shown if one.kind == "application/json"][:1]
    return [one.address for one in shown if one.kind == "text/html"][:PAGES_LOOKED_AT_AGAIN]


def _shape(address: str) -> object:
    """What addresses share that differ in the values of their query alone."""
    parts = urlsplit(address)
    return parts.path, frozenset(name for name, _value in parse_qsl(parts.query, keep_blank_values=True))


def name_of(address: str) -> str:
    """The name of the route that `address` belongs to, or the address where it belongs to none."""
    try:
        return resolve(urlsplit(address).path).view_name
    except Resolver404:
        return address


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
