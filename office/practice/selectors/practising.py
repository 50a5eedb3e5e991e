"""What those who practise see: examples, a try, what they passed and how many tries are left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.templatetags.static import static
from django.utils.translation import gettext as _

from annotation.models import Rating, Round, RoundKind
from core.images.models import CollectionImage, Image
from core.images.selectors import ServedImage, served_image
from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from core.people.models import Membership, Project, Role, TextTranslation, User
from core.people.rules.markdown import to_html
from core.people.selectors.qualification import MissingRequirement, WorkKind
from crosslens_metrics.scales import SEVEN_POINTS
from office.practice.models import PracticeAnswer, PracticeAttempt, PracticeItem, PracticeKind, PracticeSet
from office.practice.permissions import KINDS_OF
from office.practice.rules.beginning import DRAWING_SIZE
from office.practice.rules.grading import SIMILAR, fewest_right, is_better_left
from office.practice.selectors.texts import Published, published_translations, translated_items, translation_into
from sxs_eval.models import Pair


@dataclass(frozen=True)
class PracticeState:
    """One person's state in one practice, whose captions are in the language.

    `last` is their newest try; it is open if `last.passed` is None.
    """

    practice: PracticeSet
    language_id: str
    translation: TextTranslation | None
    total: int
    has_passed: bool
    tries_left: int
    last: PracticeAttempt | None

    @property
    def is_open(self) -> bool:
        return self.last is not None and self.last.passed is None

    @property
    def has_failed(self) -> bool:
        """Whether every try is used."""
        return not self.has_passed and not self.is_open and not self.tries_left

    @property
    def blocks(self) -> bool:
        return self.practice.is_required and not self.has_passed


def current_sets(projects: Iterable[int]) -> dict[tuple[int, str], PracticeSet]:
    """Return the newest version by project and kind."""
    sets = PracticeSet.objects.filter(project__in=projects).order_by("version")
    return {(one.project_id, one.kind): one for one in sets}


def practice_states(
    person: User, wanted: Sequence[tuple[int, str, str]], *, required_only: bool = False
) -> list[PracticeState | None]:
    """Return the state for each project, kind and language of `wanted`; None where there are no examples for it.

    Examples are those in the language, or English ones, translated where there is a translation. Those who describe
    images rate English captions, so these stay as they are for them. With `required_only`, what need not be
    passed is None too.
    """
    sets = current_sets({project for project, _kind, _language in wanted})
    if required_only:
        sets = {key: practice for key, practice in sets.items() if practice.is_required}
    if not sets:
        return [None] * len(wanted)
    items: dict[int, list[PracticeItem]] = defaultdict(list)
    for item in PracticeItem.objects.filter(practice__in=sets.values()).order_by("practice", "position"):
        items[item.practice_id].append(item)
    attempts = list(
        PracticeAttempt.objects.filter(person=person, practice__project__in={project for project, _kind in sets})
        .select_related("practice")
        .order_by("pk")
    )
    published = published_translations(sets.values(), {language for _project, _kind, language in wanted})
    writes_in = set(person.memberships.filter(role=Role.ANNOTATOR).values_list("project", flat=True))
    states = {
        (project, kind, language): _state(
            practice,
            language,
            items[practice.pk],
            attempts,
            published,
            rates_english=kind == PracticeKind.RATING and project in writes_in,
        )
        for project, kind, language in set(wanted)
        if (practice := sets.get((project, kind)))
    }
    return [states.get(one) for one in wanted]


def missing_practice(person: User, wanted: Sequence[WorkKind]) -> list[list[MissingRequirement]]:
    """Say of each kind of work whether a practice is not passed yet."""
    return [_missing(blocking) for blocking in _blocking(person, wanted)]


def has_failed(person: User, works: Sequence[WorkKind]) -> bool:
    """Whether no work at all can be had any more, because the tries at practice are used."""
    stopped = [any(one.has_failed for one in blocking) for blocking in _blocking(person, works)]
    return bool(stopped) and all(stopped)


def _blocking(person: User, works: Sequence[WorkKind]) -> list[list[PracticeState]]:
    """Return for each of `works` the practice that stands before it."""
    asked = [(work.project_id, task, work.language.pk) for work in works for task in work.tasks]
    found = iter(practice_states(person, asked, required_only=True))
    ours = [[next(found) for _task in work.tasks] for work in works]
    return [[one for one in theirs if one is not None and one.blocks] for theirs in ours]


def _missing(blocking: Sequence[PracticeState]) -> list[MissingRequirement]:
    if not blocking:
        return []
    has_failed = any(one.has_failed for one in blocking)
    if has_failed:
        message = _("You did not pass the practice, and you have no tries left. Ask a manager of the project.")
    else:
        message = _("Before you get this work, pass a practice. Your answers there are not part of the data.")
    return [MissingRequirement("practice", message, "practice:practice-show", is_final=has_failed)]


def _state(
    practice: PracticeSet,
    wanted: str,
    items: Sequence[PracticeItem],
    attempts: Sequence[PracticeAttempt],
    published: Published,
    *,
    rates_english: bool,
) -> PracticeState | None:
    languages = {item.language_id for item in items}
    source = next((language for language in (wanted, ENGLISH) if language in languages), None)
    if source is None:
        return None
    own = [attempt for attempt in attempts if attempt.practice.kind == practice.kind]
    own = [attempt for attempt in own if attempt.practice.project_id == practice.project_id]
    passed = [attempt for attempt in own if attempt.passed and attempt.practice.version >= practice.counts_from]
    mine = [attempt for attempt in passed if wanted in (attempt.language_id, attempt.working_language_id)]
    # Who works here has passed, and is asked about no translation.
    translation = None if mine or source == wanted else translation_into(wanted, practice, items, published)
    shown = wanted if translation and not rates_english else source
    passed = [
        attempt
        for attempt in passed
        # An older version may have had examples in other languages.
        if attempt.language_id in ({shown} if attempt.practice_id == practice.pk else {shown, ENGLISH})
    ]
    here = [attempt for attempt in own if attempt.practice_id == practice.pk]
    here = [one for one in here if one.language_id == shown or one.working_language_id == wanted]
    used = sum(not attempt.is_forgiven for attempt in here)
    return PracticeState(
        practice=practice,
        language_id=mine[-1].language_id if mine else shown,
        translation=translation,
        total=sum(item.language_id == source for item in items),
        has_passed=bool(mine or passed),
        tries_left=max(0, practice.tries - used),
        last=here[-1] if here else None,
    )


_NEWER = PracticeSet.objects.filter(
    project=OuterRef("practice__project"), kind=OuterRef("practice__kind"), version__gt=OuterRef("practice__version")
)


def images_of_examples(project: Project) -> QuerySet[PracticeItem, int]:
    """Return the images of the examples that people in `project` practise with now."""
    items = PracticeItem.objects.filter(~Exists(_NEWER), practice__project=project, drawing="")
    return items.values_list("image", flat=True)


def images_kept_from(person: User) -> QuerySet[PracticeItem, int]:
    """Return the images that `person` began to practise with, ever and anywhere, or may be shown in their projects."""
    begun = PracticeAttempt.objects.filter(person=person, practice=OuterRef("practice"))
    role = Membership.objects.filter(user=person, project=OuterRef("practice__project"), role__in=KINDS_OF)
    items = PracticeItem.objects.filter(Q(Exists(begun)) | (Q(Exists(role)) & ~Exists(_NEWER)), drawing="")
    return items.values_list("image", flat=True)


def images_in_work(project: Project) -> QuerySet[Image]:
    """Return the images that people describe or compare in `project`: practice would show them captions of these."""
    captioned = Round.objects.filter(project=project).exclude(kind=RoundKind.VERIFICATION).values("collection")
    described = CollectionImage.objects.filter(collection__in=captioned).values("image")
    compared = Pair.objects.filter(comparison__project=project).values("image")
    return Image.objects.filter(Q(pk__in=described) | Q(pk__in=compared))


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


def items_of(attempt: PracticeAttempt) -> Sequence[PracticeItem]:
    """Return the examples of a try in the words that it has had from its beginning."""
    source = ENGLISH if attempt.translation else attempt.language_id
    found = PracticeItem.objects.filter(practice=attempt.practice_id, language=source)
    items = list(found.select_related("image", "language").order_by("position"))
    return translated_items(items, attempt.translation, attempt.language) if attempt.translation else items


def shown_drawing(name: str) -> ServedImage:
    address = static(f"img/practice/{name}.svg")
    width, height = DRAWING_SIZE
    return ServedImage(address, f"{address} {width}w", address, width, height, "", "", "", is_ready=True)


def shown_item(attempt: PracticeAttempt, item: PracticeItem, items: Sequence[PracticeItem], viewer: User) -> ShownItem:
    sides = (item.caption, item.other_caption)
    left, right = sides if is_better_left(attempt.pk, item.position) else sides[::-1]
    return ShownItem(
        position=item.position,
        number=items.index(item) + 1,
        total=len(items),
        image=served_image(item.image, viewer) if item.image else shown_drawing(item.drawing),
        language=item.language,
        caption=item.caption,
        left=left,
        right=right,
        choices=choices(PracticeKind(attempt.practice.kind)),
    )


def shown_answer(
    attempt: PracticeAttempt, answer: PracticeAnswer, items: Sequence[PracticeItem], viewer: User
) -> dict[str, Any]:
    """Return what somebody answered, and what is right."""
    item = next(one for one in items if one.pk == answer.item_id)
    shown = shown_item(attempt, item, items, viewer)
    labels = dict(shown.choices)
    return {
        "item": shown,
        "is_right": answer.is_right,
        "given": labels.get(answer.answer, answer.answer),
        "right": _right_answer(attempt, item),
        "why": to_html(item.why),
    }


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
