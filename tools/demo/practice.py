"""The demo's practice: three images that nobody describes, and people who passed before they began."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from pathlib import Path

from core.images.models import Collection, Image
from core.images.services.collections import find_or_create_collection
from core.images.services.imports import import_path
from core.languages.models import Language
from core.people.models import Project, Role, User
from office.practice.models import PracticeItem, PracticeKind, PracticeSet
from office.practice.rules.grading import SIMILAR, is_better_left
from office.practice.selectors.practising import items_of
from office.practice.services.attempts import NoTryLeftError, answer_item, start_attempt
from office.practice.services.sets import NewItem, publish_practice
from tools.demo import photographs
from tools.demo.captions import Clock, with_sizes
from tools.demo.files import read, write_lines

COLLECTION_NAME = "Demo practice"
KINDS = {Role.ANNOTATOR: (PracticeKind.RATING, PracticeKind.WRITING), Role.RATER: (PracticeKind.COMPARING,)}
_FILE = read("practice.yaml")


def load(
    *, project: Project, people: Iterable[tuple[User, Role, str]], manager: User, folder: Path, clock: Clock
) -> None:
    """Publish what is missing, and let everybody of `people`, with their role and language, pass who did not yet."""
    images = _images(folder, clock)
    for kind in PracticeKind:
        if not PracticeSet.objects.filter(project=project, kind=kind).exists():
            items = [_item(images, **fields) for fields in _FILE[kind.value]]
            publish_practice(project=project, kind=kind, items=items, by=manager, now=clock())
    for person, role, language in people:
        for kind in KINDS.get(role, ()):
            _pass(person, project, kind, language, clock())


def _images(folder: Path, clock: Clock) -> dict[str, Image]:
    collection: Collection = find_or_create_collection(COLLECTION_NAME)
    if collection.entries.count() < len(photographs.PRACTISED):
        manifest = folder / "practice.jsonl"
        write_lines(manifest, (one.line() for one in photographs.PRACTISED))
        with_sizes(partial(import_path, path=manifest, collection=collection), clock=clock)
    return {entry.key: entry.image for entry in collection.entries.select_related("image")}


def _item(images: dict[str, Image], *, image: str, **fields: str) -> NewItem:
    return NewItem(image=images[image], language=Language.objects.get(pk="en"), **fields)


def _pass(person: User, project: Project, kind: PracticeKind, language: str, now: datetime) -> None:
    try:
        attempt = start_attempt(person=person, project=project, kind=kind, language=language, now=now)
    except NoTryLeftError:
        return
    for item in items_of(attempt):
        answer_item(attempt=attempt, position=item.position, answer=_right(attempt.pk, item, language), now=now)


def _right(attempt: int, item: PracticeItem, language: str) -> str:
    if not item.answer:
        return str(_FILE["written"][language])
    if not item.other_caption:
        return item.answer
    better = "2" if is_better_left(attempt, item.position) else "-2"
    return "0" if item.answer == SIMILAR else better
