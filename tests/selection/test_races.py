"""Rivals: images whose places are looked up by several at once, and tables of languages that several replace."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import IntegrityError

from core.images.models import Image
from core.people.models import AuditEntry, Project
from geography.borders import shipped_borders
from research.selection.models import ImagePlace, ImagePlaceCode, LanguageTable
from research.selection.rules.tables import shipped_table
from research.selection.selectors.tables import checked_table, table_of
from research.selection.services import places
from research.selection.services.places import locate_images
from research.selection.services.tables import TableChangedError, replace_table
from tests.concurrency import together, together_with_errors
from tests.factories import NOW, make_image

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]

VENICE, CRIMEA, HYDERABAD = (45.427, 12.328), (44.616, 33.525), (17.385, 78.487)
LOOKED_UP = {"IT", "IT-VE", "IT-34", "RU", "UA", "UA-40", "IN", "IN-TG"}


@pytest.fixture
def images() -> list[Image]:
    shipped_borders().locate([0.1], [0.1])
    return [make_image(latitude=at[0], longitude=at[1]) for at in (VENICE, CRIMEA, HYDERABAD)]


def all_read_first(monkeypatch: pytest.MonkeyPatch, callers: int) -> None:
    """Let nobody store anything before everybody has read which images have no place."""
    barrier, mine, real = threading.Barrier(callers), threading.local(), places._outdated

    def read(*arguments: Any) -> Any:
        found = real(*arguments)
        if not hasattr(mine, "has_read"):
            mine.has_read = True
            assert found
            barrier.wait(30)
        return found

    monkeypatch.setattr(places, "_outdated", read)


def check(images: list[Image]) -> None:
    assert ImagePlace.objects.count() == len(images)
    codes = list(ImagePlaceCode.objects.values_list("image", "code"))
    assert len(codes) == len(set(codes))
    assert {code for _, code in codes} == LOOKED_UP


def test_all_who_look_up_the_same_images_store_each_place_once(images, monkeypatch) -> None:
    all_read_first(monkeypatch, 3)

    done = together(lambda _: locate_images(), range(3))

    assert done == [3, 3, 3]
    check(images)


def test_who_read_an_image_before_it_moved_does_not_store_where_it_was(images, monkeypatch) -> None:
    read, moved, real = threading.Event(), threading.Event(), places._store

    def store(*arguments: Any) -> int:
        read.set()
        assert moved.wait(30)
        return real(*arguments)

    def move(_: object) -> None:
        assert read.wait(30)
        Image.objects.filter(pk=images[0].pk).update(latitude=HYDERABAD[0], longitude=HYDERABAD[1])
        moved.set()

    monkeypatch.setattr(places, "_store", store)
    together(lambda work: work(None), [lambda _: locate_images(), move])

    assert not ImagePlace.objects.filter(image=images[0]).exists()
    assert locate_images() == 1
    assert ImagePlace.objects.get(image=images[0]).countries == "IN"


def test_control_without_the_lock_two_delete_and_insert_the_same_codes(images, monkeypatch) -> None:
    both_have_deleted = threading.Barrier(2)
    [place] = shipped_borders().locate(*([each] for each in VENICE))

    def naive(_: int) -> None:
        ImagePlaceCode.objects.filter(image=images[0]).delete()
        both_have_deleted.wait(30)
        ImagePlaceCode.objects.bulk_create(
            ImagePlaceCode(image=images[0], code=code) for code in (*place.countries, *place.regions)
        )

    outcomes = together_with_errors(naive, range(2))

    [refused] = [one for one in outcomes if isinstance(one, BaseException)]
    assert isinstance(refused, IntegrityError)


TAGS = ("bn", "te", "hi", "fr")


def changed(tag: str) -> dict[str, object]:
    """What a manager saves who has the shipped table before them and changes one language."""
    return dict(shipped_table().as_entries()) | {tag: {"region": ["IS"]}}


def languages_changed(project: Project) -> set[str]:
    table = table_of(project)
    return {tag for tag in TAGS if table.areas[tag].region == {"IS"}}


def test_of_four_changes_based_on_the_same_version_one_is_saved_and_three_are_told(project):
    seen = table_of(project).version

    def save(tag: str) -> LanguageTable | None:
        table = checked_table(changed(tag))
        return replace_table(project=project, table=table, note="", by=None, now=NOW, expected=seen)

    outcomes = together_with_errors(save, TAGS)

    assert sum(isinstance(one, TableChangedError) for one in outcomes) == 3
    [made] = [one for one in outcomes if isinstance(one, LanguageTable)]
    assert (made.number, LanguageTable.objects.count()) == (1, 1)
    assert len(languages_changed(project)) == 1
    assert AuditEntry.objects.filter(action="language-table.replaced").count() == 1


def test_versions_that_are_asked_for_at_once_get_numbers_of_their_own(project):
    def save(tag: str) -> LanguageTable | None:
        return replace_table(project=project, table=checked_table(changed(tag)), note="", by=None, now=NOW)

    made = together(save, TAGS)

    assert sorted(one.number for one in made if one) == [1, 2, 3, 4]


def test_control_without_the_version_expected_the_last_takes_back_the_others_unseen(project):
    all_have_read = threading.Barrier(len(TAGS))

    def naive(tag: str) -> LanguageTable | None:
        entries = dict(table_of(project).as_entries())
        all_have_read.wait(30)
        table = checked_table(entries | {tag: {"region": ["IS"]}})
        return replace_table(project=project, table=table, note="", by=None, now=NOW)

    together(naive, TAGS)

    assert LanguageTable.objects.count() == 4
    assert len(languages_changed(project)) == 1, "three changes are lost"
