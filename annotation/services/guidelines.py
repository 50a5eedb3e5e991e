"""The guidelines of a project, version after version: none is ever edited."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import DECIDED, GuidelineExample, Guidelines, Rating, Round
from core.images.models import Image
from core.languages.models import Language
from core.people.models import Project, User
from core.people.services import audit_log


class StaleGuidelinesError(Exception):
    """Somebody else published a version after the one that this one was edited from."""


@dataclass(frozen=True)
class NewExample:
    """An image with a caption, the level that it deserves, and why."""

    image: Image
    language: Language
    caption: str
    level: Rating
    why: str = ""


def publish_guidelines(
    *,
    project: Project,
    rating: str,
    writing: str,
    note: str = "",
    examples: Sequence[NewExample] = (),
    rounds: Collection[int] | None = None,
    after: int | None = None,
    by: User,
    now: datetime,
) -> Guidelines:
    """Publish the next version; new batches show it, and unfinished batches keep theirs.

    Parameters
    ----------
    rounds : collection of int, optional
        Rounds that change to it, of those that are not decided; all of them where None.
    after : int, optional
        The version that it was made from.

    Raises
    ------
    StaleGuidelinesError
        `after` is not the newest version.
    """
    with transaction.atomic():
        undecided = Round.objects.filter(project=project).exclude(state__in=DECIDED)
        if rounds is not None:
            undecided = undecided.filter(pk__in=rounds)
        changing = list(undecided.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
        audit_log.lock(project, by)
        last = Guidelines.objects.filter(project=project).latest("version")
        if after is not None and last.version != after:
            raise StaleGuidelinesError(
                _("Version %(version)d was published in the meantime. Check what it changed, then publish again.")
                % {"version": last.version}
            )
        made = Guidelines.objects.create(
            project=project, version=last.version + 1, rating=rating, writing=writing, note=note, created_by=by
        )
        GuidelineExample.objects.bulk_create(
            GuidelineExample(
                guidelines=made,
                position=position,
                image=example.image,
                language=example.language,
                caption=example.caption,
                level=example.level,
                why=example.why,
            )
            for position, example in enumerate(examples, start=1)
        )
        Round.objects.filter(pk__in=changing).update(guidelines=made)
        details = {"rounds": len(changing), "examples": len(examples)}
        audit_log.record(
            project=project,
            action="guidelines.published",
            about=f"version {made.version}",
            by=by,
            now=now,
            details=details,
        )
    return made
