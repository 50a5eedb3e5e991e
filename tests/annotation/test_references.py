"""The captions of a round become references: those that count, once, and brought up to date when more have come."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse

from annotation.models import Caption, Round, RoundKind
from annotation.services import references
from annotation.services.references import use_as_references
from core.people.models import Membership, Role, User
from research.scoring.models import Reference, ReferenceKind, ReferenceSet
from research.scoring.services.references import ReferenceFileError
from tests.annotation.submitting import submit_captions
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_round, make_user
from tests.scoring.scored import make_references

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


def texts(references: ReferenceSet) -> set[tuple[int, int, str]]:
    return set(references.references.values_list("image_id", "position", "text"))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_captions_that_count_become_references_and_those_that_come_later_follow(monkeypatch):
    monkeypatch.setattr(references, "IMAGES_PER_TRANSACTION", 2)
    round = make_round(replication=3)
    manager = round.project.created_by
    submit_captions(round, make_annotator(round), "Ein Bild")
    submit_captions(round, make_annotator(round), "Zu spät", now=NOW + MINUTE)
    Caption.objects.filter(text__startswith="Zu").update(state="late")

    first = use_as_references(round=round, by=manager, now=NOW)

    assert (first.kind, first.language, first.collection) == (ReferenceKind.COLLECTED, round.language, round.collection)
    assert (first.images, first.captions, first.created_by) == (3, 3, manager)
    written = Caption.objects.filter(state="counted").values_list("image_id", "text")
    before = texts(first)
    assert before == {(image, 1, text) for image, text in written}

    submit_captions(round, make_annotator(round), "Noch eins", now=NOW + 2 * MINUTE)
    again = use_as_references(round=round, by=manager, now=NOW + 3 * MINUTE)

    assert (again.pk, again.images, again.captions) == (first.pk, 3, 6)
    assert texts(again) > before
    assert again.digest != first.digest
    assert again.changed_at == NOW + 3 * MINUTE


@pytest.mark.long(reason="at least three others run each of its lines")
def test_with_nothing_new_nothing_changes():
    round = make_round()
    submit_captions(round, make_annotator(round))
    first = use_as_references(round=round, by=round.project.created_by, now=NOW)
    rows = set(Reference.objects.values_list("pk", flat=True))

    again = use_as_references(round=round, by=round.project.created_by, now=NOW + MINUTE)

    assert (again.digest, again.changed_at) == (first.digest, first.changed_at)
    assert set(Reference.objects.values_list("pk", flat=True)) == rows


def test_a_name_that_other_references_have_is_refused_and_told():
    round = make_round()
    submit_captions(round, make_annotator(round))
    made = use_as_references(round=round, by=round.project.created_by, now=NOW)
    made.delete()
    make_references(project=round.project, collection=round.collection, name=made.name)

    with pytest.raises(ReferenceFileError, match="Choose another name"):
        use_as_references(round=round, by=round.project.created_by, now=NOW)


def test_a_round_without_captions_that_count_makes_no_references():
    round = make_round(kind=RoundKind.PILOT)
    with pytest.raises(ReferenceFileError, match="No caption of this round counts yet"):
        use_as_references(round=round, by=round.project.created_by, now=NOW)
    assert not ReferenceSet.objects.exists()


def ask(person: User, round: Round) -> int:
    client = client_of(person)
    address = reverse("annotation:references-use", args=[round.project.slug, round.pk])
    assert client.get(address).status_code == 405
    return client.post(address).status_code


def test_only_a_manager_of_the_project_asks_for_it():
    round, elsewhere = make_round(), make_round()
    annotator, researcher = make_annotator(round), make_user()
    Membership.objects.create(project=round.project, user=researcher, role=Role.RESEARCHER)
    submit_captions(round, annotator)

    for outsider in (annotator, researcher, make_user(), elsewhere.project.created_by):
        assert ask(outsider, round) == 404
    assert not ReferenceSet.objects.exists()

    assert ask(round.project.created_by, round) == 302
    assert ReferenceSet.objects.get().captions == 3


def test_the_page_of_a_round_has_the_button():
    round = make_round()
    client = client_of(round.project.created_by)

    page = client.get(reverse("annotation:round-settings", args=[round.project.slug, round.pk]))

    assert reverse("annotation:references-use", args=[round.project.slug, round.pk]) in page.content.decode()
