"""Ask a second reader about a caption, and take the answer: advice to a manager, which counts for nothing."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Caption, CaptionState, ReadingAnswer, SecondReading, VerificationTask
from annotation.permissions import second_readers
from annotation.selectors.verification import images_to_write_about
from annotation.services.feedback import clean_note, record
from core.people.models import User
from core.people.services.members import lock_person
from research.inference.selectors import assigned_work


class ReaderRefusedError(Exception):
    """This person cannot be asked about this caption. The message says why."""


def ask_reader(*, caption_id: int, reader: User, by: User, now: datetime) -> SecondReading:
    """Ask `reader` about a caption. From then on they never get its image to write about, nor the caption to rate.

    Asking again has no further effect.

    Raises
    ------
    ReaderRefusedError, Caption.DoesNotExist
    """
    with transaction.atomic():
        # Taking a batch locks the person, too: they have the image to write about, or are asked, but never both.
        lock_person(reader)
        caption = Caption.objects.select_related("round__project").get(pk=caption_id)
        if known := SecondReading.objects.filter(caption=caption, reader=reader).first():
            return known
        _check_reader(caption, reader)
        made = SecondReading.objects.create(caption=caption, reader=reader, asked_by=by, asked_at=now)
        record(caption.round, "caption.reader-asked", person=reader, by=by, now=now, caption=caption.pk)
    return made


def _check_reader(caption: Caption, reader: User) -> None:
    if caption.state != CaptionState.COUNTED:
        raise ReaderRefusedError(_("This caption does not count now, so nobody is asked about it."))
    if reader.pk == caption.author_id or not second_readers(caption.round).filter(pk=reader.pk).exists():
        raise ReaderRefusedError(_("Ask somebody else of the project who knows the language well."))
    about = Caption.objects.filter(pk=caption.pk)
    is_theirs = assigned_work.is_assigned(reader, "image")
    if about.filter(is_theirs).exists() or about.filter(image__in=images_to_write_about(reader)).exists():
        raise ReaderRefusedError(_("This person still has to write about this image or works on it. Ask another."))
    if VerificationTask.objects.filter(caption=caption, task__assignments__person=reader).exists():
        raise ReaderRefusedError(_("This person rates this caption, or has rated it. Ask somebody else."))


def answer_reading(
    *, reading_id: int, reader: User, answer: ReadingAnswer, comment: str, now: datetime
) -> SecondReading:
    """Store an answer; until the manager acts on it, a later one replaces it.

    Raises
    ------
    SecondReading.DoesNotExist
    FeedbackError
        The comment cannot be stored.
    """
    comment = clean_note(comment) if comment.strip() else ""
    with transaction.atomic():
        row = SecondReading.objects.select_for_update(no_key=True, of=("self",)).get(pk=reading_id, reader=reader)
        row.answer, row.comment, row.answered_at = answer, comment, now
        row.save(update_fields=["answer", "comment", "answered_at"])
    return row
