"""Collections and candidate lists with places, and selections from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pytest

from core.images.models import Collection
from core.people.models import Project
from geography.places import PointPlace
from research.selection.models import Candidate, CandidateList, ImagePlace, LanguageTable, Selection
from research.selection.services import selections
from tests.factories import NOW, make_keyed_collection, make_language

WEST_BENGAL = PointPlace(("IN",), ("IN-WB",), "AS")
TELANGANA = PointPlace(("IN",), ("IN-TG",), "AS")
FRANCE = PointPlace(("FR",), ("FR-75",), "EU")
SEA = PointPlace()

AREAS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "bn": {"region": ["IN-WB"], "country": ["IN"], "continent": ["AS"]},
    "te": {"region": ["IN-TG"], "country": ["IN"], "continent": ["AS"]},
    "hi": {"region": ["IN"], "country": ["IN"], "continent": ["AS"]},
    "fr": {"region": ["FR"], "country": ["FR"], "continent": ["EU"]},
}


class MadeBorders:
    version = "made"


@pytest.fixture
def made_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places are what the tests say, not what is looked up."""
    monkeypatch.setattr(selections, "locate_images", lambda **_: None)
    monkeypatch.setattr(selections, "current_borders", MadeBorders)


def give_table(project: Project, areas: Mapping[str, Any] = AREAS) -> LanguageTable:
    return LanguageTable.objects.create(project=project, number=1, areas=areas, created_at=NOW)


def make_placed_collection(places: Mapping[PointPlace, int]) -> Collection:
    """Images named after the region, country or sea that they are in, and a number."""
    named = [
        (f"{(place.region or 'sea').lower()}-{number:03d}", place)
        for place, count in places.items()
        for number in range(count)
    ]
    collection = make_keyed_collection([key for key, _ in named])
    ImagePlace.objects.bulk_create(
        ImagePlace(
            image_id=image,
            latitude=0,
            longitude=1,
            borders="made",
            countries=" ".join(place.countries),
            regions=" ".join(place.regions),
            continent=place.continent,
        )
        for image, (_, place) in zip(
            collection.entries.order_by("position").values_list("image", flat=True), named, strict=True
        )
    )
    return collection


def make_candidates(project: Project, keys: Sequence[str], place: PointPlace = FRANCE) -> CandidateList:
    found = CandidateList.objects.create(
        project=project, slug="found", name="Found", source_name="found.csv", borders="made", created_at=NOW
    )
    Candidate.objects.bulk_create(
        Candidate(
            list=found,
            key=key,
            address=f"https://images.example.org/{key}.jpg",
            latitude=48.8,
            longitude=2.3,
            countries=" ".join(place.countries),
            regions=" ".join(place.regions),
            continent=place.continent,
        )
        for key in keys
    )
    return found


def make_selection(
    project: Project,
    source: Collection | CandidateList,
    *,
    languages: Sequence[str] = ("bn", "te", "hi", "fr"),
    per_language: int = 2,
    seed: int = 7,
    now: datetime = NOW,
    **settings: Any,
) -> Selection:
    """A draft whose images have been chosen."""
    draft = selections.start_selection(
        project=project,
        source=source,
        languages=[make_language(tag) for tag in languages],
        per_language=per_language,
        seed=seed,
        by=project.created_by,
        now=now,
        **settings,
    )
    selections.run_selection(selection_id=draft.pk, clock=lambda: now)
    return Selection.objects.get(pk=draft.pk)
