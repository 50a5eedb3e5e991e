"""Selections from start to exchange: drafts, collections, one image for another, and two managers at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from annotation.models import RoundKind, RoundState
from annotation.services.campaign import open_round
from core.jobs.models import JobState
from core.jobs.services import leases
from core.people.models import AuditEntry
from research.selection.models import Exchange, LanguageCollection, SelectedImage, Selection
from research.selection.rules.tables import PlaceLevel
from research.selection.selectors.image_places import chosen_of
from research.selection.services.exchanges import exchange_image, suggestions
from research.selection.services.selections import (
    SelectionRefusedError,
    confirm_selection,
    discard_selection,
    run_selection,
    start_selection,
)
from tests.factories import NOW, make_language, make_project, make_round
from tests.selection.selecting import (
    AREAS,
    FRANCE,
    SEA,
    TELANGANA,
    WEST_BENGAL,
    give_table,
    made_places,  # noqa: F401 a fixture
    make_placed_collection,
    make_selection,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("made_places")]

GOLDEN = ["in-wb-001", "in-wb-003", "fr-75-004", "fr-75-000", "in-tg-005", "in-wb-002", "in-tg-002", "in-tg-004"]


@pytest.fixture
def project():
    project = make_project("lions")
    give_table(project)
    return project


@pytest.fixture
def collection(project):
    return make_placed_collection({WEST_BENGAL: 6, TELANGANA: 6, FRANCE: 6, SEA: 6})


def exchange(row: SelectedImage, **changes) -> SelectedImage:
    values: dict[str, Any] = {
        "selected": row,
        "reason": "A blurred image.",
        "by": row.selection.project.created_by,
        "now": NOW,
    }
    return exchange_image(**values | changes)


def confirm(selection: Selection, **options):
    return confirm_selection(selection=selection, by=selection.project.created_by, now=NOW, **options)


def test_a_seed_gives_the_same_selection_on_every_database(project, collection):
    selection = make_selection(project, collection)

    assert list(selection.selected_images.order_by("language", "position").values_list("key", flat=True)) == GOLDEN


def test_everything_that_a_selection_depends_on_is_stored_with_it(project, collection):
    selection = make_selection(project, collection, levels=["region", "country"])
    row = selection.selected_images.get(language="bn", position=1)

    assert (selection.seed, selection.levels, selection.borders) == (7, ["region", "country"], "made")
    assert selection.areas["te"] == AREAS["te"]
    assert selection.table
    assert (row.level, row.countries, row.regions, row.continent) == ("region", "IN", "IN-WB", "AS")
    assert selection.counts["languages"]["hi"]["missing"] == 0


def test_images_without_a_place_cannot_be_chosen_and_are_counted(project, collection):
    first = collection.entries.order_by("position").first()
    first.image.place.problem = "null_island"
    first.image.place.save()
    collection.entries.order_by("position").last().image.place.delete()

    selection = make_selection(project, collection, per_language=6)

    assert selection.counts["left_out"] == {"no_place": 2}
    assert not selection.selected_images.filter(key=first.key).exists()


@pytest.mark.postgres
def test_confirmed_images_are_a_collection_in_the_order_of_languages(project, collection):
    made = confirm(make_selection(project, collection))

    assert list(made.entries.order_by("position").values_list("key", flat=True)) == GOLDEN
    assert made.project == project
    assert not made.is_shared


def keys_by_language(selection: Selection) -> dict[str, list[str]]:
    return {
        one.language_id: list(one.collection.entries.order_by("position").values_list("key", flat=True))
        for one in selection.language_collections.all()
    }


def test_each_language_can_get_a_collection_of_its_own_beside_that_of_all(project, collection):
    plain, selection = make_selection(project, collection), make_selection(project, collection, name="Places")
    confirm(plain)
    made = confirm(selection, by_language=True)

    assert not plain.language_collections.exists()
    assert made.entries.count() == 8
    of_rows = {tag: list(selection.selected_images.filter(language=tag).values_list("key", flat=True)) for tag in AREAS}
    assert keys_by_language(selection) == of_rows
    own = selection.language_collections.get(language="te").collection
    assert (own.name, own.project, own.is_shared) == ("Places – Telugu", project, False)
    entry = AuditEntry.objects.filter(action="selection.confirmed").order_by("pk").last()
    assert (entry.details["images"], entry.details["by_language"]) == (8, True)


def test_the_collection_of_a_language_follows_exchanges(project, collection):
    selection = make_selection(project, collection)
    confirm(selection, by_language=True)
    old = selection.selected_images.get(language="fr", position=1).key
    exchange(selection.selected_images.get(language="fr", position=1))
    new = selection.selected_images.get(language="fr", position=1).key
    assert new != old
    assert keys_by_language(selection)["fr"][0] == new


@pytest.mark.postgres
def test_one_collection_per_language_is_a_rule_of_the_database(project, collection):
    selection = make_selection(project, collection)
    whole = confirm(selection, by_language=True)
    with pytest.raises(IntegrityError), transaction.atomic():
        LanguageCollection.objects.create(selection=selection, language_id="fr", collection=whole)


def test_a_selection_is_confirmed_once_and_then_not_discarded(project, collection):
    selection = make_selection(project, collection)
    confirm(selection)

    with pytest.raises(SelectionRefusedError, match="confirmed already"):
        confirm(selection)
    with pytest.raises(SelectionRefusedError, match="Only drafts"):
        discard_selection(selection=selection, by=None, now=NOW)


def test_a_discarded_draft_is_gone_and_the_log_says_so(project, collection):
    selection = make_selection(project, collection)
    discard_selection(selection=selection, by=project.created_by, now=NOW)

    assert not Selection.objects.exists()
    assert [entry.action for entry in project.audit_entries.order_by("number")] == [
        "selection.started",
        "selection.discarded",
    ]


def test_a_draft_is_chosen_anew_where_a_worker_died(project, collection):
    selection = make_selection(project, collection)
    Selection.objects.filter(pk=selection.pk).update(state=JobState.RUNNING, lease_until=NOW)
    later = NOW + timedelta(hours=1)

    assert leases.rows_to_nudge(Selection.objects.all(), now=later) == [selection.pk]
    run_selection(selection_id=selection.pk, clock=lambda: later)

    selection.refresh_from_db()
    assert selection.state == JobState.DONE
    assert selection.selected_images.count() == len(GOLDEN)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"languages": []}, "at least one language"),
        ({"levels": []}, "at least one level"),
        ({"per_language": 0}, "at least one image"),
        ({"per_language": 10**10}, "at most 100000 images"),
        ({"name": "n" * 121}, "at most 120 characters"),
    ],
)
def test_a_selection_of_nothing_or_too_much_is_refused(project, collection, change, why):
    about = {"project": project, "source": collection, "languages": [make_language("fr")], "per_language": 1, "seed": 1}

    with pytest.raises(SelectionRefusedError, match=why):
        start_selection(**about | change, by=None, now=NOW)


def test_a_collection_of_another_project_cannot_be_chosen_from(project, collection):
    collection.is_shared, collection.project = False, make_project("tigers")
    collection.save()

    with pytest.raises(SelectionRefusedError, match="may not use"):
        make_selection(project, collection)


def test_an_exchanged_image_makes_place_for_the_next_of_the_best_level(project, collection):
    selection = make_selection(project, collection)
    made = confirm(selection)
    row = selection.selected_images.get(language="hi", position=1)
    [expected, *_] = suggestions(selection, "hi", at_most=1)

    new = exchange(row)

    assert new.key == expected.key
    assert new.position == 1
    assert made.entries.filter(key=new.key).exists()
    assert not made.entries.filter(key=row.key).exclude(key=new.key).exists()
    kept = Exchange.objects.get()
    assert (kept.added, kept.reason) == (new.key, "A blurred image.")


def test_a_removed_image_never_comes_back(project, collection):
    selection = make_selection(project, collection)
    row = selection.selected_images.get(language="fr", position=1)
    removed = row.key
    seen = {removed}
    for _ in range(4):
        seen.add(exchange(row).key)
        row.refresh_from_db()

    assert len(seen) == 5
    with pytest.raises(SelectionRefusedError, match="cannot come back"):
        exchange(row, replacement=removed)


def test_a_manager_can_name_the_image_that_comes_in(project, collection):
    selection = make_selection(project, collection)
    row = selection.selected_images.get(language="fr", position=2)
    taken = set(selection.selected_images.values_list("key", flat=True))
    free = next(key for number in range(6) if (key := f"in-wb-{number:03d}") not in taken)

    new = exchange(row, replacement=free)

    assert (new.key, new.level, new.regions) == (free, PlaceLevel.ANYWHERE, "IN-WB")


@pytest.mark.parametrize(
    ("replacement", "why"), [("CHOSEN", "chosen already"), ("no-such", "no image"), ("sea-000", "does not take")]
)
def test_what_cannot_come_in_is_refused(project, collection, replacement, why):
    selection = make_selection(project, collection, levels=["region"])
    if replacement == "CHOSEN":
        replacement = selection.selected_images.filter(language="bn").first().key

    with pytest.raises(SelectionRefusedError, match=why):
        exchange(selection.selected_images.get(language="fr", position=1), replacement=replacement)
    assert not Exchange.objects.exists()


@pytest.mark.postgres
def test_an_exchange_needs_a_reason(project, collection):
    selection = make_selection(project, collection)

    with pytest.raises(SelectionRefusedError, match="reason"):
        exchange(selection.selected_images.first(), reason=" ")
    with pytest.raises(IntegrityError, match="exchange_for_a_reason"), transaction.atomic():
        Exchange.objects.create(
            selection=selection, language_id="fr", removed="a", added="b", removed_level="region",
            added_level="region", reason="", at=NOW,
        )  # fmt: skip


def test_when_nothing_is_left_an_exchange_is_refused_and_the_image_stays(project):
    selection = make_selection(project, make_placed_collection({FRANCE: 2}), languages=["fr"])

    with pytest.raises(SelectionRefusedError, match="No other image"):
        exchange(selection.selected_images.first())
    assert selection.selected_images.count() == 2


def test_no_image_is_exchanged_once_a_round_is_open(project, collection):
    selection = make_selection(project, collection)
    made = confirm(selection)
    pilot = make_round(
        project=project, collection=made, kind=RoundKind.PILOT, state=RoundState.PLANNED, with_tasks=False
    )
    selection.refresh_from_db()
    row = selection.selected_images.get(language="fr", position=1)

    exchange(row)
    open_round(round=pilot, by=project.created_by, now=NOW)

    with pytest.raises(SelectionRefusedError, match="round"):
        exchange(selection.selected_images.get(language="fr", position=2))


def test_a_round_of_a_language_with_its_own_images_keeps_only_these(project, collection):
    selection = make_selection(project, collection)
    confirm(selection, by_language=True)
    own = selection.language_collections.get(language="fr").collection
    pilot = make_round(
        project=project, collection=own, kind=RoundKind.PILOT, state=RoundState.PLANNED, with_tasks=False
    )
    open_round(round=pilot, by=project.created_by, now=NOW)

    exchange(selection.selected_images.get(language="te", position=1))
    with pytest.raises(SelectionRefusedError, match="round"):
        exchange(selection.selected_images.get(language="fr", position=1))


def test_the_newest_confirmed_selection_says_what_an_image_was_chosen_for(project, collection):
    first, second = make_selection(project, collection), make_selection(project, collection, languages=["hi"])
    image = first.selected_images.get(language="bn", position=1).image_id
    assert chosen_of(project, [image]) == {}
    confirm(first)

    chosen = chosen_of(project, [image])[image]
    assert (chosen.language_id, chosen.level) == ("bn", "region")
    confirm_selection(selection=second, by=None, now=NOW + timedelta(days=1))
    of_second = set(second.selected_images.values_list("image", flat=True))
    assert {chosen_of(project, of_second)[one].language_id for one in of_second} == {"hi"}
