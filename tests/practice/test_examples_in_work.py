"""Images of practice examples never come as work to those who practise with them, and managers are told."""

from __future__ import annotations

from random import Random

import pytest
from django.urls import reverse

from annotation.services.batches import take_batch
from core.images.models import Collection
from core.people.models import User
from office.practice.models import PracticeKind
from office.practice.services.attempts import start_attempt
from office.practice.services.sets import ImageInWorkError, switch_practice
from sxs_eval.services.judging import take_batch as take_pairs
from tests.annotation.verifying import make_captioned_round, make_reviewer, make_verification, take
from tests.factories import (
    NOW,
    join_project,
    make_annotator,
    make_collection,
    make_comparison,
    make_project,
    make_rater,
    make_round,
)
from tests.practice.making import make_practice, new_item

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection() -> Collection:
    return make_collection(3)


def practise(project, collection, kind: PracticeKind = PracticeKind.RATING, **about):
    """Publish a practice with the first image of `collection`."""
    return make_practice(project, kind, items=[new_item(kind, image=collection.images.first())], **about)


def all_but_the_first(collection: Collection) -> set[int]:
    first = collection.images.first()
    return {image.pk for image in collection.images.all() if image != first}


def images_for(person: User, round) -> set[int]:
    batch = take_batch(round=round, person=person, now=NOW, rng=Random(1))
    return set(batch.items.values_list("image", flat=True)) if batch else set()


def test_a_later_round_leaves_them_out_for_everybody_in_the_project(collection):
    project = make_project()
    practise(project, collection, is_required=False)
    round = make_round(project=project, collection=collection)
    assert images_for(make_annotator(round, "anna"), round) == all_but_the_first(collection)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_who_practised_elsewhere_does_not_get_them_and_others_do(collection):
    elsewhere = make_round()
    practise(elsewhere.project, collection)
    round = make_round(collection=collection)
    anna, ben = make_annotator(round, "anna"), make_annotator(round, "ben")
    join_project(elsewhere.project, anna)
    start_attempt(person=anna, project=elsewhere.project, kind=PracticeKind.RATING, language="de", now=NOW)
    elsewhere.project.memberships.filter(user=anna).delete()
    assert collection.images.first().pk not in images_for(anna, round)
    assert len(images_for(ben, round)) == 3


@pytest.mark.long(reason="at least three others run each of its lines")
def test_after_an_example_is_replaced_only_those_who_practised_with_it_are_kept_away(collection):
    project = make_project()
    practise(project, collection, is_required=False)
    round = make_round(project=project, collection=collection)
    anna, ben = make_annotator(round, "anna"), make_annotator(round, "ben")
    start_attempt(person=anna, project=project, kind=PracticeKind.RATING, language="de", now=NOW)
    make_practice(project, is_required=False)
    assert len(images_for(anna, round)) == 2
    assert len(images_for(ben, round)) == 3


@pytest.mark.long(reason="at least three others run each of its lines")
def test_pairs_of_them_are_judged_by_nobody_who_practised(collection):
    project = make_project()
    practise(project, collection, PracticeKind.COMPARING, is_required=False)
    comparison = make_comparison(project=project, collection=collection)
    batch = take_pairs(comparison=comparison, person=make_rater(comparison), now=NOW, rng=Random(1))
    images = set(batch.judgements.exclude(pair=None).values_list("pair__image", flat=True))
    assert images == all_but_the_first(collection)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_captions_of_them_are_rated_by_nobody_who_practised():
    captioned, _authors = make_captioned_round(images=3, captions=1)
    round = make_verification(captioned)
    elsewhere = make_round()
    practise(elsewhere.project, captioned.collection)
    rater = make_reviewer(round)
    start_attempt(person=rater, project=elsewhere.project, kind=PracticeKind.RATING, language="de", now=NOW)
    batch = take(round, rater)
    assert batch is not None
    images = set(batch.verdicts.values_list("caption__image", flat=True))
    assert images == all_but_the_first(captioned.collection)


def test_images_that_are_compared_are_no_examples(collection):
    comparison = make_comparison(collection=collection)
    with pytest.raises(ImageInWorkError, match="for: 1"):
        practise(comparison.project, collection, PracticeKind.COMPARING)


def test_practice_whose_images_came_into_work_can_be_switched_off_but_not_on_again(collection):
    project = make_project()
    practice = practise(project, collection)
    make_comparison(project=project, collection=collection)
    off = switch_practice(practice=practice, is_required=False, by=project.created_by, now=NOW)
    with pytest.raises(ImageInWorkError, match="for: 1"):
        switch_practice(practice=off, is_required=True, by=project.created_by, now=NOW)


def test_managers_read_it_where_they_plan(client, collection):
    project = make_project()
    practise(project, collection)
    round = make_round(project=project, collection=collection)
    client.force_login(project.created_by)
    address = reverse("annotation:language-show", args=[project.slug, round.language_id])
    says = "1 image of the collection is a practice example in this project"
    assert says in client.get(address).content.decode()
    make_practice(project)
    assert says not in client.get(address).content.decode()
