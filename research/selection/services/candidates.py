"""Create and delete lists of candidates."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import ProtectedError
from django.utils.text import slugify
from django.utils.translation import gettext as _

from core.people.models import Project, User
from core.people.services import audit_log
from research.selection.models import Candidate, CandidateList

DELETED_AT_ONCE = 10_000


class CandidatesRefusedError(Exception):
    """The list cannot be created or deleted; the message says why and what to do."""


def slug_of(name: str) -> str:
    """Return the slug of a list with this name, or with this wish for a slug."""
    return slugify(name)[:80].strip("-") or "candidates"


def create_list(
    *, project: Project, name: str, slug: str = "", source_name: str, by: User | None, now: datetime
) -> CandidateList:
    """Create an empty list.

    Raises
    ------
    CandidatesRefusedError
        Where the project has a list with this slug.
    """
    slug = slug_of(slug or name)
    with transaction.atomic():
        audit_log.lock(project, by)
        if CandidateList.objects.filter(project=project, slug=slug).exists():
            raise CandidatesRefusedError(
                _("The project already has a list of candidates “%(slug)s”. Choose another name, or delete it.")
                % {"slug": slug}
            )
        made = CandidateList.objects.create(
            project=project,
            slug=slug,
            name=name,
            source_name=source_name,
            counts={"complete": False},
            created_at=now,
            created_by=by,
        )
        _record(made, "import_started", by=by, now=now)
    return made


def record_import(*, candidates: CandidateList, by: User | None, now: datetime) -> None:
    """Log that the file of a list was read to its end. Call within the transaction that says so."""
    counts = {name: candidates.counts[name] for name in ("kept", "left_out", "needs_licence")}
    _record(candidates, "imported", by=by, now=now, sha256=candidates.sha256, **counts)


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
        _record(candidates, "deleted", by=by, now=now)


def clear_list(candidates: CandidateList) -> None:
    """Delete all candidates of a list, in parts, because there may be millions."""
    rows = Candidate.objects.filter(list=candidates)
    while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:DELETED_AT_ONCE]):
        rows.filter(pk__in=ids).delete()


def _record(candidates: CandidateList, verb: str, *, by: User | None, now: datetime, **details: Any) -> None:
    action, about = f"candidates.{verb}", candidates.slug
    audit_log.record(project=candidates.project, action=action, about=about, by=by, now=now, details=details)
