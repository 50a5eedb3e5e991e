"""A try as pages show it: examples, answers, and what is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.models import Rating
from core.images.selectors import ServedImage, served_image
from core.languages.models import Language
from core.people.models import User
from core.people.rules.markdown import to_html
from crosslens_metrics.scales import SEVEN_POINTS
from office.practice.models import PracticeAnswer, PracticeAttempt, PracticeItem, PracticeKind
from office.practice.rules.grading import SIMILAR, fewest_right, is_better_left


@dataclass(frozen=True)
class ShownItem:
    """An example for one person. `left` and `right` are for comparing, `caption` for the other kinds."""

    position: int
    number: int
    total: int
    image: ServedImage
    language: Language
    caption: str
    left: str
    right: str
    choices: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class ShownAnswer:
    """What somebody answered, and what is right."""

    item: ShownItem
    is_right: bool
    given: str
    right: str
    why: SafeString


def items_of(attempt: PracticeAttempt) -> list[PracticeItem]:
    items = PracticeItem.objects.filter(practice=attempt.practice_id, language=attempt.language_id)
    return list(items.select_related("image", "language").order_by("position"))


def shown_item(attempt: PracticeAttempt, item: PracticeItem, items: Sequence[PracticeItem], viewer: User) -> ShownItem:
    sides = (item.caption, item.other_caption)
    left, right = sides if is_better_left(attempt.pk, item.position) else sides[::-1]
    return ShownItem(
        position=item.position,
        number=items.index(item) + 1,
        total=len(items),
        image=served_image(item.image, viewer),
        language=item.language,
        caption=item.caption,
        left=left,
        right=right,
        choices=choices(PracticeKind(attempt.practice.kind)),
    )


def shown_answer(attempt: PracticeAttempt, answer: PracticeAnswer, item: ShownItem) -> ShownAnswer:
    labels = dict(item.choices)
    return ShownAnswer(
        item=item,
        is_right=answer.is_right,
        given=labels.get(answer.answer, answer.answer),
        right=_right_answer(attempt, answer.item),
        why=to_html(answer.item.why),
    )


def choices(kind: PracticeKind) -> list[tuple[str, str]]:
    match kind:
        case PracticeKind.RATING:
            return [(level.value, str(level.label)) for level in Rating]
        case PracticeKind.COMPARING:
            return [(str(level.number), _(level.label)) for level in SEVEN_POINTS.levels]
    return []


def needed_of(attempt: PracticeAttempt, total: int) -> int:
    return fewest_right(total=total, pass_percent=attempt.practice.pass_percent)


def _right_answer(attempt: PracticeAttempt, item: PracticeItem) -> str:
    match attempt.practice.kind:
        case PracticeKind.RATING:
            return str(Rating(item.answer).label)
        case PracticeKind.COMPARING:
            score = 0 if item.answer == SIMILAR else 2 if is_better_left(attempt.pk, item.position) else -2
            return _(SEVEN_POINTS[score].label)
    return item.caption
