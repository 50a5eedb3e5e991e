"""Practice for the tests: one set of three examples for each kind."""

from __future__ import annotations

from typing import Any

from core.images.models import Image
from core.people.models import Project
from office.practice.models import PracticeKind, PracticeSet
from office.practice.services.sets import NewItem, publish_practice
from tests.factories import NOW, make_image, make_language

RIGHT = {PracticeKind.RATING: "GOOD", PracticeKind.WRITING: "A brown dog in the snow"}
WRONG = {PracticeKind.RATING: "BAD", PracticeKind.WRITING: "A cat on a wooden chair"}


def new_item(
    kind: PracticeKind, number: int = 1, *, language: str = "en", image: Image | None = None, **about: Any
) -> NewItem:
    fields: dict[str, Any] = {
        PracticeKind.RATING: {"caption": f"Dog {number}", "answer": "GOOD", "also_right": "EXCELLENT"},
        PracticeKind.WRITING: {"caption": f"A dog runs in the snow, {number}", "mentions": "dog | puppy\nsnow"},
        PracticeKind.COMPARING: {"caption": f"Better {number}", "other_caption": f"Worse {number}", "answer": "better"},
    }[kind]
    fields |= {"why": f"Reason {number}."}
    return NewItem(image=image or make_image(), language=make_language(language), **(fields | about))


def make_practice(
    project: Project, kind: PracticeKind = PracticeKind.RATING, *, language: str = "en", **about: Any
) -> PracticeSet:
    items = about.pop("items", None) or [new_item(kind, number, language=language) for number in (1, 2, 3)]
    return publish_practice(project=project, kind=kind, items=items, by=project.created_by, now=NOW, **about)
