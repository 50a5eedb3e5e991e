"""Publishing versions of the practice of a project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from core.images.models import Image
from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from core.people.defaults import default_text
from core.people.models import Project, TextTranslation, User
from core.people.services import audit_log
from office.practice.models import PracticeItem, PracticeKind, PracticeSet
from office.practice.rules.beginning import FIRST_EXAMPLES, PASS_PERCENT, TRIES
from office.practice.rules.texts import read_text
from office.practice.selectors.practising import images_in_work
from office.practice.selectors.texts import TEXT_KINDS, original_text


class StalePracticeError(Exception):
    """Somebody else published a version after the one that this one was edited from."""


class ImageInWorkError(Exception):
    """An image of an example is one that people describe or compare: they would know captions of it."""


@dataclass(frozen=True)
class NewItem:
    """An example, with the fields of `PracticeItem`."""

    image: Image | None
    language: Language
    caption: str
    other_caption: str = ""
    answer: str = ""
    also_right: str = ""
    mentions: str = ""
    why: str = ""
    drawing: str = ""


def publish_practice(
    *,
    project: Project,
    kind: PracticeKind,
    items: Sequence[NewItem],
    is_required: bool = True,
    pass_percent: int = 80,
    tries: int = 2,
    asks_again: bool = False,
    after: int | None = None,
    by: User,
    now: datetime,
) -> PracticeSet:
    """Publish the next version. People who passed an earlier one practise again only if it `asks_again`.

    - `after`: the version that it was made from; 0 for none.

    Raises StalePracticeError: `after` is not the newest version. Raises ImageInWorkError: it is required, and an image
    is one that people describe or compare in the project.
    """
    with transaction.atomic():
        audit_log.lock(project, by)
        last = PracticeSet.objects.filter(project=project, kind=kind).order_by("version").last()
        newest = last.version if last else 0
        if after is not None and newest != after:
            raise StalePracticeError(
                _("Version %(version)d was published in the meantime. Check what it changed, then publish again.")
                % {"version": newest}
            )
        if is_required:
            _check_images(project, items)
        made = PracticeSet.objects.create(
            project=project,
            kind=kind,
            version=newest + 1,
            counts_from=newest + 1 if asks_again or last is None else last.counts_from,
            is_required=is_required,
            pass_percent=pass_percent,
            tries=tries,
            created_by=by,
        )
        PracticeItem.objects.bulk_create(
            PracticeItem(practice=made, position=position, **vars(item)) for position, item in enumerate(items, start=1)
        )
        if last:
            _keep_translations(last, made)
        audit_log.record(
            project=project,
            action="practice.published",
            about=made.get_kind_display(),
            by=by,
            now=now,
            details={"version": made.version, "examples": len(items), "asks_again": asks_again},
        )
    return made


def switch_practice(*, practice: PracticeSet, is_required: bool, by: User, now: datetime) -> PracticeSet:
    """Publish the same examples again, so that people have to pass them or need not.

    Raises StalePracticeError: there is a newer version. Raises ImageInWorkError.
    """
    columns = [field.name for field in fields(NewItem)]
    items = practice.items.select_related("image", "language").order_by("position")
    return publish_practice(
        project=practice.project,
        kind=PracticeKind(practice.kind),
        items=[NewItem(**{name: getattr(item, name) for name in columns}) for item in items],
        is_required=is_required,
        pass_percent=practice.pass_percent,
        tries=practice.tries,
        after=practice.version,
        by=by,
        now=now,
    )


def _keep_translations(last: PracticeSet, made: PracticeSet) -> None:
    """Let the newest published translations hold for a version whose words are the same."""
    before, after = (original_text(one, one.items.order_by("position")) for one in (last, made))
    if before is None or after is None or before.body != after.body:
        return
    published = TextTranslation.objects.filter(
        project=made.project_id, kind=TEXT_KINDS[made.kind], version=last.version, published_at__isnull=False
    ).order_by("revision")
    for translation in {one.language_id: one for one in published}.values():
        translation.pk, translation._state.adding, translation.version = None, True, made.version
        translation.save()


def begin_practice(*, project: Project, by: User, now: datetime) -> None:
    """Give a new project the practice that projects begin with."""
    for kind, examples in FIRST_EXAMPLES.items():
        made = PracticeSet.objects.create(
            project=project,
            kind=kind,
            version=1,
            counts_from=1,
            pass_percent=PASS_PERCENT,
            tries=TRIES,
            created_by=by,
        )
        words = read_text(default_text(TEXT_KINDS[kind]))
        PracticeItem.objects.bulk_create(
            PracticeItem(
                practice=made,
                position=position,
                language_id=ENGLISH,
                caption=said.captions[0],
                other_caption="".join(said.captions[1:]),
                mentions=said.mentions,
                why=said.why,
                **example._asdict(),
            )
            for position, (example, said) in enumerate(zip(examples, words, strict=True), start=1)
        )


def _check_images(project: Project, items: Sequence[NewItem]) -> None:
    found = set(
        images_in_work(project)
        .filter(pk__in=[item.image.pk for item in items if item.image])
        .values_list("pk", flat=True)
    )
    if found:
        numbers = ", ".join(
            str(number) for number, item in enumerate(items, start=1) if item.image and item.image.pk in found
        )
        raise ImageInWorkError(
            _(
                "People describe or compare the images of these examples in this project, and practice would show "
                "them captions of others. Choose images of another collection for: %(numbers)s."
            )
            % {"numbers": numbers}
        )
