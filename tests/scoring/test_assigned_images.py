"""Nobody reads here what is said of an image that they write about, judge or play with in another project."""

from __future__ import annotations

from random import Random

import pytest
from django.urls import reverse

from core.images.models import CollectionImage
from core.people.models import Membership, Role
from research.scoring.services.references import put_references
from sxs_eval.services.judging import take_batch as take_to_judge
from tests.annotation.submitting import take
from tests.exported import export_address
from tests.factories import (
    NOW,
    make_annotator,
    make_captioner,
    make_comparison,
    make_item,
    make_item_set,
    make_player,
    make_rater,
    make_round,
    make_season,
)
from tests.gapgame.seasons import close, play
from tests.scoring.scored import make_references, make_scoring, run

pytestmark = pytest.mark.django_db


def writes(collection):
    round = make_round(collection=collection)
    person = make_annotator(round)
    take(round, person)
    return person


def judges(collection):
    comparison = make_comparison(collection=collection)
    person = make_rater(comparison)
    take_to_judge(comparison=comparison, person=person, now=NOW, rng=Random(1))
    return person


def plays(collection):
    return player_of(collection).user


def player_of(collection):
    item_set = make_item_set()
    item = make_item(item_set)
    for image, entry in zip(item.images.all(), collection.entries.all(), strict=True):
        image.image = entry.image
        image.save()
    player = make_player(make_season(item_set=item_set, items=0))
    play(player, item=item)
    return player


def what_is_read(client, scorings, *, is_all=True):
    """All that the pages and files of a project say to who is logged in, or a page of each kind."""
    slug, (one, other) = scorings[0].project.slug, scorings
    addresses = [
        reverse("scoring:scoring-images", args=[slug, one.pk]),
        reverse("scoring:reference-show", args=[slug, one.references_id]),
        reverse("scoring:scoring-show", args=[slug, one.pk]),
        reverse("scoring:score-compare", args=[slug]) + f"?test={one.pk}&base={other.pk}",
        reverse("sxs_eval:metrics-show", args=[slug]),
        export_address(slug, "scores"),
        *(export_address(slug, "image-scores", format) for format in ("csv", "jsonl")),
    ]
    read = []
    for address in addresses if is_all else addresses[:2]:
        response = client.get(address, follow=True)
        assert response.status_code in (200, 422)
        read.append(b"".join(response) if response.streaming else response.content)
    return b"".join(read).decode()


def test_captions_and_references_are_kept_from_who_is_busy_with_the_image(client):
    references = make_references()
    collection = references.collection
    models = [make_captioner(collection, text=text, language="de") for text in ("test caption", "other words")]
    scorings = [make_scoring(references, model=model) for model in models]
    for scoring in scorings:
        run(scoring)
    key = CollectionImage.objects.filter(collection=collection).order_by("pk").first().key
    said = [f"test caption of {key}", f"other words of {key}", f"an image of {key}", f'"{key}"']
    client.force_login(references.project.created_by)
    read = what_is_read(client, scorings)
    assert [text for text in said if text in read] == said

    for busy in (writes, judges, plays):
        person = busy(collection)
        Membership.objects.create(project=references.project, user=person, role=Role.RESEARCHER)
        client.force_login(person)
        # How somebody is busy is asked in one place; what all pages make of it, the first shows.
        read = what_is_read(client, scorings, is_all=busy is writes)
        assert [text for text in said if text in read] == [], busy


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_was_played_with_in_a_season_that_is_over_is_in_nobodys_hands(client):
    references = make_references()
    scoring = make_scoring(references)
    run(scoring)
    player = player_of(references.collection)
    close(player.season)
    Membership.objects.create(project=references.project, user=player.user, role=Role.RESEARCHER)
    client.force_login(player.user)
    assert client.get(reverse("scoring:scoring-images", args=[references.project.slug, scoring.pk])).status_code == 200


@pytest.mark.long(reason="at least three others run each of its lines")
def test_an_image_that_lost_its_references_is_shown_no_more(client):
    """Whether somebody has it in hand is found out by them."""
    references = make_references()
    scoring = make_scoring(references)
    run(scoring)
    gone = references.collection.entries.first()
    put_references(reference_set=references, captions={gone.image_id: []}, now=NOW)
    client.force_login(references.project.created_by)
    page = client.get(reverse("scoring:scoring-images", args=[references.project.slug, scoring.pk]))
    assert len(page.context["listing"]["images"]) == 2
    assert gone.key not in page.content.decode()
