"""Who may choose images: from (user, slug) to the row, or 404."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.http import Http404
from django.utils.translation import gettext as _

from corpora.models import Selection
from people.models import Role, User
from people.permissions import project_for


def selection_managed_by(user: User | AnonymousUser, slug: str, number: int) -> Selection:
    """Find a selection of a project that `user` manages.

    Raises
    ------
    Http404
        Also where it exists, for anybody else.
    """
    rows = Selection.objects.select_related("project", "source", "candidates", "collection", "created_by")
    selection = rows.filter(project=project_for(user, slug, Role.MANAGER), number=number).first()
    if selection is None:
        raise Http404(_("There is no such selection."))
    return selection
