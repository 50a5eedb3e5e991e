"""Where the processor time of the most frequent requests goes, by layer: `python -m benchmarks.layers`.

    python -m benchmarks.layers [--requests 300] [--postgres]

The requests go to an installation of its own, on SQLite or on PostgreSQL, through all middleware of this process. A
timer interrupts it every few milliseconds of its processor time; the functions that it is in then say to which layer
the time belongs. What the web server adds to each request is measured in its own processes, with /healthz.
"""

from __future__ import annotations

import http.client
import logging
import os
import random
import re
import secrets
import signal
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import django
import psutil
from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections
from django.test import Client
from django.utils import timezone

from benchmarks.harness import PORT, arguments, embedded, environment, served, tell
from benchmarks.load import BATCH, BETWEEN_GUESSES_S, JUDGING, POSITION, TURN, UnexpectedAnswerError

TAKE, RATE, OPEN, NEXT, JUDGE, GUESS = "take", "rate", "open screen 2", "save and next", "judge", "guess"
KINDS = (TAKE, RATE, OPEN, NEXT, JUDGE, GUESS)
HEALTH, HEALTH_REQUESTS = "/healthz", 1500
HOST, EVERY_S, WARM = "127.0.0.1", 0.001, 10
FEWEST_IMAGES, ITEMS, WORDS, ATTEMPTS = 400, 1000, 10_000, 3
BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Accept": "text/html",
    "Accept-Encoding": "gzip, deflate, br",
    "Accept-Language": "en",
    "Referer": f"https://{HOST}/",
    "X-Forwarded-For": HOST,
    "X-Forwarded-Proto": "https",
}
SCRIPTS = {JUDGE: {"Accept": "application/json"}, GUESS: {"HX-Request": "true"}}

SERVER, MIDDLEWARE, SESSION, PERMISSION, LOCKS = "server", "middleware", "session and user", "permission", "locks"
BUILDING, SQL, TEMPLATES, LOG, VIEWS = "building of SQL", "SQL", "templates", "log and metrics", "views and services"
LAYERS = (SERVER, MIDDLEWARE, SESSION, PERMISSION, LOCKS, BUILDING, SQL, TEMPLATES, LOG, VIEWS)

RULES = {
    # Some locks are queries that only their callers run, in functions named after it. Those read the locked rows too.
    LOCKS: r"/services/(locks\.py:|\w+\.py:_?lock)",
    SESSION: r"/people/services/session_store\.py:|/django/contrib/(sessions/|auth/\w+\.py:_?get_user)",
    PERMISSION: r"/permissions\.py:",
    # Of the middleware only `tell`, as the rest of it calls everything else.
    LOG: r"/operations/(middleware\.py:tell|logs/|services/(metrics|counters)\.py:)"
    r"|/logging/\w+\.py:|/pythonjsonlogger/|/prometheus_client/",
    TEMPLATES: r"/templatetags/|/django/(template/|utils/html\.py:)",
    # With making rows into objects: much of it is in the same functions.
    BUILDING: r"/django/db/models/|/compiled_query/",
    # With transactions and checks of the connection, which are statements as well.
    SQL: r"/django/db/|/psycopg(_binary)?/|/sqlite3/",
    VIEWS: r"(?<!/django)/views(/\w+)?\.py:",
}
"""Which functions, written as "file:function", belong to a layer; the first that matches."""
WITH_ALL_THAT_THEY_CALL = (LOCKS, SESSION, PERMISSION, LOG)
"""Layers that include their queries: without a permission to check, there would be none."""


def function_of(code: CodeType) -> str:
    return f"{code.co_filename}:{code.co_name}"


def layer_of(stack: Iterable[str]) -> str:
    """Return the layer of functions that call each other, the innermost first."""
    layers = [layer for layer in map(_layer_of_function, stack) if layer]
    for layer in WITH_ALL_THAT_THEY_CALL:
        if layer in layers:
            return layer
    # A query that a template runs is SQL; what a view calls is the view's if nothing else claims it.
    inner = (layer for layer in layers if layer != VIEWS)
    # Django's handler, which looks for the view, is left to the middleware around it.
    return next(inner, VIEWS if VIEWS in layers else MIDDLEWARE)


@cache
def _layer_of_function(function: str) -> str:
    return next((layer for layer, rule in RULES.items() if re.search(rule, function)), "")


class Measured:
    """Answers a test client, and measures each kind of request.

    The client's own handler leaves out what Django does with database connections before and after a request.
    """

    def __init__(self, application: Callable[..., Any]) -> None:
        self._application, self._is_inside = application, False
        self.kind = ""
        self.forget()

    def forget(self) -> None:
        self.stacks = defaultdict[str, list[list[CodeType]]](list)
        self.requests = Counter[str]()
        self.cpu_s, self.wall_s = defaultdict[str, float](float), defaultdict[str, float](float)

    def __call__(self, environ: dict[str, Any]) -> Any:
        began, cpu = time.perf_counter(), time.thread_time()
        self._is_inside = True
        response = self._application(environ, lambda _status, _headers: None)
        response.close()
        self._is_inside = False
        self.cpu_s[self.kind] += time.thread_time() - cpu
        self.wall_s[self.kind] += time.perf_counter() - began
        self.requests[self.kind] += 1
        response.wsgi_request = None  # the client looks for it
        return response

    @contextmanager
    def sampling(self) -> Iterator[None]:
        """Sample stacks. Clocks in the functions would slow those most that are short and called often."""
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _sample(self, _signal: int, frame: FrameType | None) -> None:
        if self._is_inside:
            stack = []
            while frame:
                stack.append(frame.f_code)
                frame = frame.f_back
            self.stacks[self.kind].append(stack)

    def layers_ms(self, kind: str, times: int) -> dict[str, float]:
        """Divide the processor time of `kind`, done `times` times, as the samples are divided."""
        samples = Counter(layer_of(map(function_of, stack)) for stack in self.stacks[kind])
        each_ms = 1000 * self.cpu_s[kind] / times / samples.total()
        return {layer: count * each_ms for layer, count in samples.items()}


class Browser:
    """Sends what a person's browser sends."""

    def __init__(self, measured: Measured, user: Any = None) -> None:
        token = secrets.token_hex(16)
        self._measured, self._client = measured, Client(SERVER_NAME=HOST, headers=BROWSER | {"X-CSRFToken": token})
        self._client.handler = measured  # type: ignore[assignment]
        self._client.cookies[settings.CSRF_COOKIE_NAME] = token
        if user:
            self._client.force_login(user)

    def ask(self, kind: str, method: str, path: str, expected: int, **data: str) -> Any:
        self._measured.kind = kind
        form = urlencode(data), "application/x-www-form-urlencoded"
        response = self._client.generic(method, path, *form, secure=True, headers=SCRIPTS.get(kind))
        if response.status_code != expected:
            raise UnexpectedAnswerError(f"{path}: {response.status_code} instead of {expected}: {response.content!r}")
        return response


@dataclass(frozen=True)
class Prepared:
    """A round, a comparison and a season, and people who take part in all three."""

    round: Any
    comparison: Any
    season: Any
    users: list[Any]
    wrong: list[str]
    """Guesses that are no word of the season: they end no turn early."""


def prepare(requests: int) -> Prepared:
    # They import models, for which the settings must be there.
    from benchmarks import game, seed
    from gapgame.models import GapItem, Player
    from people.models import Membership, Role
    from tests.database import create_tables

    images, people = max(FEWEST_IMAGES, requests), WARM + requests // ATTEMPTS
    # In a fraction of the time that migrations take.
    create_tables(connection)
    call_command("collectstatic", interactive=False, verbosity=0)
    round, comparison = seed.make_round("captions", images), seed.make_comparison("pairs", images)
    users = seed.make_annotators(round, people, with_password=False)
    seed.make_raters(comparison, people, with_password=False)
    season = game.make_season("game", ITEMS, WORDS)
    for user in users:
        Membership.objects.create(project=season.project, user=user, role=Role.PLAYER)
        Player.objects.create(season=season, user=user, nickname=user.username, joined_at=season.starts_at)
    seed.analyse()
    words = {f"word{number}" for number in range(WORDS)} - set(GapItem.objects.values_list("word", flat=True))
    return Prepared(round, comparison, season, users, sorted(words))


class Work:
    """What these people's browsers send, without end."""

    def __init__(self, prepared: Prepared, measured: Measured) -> None:
        self._prepared = prepared
        self._browsers = [Browser(measured, user) for user in prepared.users]

    def annotate(self) -> Iterator[None]:
        """Take a batch, send one request of each kind about it, and return it."""
        from annotation.models import CaptionItem, Rating

        for number, browser in enumerate(cycle(self._browsers)):
            taken = browser.ask(TAKE, "POST", f"/rounds/{self._prepared.round.pk}/take/", 302)
            batch_id = UUID(found(BATCH, taken.url)[1])
            batch = f"/batches/{batch_id}"
            browser.ask(RATE, "POST", f"{batch}/rate/1/", 200, rating="GOOD", active_ms="900")
            CaptionItem.objects.filter(batch=batch_id, rating="").update(rating=Rating.GOOD, rated_at=timezone.now())
            browser.ask(OPEN, "POST", f"{batch}/write/open/", 302)
            text = f"Ein kleiner Hund läuft neben dem Ball Nummer {number} über die Wiese."
            caption = {"text": text, "revision": "0", "active_ms": "2000", "ahead": "2"}
            browser.ask(NEXT, "POST", f"{batch}/write/1/draft/", 200, **caption)
            browser.ask("", "POST", f"{batch}/return/", 302)
            yield

    def judge(self) -> Iterator[None]:
        for number, browser in enumerate(cycle(self._browsers)):
            taken = browser.ask("", "POST", f"/compare/{self._prepared.comparison.pk}/take/", 302)
            page = browser.ask("", "GET", found(JUDGING, taken.url)[0], 200).content.decode()
            while position := POSITION.search(page):
                answer = {"choice": str(number % 4 - 1), "active_ms": "2000"}
                page = browser.ask(JUDGE, "POST", position[0], 200, **answer).json().get("html", "")
                yield

    def guess(self) -> Iterator[None]:
        rng = random.Random(1)
        shown_at: dict[Browser, float] = {}
        while True:
            turns = {}
            for browser in self._browsers:
                page = browser.ask("", "POST", f"/game/{self._prepared.season.slug}/batch/", 302, language="en")
                turns[browser] = found(TURN, page.url)[0]
                shown_at[browser] = time.perf_counter()
            for number in range(1, ATTEMPTS + 1):
                for browser, turn in turns.items():
                    time.sleep(max(0.0, shown_at[browser] + BETWEEN_GUESSES_S - time.perf_counter()))
                    guess = {"guess": rng.choice(self._prepared.wrong), "number": str(number)}
                    browser.ask(GUESS, "POST", f"{turn}guess/", 200, **guess)
                    shown_at[browser] = time.perf_counter()
                    yield


def found(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.search(text)
    if not match:
        raise UnexpectedAnswerError(f"no {pattern.pattern} in {text[:120]!r}")
    return match


def server_ms(env: dict[str, str]) -> float:
    """Return the processor time of the web server for a small request, all of Django included."""

    def used_s(server: psutil.Process) -> float:
        return sum(sum(child.cpu_times()[:2]) for child in server.children(recursive=True))

    with served(env) as server, closing(http.client.HTTPConnection(HOST, PORT)) as browser:
        before_s = used_s(server)
        for _ in range(HEALTH_REQUESTS):
            browser.request("GET", HEALTH)
            browser.getresponse().read()
        return 1000 * (used_s(server) - before_s) / HEALTH_REQUESTS


def measure(env: dict[str, str], requests: int) -> tuple[Measured, float]:
    """Return what was measured in this process, and the web server's milliseconds for /healthz."""
    os.environ.update(environment(env))
    django.setup()
    prepared, whole_ms = prepare(requests), server_ms(env)
    # After preparing: it hides what is in memory by then from the garbage collector, as in the web server.
    from config.wsgi import application

    measured = Measured(application)
    with Path(os.devnull).open("w") as nowhere:
        # Lines of the log are made, but not shown.
        for handler in logging.getLogger().handlers:
            if isinstance(handler, logging.StreamHandler):
                handler.setStream(nowhere)
        work, stranger = Work(prepared, measured), Browser(measured)
        kinds = (work.annotate(), work.judge(), work.guess())

        def ask(times: int) -> None:
            for requests_of_kind in kinds:
                deque(islice(requests_of_kind, times), maxlen=0)
            for _ in range(times):
                stranger.ask(HEALTH, "GET", HEALTH, 200)

        ask(WARM)
        measured.forget()
        with measured.sampling():
            ask(requests)
        connections.close_all()
    return measured, whole_ms


def report(measured: Measured, whole_ms: float, requests: int) -> dict[str, Any]:
    each_ms = whole_ms - 1000 * measured.cpu_s[HEALTH] / requests
    columns = {}
    for kind in KINDS:
        layers = measured.layers_ms(kind, requests)
        layers[SERVER] = each_ms * measured.requests[kind] / requests
        columns[kind] = {layer: round(layers.get(layer, 0.0), 2) for layer in LAYERS}
        columns[kind]["total"] = round(sum(layers.values()), 2)
    head = f"Milliseconds of the processor for each of {requests}, {connection.vendor}"
    lines = [head, f"{'':20}" + "".join(f"{kind:>15}" for kind in KINDS)]
    lines += [
        f"{layer:20}" + "".join(f"{columns[kind][layer]:15.1f}" for kind in KINDS) for layer in (*LAYERS, "total")
    ]
    return {
        "database": connection.vendor,
        "requests": requests,
        "ms": columns,
        "elapsed_ms": {kind: round(1000 * measured.wall_s[kind] / requests, 2) for kind in KINDS},
        "samples": {kind: len(measured.stacks[kind]) for kind in KINDS},
        "report": "\n".join(lines),
    }


def main() -> None:
    options = arguments(__doc__, requests=300, postgres=False)
    if options.postgres:
        from benchmarks.__main__ import _postgres as installation
    else:
        installation = embedded
    with installation() as env:
        result = report(*measure(env, options.requests), options.requests)
    tell(result, result.pop("report"))


if __name__ == "__main__":
    main()
