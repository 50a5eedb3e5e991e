"""Marks on captions, for managers: a few captions on the page to check, and one person's newest captions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from annotation.models import Caption, CaptionState
from annotation.rules.writing_marks import MarkKind, WrittenCaption, marks_of
from core.people.models import Project, User
from crosslens_metrics.hidden_characters import visible_text
from research.inference.models import ModelCaption

MAX_CAPTIONS_MARKED = 500
"""Comparing them with other people's takes a tenth of a second."""
SHOWN_STATES = (CaptionState.COUNTED, CaptionState.RETURNED)


@dataclass(frozen=True)
class PersonMarks:
    """How many of a person's newest captions have each mark, and the captions."""

    looked_at: int
    captions: dict[MarkKind, list[Caption]]


def marks_by_caption(captions: Collection[Caption]) -> dict[int, list[MarkKind]]:
    """Return the marks of each caption, by its primary key. Each needs its item and its round; none is from a file.

    What was noted while a caption was written says nothing about it once it is rewritten.
    """
    others = _texts_of_others(captions)
    translations = _translations(captions)
    return {caption.pk: marks_of(_written(caption, others, translations)) for caption in captions}


def marks_of_person(project: Project, person: User) -> PersonMarks:
    """Look at the newest captions of `person` in `project`."""
    newest = Caption.objects.filter(round__project=project, author=person, state__in=SHOWN_STATES, item__isnull=False)
    related = newest.select_related("item__english", "round__language")
    captions = list(related.order_by("-submitted_at", "-pk")[:MAX_CAPTIONS_MARKED])
    found: dict[MarkKind, list[Caption]] = {kind: [] for kind in MarkKind}
    marks = marks_by_caption(captions)
    for caption in captions:
        for kind in marks[caption.pk]:
            found[kind].append(caption)
    return PersonMarks(len(captions), found)


Place = tuple[int, str]
"""An image and a language."""


def _written(
    caption: Caption,
    others: dict[Place, list[tuple[int | None, str]]],
    translations: dict[Place, list[tuple[int | None, str]]],
) -> WrittenCaption:
    item = caption.item
    assert item is not None
    place = (caption.image_id, caption.round.language_id)
    is_as_written = caption.text_as_typed == visible_text(item.text)
    return WrittenCaption(
        text=caption.text,
        writing_ms=item.writing_ms if is_as_written else 0,
        pasted_characters=item.pasted_characters if is_as_written else None,
        longest_absence_ms=item.longest_absence_ms if is_as_written else None,
        others=[text for author, text in others[place] if author != caption.author_id],
        translations=[text for model, text in translations[place] if model == item.english.model_id],
    )


def _texts_of_others(captions: Collection[Caption]) -> dict[Place, list[tuple[int | None, str]]]:
    """Return all captions of the same images in the same languages of the project, each with its author."""
    found: dict[Place, list[tuple[int | None, str]]] = defaultdict(list)
    rows = Caption.objects.filter(
        round__project__in={caption.round.project_id for caption in captions},
        round__language__in={caption.round.language_id for caption in captions},
        image__in={caption.image_id for caption in captions},
        state__in=SHOWN_STATES,
    )
    for image, language, author, text in rows.values_list("image", "round__language", "author", "text"):
        found[image, language].append((author, text))
    return found


def _translations(captions: Collection[Caption]) -> dict[Place, list[tuple[int | None, str]]]:
    """Return machine translations of English captions of the images, each with the model that wrote the English."""
    found: dict[Place, list[tuple[int | None, str]]] = defaultdict(list)
    rows = ModelCaption.objects.filter(
        model__english_model__isnull=False,
        language__in={caption.round.language_id for caption in captions},
        image__in={caption.image_id for caption in captions},
    )
    for image, language, model, text in rows.values_list("image", "language", "model__english_model", "text"):
        found[image, language].append((model, text))
    return found
