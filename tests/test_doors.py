"""Every address, asked by whoever has no business there. Whoever adds one is told here if its door stands open.

What is not listed below as open to somebody is of a project or of a person: all others are to be told that it is not
there. The people whose it is are asked, too, as a control: an address that nobody finds would prove nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from django.utils import timezone

from annotation.models import Release
from annotation.services import corrections
from corpus.models import ImportJob, ImportKind, JobState
from corpus.selectors import picture_of
from gapgame.services import playing
from inference.models import CaptioningModel, Encoder, Run, RunState, Trial
from people import tokens
from people.models import Delivery, Invitation, Membership, Role, User, Webhook
from sxs_eval.services import judging
from tests.annotation.handing_in import hand_in
from tests.api.seeded import WRITTEN, Program, Seeded, make_seeded
from tests.api.test_projects import make_release
from tests.factories import (
    make_annotator,
    make_comparison,
    make_player,
    make_project,
    make_rater,
    make_round,
    make_season,
    make_user,
)
from tests.inference.embedded import put_set
from tests.leaks.addresses import Route, routes, serving
from tests.leaks.walk import WRITES
from tests.scoring.scored import make_references, make_scoring
from tests.tiers import some

# A thousand requests, and what is asked of the database is the same on both.
pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only]

NAME, NOTE, HOOK = "Löwenprojekt", "Name the animals.", "hook-of-lions.example.org"
TOLD_TO_NOBODY = (NAME, WRITTEN, NOTE, HOOK, "ann-lions", "rae-lions", "manager-of-lions", "whsec_")
API = "/api/"
SENT = {"rating": "GOOD", "text": "Ein Satz.", "revision": "0", "language": "en"}
DAY = timedelta(days=1)

ANYBODY = {
    "people:home-show": "says where one signs in",
    "health-show": "for load balancers",
    "readiness-show": "for load balancers",
    "metrics-show": "for private addresses or a token: tests/operations/test_metrics.py",
    "people:invitation-accept": "whoever has the link",
    "account_login": "",
    "account_logout": "",
    "account_inactive": "",
    "account_signup": "says that it is closed",
    "account_email_verification_sent": "",
    "account_confirm_email": "whoever has the link",
    "account_reset_password": "",
    "account_reset_password_done": "",
    "account_reset_password_from_key": "whoever has the link",
    "account_reset_password_from_key_done": "",
    "account_confirm_login_code": "",
    "mfa_authenticate": "the second step of signing in",
    "set_language": "",
    "api:schema": "has nothing of anybody's",
    "api:nothing": "says that nothing is there",
}
ONES_OWN = {
    "people:profile-show",
    "people:data-download",
    "people:account-delete",
    "people:token-list",
    "account_reauthenticate",
    "account_email",
    "account_change_password",
    "account_set_password",
    "mfa_index",
    "mfa_reauthenticate",
    "mfa_activate_totp",
    "mfa_deactivate_totp",
    "mfa_view_recovery_codes",
    "mfa_generate_recovery_codes",
    "mfa_download_recovery_codes",
    "annotation:work-show",
    "annotation:history-show",
    "annotation:feedback-list",
    "sxs_eval:work-show",
    "sxs_eval:evaluation-list",
    "gapgame:game-home",
    "api:docs",
    "api:me",
    "api:project-list",
    "api:work-show",
    "api:own-caption-list",
    "api:own-feedback-list",
    "api:rating-work-show",
}
"""For whoever is signed in, who finds there what is theirs."""
OF_MANAGERS = {"annotation:project-list", "annotation:project-create"}
"""For who manages anything at all, as is what begins so:"""
OF_ALL_MANAGERS = ("corpus:collection", "corpus:import", "corpus:images-add", "inference:")
NOT_BUILT = {
    "annotation:batch-move": "to somebody who may take it: tests/annotation/test_moving.py",
    "sxs_eval:gold-change": "a gold pair: tests/sxs_eval/test_setup_pages.py",
    "gapgame:board-show": "a season that is closed: tests/gapgame/test_odd_requests.py",
    "gapgame:vectors-import": "a language of an encoder: tests/gapgame/test_vectors_page.py",
    "gapgame:picture-show": "a picture of a turn, signed: tests/leaks/test_players.py",
    "inference:trial-picture": "a trial of an upload: tests/inference/test_trials_pages.py",
    "people:member-remove": "a membership, where the world names an invitation: tests/people/test_page_access.py",
}
"""Addresses that the world below has nothing for, and where they are asked for with something."""
ASKED_LATE = {"inference:model-try", "gapgame:items-import"}
"""Forms with files: where they are not even read, the token is not asked for."""


INSIDERS = some(range(7), short=2, reason="the manager and an annotator find most of it; the others, little else")
"""Which of `World.insiders` asks."""


@dataclass
class World:
    seeded: Seeded
    insiders: Sequence[User]
    known: Mapping[str, Sequence[object]]


@pytest.fixture
def world(media: Any) -> World:
    """A project with something of every kind of work, and everybody who has to do with it."""
    seeded, now = make_seeded(), timezone.now()
    project, manager = seeded.project, seeded.manager
    project.name = NAME
    project.save()
    Membership.objects.create(project=project, user=manager, role=Role.RESEARCHER)
    bob = User.objects.get(username="bob-lions")
    another = make_round(project=project, collection=seeded.main.collection, language="cs")
    cid = make_annotator(another, "cid-lions")
    hand_in(another, cid, WRITTEN, now=now)
    caption = another.captions.first()
    corrections.send_back(caption_id=caption.pk, note=NOTE, by=manager, now=now)
    release = make_release(project, media)
    Release.objects.filter(pk=release.pk).update(counts={"captions": 0, "files": [{"name": "LICENSE", "bytes": 2}]})
    hook = Webhook.objects.create(
        project=project, url=f"https://{HOOK}/", secret="whsec_x", events=[], created_at=now, created_by=manager
    )
    delivery = Delivery.objects.create(webhook=hook, event="x", payload={}, next_at=now, created_at=now)
    token = tokens.make_token(user=bob, name="x", may_write=True, expires_at=None, now=now).row
    about: dict[str, Any] = {"project": project, "created_by": manager, "expires_at": now + DAY}
    invitation = Invitation.objects.create(role=Role.RATER, token="x" * 40, **about)
    comparison = make_comparison(project=project)
    rita = make_rater(comparison, "rita")
    judged = judging.take_batch(comparison=comparison, rater=rita, now=now, rng=Random(1))
    season = make_season(project=project, starts_at=now - DAY, ends_at=now + DAY)
    player = make_player(season, "paul")
    who: dict[str, Any] = {"player_id": player.pk, "user": player.user, "now": now}
    playing.take_batch(**who, language="en", rng=Random(1))
    turn = playing.open_turn(**who)
    assert turn is not None
    scoring = make_scoring(make_references(project=project))
    model = CaptioningModel.objects.first()
    assert model is not None
    run = Run.objects.create(
        model=model, collection=seeded.main.collection, queue="gpu", state=RunState.DONE, total=1, created_at=now
    )
    image = seeded.main.collection.entries.first().image
    trial = Trial.objects.create(model=model, image=image, created_at=now, created_by=manager)
    job = ImportJob.objects.create(
        kind=ImportKind.CAPTIONS, collection=seeded.main.collection, source_name="x.jsonl", state=JobState.DONE
    )
    encoder = Encoder.objects.create(name="Colours", backend="sentences", signature="c-1")
    vectors = put_set(encoder, seeded.main.collection, [[1.0, float(number)] for number in range(9)])
    picture = picture_of(image, seeded.ann).large.split("/")
    known: dict[str, Sequence[object]] = {
        **seeded.known(),
        "slug": [project.slug],
        "tag": ["de"],
        "person_id": [seeded.ann.pk],
        "caption_id": [caption.pk],
        "action": ["close"],
        "layout": ["jsonl", "json", "csv", "tex"],
        "name": ["manifest.json", "LICENSE"],
        "token": [invitation.token],
        "key": ["guessed"],
        "uidb36": ["1"],
        "token_id": [token.pk],
        "webhook_id": [hook.pk],
        "delivery_id": [delivery.pk],
        "pk": [invitation.pk],
        "comparison_id": [comparison.pk],
        "rater_id": [rita.pk],
        "gold_id": [1],
        "season_slug": [season.slug],
        "item_set_id": [season.item_set_id],
        "item_id": [season.item_set.items.first().pk],
        "player_id": [player.pk],
        "turn_id": [turn.pk],
        "scoring_id": [scoring.pk],
        "set_id": [scoring.references_id],
        "model_id": [model.pk],
        "run_id": [run.pk],
        "trial_id": [trial.pk],
        "job_id": [job.pk],
        "public_id": [image.public_id],
        "size": [picture[-3]],
        "signature": [picture[-2]],
    }
    known |= {f"sxs_eval:{name} batch_id": [judged.pk] for name in _names("sxs_eval", "batch_id")}
    known |= {f"gapgame:{name} slug": [season.slug] for name in PLAYERS}
    known |= {f"corpus:{name} slug": [seeded.main.collection.slug] for name in _names("corpus", "slug")}
    known |= {f"inference:{name} set_id": [vectors.pk] for name in _names("inference", "set_id")}
    known["inference:stabilisers-export slug"] = [seeded.main.collection.slug]
    insiders = [manager, seeded.ann, seeded.rae, bob, cid, rita, player.user]
    assert len(insiders) == len(INSIDERS)
    return World(seeded, insiders, known)


PLAYERS = (
    "season-show",
    "season-join",
    "player-edit",
    "batch-take",
    "turn-open",
    "turn-list",
    "board-show",
    "rules-show",
)


def _names(namespace: str, argument: str) -> list[str]:
    return [
        route.name.partition(":")[2]
        for route in routes()
        if route.name.startswith(f"{namespace}:") and argument in route.arguments
    ]


def ours() -> list[Route]:
    """Without the administration, which asks by itself whether one is of the staff."""
    return [route for route in routes() if not route.template.startswith("admin/")]


def is_of_managers(name: str) -> bool:
    return name in OF_MANAGERS or name.startswith(OF_ALL_MANAGERS)


@dataclass(frozen=True)
class Asked:
    method: str
    address: str
    status: int
    told: Sequence[str]
    leads_to: str

    @property
    def is_to_sign_in(self) -> bool:
        return self.status == 401 or (self.status == 302 and self.leads_to.startswith("/accounts/login/"))

    def __str__(self) -> str:
        return f"{self.method} {self.address}: {self.status} {self.leads_to} {list(self.told)}"


def ask(
    client: Client, address: str, headers: Mapping[str, str] | None = None, *, besides: str = ""
) -> Iterator[Asked]:
    """By each method; what it changes is undone."""
    methods = ("get", "post", "put", "patch", "delete") if address.startswith(API) else ("get", "post")
    for method in methods:
        if method == besides:
            continue
        more = {"content_type": "application/json"} if address.startswith(API) and method != "get" else {}
        with undone(client):
            cache.clear()
            response = getattr(client, method)(address, {} if method == "get" else SENT, **more, headers=headers)
            body = b"".join(response.streaming_content) if response.streaming else response.content
        text = f"{body.decode(errors='replace')} {dict(response.headers)}"
        told = [word for word in TOLD_TO_NOBODY if word in text]
        yield Asked(method, address, response.status_code, told, response.headers.get("Location", ""))


@contextmanager
def undone(client: Client) -> Iterator[None]:
    cookies, point = copy.deepcopy(client.cookies), transaction.savepoint()
    try:
        yield
    finally:
        transaction.savepoint_rollback(point)
        client.cookies = cookies


def a_visitor() -> Client:
    return Client(raise_request_exception=False)


def somebody() -> Client:
    return signed_in(make_user())


def an_annotator_of_another_project() -> Client:
    return signed_in(make_annotator(make_round(), None))


def a_manager_of_another_project() -> Client:
    return signed_in(make_project().created_by)


def whose_account_was_closed() -> Client:
    """With a session of before."""
    manager = make_project().created_by
    client = signed_in(manager)
    User.objects.filter(pk=manager.pk).update(is_active=False)
    return client


def signed_in(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def wrong_doors(
    client: Client, known: Mapping[str, Sequence[object]], *, is_visitor: bool = False, may_manage: bool = False
) -> list[str]:
    """What whoever asks finds, and should not."""
    found = []
    for route in ours():
        answers = [asked for address in route.addresses(known) for asked in ask(client, address)]
        found += [f"{route.name}: {asked}" for asked in answers if asked.status >= 500]
        if route.name == "people:invitation-accept":
            continue
        found += [f"{route.name} tells: {asked}" for asked in answers if asked.told]
        if route.name in ANYBODY or (route.name in ONES_OWN and not is_visitor):
            continue
        if may_manage and is_of_managers(route.name):
            continue
        refused = (403, 404, 405) if is_of_managers(route.name) else (404, 405)
        for asked in answers:
            if not (asked.is_to_sign_in if is_visitor else False) and asked.status not in refused:
                found.append(f"{route.name} is open: {asked}")
        if all(asked.status == 405 for asked in answers):
            found.append(f"{route.name} takes none of the methods that were tried")
    return found


NOT_SIGNED_IN = [a_visitor, whose_account_was_closed]
WHO = [*NOT_SIGNED_IN, somebody, an_annotator_of_another_project, a_manager_of_another_project]


@pytest.mark.slow(reason="every address by every method")
@pytest.mark.parametrize("who", WHO, ids=lambda who: who.__name__)
def test_no_door_is_open_to(who: Callable[[], Client], world: World) -> None:
    client = who()
    is_manager = who is a_manager_of_another_project
    found = wrong_doors(client, world.known, is_visitor=who in NOT_SIGNED_IN, may_manage=is_manager)
    assert not found, "\n".join(found)


@pytest.mark.slow(reason="every address, asked by everybody")
def test_whoever_has_to_do_with_it_finds_each_of_them(world: World) -> None:
    """The control: nobody would find what is not there, or is asked for in the wrong way."""
    clients = [signed_in(insider) for insider in world.insiders]
    missing = {route.name for route in ours()} - {*ANYBODY, *ONES_OWN, *NOT_BUILT}
    for client in clients:
        for route in ours():
            if route.name in missing:
                addresses = route.addresses(world.known)
                if any(asked.status not in (403, 404, 405) for one in addresses for asked in ask(client, one)):
                    missing.discard(route.name)
    assert not missing, ", ".join(sorted(missing))


def open_door(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse("nothing of anybody's")


def talking_door(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse(f"Not here: {NAME}", status=404)


@pytest.mark.parametrize(("door", "said"), [(open_door, "door is open"), (talking_door, "door tells")])
def test_a_door_that_stands_open_is_found(door: Callable[..., HttpResponse], said: str, world: World) -> None:
    with serving(path("projects/<slug:slug>/door/", door, name="door")):
        found = wrong_doors(somebody(), world.known)
    assert any(said in one for one in found), found


def test_lists_of_doors_name_no_address_that_is_gone() -> None:
    assert {*ANYBODY, *ONES_OWN, *OF_MANAGERS, *NOT_BUILT, *ASKED_LATE} <= {route.name for route in ours()}


@contextmanager
def writes() -> Iterator[list[str]]:
    """What is written meanwhile, besides sessions."""
    found: list[str] = []

    def watch(execute: Any, sql: str, *more: Any) -> Any:
        if WRITES.match(sql):
            found.append(sql)
        return execute(sql, *more)

    with connection.execute_wrapper(watch):
        yield found


@pytest.mark.slow(reason="every address of the API by every method")
@pytest.mark.parametrize("insider", INSIDERS)
def test_a_token_that_only_reads_writes_nothing_but_that_it_was_used(insider: int, world: World) -> None:
    wrong = []
    headers = Program(world.insiders[insider], may_write=False).headers
    for route in ours():
        if not route.name.startswith("api:"):
            continue
        with writes() as written:
            for asked in (
                one for address in route.addresses(world.known) for one in ask(a_visitor(), address, headers)
            ):
                wrong += [f"{asked} writes {sql[:80]}" for sql in written if not is_noted(sql, asked)]
                written.clear()
                if asked.method != "get" and asked.status not in (403, 404, 405):
                    wrong.append(str(asked))
    assert not wrong, "\n".join(wrong)


def is_noted(sql: str, asked: Asked) -> bool:
    """When a token was used, and that a file of everything was taken."""
    return '"people_apitoken"' in sql or ('"people_auditentry"' in sql and "/exports/" in asked.address)


@pytest.mark.slow(reason="every address by every method")
@pytest.mark.parametrize("insider", INSIDERS)
def test_a_form_that_comes_from_elsewhere_changes_nothing(insider: int, world: World) -> None:
    """Of a browser that is signed in: without the token that only our pages have."""
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(world.insiders[insider])
    for route in ours():
        for address in route.addresses(world.known):
            with writes() as written:
                for asked in ask(client, address, besides="get"):
                    assert not written, f"{asked} writes {written}"
                    assert asked.status in (403, 404, 405) or route.name in ASKED_LATE, asked
