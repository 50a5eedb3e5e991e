"""Whoever rates captions of others finds nowhere who wrote them, what others say, nor other captions.

The walk of walk.py, with other secrets. Everything is asked for twice: the second time the captions have
another author, the other raters said something else, and the captions of another project, which describe the same
images in the same language and which this person may yet describe there, are others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random

import pytest
from allauth.account.models import EmailAddress
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from annotation.models import Caption, Rating, Round, RoundKind, RoundState, Verdict, VerificationBatch
from annotation.services import verification as services
from core.allocation.models import Batch
from core.allocation.services.lifecycle import expire_overdue
from core.images.selectors import served_image
from core.people.models import LanguageLevel, LanguageSkill, Role, User
from core.people.rules.pseudonyms import pseudonym
from tests.annotation.submitting import make_captions
from tests.annotation.verifying import make_reviewer, make_verification, rate_all
from tests.clients import client_of
from tests.factories import join_project, make_collection, make_project, make_round
from tests.leaks import coordinates
from tests.leaks.addresses import GUESSED
from tests.leaks.annotators import LEASE, make_sizes
from tests.leaks.answers import Secrets
from tests.leaks.walk import EVERY_ROUTE, Extent, Walk, extent_for
from tests.tiers import some

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

IMAGES, BATCH = 4, 2
AUTHOR, SECOND_AUTHOR = "zwibbelquast", "plomferdink"
UNSTEADY = {
    "mfa_activate_totp": "offers a new key each time",
    "mfa_add_webauthn": "asks a new question each time",
    "annotation:batch-take": "leads to a new batch, which has a new id",
    "annotation:verification-take": "leads to a new batch, which has a new id",
    "api:batch-take": "leads to a new batch, which has a new id",
    "api:rating-batch-take": "leads to a new batch, which has a new id",
    "api:rating-batch-submit": "says when",
    "api:rating-batch-resume": "says until when",
}


OF_CAPTION_RATERS = ("annotation:", "api:", "images:image-show", "leak")
"""What shows work of this kind; nothing of it is anywhere else, and the walks of other people go there."""


@dataclass
class World:
    """A pilot whose captions `rater` rates, who is an annotator there and in a project with the same images."""

    pilot: Round
    rating: Round
    elsewhere: Round
    rater: User

    @property
    def batch(self) -> VerificationBatch:
        return VerificationBatch.objects.filter(lease__person=self.rater).latest("lease__taken_at")

    def secrets(self) -> Secrets:
        words = dict.fromkeys((AUTHOR, SECOND_AUTHOR), "the author's name")
        for author in User.objects.filter(username__in=words):
            words[pseudonym(self.pilot.project, author.pk)] = "the author's pseudonym"
        words |= {text.split()[0]: "a caption to rate" for text in self._texts(self.pilot)}
        words |= {text.split()[0]: "a caption of another project" for text in self._texts(self.elsewhere)}
        return Secrets(words | coordinates.WORDS, self.change)

    def change(self) -> None:
        Caption.objects.filter(round=self.pilot).update(author=User.objects.get(username=SECOND_AUTHOR))
        for caption in Caption.objects.filter(round=self.elsewhere):
            Caption.objects.filter(pk=caption.pk).update(text=f"anders{caption.text}")
        others = Verdict.objects.exclude(person=self.rater)
        for level, other in ((Rating.GOOD, Rating.BAD), (Rating.EXCELLENT, Rating.MEDIUM)):
            others.filter(rating=level).update(rating=other)

    def _texts(self, round: Round) -> list[str]:
        return list(Caption.objects.filter(round=round).values_list("text", flat=True))

    def may_know(self) -> dict[str, Sequence[str]]:
        """Where captions are rated, those of this round may stand, and nowhere else."""
        words = tuple(text.split()[0] for text in self._texts(self.pilot))
        in_api = [f"api:rating-batch-{verb}" for verb in ("show", "take", "resume")]
        return dict.fromkeys(("annotation:verification-show", *in_api), words)

    def known(self) -> dict[str, Sequence[object]]:
        first = self.pilot.collection.entries.select_related("image").first().image
        batches = Batch.objects.filter(pk__in=VerificationBatch.objects.values("pk"))
        theirs = batches.exclude(person=self.rater).values_list("pk", flat=True)[:1]
        signature = served_image(first, self.rater).large.split("/")[-2]
        return {
            **GUESSED,
            "batch_id": [*batches.filter(person=self.rater).values_list("pk", flat=True), *theirs],
            "position": [1, 99],
            "round_id": [self.rating.pk, self.elsewhere.pk],
            "slug": [self.pilot.project.slug, self.elsewhere.project.slug],
            "tag": ["de"],
            "public_id": [first.public_id],
            "size": [320],
            "signature": [signature, "guessed"],
            "caption_id": [*Caption.objects.values_list("pk", flat=True)[:1]],
            "person_id": [self.rater.pk],
            "layout": ["jsonl", "json"],
        }

    def walk(self, extent: Extent = EVERY_ROUTE) -> Walk:
        client = client_of(self.rater, raise_request_exception=False)
        extent = extent if extent.of_a_route else replace(extent, routes=OF_CAPTION_RATERS)
        return Walk(client, self.known(), self.secrets(), self.may_know(), UNSTEADY, extent)


def write_about(round: Round, author: str, stem: str) -> User:
    entries = round.collection.entries.order_by("position")
    (person,) = make_captions(
        round, {entry.image_id: [f"{stem}{'abcdefgh'[entry.position]}x liegt da"] for entry in entries}
    )
    User.objects.filter(pk=person.pk).update(username=author, email=f"{author}@example.org")
    return person


@pytest.fixture
def world(made_once: Callable[[Callable[[], World]], World]) -> World:
    return made_once(make_world)


def make_world() -> World:
    collection = make_collection(IMAGES)
    for entry in collection.entries.select_related("image"):
        make_sizes(entry.image.public_id, AUTHOR)
    coordinates.place_all()
    pilot = make_round(collection=collection, kind=RoundKind.PILOT, replication=1)
    elsewhere = make_round(
        collection=collection, project=make_project(), captioners=pilot.captioners.all(), replication=3
    )
    write_about(pilot, AUTHOR, "qzvorp")
    write_about(elsewhere, SECOND_AUTHOR, "wexlidy")
    Round.objects.filter(pk=pilot.pk).update(state=RoundState.CLOSED)
    rating = make_verification(pilot, batch_size=BATCH)
    for level in (Rating.GOOD, Rating.EXCELLENT):
        rate_all(rating, make_reviewer(rating), level, timezone.now())
    rater = make_reviewer(rating, "rae", Role.ANNOTATOR)
    User.objects.filter(pk=rater.pk).update(reads_english=True)
    LanguageSkill.objects.update_or_create(
        user=rater, language=pilot.language, defaults={"level": LanguageLevel.NATIVE}
    )
    join_project(elsewhere.project, rater, now=timezone.now())
    EmailAddress.objects.create(user=rater, email=rater.email, verified=True, primary=True)
    return World(pilot, rating, elsewhere, User.objects.get(pk=rater.pk))


def in_the_middle(world: World, *, since: timedelta = timedelta(0)) -> None:
    now = timezone.now() - since
    batch = services.take_batch(round=world.rating, person=world.rater, now=now, rng=Random(7))
    ratings = {1: Rating.MEDIUM, 2: Rating.BAD}
    services.save_verdicts(batch_id=batch.pk, person=world.rater, ratings=ratings, now=now)


def submitted(world: World) -> None:
    rate_all(world.rating, world.rater, Rating.MEDIUM, timezone.now())


def expired(world: World) -> None:
    in_the_middle(world, since=LEASE)
    assert expire_overdue(now=timezone.now()) == 1


@pytest.mark.parametrize(
    "stand",
    some([in_the_middle, submitted, expired], short=1, reason="the same pages at another moment"),
    ids=lambda stand: stand.__name__,
)
def test_nothing_tells_whose_the_captions_are_nor_what_others_say_to_a_rater_who_is(
    stand: Callable[[World], None], world: World, pytestconfig: pytest.Config
) -> None:
    stand(world)

    walk = world.walk(extent_for(pytestconfig, "annotation:")).run()

    walk.check("/ratings/")
    assert "annotation:work-show" in walk.reached()
    assert ("annotation:verification-show" in walk.spared) is (stand is not submitted)
    assert not {"annotation:quality-show", "annotation:quality-round", "annotation:quality-export"} & walk.reached()


# The control: a walk that finds nothing would prove nothing.


def leak_of_author(request: HttpRequest) -> HttpResponse:
    return HttpResponse("", headers={"X-By": Verdict.objects.filter(person=request.user.pk)[0].caption.author.username})


def leak_of_others(request: HttpRequest) -> JsonResponse:
    verdicts = Verdict.objects.exclude(person=request.user.pk).order_by("pk")
    return JsonResponse({"said": [rating[0] for rating in verdicts.values_list("rating", flat=True)]})


def leak_of_another_project(request: HttpRequest) -> HttpResponse:
    return HttpResponse(Caption.objects.filter(round__kind=RoundKind.MAIN)[0].text.upper())


def leak_of_what_was_rated(request: HttpRequest) -> HttpResponse:
    return HttpResponse(Verdict.objects.filter(person=request.user.pk)[0].caption.text)


LEAKS = [leak_of_author, leak_of_others, leak_of_another_project, leak_of_what_was_rated]


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_the_walk_finds_a(leak: Callable[[HttpRequest], HttpResponse], world: World) -> None:
    in_the_middle(world)
    world.walk().check_finds(leak)
