"""Who may work on what: from (user, id) to the row, or 404; and what still keeps a person from a round."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from annotation.models import Caption, CaptionBatch, CaptionTask, Feedback, Round
from inference import exposure
from people.models import Project, Role, User
from people.permissions import project_for
from people.qualification import Blocker, Work, blockers_of


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


def caption_managed_by(user: User | AnonymousUser, slug: str, caption_id: int) -> Caption:
    """A caption of the project `slug`, which `user` manages."""
    project = project_for(user, slug, Role.MANAGER)
    captions = Caption.objects.select_related("round__project", "round__language", "author")
    return get_object_or_404(captions, pk=caption_id, round__project=project)


def caption_sent_back_to(user: User | AnonymousUser, caption_id: int) -> Caption:
    """One's own caption that was sent back, perhaps written anew since."""
    captions = Caption.objects.select_related("round__project", "round__language", "round__guidelines", "image")
    captions = captions.filter(author=user.pk, sent_back__isnull=False).distinct()
    return get_object_or_404(captions, pk=caption_id)


def readable_feedback(user: User) -> QuerySet[Feedback]:
    """What managers said to `user`, save on pictures that they have in hand: it may tell what others wrote."""
    return Feedback.objects.filter(Q(caption=None) | ~exposure.in_hand(user, "caption__image"), person=user)


def has_pictures_in_hand(user: User, project: Project) -> bool:
    """Whether `user`, in whatever project or kind of work, has yet to finish with pictures that `project` captions."""
    return CaptionTask.objects.filter(exposure.in_hand(user, "image"), round__project=project).exists()


def blockers(user: User, round: Round) -> list[Blocker]:
    """All that keeps `user` from getting a batch of `round`: role, languages, consent. Empty for who qualifies."""
    return blockers_of_rounds(user, [round])[round.pk]


def blockers_of_rounds(user: User, rounds: list[Round]) -> dict[int, list[Blocker]]:
    wanted = [Work(round.project_id, Role.ANNOTATOR, round.language, needs_english=True) for round in rounds]
    found = dict(zip((round.pk for round in rounds), blockers_of(user, wanted), strict=True))
    waiting = readable_feedback(user).filter(acknowledged_at=None, project__in={round.project_id for round in rounds})
    unread = set(waiting.values_list("project", flat=True))
    for round in rounds:
        if round.project_id in unread:
            message = _("A manager has written to you about your work. Read it first, and say that you have.")
            found[round.pk].append(Blocker("feedback", message, "annotation:feedback-list"))
    return found
