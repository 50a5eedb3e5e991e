"""People whom a program names by the pseudonym that answers and exports have."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from core.people.models import Project, User
from core.people.rules.pseudonyms import pseudonym


def person_called(name: str, project: Project, among: QuerySet[User]) -> User:
    """Raises Http404."""
    people = among.values_list("pk", flat=True).iterator()
    found = next((person for person in people if pseudonym(project, person) == name), None)
    if found is None:
        raise Http404(_("Nobody here has this pseudonym."))
    return User.objects.get(pk=found)
