"""Who may judge, and who may set up and read comparisons: from (user, id) to the row, or 404."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.compiled_query import CompiledQuery
from core.people.models import Membership, Role, User
from core.people.permissions import READERS, project_for
from core.people.selectors.qualification import MissingRequirement, WorkKind, missing_requirements_of, still_takes_part
from research.inference.selectors import assigned_work
from sxs_eval.models import Comparison, GoldPair, JudgingBatch, Pair, RaterState, RaterStatus

WHY_STOPPED = {
    RaterState.PAUSED: gettext_lazy(
        "Some of your answers were inconsistent. A manager of the project must review them before you can continue."
    ),
    RaterState.WITHDRAWN: gettext_lazy(
        "You withdrew your consent and your answers, so your work on this comparison has ended."
    ),
    RaterState.EXCLUDED: gettext_lazy("A manager of the project has ended your work on this comparison."),
}


def batch_for(user: User | AnonymousUser, batch_id: UUID) -> JudgingBatch:
    """Return the user's own batch, with what the head of its page needs; nothing of the models is read."""
    return get_object_or_404(JudgingBatch.with_heads(), pk=batch_id, lease__person=user.pk)


def comparison_to_judge(user: User | AnonymousUser, comparison_id: int) -> Comparison:
    """Return a comparison of a project in which `user` is a rater."""
    comparisons = (
        Comparison.objects.select_related("project", "language", "pool")
        .filter(pk=comparison_id, project__memberships__user=user.pk, project__memberships__role=Role.RATER)
        .first()
    )
    if comparisons is None:
        raise Http404(_("You have no such comparison."))
    return comparisons


def comparison_for(user: User | AnonymousUser, slug: str, comparison_id: int, *roles: Role) -> Comparison:
    """Return a comparison of `slug`, for its managers and researchers (or those with one of `roles`)."""
    project = project_for(user, slug, *(roles or READERS))
    comparisons = Comparison.objects.select_related("project", "language", "pool", "base", "test", "collection")
    return get_object_or_404(comparisons, pk=comparison_id, project=project)


def check_reader(user: User | AnonymousUser) -> None:
    """Raises PermissionDenied if `user` neither manages a project nor does research in one."""
    if not Membership.objects.filter(user=user.pk, role__in=READERS).exists():
        raise PermissionDenied(
            _("Only managers and researchers can see this page. Ask a manager to invite you as one.")
        )


def has_assigned_images(user: User, comparisons: list[Comparison]) -> bool:
    """Return whether `user` writes about or judges an image of `comparisons` now: they may not read about it then."""
    shown = ((Pair, "image"), (GoldPair, "image"), (GoldPair, "other_image"))
    return any(
        kind.objects.filter(assigned_work.is_assigned(user, image), comparison__in=comparisons).exists()
        for kind, image in shown
    )


def missing_requirements(user: User, comparison: Comparison) -> list[MissingRequirement]:
    """Return all missing requirements of `user` for a batch of `comparison`."""
    return missing_requirements_of_comparisons(user, [comparison])[comparison.pk]


def missing_requirements_of_comparisons(
    user: User, comparisons: list[Comparison]
) -> dict[int, list[MissingRequirement]]:
    wanted = [
        WorkKind(each.project_id, Role.RATER, each.language, needs_english=False, tasks=("comparing",))
        for each in comparisons
    ]
    missing = dict(zip((each.pk for each in comparisons), missing_requirements_of(user, wanted), strict=True))
    statuses = RaterStatus.objects.filter(person=user, comparison__in=comparisons)
    for status in statuses.exclude(state=RaterState.RESTORED):
        missing[status.comparison_id].append(
            MissingRequirement(status.state, str(WHY_STOPPED[RaterState(status.state)]))
        )
    return missing


# Every judgement asks it: saves 0.2 ms.
STOPPED = CompiledQuery(
    lambda person, comparison: RaterStatus.objects.filter(comparison=comparison, person=person).exclude(
        state=RaterState.RESTORED
    ),
    person=int,
    comparison=int,
)


def is_still_welcome(user: User, comparison: Comparison) -> bool:
    """Return whether answers of `user` may count: `missing_requirements` without the language, in fewer queries."""
    is_stopped = bool(STOPPED.rows(person=user.pk, comparison=comparison.pk))
    return not is_stopped and still_takes_part(user, comparison.project_id, Role.RATER)
