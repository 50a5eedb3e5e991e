"""Every address, asked by everybody: it answers whom who_may.txt names, and nobody else learns that it is there.

Whoever adds an address is told here that the table lacks it. To those whom it names each address has to open: nobody
finds what is not there, so that it would prove nothing. On the way, what is answered is kept by no browser, and
reading writes nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path, resolve

from core.languages.rules.page_languages import is_page_of_work
from core.people.models import Membership, Project, Role, User
from gapgame.models import Season
from tests.doors.asking import API, Asked, a_visitor, ask, ours, signed_in, writes
from tests.doors.world import NAME, World
from tests.factories import join_project, make_player, make_project, make_user
from tests.leaks.addresses import Route, serving
from tests.tiers import is_long

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

TABLE = Path(__file__).with_name("who_may.txt")
READING, WRITING = ("get",), ("post", "put", "patch", "delete")
KEPT = {"images:image-show", "gapgame:image-show"}
"""Kept by the browser of whom they are shown to, for a while; each has a test of its own."""
TOLD_AT = {"people:invitation-accept"}
"""Says of which project it is to whoever has the link."""
FOR_SOME_VISITORS = {"gapgame:season-show", "gapgame:rules-show", "images:image-show"}
"""Seasons open to all, and images with a signature, are there without signing in; others are not there at all."""
SAYS_WHY = {
    "account_reauthenticate": "there is nothing to confirm with",
    "mfa_reauthenticate": "there is nothing to confirm with",
    "mfa_reauthenticate_webauthn": "there is nothing to confirm with",
    "recruitment:event-take": "the panel alone, by its signature",
    "api:batch-take": "whoever is of the project is told what they lack",
    "api:rating-batch-take": "whoever is of the project is told what they lack",
}
"""Answer with 403."""
OF_MANAGERS = {"api:import-show", "api:import-confirm", "api:import-undo"}
"""Imports of images: researchers do not know which there are."""
OF_NO_PROJECT = {"slug", "tag", "layout", "name", "kind", "key", "position", "action"}
"""Arguments that stand for nothing that a project has."""
PAGES_OF_OPERATIONS = {
    "annotator-list": "annotation:annotator-status-show",
    "annotator-marks": "annotation:annotator-marks",
    "candidates-list": "corpora:candidates-list",
    "caption-list": "annotation:samples-show",
    "collection-images": "images:collection-show",
    "collection-image-show": "images:collection-image-show",
    "collection-list": "images:collection-list",
    "collection-show": "images:collection-show",
    "comparison-list": "sxs_eval:comparison-list",
    "comparison-results": "sxs_eval:comparison-show",
    "comparison-show": "sxs_eval:comparison-show",
    "feedback-list": "annotation:check-show",
    "gold-list": "sxs_eval:gold-list",
    "image-list": "annotation:image-show",
    "details-list": "annotation:details-show",
    "details-people": "annotation:details-show",
    "embedding-list": "inference:embedding-list",
    "export-show": "exports:export-show",
    "game-report": "gapgame:game-report",
    "import-list": "imports:import-create",
    "import-report": "images:import-export",
    "import-show": "imports:import-show",
    "invitation-list": "people:invitation-list",
    "item-list": "gapgame:item-set-show",
    "item-set-list": "gapgame:item-set-list",
    "judgement-list": "exports:export-show",
    "language-list": "annotation:project-show",
    "language-table": "corpora:table-show",
    "log-list": "people:log-show",
    "member-list": "people:member-list",
    "metrics-show": "sxs_eval:metrics-show",
    "model-list": "inference:model-list",
    "model-show": "inference:model-show",
    "need-list": "dashboard:need-list",
    "panel-check": "recruitment:panel-check",
    "panel-show": "recruitment:panel-show",
    "player-list": "gapgame:player-list",
    "places-show": "corpora:collection-places",
    "progress-show": "annotation:project-progress",
    "quality-show": "annotation:quality-show",
    "rater-list": "sxs_eval:rater-list",
    "rates-show": "recruitment:rates-edit",
    "rating-list": "annotation:quality-show",
    "reference-list": "scoring:reference-list",
    "reference-show": "scoring:reference-show",
    "release-archive": "annotation:release-archive",
    "release-file": "annotation:release-file",
    "release-list": "annotation:release-list",
    "release-show": "annotation:release-show",
    "results-show": "sxs_eval:results-show",
    "round-list": "annotation:project-show",
    "round-show": "annotation:language-show",
    "score-list": "scoring:score-list",
    "score-show": "scoring:scoring-show",
    "season-list": "gapgame:season-list",
    "season-show": "gapgame:season-manage",
    "selected-list": "corpora:selected-list",
    "selection-list": "corpora:selection-list",
    "selection-show": "corpora:selection-show",
    "statistics-show": "annotation:statistics-show",
    "study-list": "recruitment:study-list",
    "study-show": "recruitment:study-show",
    "subset-images": "corpora:subset-export",
    "subset-list": "corpora:subset-list",
    "subset-show": "corpora:subset-show",
    "training-list": "inference:training-list",
    "training-show": "inference:training-show",
    "try-list": "practice:practice-list",
    "vectors-list": "gapgame:vectors-show",
    "verdict-list": "annotation:quality-show",
    "webhook-list": "people:webhook-list",
    "webhook-show": "people:webhook-show",
}
"""The page that shows what an operation of the API answers."""
NOTED = 'INSERT INTO "people_auditentry"'
"""Reading is noted where a file of everything is taken."""


def table(text: str) -> dict[str, tuple[str, str]]:
    """Who may read and who may write, by the name of the address."""
    found: dict[str, tuple[str, str]] = {}
    for line in text.splitlines():
        if not line.startswith((" ", "#")):
            reads, writes_ = (letters.strip("-") for letters in line.split())
        elif line.strip() and not line.startswith("#"):
            if line.split()[0].endswith(":"):
                app, *names = line.split()
            else:
                names = line.split()
            for name in names:
                full = name if app == "/:" else app + name
                assert full not in found, f"who_may.txt names {full} twice"
                found[full] = (reads, writes_)
    return found


@pytest.fixture
def clients(world: World) -> dict[str, Client]:
    """Everybody of the table, by their letter."""
    _manager, ann, rae, bob, cid, rita, paul = world.insiders
    project = world.seeded.project
    people: dict[str, User] = {
        "M": join_project(project, make_user(), Role.MANAGER),
        "R": join_project(project, make_user(), Role.RESEARCHER),
        "a": ann,
        "b": bob,
        "c": rae,
        "d": cid,
        "s": rita,
        "p": paul,
        "q": make_player(Season.objects.get(project=project)).user,
        "x": make_project().created_by,
    }
    return {letter: signed_in(person) for letter, person in people.items()} | {"v": a_visitor()}


def opens(asked: Asked) -> bool:
    return asked.status not in (403, 404, 405) and not asked.is_to_sign_in


def faults(
    clients: dict[str, Client], world: World, named: dict[str, tuple[str, str]], *, everywhere: bool
) -> Iterator[str]:
    """What differs from the table, of every address."""
    for route in ours():
        for methods, may in zip((READING, WRITING), named[route.name], strict=True):
            yield from _faults(clients, world, route, methods, may, everywhere=everywhere)


def _faults(
    clients: dict[str, Client], world: World, route: Route, methods: tuple[str, ...], may: str, *, everywhere: bool
) -> Iterator[str]:
    """Ask at all of its addresses where `everywhere`; else where it opens to the first who may, or at the first."""
    opened = defaultdict[str, list[Asked]](list)

    @cache
    def tried(letter: str, address: str, method: str) -> tuple[Asked, list[str]]:
        with writes() as written:
            (asked,) = ask(clients[letter], address, method)
        return asked, written

    places = [(address, method) for address in route.addresses(world.known) for method in methods]
    places = [(address, method) for address, method in places if method in ("get", "post") or address.startswith(API)]
    if not everywhere and may:
        places = next(([place] for place in places if opens(tried(may[0], *place)[0])), places)
    elif not everywhere:
        # What takes no such method says so to everybody.
        places = [place for place in places[:1] if tried("v", *place)[0].status != 405]
    is_own = may and not {"M", "x"} & set(may)
    askers = clients if everywhere or is_own else _some()
    for address, method in places:
        for letter in askers:
            asked, written = tried(letter, address, method)
            if asked.status >= 500 and asked.status != 503:
                yield f"{route.name} breaks for {letter}: {asked}"
            if opens(asked):
                opened[letter].append(asked)
            elif letter == "v" and may and route.name not in FOR_SOME_VISITORS and not asked.is_to_sign_in:
                yield f"{route.name} does not ask a visitor to sign in: {asked}"
            elif letter == "R" and address.startswith("/api/v1/projects/") and method != "get":
                if "M" in may and asked.status not in (403, 405) and route.name not in OF_MANAGERS:
                    yield f"{route.name} does not say to researchers why: {asked}"
            elif asked.status == 403 and "x" not in may and route.name not in SAYS_WHY:
                yield f"{route.name} says to {letter} that it is there: {asked}"
            if asked.told and letter in "xv" and letter not in may and route.name not in TOLD_AT:
                yield f"{route.name} tells {letter}: {asked}"
            if letter != "v" and not _is_kept_by_nobody(route, asked):
                yield f"{route.name} may be kept: {asked} {asked.cache_control!r}"
            if method == "get" and [sql for sql in written if not ("export" in route.name and NOTED in sql)]:
                yield f"{route.name} is read by {letter} and writes {written[0][:80]}"
    if wrong := set(opened) - set(may):
        yield f"{route.name} opens to {sorted(wrong)}: {opened[min(wrong)][0]}"
    # At one address somebody may have to wait for their turn, but those who manage or only read, and visitors.
    is_whole = everywhere and route.name not in SAYS_WHY
    certain = set(may) if is_whole else set(may[:1]) | {"M", "R", "v"} & set(may)
    if missing := certain - set(opened):
        yield f"{route.name} is closed to {sorted(missing)} by {methods}"


_turn = count()


def _some() -> str:
    """Those who are nearest to what managers may, and in turns one of the others, who all lack a role there."""
    others = "xabxdcxspxq"
    return "MRv" + others[next(_turn) % len(others)]


def _is_kept_by_nobody(route: Route, asked: Asked) -> bool:
    if route.name in KEPT and asked.status == 200:
        return "private" in asked.cache_control
    return "no-store" in asked.cache_control


def test_each_address_answers_those_whom_the_table_names_and_nobody_else(
    clients: dict[str, Client], world: World, pytestconfig: pytest.Config
) -> None:
    named = table(TABLE.read_text(encoding="utf-8"))
    assert set(named) == {route.name for route in ours()}, "who_may.txt lacks an address, or names one that is gone"
    found = list(faults(clients, world, named, everywhere=is_long(pytestconfig)))
    assert not found, "\n".join(found)


def test_a_page_and_its_operation_answer_the_same_people() -> None:
    named = table(TABLE.read_text(encoding="utf-8"))
    read = {name: set(reads) & {"M", "R"} for name, (reads, _writes) in named.items()}
    differ = {(api, page) for api, page in PAGES_OF_OPERATIONS.items() if read[f"api:{api}"] != read[page]}
    assert not differ


def test_researchers_read_no_names_of_people(clients: dict[str, Client], world: World) -> None:
    named = table(TABLE.read_text(encoding="utf-8"))
    names = {person.pk: f"Nemo-{person.pk}-Quux" for person in User.objects.all()}
    for pk, name in names.items():
        User.objects.filter(pk=pk).update(username=name)
    own, told, asked = names[int(clients["R"].session["_auth_user_id"])], [], 0
    for route in ours():
        reads = set(named[route.name][0])
        # One's own account and consent name whom to ask.
        if reads >= {"M", "R"} and "v" not in reads and not route.name.startswith("people:"):
            for address in route.addresses(world.known)[:1]:
                response: Any = clients["R"].get(address)
                body = b"".join(response.streaming_content) if response.streaming else response.content
                asked += response.status_code == 200
                told += [f"{address}: {name}" for name in names.values() if name.encode() in body and name != own]
    assert not told, "\n".join(told)
    assert asked > 80


def test_what_is_of_one_project_is_not_found_under_another(clients: dict[str, Client], world: World) -> None:
    """Asked by a manager of that other one."""
    other = Project.objects.exclude(slug=world.seeded.project.slug).latest("pk")
    opened, tried = [], 0
    for route in ours():
        if "slug" not in route.arguments or not set(route.arguments) - OF_NO_PROJECT:
            continue
        for address in route.addresses(world.known)[:1]:
            if address.startswith(f"/projects/{world.seeded.project.slug}/"):
                tried += 1
                here = address.replace(world.seeded.project.slug, other.slug, 1)
                opened += [f"{route.name}: {asked}" for asked in ask(clients["x"], here) if opens(asked) or asked.told]
    assert not opened, "\n".join(opened)
    assert tried > 80


def test_captions_of_others_are_shown_no_more_to_whoever_lost_the_role_to_rate_them(
    clients: dict[str, Client], world: World
) -> None:
    """Though they are still of the project, as a player. What one wrote oneself stays."""
    named, opened = table(TABLE.read_text(encoding="utf-8")), {True: set[str](), False: set[str]()}
    for has_role in (True, False):
        for route in ours():
            if re.search("verification-(show|done)|rating-batch-show", route.name):
                places = [(letter, place) for letter in named[route.name][0] for place in route.addresses(world.known)]
                asked = [one for letter, place in places for one in ask(clients[letter], place) if opens(one)]
                opened[has_role] |= {route.name for _one in asked}
        Membership.objects.exclude(role=Role.MANAGER).update(role=Role.PLAYER)
    assert len(opened[True]) == 3
    assert not opened[False]


def open_door(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse("nothing of anybody's")


def talking_door(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse(f"Not here: {NAME}", status=404)


def kept_door(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse(headers={"Cache-Control": "private, max-age=60"})


def writing_door(request: HttpRequest, slug: str) -> HttpResponse:
    make_user()
    return HttpResponse(status=404)


def refusing_door(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse(status=403)


def door_of_members(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse(status=302 if request.user.is_authenticated else 404)


def closed_door(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse(status=404)


@pytest.mark.parametrize(
    ("door", "may", "said"),
    [
        (open_door, "M", "door opens to"),
        (kept_door, "MRabdcspqxv", "door may be kept"),
        (talking_door, "", "door tells"),
        (writing_door, "", "and writes INSERT"),
        (refusing_door, "", "says to R that it is there"),
        (closed_door, "M", "door is closed to ['M']"),
        (door_of_members, "Mv", "door is closed to ['v']"),
    ],
)
def test_a_door_that_stands_open_or_is_closed_to_whom_it_is_for_is_found(
    door: Callable[..., HttpResponse], may: str, said: str, world: World, clients: dict[str, Client]
) -> None:
    with serving(path("projects/<slug:slug>/door/", login_not_required(door), name="door")):
        found = list(faults(clients, world, {"door": (may, may)}, everywhere=False))
    assert any(said in one for one in found), found


def test_what_people_at_work_may_open_is_in_all_languages(world: World) -> None:
    named = table(TABLE.read_text(encoding="utf-8"))
    no_pages = {"health-show", "readiness-show", "metrics-show", "images:image-show", "dashboard:campaign-schema"}
    of_readers_of_english = {"people:review-list", "people:review-text"}
    in_english = set()
    for route in ours():
        if set("abcdspq") & set("".join(named[route.name])) and not route.template.startswith("api/"):
            call: Any = resolve(route.addresses(world.known)[0]).func
            view = getattr(call, "view_class", call)
            is_page = not hasattr(view, "get_redirect_url") and route.name not in no_pages | of_readers_of_english
            if is_page and not is_page_of_work(view.__module__, route.name):
                in_english.add(route.name)
    assert not in_english
