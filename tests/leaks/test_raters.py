"""Whoever judges two captions side by side finds nowhere whose they are, which are known, nor what others said.

The walk of walk.py, with other secrets. Everything is asked for twice: the second time base and test model
have changed places, and so have the better and the worse caption of every gold pair, while what was shown on the left
stays on the left; and the others answered the opposite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from allauth.account.models import EmailAddress
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.allocation.models import Batch
from core.allocation.services.lifecycle import expire_overdue
from core.images.selectors import served_image
from core.languages.models import Language
from core.people.models import Membership, Role, User
from research.inference.models import CaptioningModel, Encoder, Run, RunState
from research.inference.selectors import assigned_work
from sxs_eval.models import Comparison, GoldPair, Judgement, Pair, RaterStatus, TrialKind
from sxs_eval.selectors.work import progress_of
from sxs_eval.services import judging
from tests.clients import client_of
from tests.exported import export_address
from tests.factories import make_captioner, make_collection, make_comparison, make_project, make_rater
from tests.inference.embedded import put_set, put_training
from tests.leaks import coordinates
from tests.leaks.addresses import GUESSED
from tests.leaks.annotators import LEASE, make_sizes
from tests.leaks.answers import Secrets
from tests.leaks.walk import EVERY_ROUTE, Extent, Walk, extent_for
from tests.tiers import some

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

IMAGES, BATCH = 8, 6
MODELS = ("Nuxblathering-7B", "Quzzifrax-9B")
COMMENT = "zwibbelquast"
UNSTEADY = {
    "mfa_activate_totp": "offers a new key each time",
    "mfa_add_webauthn": "asks a new question each time",
    "annotation:batch-take": "leads to a new batch, which has a new id",
    "sxs_eval:batch-take": "leads to a new batch, which has a new id",
    "people:token-list": "makes a new token each time",
    "api:judging-batch-take": "leads to a new batch, which has a new id",
    "api:judging-batch-resume": "says until when it is to be handed in",
}


@dataclass
class World:
    """A comparison in which `rater` has judged half of a batch, after two others have judged all."""

    comparison: Comparison
    rater: User
    other: User

    @property
    def batch(self) -> Batch:
        return Batch.objects.filter(person=self.rater).latest("taken_at")

    def secrets(self) -> Secrets:
        words = {name.partition("-")[0]: "a model's name" for name in MODELS}
        return Secrets({**words, **coordinates.WORDS, COMMENT: "another rater's comment"}, self.change)

    def change(self) -> None:
        """Make test base and base test, and turn round what the others said; what the rater sees stays as it is."""
        for comparison in Comparison.objects.all():
            Comparison.objects.filter(pk=comparison.pk).update(base=comparison.test_id, test=comparison.base_id)
        Pair.objects.update(base_caption=F("test_caption"), test_caption=F("base_caption"))
        GoldPair.objects.update(better=F("worse"), worse=F("better"))
        for side in (True, False):
            turned = Judgement.objects.filter(test_is_left=side, comment__startswith="")
            turned.exclude(comment__endswith="#").update(
                test_is_left=not side, score=0 - F("score"), comment=Concat("comment", Value("#"))
            )
        for judgement in Judgement.objects.all():
            Judgement.objects.filter(pk=judgement.pk).update(comment=judgement.comment.removesuffix("#"))
        others = Judgement.objects.exclude(person=self.rater)
        others.update(choice=0 - F("choice"), score=0 - F("score"))

    def known(self) -> dict[str, Sequence[object]]:
        """What the rater could know or guess, by the name of an address's argument."""
        first = self.comparison.collection.entries.select_related("image").first().image
        signature = served_image(first, self.rater).large.split("/")[-2]
        own = Batch.objects.filter(person=self.rater).values_list("pk", flat=True)
        theirs = Batch.objects.filter(person=self.other).values_list("pk", flat=True)[:1]
        projects = Comparison.objects.values_list("project__slug", flat=True).distinct()
        return {
            **GUESSED,
            "batch_id": [*own, *theirs, uuid4()],
            "position": [1, 3, 4, 99],
            "slug": [*projects, self.comparison.collection.slug, "en"],
            "public_id": [first.public_id],
            "size": [320, 800, 1600, 0],
            "signature": [signature, "guessed"],
            "comparison_id": [*Comparison.objects.values_list("pk", flat=True)],
            "rater_id": [self.rater.pk, self.other.pk],
            "turn_id": [uuid4()],
            "gold_id": [*GoldPair.objects.values_list("pk", flat=True)[:1]],
            "model_id": [self.comparison.base_id, self.comparison.test_id],
            "pk": [*Membership.objects.filter(user=self.rater).values_list("pk", flat=True), 1],
            "layout": ["jsonl", "csv", "tex", "xm3600"],
            "person_id": [self.rater.pk, self.other.pk],
            "id": [self.rater.pk],
            "object_id": [*Judgement.objects.values_list("pk", flat=True)[:1]],
            "app_label": ["sxs_eval"],
            "url": ["", "sxs_eval/judgement/"],
        }

    def walk(self, extent: Extent = EVERY_ROUTE) -> Walk:
        client = client_of(self.rater, raise_request_exception=False)
        return Walk(client, self.known(), self.secrets(), {}, UNSTEADY, extent)


def judge_all(comparison: Comparison, rater: User, comment: str = "") -> None:
    now = timezone.now()
    while batch := judging.take_batch(comparison=comparison, person=rater, now=now, rng=Random(rater.pk)):
        waiting = [trial.position for trial in progress_of(batch) if trial.choice is None]
        if not waiting:
            return
        for position in waiting:
            judging.judge(
                batch_id=batch.pk, person=rater, position=position, choice=2, comment=comment, active_ms=1, now=now
            )


@pytest.fixture
def world(made_once: Callable[[Callable[[], World]], World]) -> World:
    return made_once(make_world)


def make_world() -> World:
    collection = make_collection(IMAGES)
    for entry in collection.entries.select_related("image"):
        make_sizes(entry.image.public_id, MODELS[0])
    coordinates.place_all()
    base, test = (
        make_captioner(collection, name, text=text, language="de")
        for name, text in zip(MODELS, ("Ein Hund auf", "Eine Katze vor"), strict=True)
    )
    comparison = make_comparison(
        collection=collection,
        base=base,
        test=test,
        replication=4,
        batch_size=BATCH,
        gold_percent=34,
        repeat_percent=34,
        # Who answers otherwise than is known is paused; that alone may be noticed.
        checks_before_pause=100,
    )
    for number in range(2):
        judge_all(comparison, make_rater(comparison, f"oto-{number}"), comment=COMMENT)
    there = World(comparison, make_rater(comparison, "rae"), User.objects.get(username="oto-0"))
    EmailAddress.objects.create(user=there.rater, email=there.rater.email, verified=True, primary=True)
    return there


def in_the_middle(world: World, *, since: timedelta = timedelta(0)) -> None:
    now = timezone.now() - since
    batch = judging.take_batch(comparison=world.comparison, person=world.rater, now=now, rng=Random(7))
    assert {"pair", "gold", "repeat"} == set(batch.judgements.values_list("kind", flat=True))
    for position in (1, 2, 3):
        judging.judge(batch_id=batch.pk, person=world.rater, position=position, choice=-1, now=now)


def at_the_end(world: World) -> None:
    judge_all(world.comparison, world.rater)


def expired(world: World) -> None:
    in_the_middle(world, since=LEASE)
    assert expire_overdue(now=timezone.now()) == 1


def returned(world: World) -> None:
    in_the_middle(world)
    judging.return_batch(batch_id=world.batch.pk, person=world.rater, now=timezone.now())


def paused(world: World) -> None:
    in_the_middle(world)
    RaterStatus.objects.create(comparison=world.comparison, person=world.rater, paused_at=timezone.now())


STANDS = (in_the_middle, at_the_end, expired, returned, paused)


@pytest.mark.parametrize(
    "stand",
    some(STANDS, short=1, reason="the same pages at other moments"),
    ids=lambda stand: stand.__name__,
)
def test_nothing_tells_which_model_is_which_to_a_rater_who_is(
    stand: Callable[[World], None], world: World, pytestconfig: pytest.Config
) -> None:
    stand(world)
    walk = world.walk(extent_for(pytestconfig, "sxs_eval:")).run()
    walk.check("/judging/")
    assert {"sxs_eval:work-show", "sxs_eval:instructions-show"} <= walk.reached()
    assert ("sxs_eval:batch-show" in walk.reached()) is (stand is not paused)
    assert not {"sxs_eval:comparison-show", "sxs_eval:comparison-list", "exports:export-show"} & walk.reached()


def test_a_manager_elsewhere_does_not_read_there_whose_the_captions_assigned_are(world: World, client: Client) -> None:
    in_the_middle(world)
    elsewhere = make_project(manager=world.rater)
    base, test = CaptioningModel.objects.order_by("pk")
    same = make_comparison(project=elsewhere, collection=world.comparison.collection, base=base, test=test)
    client.force_login(world.rater)
    pages = [
        reverse("sxs_eval:pair-list", args=[elsewhere.slug, same.pk]),
        reverse("sxs_eval:gold-list", args=[elsewhere.slug, same.pk]),
        export_address(elsewhere.slug, "judgements"),
    ]
    for page in pages:
        refused = client.get(page)
        assert refused.status_code in (302, 403, 422), page
        assert b"Hund" not in refused.content
    judge_all(world.comparison, world.rater)
    allocated = Batch.objects.get(pk=world.batch.pk)
    assert allocated.person_id == world.rater.pk
    assert client.get(pages[0]).status_code == 200


def test_a_researcher_elsewhere_does_not_read_there_whose_the_captions_assigned_are(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In nothing that shows what models say, and by no trial of them."""
    in_the_middle(world)
    Membership.objects.create(project=make_project(), user=world.rater, role=Role.RESEARCHER)
    client.force_login(world.rater)
    collection, captioner = world.comparison.collection, world.comparison.base
    told, judged = "Ein Hund auf", Judgement.objects.filter(person=world.rater, kind=TrialKind.PAIR)
    held = [judgement.pair.image for judgement in judged.select_related("pair__image")]
    encoder = Encoder.objects.create(is_shared=True, name="Sentences", backend="sentences", signature="s-1")
    about: dict[str, Any] = {"captions_of": captioner, "language": Language.objects.get(pk="de")}
    made = put_set(encoder, collection, [[1.0, number] for number in range(IMAGES)], **about)
    now = timezone.now()
    done = {"state": RunState.DONE, "queue": "gpu", "total": 1, "created_at": now, "created_by": world.rater}
    of_one = {"collection": collection, "trial_image": held[0], "trial_captions": {"de": {"text": told}}}
    trial = Run.objects.create(model=captioner, **of_one, **done)
    trial.languages.add(Language.objects.get(pk="de"))
    training = put_training(dict.fromkeys(held, told), language="de", is_shared=True)
    keys = {collection.entries.get(image=image).key for image in held}
    assert 0 < len(keys) < IMAGES

    def of_what_is_assigned() -> list[str]:
        pages = [client.get(reverse("inference:gallery"), {"collection": collection.slug, "key": key}) for key in keys]
        pages.append(client.get(reverse("inference:run-show", args=[trial.pk])))
        pages.append(client.get(reverse("inference:training-show", args=[training.pk])))
        pages += [client.get(reverse("inference:embedding-neighbours", args=[made.pk, held[0].public_id]))]
        return [page.wsgi_request.path.split("/")[2] for page in pages if told in page.content.decode()]

    assert of_what_is_assigned() == []
    for entry in collection.entries.select_related("image"):
        page = client.get(reverse("inference:embedding-neighbours", args=[made.pk, entry.image.public_id]))
        others = [image.public_id.hex for image in held if image != entry.image]
        assert not any(one in page.content.decode().replace("-", "") for one in others)
    # The control: these pages show whose captions they are, to whoever has none of the images in hand.
    monkeypatch.setattr(assigned_work, "_kinds", {})
    assert set(of_what_is_assigned()) == {"gallery", "runs", "trainings", "embeddings"}


def test_changing_the_secrets_leaves_what_the_rater_sees_as_it_is(world: World, client: Client) -> None:
    in_the_middle(world)
    before = list(Judgement.objects.filter(person=world.rater).order_by("pk").values_list("choice", "score"))
    world.change()
    after = list(Judgement.objects.filter(person=world.rater).order_by("pk").values_list("choice", "score"))
    assert [choice for choice, _ in before] == [choice for choice, _ in after]
    assert [score for _, score in before if score] == [-score for _, score in after if score]
    assert Judgement.objects.filter(comment=COMMENT).exists()


# The control: a walk that finds nothing would prove nothing.


def _next(request: HttpRequest) -> Judgement:
    return (
        Judgement.objects.filter(person=request.user.pk, choice=None, kind=TrialKind.PAIR).order_by("position").first()
    )


def leak_of_side(request: HttpRequest) -> HttpResponse:
    return HttpResponse(["left", "right"][_next(request).test_is_left])


def leak_of_gold(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"captions": list(GoldPair.objects.values_list("better", flat=True))})


def leak_of_others(request: HttpRequest) -> HttpResponse:
    others = Judgement.objects.exclude(person=request.user.pk).filter(choice__isnull=False)
    return HttpResponse(sum(others.values_list("choice", flat=True)) > 0)


def leak_of_order(request: HttpRequest) -> HttpResponse:
    pair = _next(request).pair
    return HttpResponse(f"<p>{pair.base_caption.text}</p><p>{pair.test_caption.text}</p>")


def leak_of_name(request: HttpRequest) -> HttpResponse:
    return HttpResponse("", headers={"X-Made-By": _next(request).pair.base_caption.model.name.upper()})


LEAKS = [leak_of_side, leak_of_gold, leak_of_others, leak_of_order, leak_of_name]


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_the_walk_finds_a(leak: Callable[[HttpRequest], HttpResponse], world: World) -> None:
    in_the_middle(world)
    world.walk().check_finds(leak)
