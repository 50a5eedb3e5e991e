"""Makes the demo's dataset by place: photographs with invented places, chosen for five languages, and their release."""

from __future__ import annotations

from pathlib import Path

from annotation.models import Release
from annotation.services import caption_imports
from annotation.services.campaign import LanguageBeginning
from annotation.services.projects import create_project
from annotation.services.releases import build, start_release
from core.images.models import Collection
from core.images.services.collections import find_or_create_collection
from core.images.services.imports import import_path
from core.languages.models import Language
from core.people.models import Project, Role, User
from core.people.services.members import add_member
from research.selection.models import Selection
from research.selection.services.selections import confirm_selection, run_selection, start_selection
from tools.demo import photographs
from tools.demo.captions import Clock, check
from tools.demo.files import read, write_lines
from tools.demo.texts import BRIEF, CAPTIONS, MODELS, RICH, TEXTS

PROJECT_NAME = "Photographs by place"
COLLECTION_NAME = "Photographs with invented places"
DESCRIPTION = "A finished dataset with its release. The places are invented; the captions were written by hand."
SELECTION_NAME = "Three images per language"
LANGUAGES = ("ar", "de", "en", "hi", "ja")
PER_LANGUAGE = 3
SEED = 3600
PLACES: dict[str, tuple[float, float]] = read("places.yaml")
"""Latitude and longitude in degrees, by the key of a photograph."""


def load(*, manager: User, researcher: User, folder: Path, clock: Clock) -> None:
    """Make what is missing: the project, its selection, the captions of the images chosen, and their release."""
    project = Project.objects.filter(name=PROJECT_NAME, created_by=manager).first()
    if project is None:
        project = create_project(
            creator=manager,
            name=PROJECT_NAME,
            description=DESCRIPTION,
            collection=_collection(folder, clock),
            captioners=[],
            languages=[],
            batch_size=len(PLACES),
            lease_s=24 * 3600,
            seed=SEED,
            beginning=LanguageBeginning(),
            now=clock(),
        )
        add_member(project=project, user=researcher, role=Role.RESEARCHER)
    selection = Selection.objects.filter(project=project).first() or _choose(project, manager, clock)
    chosen = selection.collection or confirm_selection(selection=selection, by=manager, now=clock())
    if not project.rounds.exists():
        _import_captions(project, chosen, manager, folder.parent, clock)
    if not Release.objects.filter(project=project).exists():
        release = start_release(
            project=project,
            title=PROJECT_NAME,
            licence="CC-BY-4.0",
            authors="The authors of the Crosslens demo",
            description=DESCRIPTION,
            by=manager,
            now=clock(),
            publish_coordinates=True,
        )
        # Not left to the worker, so that it can be looked through at once.
        build(release_id=release.pk, clock=clock)


def _collection(folder: Path, clock: Clock) -> Collection:
    collection = find_or_create_collection(COLLECTION_NAME)
    if collection.entries.count() < len(PLACES):
        manifest = folder / "places.jsonl"
        write_lines(
            manifest,
            (
                photograph.line() | dict(zip(("latitude", "longitude"), PLACES[photograph.key], strict=True))
                for photograph in photographs.PHOTOGRAPHS
            ),
        )
        # The images are there already, with all their sizes.
        check(import_path(path=manifest, collection=collection, clock=clock, announce=lambda _image_id: None))
    return collection


def _choose(project: Project, manager: User, clock: Clock) -> Selection:
    selection = start_selection(
        project=project,
        source=Collection.objects.get(name=COLLECTION_NAME),
        languages=Language.objects.filter(pk__in=LANGUAGES),
        per_language=PER_LANGUAGE,
        seed=SEED,
        name=SELECTION_NAME,
        by=manager,
        now=clock(),
    )
    run_selection(selection_id=selection.pk, clock=clock)
    selection.refresh_from_db()
    return selection


def _import_captions(project: Project, chosen: Collection, manager: User, folder: Path, clock: Clock) -> None:
    """Import the German captions of two annotators, two English references, and two captions of the other languages."""
    file = folder / "captions.jsonl"
    write_lines(
        file,
        (
            {"image/key": key} | {tag: {"caption": texts} for tag, texts in _captions_of(key).items()}
            for key in chosen.entries.values_list("key", flat=True)
        ),
    )
    with file.open("rb") as opened:
        caption_imports.import_captions(
            project=project, collection=chosen, file=opened, source="the demo", by=manager, now=clock()
        )


def _captions_of(key: str) -> dict[str, list[str]]:
    written = {"de": TEXTS[key].german, "en": TEXTS[key].references}
    two = {tag: [CAPTIONS[tag][key][MODELS.index(model)] for model in (BRIEF, RICH)] for tag in ("ar", "hi", "ja")}
    return {tag: list(dict.fromkeys(texts)) for tag, texts in (written | two).items()}
