"""Whoever plays finds nowhere the word of a sentence, nor anything that gives it away, before the turn is over.

The walk of walk.py, with other secrets. Everything is asked for twice: the second time each word is a longer
one with other senses, there are more images than have been shown, the sentences that wait are others, and the other
players have other totals on the same side of the player's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from allauth.account.models import EmailAddress
from django.db.models import F
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.images.models import CollectionImage, Image
from core.people.models import Membership, User
from gapgame.models import GapItem, ItemImage, ItemSet, Player, Season, SkipReason, Turn, TurnOutcome
from gapgame.rules.play import MIN_PAUSE
from gapgame.selectors.play import ADDRESS_HOURS, image_address, images_shown
from gapgame.services import playing
from gapgame.services.ranking import add_to_total
from tests.clients import client_of
from tests.factories import make_image, make_item, make_player, make_season, make_vectors
from tests.leaks import coordinates
from tests.leaks.addresses import GUESSED
from tests.leaks.annotators import make_sizes
from tests.leaks.answers import TOKEN, Secrets
from tests.leaks.walk import EVERY_ROUTE, Extent, Walk, extent_for
from tests.tiers import some

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

STEM = "zwolbr"
WORD, LONGER = f"{STEM}ick", f"{STEM}ickelhaftig"
SYNSET = "quarnstib.n.07"
AUTHOR = "Grumfeld Photographers"
SPARE = "in no sentence yet"
NICKNAME = "Xanthoryx"
SECRETS = {
    STEM: "the word",
    "quarnstib": "its sense",
    "grumfeld": "an image's author",
    "intersect_3": "the split",
    NICKNAME: "another player",
    **coordinates.WORDS,
}
UNSTEADY = {
    "mfa_activate_totp": "offers a new key each time",
    "mfa_add_webauthn": "asks a new question each time",
    "people:token-list": "makes a new token each time",
}


@dataclass
class World:
    """A season with `player` and three others, whose totals are 1.5, 2.5 and 9.5 turns."""

    season: Season
    player: Player

    @property
    def user(self) -> User:
        return self.player.user

    @property
    def turn(self) -> Turn:
        """The one that was opened last."""
        return Turn.objects.filter(player=self.player, opened_at__isnull=False).latest("opened_at", "position")

    def secrets(self) -> Secrets:
        return Secrets(SECRETS, self.change)

    def change(self) -> None:
        told = Turn.objects.filter(player=self.player, outcome__in=["attempt_1", "failed"]).values("item")
        secret = GapItem.objects.exclude(pk__in=told)
        secret.update(word=LONGER, sense=["other.n.01", "more.n.02"], split=(F("split") + 1) % 5)
        sent = Turn.objects.filter(player=self.player).exclude(opened_at=None, fetched_at=None).values("item")
        secret.exclude(pk__in=sent).update(before="Quite another ", after=", and longer than it was.")
        seen = Turn.objects.filter(player=self.player, attempts_made__gte=2).values("item")
        image = Image.objects.get(title=SPARE)
        ItemImage.objects.bulk_create(
            ItemImage(item=item, image=image, position=90) for item in secret.exclude(pk__in=seen)
        )
        Image.objects.exclude(title=SPARE).exclude(
            pk__in=ItemImage.objects.filter(item__in=told).values("image")
        ).update(title="Another title", author="Somebody else", licence="CC0")
        for other in Player.objects.exclude(pk=self.player.pk):
            add_to_total(player=other, score=17, is_found=True, reached_at=timezone.now())

    def known(self) -> dict[str, Sequence[object]]:
        """What the player could know or guess, by the name of an address's argument."""
        own = Turn.objects.filter(player=self.player).values_list("pk", flat=True)
        theirs = Turn.objects.exclude(player=self.player).values_list("pk", flat=True)
        item = self.turn.item
        return {
            **GUESSED,
            "turn_id": [*own, *theirs[:1], uuid4()],
            "gapgame:image-show turn_id": [self.turn.pk],
            **{f"{app}:report-send kind": ["turns"] for app in ("conversation", "api")},
            **{f"{app}:report-send batch_id": [self.turn.pk] for app in ("conversation", "api")},
            "slug": [self.season.slug, self.season.project.slug, self.season.item_set.collection.slug, "en"],
            "season_slug": [self.season.slug],
            "list_slug": ["world"],
            "item_set_id": [*ItemSet.objects.values_list("pk", flat=True)],
            "item_id": [item.pk],
            "player_id": [*Player.objects.values_list("pk", flat=True)[:2]],
            "public_id": [item.images.first().image.public_id],
            "size": [320, 800],
            "batch_id": [uuid4()],
            "rater_id": [self.user.pk],
            "pk": [*Membership.objects.filter(user=self.user).values_list("pk", flat=True), 1],
            "layout": ["jsonl", "csv"],
            "person_id": [self.user.pk],
            "id": [self.user.pk],
            "object_id": [item.pk],
            "app_label": ["gapgame"],
            "url": ["", "gapgame/item/"],
        }

    def walk(self, extent: Extent = EVERY_ROUTE) -> Walk:
        client = client_of(self.user, raise_request_exception=False)
        # The guides are the same for everybody, and explain the splits by name.
        may_know = {"dashboard:guide-show": ["intersect_3"]}
        return Walk(client, self.known(), self.secrets(), may_know, UNSTEADY, extent)

    def guess(self, *words: str) -> None:
        """The words as the next attempts; the turn is then made one that takes no further guess for an hour."""
        turn = self.turn
        for word in words:
            Turn.objects.filter(pk=turn.pk).update(shown_at=timezone.now() - MIN_PAUSE)
            number = Turn.objects.get(pk=turn.pk).attempts_made + 1
            playing.make_guess(turn_id=turn.pk, user=self.user, number=number, guess=word, now=timezone.now())

    def hold(self) -> None:
        """Let the turn take no guess for now: the walk's own would be the last, after which the word is told."""
        Turn.objects.filter(pk=self.turn.pk).update(shown_at=timezone.now() + timedelta(hours=1))


@pytest.fixture
def world(made_once: Callable[[Callable[[], World]], World]) -> World:
    return made_once(make_world)


def make_world() -> World:
    now = timezone.now()
    vectors = make_vectors("en", {WORD: (1.0, 0.0), LONGER: (1.0, 0.0), "dog": (0.8, 0.6), "car": (0.6, 0.8)})
    season = make_season(items=0, vectors=vectors, starts_at=now - timedelta(days=1), ends_at=now + timedelta(days=1))
    for number in range(5):
        about: dict[str, Any] = {"before": f"Number {number} is a ", "key": f"{WORD}-{number}", "split": 3}
        item = make_item(season.item_set, WORD, images=0, sense=[SYNSET], **about)
        for position in range(4):
            image = make_image(title=f"A {WORD} in the snow", author=AUTHOR)
            make_sizes(image.public_id, WORD)
            ItemImage.objects.create(item=item, image=image, position=position)
            CollectionImage.objects.create(
                collection=season.item_set.collection,
                image=image,
                key=f"{WORD}-{number}-{position}",
                position=10 * number + position,
            )
    coordinates.place_all()
    make_image(title=SPARE)
    for number, total in enumerate((1_500_000, 2_500_000, 9_500_000)):
        rival = make_player(season, f"rival{number}", nickname=f"{NICKNAME} {number}")
        for part in range(10):
            add_to_total(player=rival, score=total // 10, is_found=False, reached_at=now + timedelta(seconds=part))
    there = World(season, make_player(season, "pia"))
    EmailAddress.objects.create(user=there.user, email=there.user.email, verified=True, primary=True)
    playing.take_batch(player_id=there.player.pk, user=there.user, language="en", now=now, rng=Random(1))
    playing.open_turn(player_id=there.player.pk, user=there.user, now=now)
    return there


def with_the_sentence_alone(world: World) -> None:
    pass


def with_one_image(world: World) -> None:
    world.guess("dog")


def with_all_images(world: World) -> None:
    world.guess("dog", "car")
    world.hold()


def after_skipping(world: World) -> None:
    world.guess("dog")
    playing.skip(turn_id=world.turn.pk, user=world.user, reason=SkipReason.BROKEN, now=timezone.now())


def past_the_cut_off(world: World) -> None:
    """Which nobody has counted yet."""
    world.guess("dog", "car")
    Season.objects.update(ends_at=timezone.now() - timedelta(seconds=1))


def without_a_role_any_more(world: World) -> None:
    world.guess("dog")
    Membership.objects.filter(user=world.user).delete()


STANDS = (
    with_one_image,
    with_the_sentence_alone,
    with_all_images,
    after_skipping,
    past_the_cut_off,
    without_a_role_any_more,
)


@pytest.mark.parametrize(
    "stand",
    some(STANDS, short=1, reason="the same pages at other moments"),
    ids=lambda stand: stand.__name__,
)
def test_nothing_gives_the_word_away_to_a_player(
    stand: Callable[[World], None], world: World, pytestconfig: pytest.Config
) -> None:
    stand(world)
    walk = world.walk(extent_for(pytestconfig, "gapgame:")).run()
    walk.check("/game/turns/", kind="text/html")
    reached = {"gapgame:game-home", "gapgame:turn-show"}
    if stand is not without_a_role_any_more:
        reached |= {"gapgame:season-show", "gapgame:rules-show", "gapgame:turn-list"}
    assert reached <= walk.reached()
    shown = {with_one_image, with_all_images, after_skipping, past_the_cut_off}
    assert ("gapgame:image-show" in walk.reached()) >= (stand in shown)
    of_managers = {"gapgame:season-manage", "gapgame:item-set-show", "exports:export-show", "gapgame:game-report"}
    assert not {*of_managers, "gapgame:leaderboard-show", "gapgame:player-list"} & walk.reached()


def _without_the_moment(page: bytes) -> bytes:
    return re.sub(rb'data-left-s="\d+"', b"", TOKEN.sub(b"#", page))


def test_a_sentence_fetched_ahead_is_itself_and_nothing_else_and_its_turn_is_closed(
    world: World, client: Client
) -> None:
    client.force_login(world.user)
    in_place: dict[str, Any] = {"headers": {"HX-Request": "true"}}
    ahead = reverse("gapgame:turn-fetch", args=[world.season.slug])
    assert client.post(ahead, **in_place).status_code == 204
    world.guess("dog", "car", "tree")
    first = client.post(ahead, **in_place)
    turn = Turn.objects.get(player=world.player, fetched_at__isnull=False)
    text = first.content.decode()
    assert turn.item.before in text
    assert world.secrets().found_in(f"{first.headers}{text}") == []
    world.change()
    again = client.post(ahead, **in_place)
    assert _without_the_moment(again.content) == _without_the_moment(first.content)
    assert "<img" not in text
    images = [image_address(turn, entry.image, timezone.now()) for entry in turn.item.images.all()]
    for address in [reverse("gapgame:turn-show", args=[turn.pk]), *images]:
        assert client.get(address).status_code == 404
    guess = {"number": "1", "guess": WORD}
    assert client.post(reverse("gapgame:guess-make", args=[turn.pk]), guess, **in_place).status_code == 404
    on = reverse("gapgame:turn-open", args=[world.season.slug])
    assert client.post(on, {"shown": turn.pk, "shown_ms": "9" * 18}, **in_place).status_code == 204
    assert client.get(reverse("gapgame:turn-show", args=[turn.pk])).status_code == 200


def test_when_the_turn_is_over_the_word_and_the_credits_are_told(world: World, client: Client) -> None:
    client.force_login(world.user)
    address = reverse("gapgame:turn-show", args=[world.turn.pk])
    assert WORD not in client.get(address).content.decode()
    world.guess("dog", "car", "tree")
    told = client.get(address).content.decode()
    assert WORD in told
    assert AUTHOR in told


def test_images_are_there_when_their_hint_is_due_and_not_before(world: World, client: Client) -> None:
    client.force_login(world.user)
    turn, now = world.turn, timezone.now()
    images = [entry.image for entry in turn.item.images.order_by("position")]
    addresses = [image_address(turn, image, now) for image in images]

    def there() -> list[int]:
        return [client.get(address).status_code for address in addresses]

    assert there() == [404, 404, 404, 404]
    world.guess("dog")
    assert there() == [200, 404, 404, 404]
    world.guess("car")
    assert there() == [200, 200, 200, 200]


def test_an_address_of_an_image_is_good_for_one_turn_of_one_player_and_runs_out(world: World, client: Client) -> None:
    world.guess("dog", "car")
    turn, now = world.turn, timezone.now()
    image = images_shown(turn)[0]
    other = make_player(world.season)
    playing.take_batch(player_id=other.pk, user=other.user, language="en", now=now, rng=Random(1))
    same = Turn.objects.get(player=other, item=turn.item_id)
    Turn.objects.filter(pk=same.pk).update(outcome=TurnOutcome.OPEN, opened_at=now, attempts_made=2)
    mine = image_address(turn, image, now)
    signature = mine.split("/")[-2]
    client.force_login(other.user)
    assert client.get(mine).status_code == 404
    assert client.get(reverse("gapgame:image-show", args=[same.pk, signature])).status_code == 404
    assert client.get(image_address(Turn.objects.get(pk=same.pk), image, now)).status_code == 200
    client.force_login(world.user)
    assert client.get(mine).status_code == 200
    long_ago = image_address(turn, image, now - timedelta(hours=ADDRESS_HOURS + 1))
    assert client.get(long_ago).status_code == 404


def test_the_same_image_in_two_turns_has_two_addresses_that_share_nothing(world: World) -> None:
    now = timezone.now()
    image = Image.objects.first()
    first, second = world.player.all_turns.order_by("position")[:2]
    pieces = [set(image_address(turn, image, now).split("/")[3:5]) for turn in (first, second)]
    assert not pieces[0] & pieces[1]


# The control: a walk that finds nothing would prove nothing.


def _open(request: HttpRequest) -> Turn:
    return Turn.objects.get(player__user=request.user.pk, outcome=TurnOutcome.OPEN)


def leak_of_length(request: HttpRequest) -> HttpResponse:
    return HttpResponse("_" * len(_open(request).item.word))


def leak_of_number(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"hints": _open(request).item.images.count()})


def leak_of_credit(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f'<img alt="{_open(request).item.images.first().image.title}">')


def leak_of_sense(request: HttpRequest) -> HttpResponse:
    return HttpResponse("", headers={"X-Sense": _open(request).item.sense[0].upper()})


def leak_of_split(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(_open(request).item.split))


def leak_of_others(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(max(Player.objects.values_list("total", flat=True))))


def leak_of_next_sentence(request: HttpRequest) -> HttpResponse:
    return HttpResponse(_open(request).batch.all_turns.get(position=2).item.after)


LEAKS = [
    leak_of_length, leak_of_number, leak_of_credit, leak_of_sense, leak_of_split, leak_of_others,
    leak_of_next_sentence,
]  # fmt: skip


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_the_walk_finds_a(leak: Callable[[HttpRequest], HttpResponse], world: World) -> None:
    with_one_image(world)
    world.walk().check_finds(leak)
