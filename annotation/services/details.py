"""Decisions about captions in which something private was found: left as they are, left out, or open again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.db import transaction
from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Caption, CaptionState, DetailDecision, Exclusion, Round, RoundState
from annotation.selectors.details import text_digest
from annotation.services import tallies
from annotation.services.campaign import locked_rounds
from annotation.services.feedback import record
from annotation.services.references import leave_out_of_references
from annotation.services.withdrawal import draw_anew
from core.allocation.models import Assignment
from core.allocation.services.lifecycle import restore_work, set_aside
from core.people.models import User
from core.people.services.members import lock_person


class DetailChoice(TextChoices):
    KEEP = "keep", gettext_lazy("Leave as it is")
    LEAVE_OUT = "leave-out", gettext_lazy("Leave out")
    UNDO = "undo", gettext_lazy("Undo")


class DetailDecisionError(Exception):
    """The decision is not possible; the message says why and what to do."""


def decide(*, caption_id: int, choice: DetailChoice, by: User, now: datetime) -> None:
    """Record a decision about a caption as it is now. Repeating it changes nothing.

    Raises
    ------
    Caption.DoesNotExist, DetailDecisionError
    """
    with transaction.atomic():
        caption = Caption.objects.select_related("round__project", "round__language", "author").get(pk=caption_id)
        if caption.author is not None:
            lock_person(caption.author)
        rounds = locked_rounds(caption.round.project, caption.round.language)
        round = next(one for one in rounds if one.pk == caption.round_id)
        caption = Caption.objects.select_for_update(of=("self",)).select_related("author").get(pk=caption_id)
        _DECISIONS[choice](caption, round, by, now)


def _keep(caption: Caption, round: Round, by: User, now: datetime) -> None:
    if caption.state != CaptionState.COUNTED:
        raise DetailDecisionError(_("This caption does not count any more, so there is nothing to decide."))
    _remember(caption, is_left_out=False, by=by, now=now)
    record(round, "caption.kept", person=caption.author, by=by, now=now, caption=caption.pk)


def _leave_out(caption: Caption, round: Round, by: User, now: datetime) -> None:
    if caption.state == CaptionState.EXCLUDED:
        return
    if caption.author is None:
        raise DetailDecisionError(_("This caption came from a file, and cannot be left out by itself."))
    if round.state != RoundState.ACCEPTED:
        raise DetailDecisionError(_("The round is not accepted yet. Return the caption to its author instead."))
    if caption.state != CaptionState.COUNTED:
        raise DetailDecisionError(_("This caption does not count any more, so there is nothing to decide."))
    set_aside(assignments=Assignment.objects.filter(item__caption=caption))
    caption.state = CaptionState.EXCLUDED
    caption.save(update_fields=["state"])
    _remember(caption, is_left_out=True, by=by, now=now)
    tallies.recount(round=round, person=caption.author)
    leave_out_of_references(round=round, images=[caption.image_id], now=now)
    draw_anew(round)
    record(round, "caption.left-out", person=caption.author, by=by, now=now, caption=caption.pk)


def _undo(caption: Caption, round: Round, by: User, now: datetime) -> None:
    decision = DetailDecision.objects.filter(caption=caption).first()
    if decision is None:
        return
    if decision.is_left_out and caption.state == CaptionState.EXCLUDED:
        _count_again(caption, round, by, now)
    decision.delete()


def _count_again(caption: Caption, round: Round, by: User, now: datetime) -> None:
    assert caption.author is not None  # guaranteed, as it was left out
    about = {"project": round.project_id, "person": caption.author, "language": round.language_id}
    if Exclusion.objects.filter(undone_at=None, **about).exists():
        raise DetailDecisionError(_("Its author’s work in this language is excluded. Undo that first."))
    if not restore_work(assignments=Assignment.objects.filter(item__caption=caption)):
        raise DetailDecisionError(_("Somebody else has the place of this caption by now, so it cannot count again."))
    caption.state = CaptionState.COUNTED
    caption.save(update_fields=["state"])
    tallies.recount(round=round, person=caption.author)
    draw_anew(round)
    record(round, "caption.counted-again", person=caption.author, by=by, now=now, caption=caption.pk)


def _remember(caption: Caption, *, is_left_out: bool, by: User, now: datetime) -> None:
    said = {"is_left_out": is_left_out, "text_sha256": text_digest(caption.text), "by": by, "at": now}
    DetailDecision.objects.update_or_create(caption=caption, defaults=said)


_DECISIONS: dict[DetailChoice, Callable[[Caption, Round, User, datetime], None]] = {
    DetailChoice.KEEP: _keep,
    DetailChoice.LEAVE_OUT: _leave_out,
    DetailChoice.UNDO: _undo,
}
