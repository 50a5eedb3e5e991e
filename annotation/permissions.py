"""Who may work on what: from (user, id) to the row, or 404; and what still keeps a person from a round."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from annotation.models import CaptionBatch, CaptionTask, Item, Round, Stage
from people.models import Consent, LanguageSkill, Level, Membership, Project, Role, User
from people.permissions import project_for

WRITING_LEVELS = (Level.NATIVE, Level.FLUENT)


def batch_for(user: User | AnonymousUser, batch_id: UUID) -> CaptionBatch:
    """One's own batch, with what the head of its pages needs."""
    heads = CaptionBatch.objects.select_related("batch", "round__project", "round__language", "guidelines")
    # The guidelines' text is long, and no page of a batch shows it.
    heads = heads.defer("guidelines__rating", "guidelines__writing", "round__project__description")
    return get_object_or_404(heads, pk=batch_id, batch__person=user.pk)


def round_for(user: User | AnonymousUser, round_id: int) -> Round:
    """A round of a project in which `user` is an annotator."""
    found = (
        Round.objects.select_related("project", "language", "pool")
        .filter(pk=round_id, project__memberships__user=user.pk, project__memberships__role=Role.ANNOTATOR)
        .first()
    )
    if found is None:
        raise Http404(_("There is no such round among yours."))
    return found


def round_managed_by(user: User | AnonymousUser, slug: str, round_id: int) -> Round:
    """A round of the project `slug`, which `user` manages."""
    project = project_for(user, slug, Role.MANAGER)
    return get_object_or_404(Round.objects.select_related("project", "language", "pool"), pk=round_id, project=project)


def has_pictures_in_hand(user: User, project: Project) -> bool:
    """Whether `user`, in whatever project, has yet to finish a batch with pictures that `project` captions too."""
    unfinished = Item.objects.filter(person=user).exclude(batch__stage=Stage.SUBMITTED)
    return CaptionTask.objects.filter(round__project=project, image__in=unfinished.values("image")).exists()


@dataclass(frozen=True)
class Blocker:
    """Why a person gets no batch, and the name of the address where that can be mended ("" where a manager must)."""

    code: str
    message: str
    url_name: str = ""


def blockers(user: User, round: Round) -> list[Blocker]:
    """All that keeps `user` from getting a batch of `round`: role, languages, consent. Empty for who qualifies."""
    return blockers_of_rounds(user, [round])[round.pk]


def blockers_of_rounds(user: User, rounds: list[Round]) -> dict[int, list[Blocker]]:
    projects = {round.project_id for round in rounds}
    annotates = set(
        Membership.objects.filter(user=user, role=Role.ANNOTATOR, project__in=projects).values_list(
            "project", flat=True
        )
    )
    levels = dict(LanguageSkill.objects.filter(user=user).values_list("language", "level"))
    given = set(
        Consent.objects.filter(user=user, text__project__in=projects, withdrawn_at=None).values_list("text", flat=True)
    )
    newest: dict[int, int] = {}
    for project in Project.objects.filter(pk__in=projects).prefetch_related("consent_texts"):
        texts = sorted(project.consent_texts.all(), key=lambda text: text.version)
        if texts:
            newest[project.pk] = texts[-1].pk
    return {
        round.pk: _blockers(
            user,
            round,
            is_annotator=round.project_id in annotates,
            level=levels.get(round.language_id),
            has_consented=round.project_id not in newest or newest[round.project_id] in given,
        )
        for round in rounds
    }


def _blockers(user: User, round: Round, *, is_annotator: bool, level: str | None, has_consented: bool) -> list[Blocker]:
    found = []
    language = round.language.name
    if not is_annotator:
        found.append(Blocker("role", _("You are not an annotator of this project; ask its manager for an invitation.")))
    if not user.reads_english:
        found.append(
            Blocker("english", _("Your profile does not say that you read English well."), "people:profile-show")
        )
    if level not in WRITING_LEVELS:
        found.append(
            Blocker(
                "language",
                _("Your profile does not say that you are a native or fluent speaker of %(language)s.")
                % {"language": language},
                "people:profile-show",
            )
        )
    if not has_consented:
        found.append(
            Blocker("consent", _("You have not agreed to this project's consent text yet."), "people:consent-give")
        )
    return found
