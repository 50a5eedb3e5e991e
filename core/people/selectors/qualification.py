"""Missing requirements for work: role, languages, consent, and what apps above ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from core.languages.models import Language
from core.people.models import Consent, ConsentText, LanguageLevel, LanguageSkill, Membership, Project, Role, User
from core.people.rules.consent_parts import covers

WORKING_LEVELS = (LanguageLevel.NATIVE, LanguageLevel.FLUENT)


@dataclass(frozen=True)
class WorkKind:
    """A kind of work in one language of a project, and its requirements."""

    project_id: int
    role: Role
    language: Language
    needs_english: bool
    tasks: tuple[str, ...] = ()
    """What it consists of: rating, writing, comparing."""


@dataclass(frozen=True)
class MissingRequirement:
    """Why a person gets no batch, and the name of the page where they can change that ("" if only a manager can).

    Where it `is_final`, they have done there what they could, and the page says how it went.
    """

    code: str
    message: str
    url_name: str = ""
    is_final: bool = False


class NotQualifiedError(Exception):
    """The person may not do the work, for the reasons in `missing_requirements`."""

    def __init__(self, missing: list[MissingRequirement]) -> None:
        super().__init__("; ".join(missing_requirement.message for missing_requirement in missing))
        self.missing_requirements = missing


Requirement = Callable[[User, Sequence[WorkKind]], list[list[MissingRequirement]]]
_also_required: list[Requirement] = []


def also_require(requirement: Requirement) -> None:
    """Register what an app above asks for: it answers for each kind of work, in order."""
    _also_required.append(requirement)


def missing_requirements_of(user: User, wanted: Sequence[WorkKind]) -> list[list[MissingRequirement]]:
    """Return the missing requirements of `user` for each of `wanted`, in order; an empty list if they qualify."""
    projects = {work.project_id for work in wanted}
    memberships = Membership.objects.filter(user=user.pk, project__in=projects)
    roles = set(memberships.values_list("project", "role"))
    levels = dict(LanguageSkill.objects.filter(user=user.pk).values_list("language", "level"))
    agreed = _agreed_roles(user, projects)
    archived = set(_archived_among(projects))
    missing = [
        _missing_requirements(
            user,
            work,
            has_role=(work.project_id, work.role) in roles,
            level=levels.get(work.language.pk),
            has_consented=work.project_id not in agreed or covers(agreed[work.project_id], work.role),
        )
        for work in wanted
    ]
    for requirement in _also_required:
        for found, also in zip(missing, requirement(user, wanted), strict=True):
            found += also
    for found, work in zip(missing, wanted, strict=True):
        if work.project_id in archived:
            found.append(_archived())
    return missing


def check_not_archived(project_id: int) -> None:
    """Refuse new work in an archived project: every step that assigns a batch asks this, after it locked the pool.

    Raises NotQualifiedError.
    """
    if _archived_among([project_id]):
        raise NotQualifiedError([_archived()])


def _archived_among(projects: Iterable[int]) -> QuerySet[Project, int]:
    return Project.objects.filter(pk__in=projects, archived_at__isnull=False).values_list("pk", flat=True)


def _archived() -> MissingRequirement:
    return MissingRequirement("archived", _("This project is archived, so it offers no work."))


def still_takes_part(user: User, project_id: int, role: Role, *, unless_archived: bool = False) -> bool:
    """Return whether `user` has the role, and has agreed for it to the newest consent text if there is one.

    Every judgement and every guess asks it, so it is plain SQL: built by Django it takes ten times as long.
    """
    member, text, consent, project = (
        connection.ops.quote_name(model._meta.db_table) for model in (Membership, ConsentText, Consent, Project)
    )
    is_current = f" AND EXISTS (SELECT 1 FROM {project} WHERE id = project_id AND archived_at IS NULL)"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT 1 FROM {member} WHERE user_id = %s AND project_id = %s AND role = %s"  # noqa: S608
            f" AND NOT EXISTS (SELECT 1 FROM {text} newest WHERE newest.project_id = {member}.project_id"
            f" AND newest.version = (SELECT MAX(version) FROM {text} WHERE project_id = newest.project_id)"
            f" AND NOT EXISTS (SELECT 1 FROM {consent} given WHERE given.text_id = newest.id"
            f" AND given.user_id = {member}.user_id AND given.role IN ('', {member}.role)"
            f" AND given.withdrawn_at IS NULL))"
            f"{is_current if unless_archived else ''}",
            [user.pk, project_id, str(role)],
        )
        return cursor.fetchone() is not None


def _agreed_roles(user: User, projects: set[int]) -> dict[int, set[str]]:
    """Return as what `user` agreed to the newest consent text, of those of `projects` that have one."""
    consents = Consent.objects.filter(user=user.pk, text__project__in=projects, withdrawn_at=None)
    given = list(consents.values_list("text", "role"))
    texts = ConsentText.objects.filter(project__in=projects).order_by("version")
    newest = dict(texts.values_list("project", "pk"))
    return {project: {role for of, role in given if of == text} for project, text in newest.items()}


def _missing_requirements(
    user: User, work: WorkKind, *, has_role: bool, level: str | None, has_consented: bool
) -> list[MissingRequirement]:
    requirements = []
    if not has_role:
        missing = {
            Role.ANNOTATOR: _("You are not an annotator of this project. Ask its manager for an invitation."),
            Role.RATER: _("You are not a rater of this project. Ask its manager for an invitation."),
        }
        requirements.append(MissingRequirement("role", missing[work.role]))
    if work.needs_english and not user.reads_english:
        text = _("This work needs good English, and your profile does not say that you read it well.")
        requirements.append(MissingRequirement("english", text, "people:profile-show"))
    if level not in WORKING_LEVELS:
        text = _(
            "This work is for native or fluent speakers of %(language)s, and your profile does not say "
            "that you are one."
        )
        said = text % {"language": work.language.name}
        requirements.append(MissingRequirement("language", said, "people:profile-show"))
    if not has_consented:
        text = _("There is a consent text that you have not agreed to yet.")
        requirements.append(MissingRequirement("consent", text, "people:consent-give"))
    return requirements
