"""Choosing images by place: against brute force on small worlds, its properties, and the published outcome in kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geography.places import PointPlace
from research.selection.rules import selection
from research.selection.rules.selection import LEVELS, SelectedImages, choose, hash_of
from research.selection.rules.tables import Areas, PlaceLevel, level_of

PLACES = [
    PointPlace(("IN",), ("IN-WB",), "AS"),
    PointPlace(("IN",), ("IN-TG",), "AS"),
    PointPlace(("IN",), ("IN-UP",), "AS"),
    PointPlace(("BD",), (), "AS"),
    PointPlace(("CA",), ("CA-QC",), "NA"),
    PointPlace(("FR",), (), "EU"),
    PointPlace(("CN", "IN"), (), "AS"),
    PointPlace(),
]
AREAS = {
    "bn": Areas(frozenset({"IN-WB", "BD"}), frozenset({"IN", "BD"}), frozenset({"AS"})),
    "te": Areas(frozenset({"IN-TG"}), frozenset({"IN"}), frozenset({"AS"})),
    "hi": Areas(frozenset({"IN"}), frozenset({"IN"}), frozenset({"AS"})),
    "fr": Areas(frozenset({"FR", "CA-QC"}), frozenset({"FR", "CA"}), frozenset({"EU", "NA"})),
}

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""On a busy machine even small worlds take long."""

worlds = st.fixed_dictionaries(
    {
        "places": st.lists(st.integers(0, len(PLACES) - 1), max_size=30),
        "languages": st.sets(st.sampled_from([*AREAS, "mi"]), min_size=1),
        "per_language": st.integers(1, 6),
        "seed": st.integers(-(2**63), 2**63 - 1),
        "levels": st.sets(st.sampled_from(LEVELS), min_size=1),
    }
)


def chosen_from(
    places: Sequence[int],
    *,
    areas: Mapping[str, Areas] = AREAS,
    languages: Sequence[str] = tuple(AREAS),
    per_language: int = 2,
    seed: int = 1,
    levels: Sequence[PlaceLevel] = LEVELS,
) -> SelectedImages:
    return choose(
        keys=[f"image-{number}" for number in range(len(places))],
        places=places,
        distinct=PLACES,
        areas=areas,
        languages=languages,
        per_language=per_language,
        seed=seed,
        levels=levels,
    )


def brute_force(world) -> set[tuple[str, str, str]]:
    """The rule word by word, one candidate after another."""
    free = {f"image-{number}": PLACES[place] for number, place in enumerate(world["places"])}
    own = {
        tag: {key: level_of(place, AREAS.get(tag, Areas())) for key, place in free.items()}
        for tag in world["languages"]
    }
    turns = sorted(own, key=lambda tag: (list(own[tag].values()).count(PlaceLevel.REGION), tag))
    taken = set()
    for tag in turns:
        wanted = world["per_language"]
        for level in LEVELS:
            if level not in world["levels"]:
                continue
            pool = [key for key in free if own[tag][key] == level]
            for key in sorted(pool, key=lambda key: (hash_of(key, world["seed"]), key))[:wanted]:
                taken.add((key, tag, str(level)))
                del free[key]
                wanted -= 1
    return taken


@unhurried
@given(worlds)
def test_a_greedy_by_brute_force_agrees(world):
    choice = chosen_from(**world)

    assert {(one.key, one.language, str(one.level)) for one in choice.images} == brute_force(world)


@unhurried
@given(worlds)
def test_an_image_is_chosen_once_and_levels_never_get_better_again(world):
    choice = chosen_from(**world)

    assert len({one.index for one in choice.images}) == len(choice.images)
    for tag in world["languages"]:
        own = [one for one in choice.images if one.language == tag]
        assert [one.position for one in own] == list(range(1, len(own) + 1))
        assert [LEVELS.index(one.level) for one in own] == sorted(LEVELS.index(one.level) for one in own)
        assert len(own) + choice.languages[tag].missing == world["per_language"]


@unhurried
@given(worlds)
def test_no_better_image_is_left_while_a_worse_one_was_taken(world):
    choice = chosen_from(**world)
    chosen = {one.index for one in choice.images}
    left = [PLACES[place] for number, place in enumerate(world["places"]) if number not in chosen]

    for one in choice.images:
        better = [LEVELS[rank] for rank in range(LEVELS.index(one.level)) if LEVELS[rank] in world["levels"]]
        assert not [place for place in left if level_of(place, AREAS.get(one.language, Areas())) in better]


@unhurried
@given(worlds, st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_changes_nothing(world, random: Random):
    numbers = list(range(len(world["places"])))
    random.shuffle(numbers)
    shuffled = choose(
        keys=[f"image-{number}" for number in numbers],
        places=[world["places"][number] for number in numbers],
        distinct=PLACES,
        areas=AREAS,
        **{name: world[name] for name in ("languages", "per_language", "seed", "levels")},
    )
    straight = chosen_from(**world)

    assert [(one.key, one.language, one.position) for one in shuffled.images] == [
        (one.key, one.language, one.position) for one in straight.images
    ]
    assert shuffled.languages == straight.languages


def test_hindi_loses_its_region_to_the_smaller_languages_of_india():
    """The published outcome in kind: Bengali and Telugu have smaller pools, and take what Hindi also wanted."""
    west_bengal, telangana, france, sea = 0, 1, 5, 7
    places = [west_bengal] * 100 + [telangana] * 100 + [france] * 100 + [sea] * 500
    choice = chosen_from(places, per_language=100)

    assert list(choice.languages) == ["bn", "fr", "te", "hi"]
    assert [choice.languages[tag].chosen[PlaceLevel.REGION] for tag in ("bn", "te", "fr")] == [100, 100, 100]
    hindi = choice.languages["hi"]
    assert hindi.pool == {
        PlaceLevel.REGION: 200,
        PlaceLevel.COUNTRY: 0,
        PlaceLevel.CONTINENT: 0,
        PlaceLevel.ANYWHERE: 600,
    }
    assert hindi.free == {
        PlaceLevel.REGION: 0,
        PlaceLevel.COUNTRY: 0,
        PlaceLevel.CONTINENT: 0,
        PlaceLevel.ANYWHERE: 500,
    }
    assert hindi.chosen == {
        PlaceLevel.REGION: 0,
        PlaceLevel.COUNTRY: 0,
        PlaceLevel.CONTINENT: 0,
        PlaceLevel.ANYWHERE: 100,
    }


def test_a_seed_gives_the_same_images_on_every_computer():
    assert hash_of("image-1", 7) == 4238222748065690683
    assert [one.key for one in chosen_from([5] * 12, languages=["fr"], per_language=4, seed=7).images] == [
        "image-4",
        "image-0",
        "image-11",
        "image-1",
    ]


def test_another_seed_gives_other_images():
    first, second = (
        {one.key for one in chosen_from([5] * 50, languages=["fr"], per_language=10, seed=seed).images}
        for seed in (1, 2)
    )

    assert first != second


def test_equal_hashes_are_ordered_by_key(monkeypatch):
    monkeypatch.setattr(selection, "hash_of", lambda key, seed: 7)

    assert [one.key for one in chosen_from([5] * 12, languages=["fr"], per_language=3).images] == [
        "image-0",
        "image-1",
        "image-10",
    ]


def test_levels_that_are_not_allowed_leave_images_missing():
    choice = chosen_from([0, 3, 7], languages=["te"], per_language=3, levels=[PlaceLevel.REGION, PlaceLevel.COUNTRY])

    assert [(one.key, one.level) for one in choice.images] == [("image-0", PlaceLevel.COUNTRY)]
    assert choice.languages["te"].missing == 2


@pytest.mark.parametrize("fault", [{"keys": ["a", "a"], "places": [0, 0]}, {"per_language": 0}])
def test_doubled_keys_and_no_images_are_refused(fault):
    asked = {"keys": ["a"], "places": [0], "per_language": 1} | fault

    with pytest.raises(ValueError, match=r"twice|at least 1"):
        choose(**asked, distinct=PLACES, areas=AREAS, languages=["fr"], seed=1)
