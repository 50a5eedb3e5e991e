"""Captions returned to their authors with a note, and rewritten.

A caption is either returned or rated by others, never both: each step locks its row first.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import (
    AnnotatorState,
    AnnotatorStatus,
    Caption,
    CaptionState,
    CorrectionRequest,
    Exclusion,
    Round,
    RoundState,
    SecondReading,
    VerificationTask,
)
from annotation.rules import rewriting, text_checks
from annotation.selectors.feedback import warnings_for
from annotation.services import tallies
from annotation.services.batches import InvalidCaptionError
from annotation.services.feedback import clean_note, record
from annotation.services.gloss_removal import forget_glosses
from core.allocation.models import Assignment, AssignmentState
from core.allocation.services.lifecycle import restore_work
from core.people.models import Role, User
from core.people.selectors.qualification import still_takes_part
from core.people.services.members import lock_person
from crosslens_metrics.hidden_characters import visible_text

UNDECIDED = (RoundState.OPEN, RoundState.CLOSED)


class CorrectionRequestError(Exception):
    """The caption cannot be returned. The message says why and what to do."""


class RewriteRefusedError(Exception):
    """The caption cannot be rewritten. The message says why and what to do. The text is not kept."""


class AlreadyRewrittenError(Exception):
    """The caption is no longer returned; `caption` has the stored text."""

    def __init__(self, caption: Caption) -> None:
        super().__init__(caption.pk)
        self.caption = caption


def return_for_correction(*, caption_id: int, note: str, by: User, now: datetime) -> CorrectionRequest:
    """Ask the author of a caption to rewrite it. Until then it does not count, and keeps its place.

    Raises FeedbackError: no note, or one that cannot be stored. Raises CorrectionRequestError or Caption.DoesNotExist.
    """
    note = clean_note(note)
    with transaction.atomic():
        round_id = Caption.objects.values_list("round_id", flat=True).get(pk=caption_id)
        # A decision about the round waits here, or has been made.
        round = Round.objects.select_for_update(no_key=True, of=("self",)).select_related("project").get(pk=round_id)
        caption = (
            Caption.objects.select_for_update(of=("self",)).select_related("author", "item__batch").get(pk=caption_id)
        )
        _may_be_returned(caption, round)
        author = caption.author
        assert author is not None  # one from a file cannot be returned
        made = CorrectionRequest.objects.create(
            caption=caption,
            note=note,
            by=by,
            at=now,
            text_before=caption.text,
            text_before_as_typed=caption.text_as_typed,
            warnings_before=caption.warnings,
        )
        caption.state = CaptionState.RETURNED
        caption.save(update_fields=["state"])
        tallies.recount(round=round, person=author)
        record(round, "caption.returned", person=author, by=by, now=now, caption=caption.pk, correction=made.pk)
    return made


def rewrite(*, caption_id: int, author: User, text: str, now: datetime) -> Caption:
    """Submit a rewritten caption. Sending the same text again has no further effect.

    Raises Caption.DoesNotExist, InvalidCaptionError or RewriteRefusedError. Raises AlreadyRewrittenError: another tab
    was first, or a manager decided otherwise.
    """
    problem = text_checks.hard_error(text)
    if problem:
        raise InvalidCaptionError(problem)
    stored, typed = text_checks.as_stored(text), visible_text(text)
    with transaction.atomic():
        # Withdrawal and exclusion free the place of a returned caption, and lock the person too.
        lock_person(author)
        work = Assignment.objects.filter(item__caption=caption_id, person=author)
        restored = restore_work(assignments=work.filter(item__caption__state=CaptionState.RETURNED))
        caption = (
            Caption.objects.select_for_update(of=("self",))
            .select_related("round__language", "item__english")
            .get(pk=caption_id, author=author)
        )
        if caption.state != CaptionState.RETURNED:
            if caption.text_as_typed == typed and caption.corrections.exists():
                return caption
            raise AlreadyRewrittenError(caption)
        _may_write(author, caption.round)
        if not restored and not work.filter(state=AssignmentState.DONE).exists():
            raise RewriteRefusedError(str(rewriting.PLACE_IS_TAKEN))
        caption.text, caption.text_as_typed = stored, typed
        caption.warnings = [warning.code for warning in warnings_for(caption, text)]
        if caption.item is not None and text_checks.is_copied(text, caption.item.english.text):
            caption.warnings.append(text_checks.COPIED.code)
        caption.state = CaptionState.COUNTED
        caption.save(update_fields=["text", "text_as_typed", "warnings", "state"])
        caption.corrections.filter(answered_at=None).update(answered_at=now)
        # What second readers said is about the text that was.
        SecondReading.objects.filter(caption=caption).update(answer="", comment="", answered_at=None)
        forget_glosses(captions=Caption.objects.filter(pk=caption.pk), rounds=[caption.round])
        tallies.recount(round=caption.round, person=author)
    return caption


def _may_be_returned(caption: Caption, round: Round) -> None:
    if caption.author is None:
        raise CorrectionRequestError(_("This caption was imported from a file, so nobody here can rewrite it."))
    if round.state not in UNDECIDED:
        raise CorrectionRequestError(_("This round has been decided, so its captions can no longer change."))
    if caption.state == CaptionState.RETURNED:
        raise CorrectionRequestError(_("This caption has already been returned for correction."))
    if caption.state != CaptionState.COUNTED:
        raise CorrectionRequestError(_("This caption does not count, so there is nothing to rewrite."))
    if VerificationTask.objects.filter(caption=caption).exists():
        raise CorrectionRequestError(_("Other people are rating this caption or have rated it. Give feedback instead."))
    reasons = {
        "": "",
        "paused": _("Its author is paused in this language. Let them continue first, or give feedback."),
        "excluded": _("Its author’s work in this language is excluded. Undo that first."),
        "gone": _("Its author could not rewrite it: they are no longer an annotator of this project, or have not "
            "agreed to the newest consent text."),
    }  # fmt: skip
    if reason := reasons[_hindrance(caption.author, round)]:
        raise CorrectionRequestError(reason)


def _may_write(author: User, round: Round) -> None:
    if round.state == RoundState.REJECTED:
        raise RewriteRefusedError(str(rewriting.ROUND_IS_OVER))
    if hindrance := _hindrance(author, round):
        raise RewriteRefusedError(str(rewriting.HINDRANCES[hindrance]))


def _hindrance(author: User, round: Round) -> str:
    about = {"project": round.project_id, "person": author, "language": round.language_id}
    if AnnotatorStatus.objects.filter(state=AnnotatorState.PAUSED, **about).exists():
        return "paused"
    if Exclusion.objects.filter(undone_at=None, **about).exists():
        return "excluded"
    return "" if still_takes_part(author, round.project_id, Role.ANNOTATOR) else "gone"
