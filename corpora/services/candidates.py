"""Create and delete lists of candidates."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import ProtectedError
from django.utils.text import slugify
from django.utils.translation import gettext as _

from corpora.models import Candidate, CandidateList
from people.models import Project, User
from people.services import audit_log

DELETED_AT_ONCE = 10_000


class CandidatesRefusedError(Exception):
    """The list cannot be created or deleted; the message says why and what to do."""


def create_list(
    *, project: Project, name: str, slug: str = "", source_name: str, by: User | None, now: datetime
) -> CandidateList:
    """Create an empty list.

    Raises
    ------
    CandidatesRefusedError
        Where the project has a list with this slug.
    """
    slug = (slug or slugify(name))[:80].strip("-") or "candidates"
    with transaction.atomic():
        audit_log.lock(project, by)
        if CandidateList.objects.filter(project=project, slug=slug).exists():
            raise CandidatesRefusedError(
                _("The project already has a list of candidates “%(slug)s”. Choose another name, or delete it.")
                % {"slug": slug}
            )
        return CandidateList.objects.create(
            project=project,
            slug=slug,
            name=name,
            source_name=source_name,
            counts={"complete": False},
            created_at=now,
            created_by=by,
        )


def delete_list(*, candidates: CandidateList, by: User | None, now: datetime) -> None:
    """Delete a list that no selection uses, and its candidates.

    Raises
    ------
    CandidatesRefusedError
    """
    with transaction.atomic():
        audit_log.lock(candidates.project, by)
        if candidates.selections.exists():
            raise CandidatesRefusedError(_("A selection uses this list. Lists in use cannot be deleted."))
        try:
            clear_list(candidates)
            candidates.delete()
        except ProtectedError as error:
            raise CandidatesRefusedError(_("A selection uses this list. Lists in use cannot be deleted.")) from error
        audit_log.record(project=candidates.project, action="candidates.deleted", about=candidates.slug, by=by, now=now)


def clear_list(candidates: CandidateList) -> None:
    """Delete all candidates of a list, in parts, because there may be millions."""
    rows = Candidate.objects.filter(list=candidates)
    while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:DELETED_AT_ONCE]):
        rows.filter(pk__in=ids).delete()
