"""Places, selections and subsets for tests, without borders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core.images.models import Collection, Image
from core.jobs.models import JobState
from core.people.models import Project
from research.selection.models import (
    ImagePlace,
    ImagePlaceCode,
    LanguageTable,
    PlaceLevelChoice,
    SelectedImage,
    Selection,
    Subset,
)
from tests.factories import NOW

TABLE = {"region": ["IN-WB", "BD"], "country": ["IN", "BD"], "continent": ["AS"]}


def place(
    image: Image, *codes: str, continent: str = "AS", latitude: float = 23.4567, longitude: float = 88.7654
) -> None:
    """Say that `image` was taken at a place: countries have two letters, regions more."""
    countries = " ".join(code for code in codes if len(code) == 2)
    regions = " ".join(code for code in codes if len(code) > 2)
    point = {"latitude": latitude, "longitude": longitude, "borders": "made-1"}
    about = {"countries": countries, "regions": regions, "continent": continent} | point
    ImagePlace.objects.update_or_create(image=image, defaults=about)
    ImagePlaceCode.objects.filter(image=image).delete()
    ImagePlaceCode.objects.bulk_create(ImagePlaceCode(image=image, code=code) for code in codes)


def say_where_spoken(project: Project, areas: Mapping[str, Mapping[str, list[str]]]) -> LanguageTable:
    number = project.language_tables.count() + 1
    return LanguageTable.objects.create(project=project, number=number, areas=areas, created_at=NOW)


def choose(
    project: Project, language: str, levels: Mapping[Image, PlaceLevelChoice], *, collection: Collection | None = None
) -> Selection:
    """Make a confirmed selection with images of these levels and their places."""
    number = project.selections.count() + 1
    source = Collection.objects.create(slug=f"{project.slug}-source-{number}", name="Source", project=project)
    chosen = collection or Collection.objects.create(
        slug=f"{project.slug}-chosen-{number}", name="Chosen", project=project
    )
    selection = Selection.objects.create(
        project=project, number=number, name=f"Selection {number}", source=source, languages=[language],
        levels=PlaceLevelChoice.values, per_language=len(levels), seed=1, areas={language: TABLE}, table="made-table-1",
        borders="made-1", state=JobState.DONE, collection=chosen, created_at=NOW, confirmed_at=NOW,
    )  # fmt: skip
    for position, (image, level) in enumerate(levels.items(), start=1):
        at = ImagePlace.objects.filter(image=image).first() or ImagePlace()
        SelectedImage.objects.create(
            selection=selection, language_id=language, level=level, position=position, key=image.sha256[:20],
            image=image, countries=at.countries, regions=at.regions, continent=at.continent,
        )  # fmt: skip
    return selection


def make_subset(project: Project, slug: str, images: Iterable[Image]) -> Subset:
    subset = Subset.objects.create(project=project, slug=slug, name=slug.upper(), created_at=NOW)
    subset.images.set(images)
    return subset
