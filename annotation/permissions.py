"""Who may work on what: from (user, id) to the row, or 404; and the missing requirements of a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from annotation.models import (
    AnnotatorState,
    AnnotatorStatus,
    Caption,
    CaptionBatch,
    CaptionState,
    CaptionTask,
    Exclusion,
    Feedback,
    Release,
    Round,
    RoundKind,
    SecondReading,
    VerificationBatch,
)
from core.allocation.models import Batch
from core.compiled_query import CompiledQuery
from core.images.models import CollectionImage, Image
from core.languages.models import Language
from core.people.models import LanguageSkill, Membership, Project, Role, User
from core.people.permissions import READERS, project_for
from core.people.selectors.qualification import (
    WORKING_LEVELS,
    MissingRequirement,
    NotQualifiedError,
    WorkKind,
    missing_requirements_of,
    still_takes_part,
)
from research.inference.selectors import assigned_work
from research.selection.models import Selection

# Those who may rate others' captions: annotators, and people who were invited only to rate.
REVIEWER_ROLES = (Role.ANNOTATOR, Role.RATER)
TO_REWRITE = "annotation: anew"
"""The kind of work of returned captions, for `assigned_work`: only their author may read what was said about them."""
MAX_KEY_DIGITS = 19
"""Digits of a primary key, at which a database gives up."""
# Every page of screen 1 and screen 2, and opening screen 2, ask it: saves 0.9 ms.
OWN_BATCH = CompiledQuery(
    lambda batch, person: CaptionBatch.with_heads().filter(pk=batch, lease__person=person), batch=UUID, person=int
)


def batch_for(user: User | AnonymousUser, batch_id: UUID) -> CaptionBatch:
    """Return the user's own batch, with what the head of its pages needs."""
    try:
        return OWN_BATCH.get(batch=batch_id, person=user.pk)
    except CaptionBatch.DoesNotExist:
        raise Http404(_("There is no such page.")) from None


def round_for(user: User | AnonymousUser, round_id: int) -> Round:
    """Return a captioning round of a project in which `user` is an annotator."""
    rounds = Round.objects.exclude(kind=RoundKind.VERIFICATION).select_related("guidelines")
    return _own_round(user, rounds, round_id, Role.ANNOTATOR)


def ratings_for(user: User | AnonymousUser, batch_id: UUID) -> VerificationBatch:
    """Return the user's own batch of captions to rate, with what the head of its page needs.

    Somebody who has left the project may not see it: others wrote the captions.
    """
    mine = Membership.objects.filter(user=user.pk, role__in=REVIEWER_ROLES).values("project")
    heads = VerificationBatch.with_heads()
    return get_object_or_404(heads, pk=batch_id, lease__person=user.pk, round__project__in=mine)


def round_to_rate(user: User | AnonymousUser, round_id: int) -> Round:
    """Return a verification round of a project in which `user` is an annotator or a rater."""
    rounds = Round.objects.filter(kind=RoundKind.VERIFICATION).select_related("verifies")
    return _own_round(user, rounds, round_id, *REVIEWER_ROLES)


def _own_round(user: User | AnonymousUser, rounds: QuerySet[Round], round_id: int, *roles: Role) -> Round:
    mine = Membership.objects.filter(user=user.pk, role__in=roles).values("project")
    round = rounds.select_related("project", "language", "pool").filter(pk=round_id, project__in=mine).first()
    if round is None:
        raise Http404(_("You have no such round."))
    return round


def round_of(user: User | AnonymousUser, slug: str, round_id: int, *roles: Role) -> Round:
    """Return a round of the project `slug`, for its managers and researchers (or those with one of `roles`)."""
    project = project_for(user, slug, *(roles or READERS))
    return get_object_or_404(Round.objects.select_related("project", "language", "pool"), pk=round_id, project=project)


def rounds_managed_by(user: User | AnonymousUser, slug: str, keys: Iterable[str]) -> list[Round]:
    """Return those rounds of the project `slug`, which `user` manages, whose primary keys are among `keys`."""
    project = project_for(user, slug, Role.MANAGER)
    numbers = [int(key) for key in keys if key.isascii() and key.isdecimal() and len(key) < MAX_KEY_DIGITS]
    rounds = Round.objects.filter(project=project, pk__in=numbers)
    rounds = rounds.select_related("project", "language", "pool", "verifies")
    return list(rounds.order_by("language__english_name", "pk"))


def language_of(user: User | AnonymousUser, slug: str, tag: str, *roles: Role) -> tuple[Project, Language]:
    """Return a language of the project `slug`, for its managers and researchers (or those with one of `roles`)."""
    project = project_for(user, slug, *(roles or READERS))
    return project, get_object_or_404(Language.objects.filter(pk__in=project.rounds.values("language")), pk=tag)


def caption_managed_by(user: User | AnonymousUser, slug: str, caption_id: int) -> Caption:
    """Return a caption by a person in the project `slug`, which `user` manages; never one from a file."""
    project = project_for(user, slug, Role.MANAGER)
    captions = Caption.objects.select_related("round__project", "round__language", "author").filter(item__isnull=False)
    return get_object_or_404(captions, pk=caption_id, round__project=project)


def any_caption_managed_by(user: User | AnonymousUser, slug: str, caption_id: int) -> Caption:
    """Return a caption in the project `slug`, which `user` manages, even one from a file."""
    project = project_for(user, slug, Role.MANAGER)
    captions = Caption.objects.select_related("round__project", "round__language", "author")
    return get_object_or_404(captions, pk=caption_id, round__project=project)


def batch_managed_by(user: User | AnonymousUser, slug: str, batch_id: UUID) -> Batch:
    """Return a batch of any kind and person in a round of the project `slug`, which `user` manages."""
    project = project_for(user, slug, Role.MANAGER)
    return get_object_or_404(Batch.objects.select_related("person"), pk=batch_id, pool__round__project=project)


def caption_to_correct(user: User | AnonymousUser, caption_id: int) -> Caption:
    """Return the user's own caption that was returned, perhaps rewritten since."""
    captions = Caption.objects.select_related("round__project", "round__language", "round__guidelines", "image")
    captions = captions.filter(author=user.pk, corrections__isnull=False).distinct()
    return get_object_or_404(captions, pk=caption_id)


def feedback_readers(round: Round) -> QuerySet[User]:
    """Return the annotators of the project who know the round's language: they can get feedback about the round."""
    speakers = LanguageSkill.objects.filter(language=round.language_id).values("user")
    annotators = User.objects.filter(memberships__project=round.project_id, memberships__role=Role.ANNOTATOR)
    return annotators.filter(pk__in=speakers).order_by("username")


def second_readers(round: Round) -> QuerySet[User]:
    """Return the members of the project who could read a caption of the round for a manager."""
    speakers = LanguageSkill.objects.filter(language=round.language_id, level__in=WORKING_LEVELS).values("user")
    members = User.objects.filter(memberships__project=round.project_id, memberships__role__in=REVIEWER_ROLES)
    return members.filter(pk__in=speakers).distinct().order_by("username")


def reading_of(user: User | AnonymousUser, reading_id: int) -> SecondReading:
    """Return what the user was asked to read, unless the caption was taken away or the image is assigned to them."""
    mine = Membership.objects.filter(user=user.pk, role__in=REVIEWER_ROLES).values("project")
    rows = SecondReading.objects.filter(reader=user.pk, caption__state=CaptionState.COUNTED)
    rows = rows.filter(caption__round__project__in=mine).select_related("caption__image", "caption__round__language")
    if user.is_authenticated:
        rows = rows.exclude(assigned_work.is_assigned(user, "caption__image"))
    return get_object_or_404(rows, pk=reading_id)


def is_kept_from_author(user: User, image: str) -> Q:
    """Build the condition that `user` may not read what was said about their own caption of the image at a path.

    Feedback, and what it is answered with, may reveal others' captions of an image that is assigned to them.
    """
    return assigned_work.is_assigned(user, image, besides=TO_REWRITE)


def readable_feedback(user: User) -> QuerySet[Feedback]:
    return Feedback.objects.filter(Q(caption=None) | ~is_kept_from_author(user, "caption__image"), person=user)


# Taking a batch asks it, over the work of all kinds that the person has: saves 6 ms.
UNREAD = CompiledQuery(
    lambda person: readable_feedback(person).filter(acknowledged_at=None).values_list("project"), person=int
)


def release_for(user: User | AnonymousUser, slug: str, number: int) -> Release:
    """Return a release of the project `slug`, which `user` manages or does research in."""
    project = project_for(user, slug, *READERS)
    return get_object_or_404(Release.objects.select_related("project"), project=project, number=number)


def image_for(user: User | AnonymousUser, slug: str, public_id: UUID) -> tuple[Project, CollectionImage]:
    """Return an image of the rounds or selections of a project that `user` manages or does research in."""
    project = project_for(user, slug, *READERS)
    rounds = Round.objects.filter(project=project).values("collection")
    selections = Selection.objects.filter(project=project, collection__isnull=False).values("collection")
    entries = CollectionImage.objects.filter(Q(collection__in=rounds) | Q(collection__in=selections))
    entry = entries.filter(image__public_id=public_id).select_related("image", "collection").order_by("pk").first()
    if entry is None:
        raise Http404(_("This project has no such image."))
    return project, entry


def is_assigned_image(user: User, image: Image) -> bool:
    """Return whether `user` has unfinished work, in any project and of any kind, on the image."""
    return Image.objects.filter(assigned_work.is_assigned(user, "pk"), pk=image.pk).exists()


def has_assigned_images(user: User, project: Project) -> bool:
    """Return whether `user` has unfinished work, in any project and of any kind, on images that `project` captions."""
    assigned = assigned_work.is_assigned(user, "image")
    # Captions from a file have no task.
    tasks, from_files = CaptionTask.objects.filter(assigned), Caption.objects.filter(assigned, item=None)
    return any(images.filter(round__project=project).exists() for images in (tasks, from_files))


def missing_requirements(user: User, round: Round) -> list[MissingRequirement]:
    """Return the missing requirements of `user` for a batch of `round`: role, languages, consent.

    English is needed if English captions are rated first. Raters may also rate others' captions.
    """
    return missing_requirements_of_rounds(user, [round])[round.pk]


def missing_requirements_of_rounds(user: User, rounds: list[Round]) -> dict[int, list[MissingRequirement]]:
    verified = {round.project_id for round in rounds if round.kind == RoundKind.VERIFICATION}
    as_rater = Membership.objects.filter(user=user, role=Role.RATER, project__in=verified)
    rated_in = set(as_rater.values_list("project", flat=True)) if verified else set()
    wanted = [_work_of(round, is_rater=round.project_id in rated_in) for round in rounds]
    missing = dict(zip((round.pk for round in rounds), missing_requirements_of(user, wanted), strict=True))
    unread = {project for (project,) in UNREAD.rows(person=user.pk)} if rounds else set()
    by_decision = _requirements_by_decision(user, rounds)
    for round in rounds:
        if round.project_id in unread:
            message = _("You have feedback from a manager. Read it first, and confirm that you have.")
            missing[round.pk].append(MissingRequirement("feedback", message, "annotation:feedback-list"))
        if decided := by_decision[round.pk]:
            missing[round.pk].append(decided)
    return missing


def check_still_qualified(user: User, round: Round) -> None:
    """Check again within the transaction that assigns tasks, which has locked the person.

    Meanwhile a manager may have decided, or the person withdrawn consent or deleted the account.

    Raises NotQualifiedError.
    """
    if decided := _requirements_by_decision(user, [round])[round.pk]:
        raise NotQualifiedError([decided])
    if not takes_part(user, round):
        raise NotQualifiedError(missing_requirements(user, round))


def takes_part(user: User, round: Round) -> bool:
    """Return whether `user` has a role that the round needs, and has agreed to the newest consent text."""
    roles = (Role.ANNOTATOR, Role.RATER) if round.kind == RoundKind.VERIFICATION else (Role.ANNOTATOR,)
    return any(still_takes_part(user, round.project_id, role) for role in roles)


def _requirements_by_decision(user: User, rounds: list[Round]) -> dict[int, MissingRequirement | None]:
    """Return the managers' decisions that keep `user` from each of `rounds`."""
    about: dict[str, Any] = {"person": user, "project__in": {round.project_id for round in rounds}}
    decided = AnnotatorStatus.objects.filter(**about).values_list("project", "language", "state")
    statuses = {(project, language): state for project, language, state in decided}
    excluded = set(Exclusion.objects.filter(**about, undone_at=None).values_list("project", "language"))
    return {
        round.pk: _requirement_by_decision(
            round,
            statuses.get((round.project_id, round.language_id)),
            is_excluded=(round.project_id, round.language_id) in excluded,
        )
        for round in rounds
    }


def _requirement_by_decision(round: Round, status: str | None, *, is_excluded: bool) -> MissingRequirement | None:
    language = {"language": round.language.name}
    if is_excluded:
        return MissingRequirement(
            "excluded",
            _("A manager decided that your work in %(language)s does not count for now. Ask them about it.") % language,
        )
    if status == AnnotatorState.PAUSED:
        return MissingRequirement(
            "paused", _("A manager has paused your work in %(language)s. Ask them when you can continue.") % language
        )
    if round.needs_qualification and status != AnnotatorState.QUALIFIED:
        return MissingRequirement(
            "qualification",
            _("This round is only for people whom a manager has qualified in %(language)s. Ask a manager about it.")
            % language,
        )
    return None


def _work_of(round: Round, *, is_rater: bool) -> WorkKind:
    if round.kind == RoundKind.VERIFICATION:
        role = Role.RATER if is_rater else Role.ANNOTATOR
        return WorkKind(round.project_id, role, round.language, needs_english=False, tasks=("rating",))
    return WorkKind(round.project_id, Role.ANNOTATOR, round.language, needs_english=True, tasks=("rating", "writing"))
