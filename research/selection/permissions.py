"""Who may choose images: from (user, slug) to the row, or 404."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.http import Http404
from django.utils.translation import gettext as _

from core.people.models import Role, User
from core.people.permissions import READERS, project_for
from research.selection.models import Selection, Subset


def selection_for(user: User | AnonymousUser, slug: str, number: int, *roles: Role) -> Selection:
    """Find a selection of the project `slug`, for its managers and researchers (or people with one of `roles`).

    Raises Http404 also where it exists, for anybody else.
    """
    rows = Selection.objects.select_related("project", "source", "candidates", "collection", "created_by")
    selection = rows.filter(project=project_for(user, slug, *(roles or READERS)), number=number).first()
    if selection is None:
        raise Http404(_("There is no such selection."))
    return selection


def subset_for(user: User | AnonymousUser, slug: str, subset_slug: str, *roles: Role) -> Subset:
    """Find a named subset of the project `slug`, for its managers and researchers (or people with one of `roles`).

    Raises Http404 also where it exists, for anybody else.
    """
    rows = Subset.objects.select_related("project", "created_by")
    subset = rows.filter(project=project_for(user, slug, *(roles or READERS)), slug=subset_slug).first()
    if subset is None:
        raise Http404(_("There is no such named subset."))
    return subset
