"""The guidelines of a project, version after version: none is ever edited."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import DECIDED, GuidelineExample, Guidelines, Round
from core.people.models import Project, User
from core.people.services import audit_log


class StaleGuidelinesError(Exception):
    """Somebody else published a version after the one that this one was edited from."""


def publish_guidelines(
    *,
    project: Project,
    rating: str,
    writing: str,
    note: str = "",
    examples: Sequence[GuidelineExample] = (),
    rounds: Collection[int] | None = None,
    after: int | None = None,
    by: User,
    now: datetime,
) -> Guidelines:
    """Publish the next version; new batches show it, and unfinished batches keep theirs.

    Parameters
    ----------
    examples : sequence of GuidelineExample
        Not stored yet, in their order.
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
        for position, example in enumerate(examples, start=1):
            example.guidelines, example.position = made, position
        GuidelineExample.objects.bulk_create(examples)
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
