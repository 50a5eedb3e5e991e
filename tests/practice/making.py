"""Practice for the tests: one set of three examples for each kind."""

from __future__ import annotations

from typing import Any

from images.models import Image
from people.models import Project
from practice.models import Kind, PracticeSet
from practice.services.sets import NewItem, publish_practice
from tests.factories import NOW, make_image, make_language

RIGHT = {Kind.RATING: "GOOD", Kind.WRITING: "A brown dog in the snow"}
WRONG = {Kind.RATING: "BAD", Kind.WRITING: "A cat on a wooden chair"}


def new_item(kind: Kind, number: int = 1, *, language: str = "en", image: Image | None = None, **about: Any) -> NewItem:
    fields: dict[str, Any] = {
        Kind.RATING: {"caption": f"Dog {number}", "answer": "GOOD", "also_right": "EXCELLENT"},
        Kind.WRITING: {"caption": f"A dog runs in the snow, {number}", "mentions": "dog | puppy\nsnow"},
        Kind.COMPARING: {"caption": f"Better {number}", "other_caption": f"Worse {number}", "answer": "better"},
    }[kind]
    fields |= {"why": f"Reason {number}."}
    return NewItem(image=image or make_image(), language=make_language(language), **(fields | about))


def make_practice(project: Project, kind: Kind = Kind.RATING, *, language: str = "en", **about: Any) -> PracticeSet:
    items = about.pop("items", None) or [new_item(kind, number, language=language) for number in (1, 2, 3)]
    return publish_practice(project=project, kind=kind, items=items, by=project.created_by, now=NOW, **about)
