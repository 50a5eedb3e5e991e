"""A walk through all that one person can reach, looking for what they must not learn.

It asks for every address of the URL configuration, with all arguments the person could know or guess, and for every
address found in what comes back; sends every form; and looks in three ways. Words that only the secrets have are
searched for, in whatever guise. Everything is asked for a second time while the secrets are others: where the answer
is then another one, something of them is in it, a rating as data for instance. And after whatever changed the database
the pages are looked at again. Each request is undone, so that one tells the next nothing.

What cannot come out differently is not asked for once more: an answer to other secrets when nothing was read from a
table that they are in, a page after a change to tables that it does not read, and a form with other words at an address
that did not read the first ones. How far a walk goes besides is its `Extent`: `pytest --long` leaves nothing out.
"""

from __future__ import annotations

import copy
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import pytest
from django.apps import apps
from django.conf import settings
from django.core import mail
from django.core.cache import cache
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from tests.leaks.addresses import name_of, routes, serving
from tests.leaks.answers import SENTENCE, Answer, Page, Secrets
from tests.tiers import is_long

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
OF_OUR_OWN: tuple[tuple[str, dict[str, str]], ...] = (
    ("GET", {"HX-Request": "true"}),
    ("GET", {"Accept": "application/json"}),
)
WAYS = (*OF_OUR_OWN, ("OPTIONS", {}), ("HEAD", {}), ("GET", {"Accept-Language": "ar"}))
"""How an address is asked for besides by a plain GET: method and headers, those only where GET shows something.

Those that are not `OF_OUR_OWN` Django answers by the same views: without the body, or with other texts of the page.
"""
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
WRITES = re.compile(r'^\s*(?:INSERT|UPDATE|DELETE)[^"]*"(?!people_session|axes_|account_)', re.IGNORECASE)
UNSTEADY_FOR_ANYBODY = frozenset({"metrics-show", "readiness-show"})
"""Routes that answer otherwise each time, whoever asks: one counts what is asked, one says what is slow just now."""


@dataclass(frozen=True)
class Extent:
    """How far a walk goes: `EVERYTHING`, or less.

    `routes`: how the names begin of the routes that it visits. `of_a_route`: how many addresses it visits of a route
    that have the same answer's status; None: all, and forms are sent to all; else to the first. `ways`: in which of
    `WAYS` the first address for each route and status is asked for. `has_all_ways`: whether every other one is, too.
    `pages_after_a_write`: how many pages of those that the person can reach are looked at again after each change that
    they make, in turns, besides new ones; None: all, and every link of the page that follows.
    """

    routes: tuple[str, ...] = ("",)
    of_a_route: int | None = None
    ways: Sequence[tuple[str, dict[str, str]]] = WAYS
    has_all_ways: bool = True
    pages_after_a_write: int | None = None


EVERYTHING = Extent()
OF_EVERYBODY = ("account_", "annotation:work-", "api:", "images:", "people:")
EVERY_ROUTE = Extent(of_a_route=3, ways=OF_OUR_OWN, has_all_ways=False, pages_after_a_write=1)


def extent_for(config: pytest.Config, *routes: str) -> Extent:
    """`EVERYTHING` if `--long`; else some addresses of the `routes` that this person has a part in.

    That the others are closed to them, and tell nothing, tests/doors tries.
    """
    return EVERYTHING if is_long(config) else replace(EVERY_ROUTE, routes=(*OF_EVERYBODY, *routes))


@dataclass
class Walk:
    """`known`: values for the arguments of patterns. `may_know`: words that some routes may tell this person.

    `not_compared`: routes that answer otherwise each time. What else does so is in `unsteady` afterwards.
    """

    client: Client
    known: Mapping[str, Sequence[object]]
    secrets: Secrets
    may_know: Mapping[str, Sequence[str]] = field(default_factory=dict)
    not_compared: Collection[str] = ()
    extent: Extent = EVERYTHING
    leaks: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    unsteady: set[str] = field(default_factory=set)
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    spared: set[str] = field(default_factory=set)
    _waiting: list[str] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _first_of_shape: dict[object, str] = field(default_factory=dict)
    _first_of_kind: dict[tuple[str, int], str] = field(default_factory=dict)
    _forms: dict[object, tuple[str, str, dict[str, str]]] = field(default_factory=dict)
    _visited: defaultdict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    _asked_of: set[str] = field(default_factory=set)
    _written: set[str] = field(default_factory=set)
    _of_secrets: frozenset[str] = frozenset()
    _turn: int = 0
    _closed: Counter[tuple[str, int]] = field(default_factory=Counter)

    def run(self) -> Walk:
        """Walk until nothing new turns up.

        Raises
        ------
        Unfillable
        """
        self._of_secrets = self._tables_of_secrets()
        visited = [route for route in routes() if route.name.startswith(self.extent.routes)]
        for address in [address for route in visited for address in route.addresses(self.known)]:
            self._note(address, "/")
        while self._waiting:
            self._visit(self._waiting.pop(0))
        pages = [answer for answers in self.answers.values() for answer in _pages(answers)]
        targets = self._first_of_shape if self.extent.of_a_route is None else self._first_of_kind
        for address in sorted(targets.values()):
            if not address.startswith((settings.STATIC_URL, GUARDED)):
                answer = self._send("POST", address, SENSIBLE, pages)
                if answer.has_read_what_was_sent:
                    self._send("POST", address, {}, pages)
            if address.startswith(API):
                self._send("PUT", address, SENSIBLE, pages)
        for method, address, data in list(self._forms.values()):
            self._send(method, address, data, pages)
        for message in mail.outbox:
            self._report("mail", self.secrets.found_in(f"{message.subject}\n{message.body}"), "")
        return self

    def check(self, *not_kept: str, kind: str = "") -> None:
        """Fail where anything leaked, broke or was unsteady, or a browser may keep what these addresses begin."""
        assert self.leaks == [], self.leaks
        assert self.broken == [], self.broken
        assert self.unsteady == set(), self.unsteady
        for answer in (answer for answers in self.answers.values() for answer in answers):
            if answer.status == 200 and answer.address.startswith(not_kept) and answer.kind.startswith(kind):
                assert "no-store" in answer.headers["Cache-Control"], answer

    def check_finds(self, leak: Callable[[HttpRequest], HttpResponse]) -> None:
        """Fail unless what `leak` gives away is found: a walk that finds nothing would prove nothing."""
        with serving(path("leak/", leak, name="leak")):
            self.run()
        assert any("/leak/" in told for told in self.leaks), self.leaks

    def reached(self, status: int = 200) -> set[str]:
        """Names of the routes that answered with `status`."""
        return {name for name, answers in self.answers.items() if any(answer.status == status for answer in answers)}

    def _note(self, where: str, page: str) -> None:
        parts = urlsplit(urljoin(f"http://testserver{page}", where))
        address = parts.path + (f"?{parts.query}" if parts.query else "")
        if name_of(address) in LIKE_ONE_ANOTHER:
            address = parts.path
        is_ours = parts.scheme == "http" and parts.netloc == "testserver"
        if is_ours and address not in self._seen and name_of(address).startswith(self.extent.routes):
            assert len(self._seen) < TOO_MANY, f"The walk finds no end; the last address: {address}"
            self._seen.add(address)
            self._waiting.append(address)

    def _visit(self, address: str) -> None:
        if self.extent.of_a_route in self._visited[name_of(address)].values():
            return
        answer = self._look("GET", address)
        self._visited[name_of(address)][answer.status] += 1
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
        first = self._first_of_kind.setdefault((name_of(address), answer.status), address)
        if first != address and not self.extent.has_all_ways:
            return
        for method, headers in self.extent.ways:
            if answer.status == 200 or not headers:
                self._look(method, address, headers=headers)

    def _read(self, answer: Answer) -> None:
        """Note every address and form of an answer."""
        text = answer.body.decode(errors="replace")
        addresses = [
            answer.headers[name] for name in ("Location", "Content-Location", "HX-Redirect") if name in answer.headers
        ]
        if answer.kind == "text/html":
            page = Page(text)
            addresses += page.addresses
            for method, action, data in page.submissions():
                target = urlsplit(urljoin(answer.address, action)).path
                chosen = tuple(sorted((name, data[name]) for name in ("go", "open", "language") if name in data))
                where = target if self.extent.of_a_route is None else name_of(target)
                self._forms.setdefault((method, where, tuple(sorted(data)), chosen), (method, target, data))
        elif answer.kind == "application/json":
            addresses += [text for text in _strings(json.loads(text)) if text.startswith("/")]
        elif answer.kind == "text/css":
            addresses += re.findall(r"""url\(["']?([^)"']+)""", text)
        elif answer.kind == "text/javascript":
            addresses += re.findall(r"""from ["'](\.[^"']+)""", text)
        for address in addresses:
            self._note(address, answer.address)

    def _send(self, method: str, address: str, data: Mapping[str, str], pages: Sequence[Answer]) -> Answer:
        """Send a form; where that changed anything, look at what the person sees then."""
        if method == "GET":
            return self._look("GET", f"{address}?{urlencode(data)}")
        with self._undone():
            self._written.clear()
            answer = self._ask(method, address, data)
            self._examine(answer)
            if self._written:
                self._look_again(answer, pages, f"after {method} {address}")
        self._compare(answer, data)
        return answer

    def _look_again(self, changed: Answer, pages: Sequence[Answer], when: str) -> None:
        """At the page that follows, at those that it leads to, and at some of `pages` that read what was written."""
        written = frozenset(self._written)
        # One of them in any case: to it is said what was done, unless a page followed.
        others = [page for page in pages if page.tables & written] or pages[:1]
        shown, new = self._follow(changed, when)
        if self.extent.pages_after_a_write is not None:
            new = [address for address in new if address not in self._seen]
        for address in dict.fromkeys([*new, *(page.address for page in self._by_turns(others))]):
            if address not in shown:
                self._examine(self._ask("GET", address), when)

    def _by_turns(self, pages: Sequence[Answer]) -> Sequence[Answer]:
        number = self.extent.pages_after_a_write
        if number is None or number >= len(pages):
            return pages
        self._turn = (self._turn + number) % len(pages)
        return (*pages, *pages)[self._turn : self._turn + number]

    def _follow(self, answer: Answer, when: str) -> tuple[list[str], list[str]]:
        """The addresses that `answer` redirects to, each of which is looked at, and those on the page at the end."""
        shown: list[str] = []
        while "Location" in answer.headers and len(shown) < TOO_MANY:
            shown.append(answer.headers["Location"])
            answer = self._ask("GET", shown[-1])
            self._examine(answer, when)
        if not shown or answer.kind != "text/html":
            return shown, []
        addresses = Page(answer.body.decode()).addresses
        return shown, [one for one in addresses if one.startswith("/") and not one.startswith(settings.STATIC_URL)]

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
        # The same is asked of the database, and answered, up to what first concerns a table with secrets.
        if not answer.tables & self._of_secrets:
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
        secrets = self.secrets.found_in(answer.text)
        left = [one for one in secrets if not any(word in one for word in allowed)]
        if len(left) < len(secrets):
            self.spared.add(name)
        self._report(str(answer), left, when)

    def _report(self, what: str, secrets: Sequence[str], when: str) -> None:
        if secrets:
            self.leaks.append(f"{what} {when}: has {', '.join(secrets)}")

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
        self._asked_of.clear()
        with connection.execute_wrapper(self._watch):
            response = send(address, *([] if data is None else [data]), headers=headers, **shape)
            body = b"".join(response.streaming_content) if response.streaming else response.content
        cookies = "\n".join(morsel.OutputString() for morsel in response.cookies.values())
        # Django begins to read what was sent when it is first asked for.
        has_read = response.wsgi_request._read_started
        tables = frozenset(self._asked_of)
        return Answer(method, address, response.status_code, dict(response.headers), cookies, body, tables, has_read)

    def _watch(self, execute: Any, sql: str, *more: Any) -> Any:
        self._asked_of |= tables_in(sql)
        if WRITES.match(sql):
            self._written |= tables_in(sql)
        return execute(sql, *more)

    def _tables_of_secrets(self) -> frozenset[str]:
        """Those that `secrets.change` writes to."""
        self._written.clear()
        with self._undone(), connection.execute_wrapper(self._watch):
            self.secrets.change()
        assert self._written, "Making the secrets other ones changes nothing in the database."
        return frozenset(self._written)

    @contextmanager
    def _undone(self) -> Iterator[None]:
        cookies = copy.deepcopy(self.client.cookies)
        point = transaction.savepoint()
        try:
            yield
        finally:
            transaction.savepoint_rollback(point)
            self.client.cookies = cookies


@lru_cache(maxsize=4096)
def tables_in(sql: str) -> frozenset[str]:
    """All tables of the platform that a statement names, quoted or not, wherever in it."""
    return frozenset(re.findall(r"\w+", sql)) & {model._meta.db_table for model in apps.get_models(True)}


def _pages(answers: Sequence[Answer]) -> list[Answer]:
    """Some of what a route shows; of what it tells programs one is enough, as their rows are those of the pages."""
    shown = [one for one in answers if one.status == 200 and not one.address.startswith("/accounts/")]
    if any(one.address.startswith(API) for one in shown):
        return [one for one in shown if one.kind == "application/json"][:1]
    return [one for one in shown if one.kind == "text/html"][:PAGES_LOOKED_AT_AGAIN]


def _shape(address: str) -> object:
    """What addresses share that differ in the values of their query alone."""
    parts = urlsplit(address)
    return parts.path, frozenset(name for name, _value in parse_qsl(parts.query, keep_blank_values=True))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
