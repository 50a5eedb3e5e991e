"""One image of a project with everything that people and models have written about it, in all languages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from annotation.models import Caption
from annotation.pages.released_images import LanguageCaptions
from annotation.rules.released_places import CONTINENT, place_name
from core.images.models import CollectionImage
from core.images.selectors import ServedImage, served_image
from core.languages.models import Language
from core.people.models import Project, User
from core.people.permissions import usable_in
from research.inference.models import ModelCaption
from research.selection.models import ImagePlace, PlaceLevelChoice
from research.selection.selectors.chosen import chosen_of


@dataclass(frozen=True)
class WrittenCaption:
    """A caption; `model` is "" if a person wrote it. Of a model, it may be switched off."""

    text: str
    model: str = ""
    is_off: bool = False


@dataclass(frozen=True)
class ProjectImagePage:
    """`places` are names, the most detailed first; `chosen_for` and `level` are "" if no selection has the image."""

    entry: CollectionImage
    served: ServedImage
    places: Sequence[str]
    chosen_for: str
    level: str
    languages: Sequence[LanguageCaptions]
    before: CollectionImage | None
    after: CollectionImage | None


def project_image_page(entry: CollectionImage, project: Project, viewer: User) -> ProjectImagePage:
    chosen = chosen_of(project, [entry.image_id]).get(entry.image_id)
    beside = CollectionImage.objects.filter(collection=entry.collection_id).select_related("image")
    return ProjectImagePage(
        entry=entry,
        served=served_image(entry.image, viewer),
        places=_places(entry.image_id),
        chosen_for=Language.objects.get(pk=chosen.language_id).name if chosen else "",
        level=str(PlaceLevelChoice(chosen.level).label) if chosen else "",
        languages=_captions(entry.image_id, project),
        before=beside.filter(position__lt=entry.position).order_by("-position").first(),
        after=beside.filter(position__gt=entry.position).order_by("position").first(),
    )


def _places(image_id: int) -> list[str]:
    place = ImagePlace.objects.filter(image=image_id).first()
    if place is None:
        return []
    continent = [f"{CONTINENT}{place.continent}"] if place.continent else []
    return [place_name(code) for code in (*place.regions.split(), *place.countries.split(), *continent)]


def _captions(image_id: int, project: Project) -> list[LanguageCaptions]:
    written: dict[Language, list[WrittenCaption]] = defaultdict(list)
    people = Caption.objects.counted().filter(image=image_id, round__project=project)
    for caption in people.select_related("round__language").order_by("round__language", "pk"):
        written[caption.round.language].append(WrittenCaption(caption.text))
    models = ModelCaption.objects.filter(usable_in(project, "model__"), image=image_id)
    for made in models.select_related("language", "model").order_by("model__name", "pk"):
        written[made.language].append(WrittenCaption(made.text, made.model.name, made.switched_off_at is not None))
    spoken = [
        LanguageCaptions(language.tag, language.name, language, captions) for language, captions in written.items()
    ]
    return sorted(spoken, key=lambda one: (one.name, one.tag))
