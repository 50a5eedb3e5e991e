"""The demo's practice: three images that nobody describes, and people who passed before they began."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path

from core.images.services.collections import find_or_create_collection
from core.images.services.imports import import_path
from core.people.models import Project, Role, User
from office.practice.models import PracticeItem, PracticeKind
from office.practice.rules.grading import SIMILAR, is_better_left
from office.practice.selectors.practising import items_of
from office.practice.services.attempts import NoTryLeftError, answer_item, start_attempt
from tools.demo import photographs
from tools.demo.captions import Clock, with_sizes
from tools.demo.files import read, write_lines

COLLECTION_NAME = "Demo practice"
KINDS = {Role.ANNOTATOR: (PracticeKind.RATING, PracticeKind.WRITING), Role.RATER: (PracticeKind.COMPARING,)}
_WRITTEN = read("practice.yaml")["written"]


def import_images(folder: Path, clock: Clock) -> None:
    collection = find_or_create_collection(COLLECTION_NAME)
    if collection.entries.count() < len(photographs.PRACTISED):
        manifest = folder / "practice.jsonl"
        write_lines(manifest, (one.line() for one in photographs.PRACTISED))
        with_sizes(partial(import_path, path=manifest, collection=collection), clock=clock)


def pass_all(*, project: Project, person: User, role: Role, language: str, now: datetime) -> None:
    """Let somebody pass what their role practises, who did not yet."""
    for kind in KINDS.get(role, ()):
        _pass(person, project, kind, language, now)


def _pass(person: User, project: Project, kind: PracticeKind, language: str, now: datetime) -> None:
    try:
        attempt = start_attempt(person=person, project=project, kind=kind, language=language, now=now)
    except NoTryLeftError:
        return
    for item in items_of(attempt):
        answer_item(attempt=attempt, position=item.position, answer=_right(attempt.pk, item, language), now=now)


def _right(attempt: int, item: PracticeItem, language: str) -> str:
    if not item.answer:
        return str(_WRITTEN[language])
    if not item.other_caption:
        return item.answer
    better = "2" if is_better_left(attempt, item.position) else "-2"
    return "0" if item.answer == SIMILAR else better
