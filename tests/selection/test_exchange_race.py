"""Two managers who exchange images at the same moment never use one image twice."""

from __future__ import annotations

import threading

import pytest
from django.db import IntegrityError

from research.selection.models import SelectedImage
from research.selection.services.exchanges import exchange_image, suggestions
from research.selection.services.selections import SelectionRefusedError
from tests.concurrency import together, together_with_errors
from tests.factories import NOW, make_project
from tests.selection.selecting import (
    FRANCE,
    give_table,
    made_places,  # noqa: F401 a fixture
    make_placed_collection,
    make_selection,
)

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("made_places")]


@pytest.fixture
def rows():
    project = make_project("lions")
    give_table(project)
    selection = make_selection(project, make_placed_collection({FRANCE: 12}), languages=["fr"], per_language=4)
    return list(selection.selected_images.order_by("position").values_list("pk", flat=True))


def exchange(pk: int, replacement: str = "") -> str:
    row = SelectedImage.objects.select_related("selection__project").get(pk=pk)
    new = exchange_image(selected=row, replacement=replacement, reason="Blurred.", by=None, now=NOW)
    return new.key


def test_each_of_four_exchanges_at_once_gets_an_image_of_its_own(rows):
    new = together(exchange, rows)

    assert len(set(new)) == 4
    assert set(SelectedImage.objects.values_list("key", flat=True)) == set(new)


def test_an_image_that_two_managers_name_goes_to_one_of_them(rows):
    [free, *_] = suggestions(SelectedImage.objects.get(pk=rows[0]).selection, "fr", at_most=1)

    outcomes = together_with_errors(lambda pk: exchange(pk, free.key), rows[:2])

    assert [type(one) for one in outcomes if isinstance(one, BaseException)] == [SelectionRefusedError]
    assert SelectedImage.objects.filter(key=free.key).count() == 1


def test_the_same_image_is_exchanged_once_when_two_managers_press_the_button(rows):
    loaded = SelectedImage.objects.select_related("selection__project").get(pk=rows[0])

    def press(_: int) -> str:
        return exchange_image(selected=loaded, reason="Blurred.", by=None, now=NOW).key

    outcomes = together_with_errors(press, range(2))

    assert sum(isinstance(one, SelectionRefusedError) for one in outcomes) == 1
    assert loaded.selection.exchanges.count() == 1


def test_control_without_the_lock_both_choose_the_same_and_only_the_constraint_refuses(rows):
    both_have_looked = threading.Barrier(2)

    def naive(pk: int) -> int:
        row = SelectedImage.objects.select_related("selection").get(pk=pk)
        [best] = suggestions(row.selection, "fr", at_most=1)
        both_have_looked.wait(30)
        return SelectedImage.objects.filter(pk=pk).update(key=best.key, image=best.image_id)

    outcomes = together_with_errors(naive, rows[:2])

    [refused] = [one for one in outcomes if isinstance(one, BaseException)]
    assert isinstance(refused, IntegrityError)
