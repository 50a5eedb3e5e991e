"""Who may see what of practice: from a user and an address to the row, or 404."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from core.people.models import LanguageSkill, Membership, Project, Role, User
from core.people.permissions import project_for
from core.people.selectors.qualification import WORKING_LEVELS
from office.practice.models import PracticeAttempt, PracticeKind

KINDS_OF = {
    Role.ANNOTATOR: (PracticeKind.RATING, PracticeKind.WRITING),
    Role.RATER: (PracticeKind.RATING, PracticeKind.COMPARING),
}


def project_to_practise(user: User, slug: str) -> Project:
    """Raises Http404 also if the user has no role in the project, or it is archived."""
    project = project_for(user, slug)
    if project.is_archived:
        raise Http404(_("This project is archived, so it offers no work."))
    return project


def wanted_by(user: User, project: Project) -> list[tuple[int, str, str]]:
    """Return project, kind and language of all that the roles and languages of `user` may ask for."""
    roles = set(Membership.objects.filter(user=user, project=project).values_list("role", flat=True))
    kinds = {kind for role, kinds in KINDS_OF.items() if role in roles for kind in kinds}
    skills = LanguageSkill.objects.filter(user=user, level__in=WORKING_LEVELS).order_by("language")
    languages = list(skills.values_list("language", flat=True))
    return [(project.pk, kind, language) for kind in PracticeKind.values if kind in kinds for language in languages]


def attempt_for(user: User, attempt_id: int) -> PracticeAttempt:
    """Raises Http404 also for another person's try."""
    attempts = _with_all(PracticeAttempt.objects.filter(person=user))
    attempt = attempts.filter(pk=attempt_id).first()
    if attempt is None:
        raise Http404(_("There is no such page."))
    return attempt


def attempt_of_project(project: Project, attempt_id: int) -> PracticeAttempt:
    """Raises Http404."""
    attempt = _with_all(PracticeAttempt.objects.filter(practice__project=project)).filter(pk=attempt_id).first()
    if attempt is None:
        raise Http404(_("There is no such page."))
    return attempt


def _with_all(attempts: QuerySet[PracticeAttempt]) -> QuerySet[PracticeAttempt]:
    return attempts.select_related("practice__project", "language", "working_language", "translation", "person")
