"""A person's tries at practice: one open try at a time, each example answered once, in order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Rating
from annotation.rules.text_checks import as_nfc, as_stored, hard_error, soft_warnings, unstorable
from core.conversation.rules import MessageOrigin
from core.conversation.services import MessageRefusedError, ask_managers
from core.people.models import Project, TextTranslation, User
from core.people.services import audit_log
from core.people.services.members import lock_person
from core.people.services.texts import kept_translation
from crosslens_metrics.scales import SEVEN_POINTS
from office.practice.models import PracticeAnswer, PracticeAttempt, PracticeItem, PracticeKind, PracticeSet
from office.practice.rules import grading
from office.practice.selectors.practising import items_of, practice_states
from office.practice.selectors.texts import TEXT_KINDS, original_text

MAX_MESSAGE_CHARACTERS = 1000


class NoTryLeftError(Exception):
    """The practice was passed already, its tries are used, or there are no examples."""


class NotNextError(Exception):
    """The example was answered already, or one before it was not."""


class NotAnAnswerError(Exception):
    """The answer is none of the choices, or a caption that nobody could submit. `str` says why, for people."""


def start_attempt(*, person: User, project: Project, kind: str, language: str, now: datetime) -> PracticeAttempt:
    """Begin a try, or return the one that is open.

    Raises NoTryLeftError.
    """
    with transaction.atomic():
        lock_person(person)
        (state,) = practice_states(person, [(project.pk, kind, language)])
        if state is None or state.has_passed:
            raise NoTryLeftError
        if state.is_open and state.last is not None:
            return state.last
        if not state.tries_left:
            raise NoTryLeftError
        return PracticeAttempt.objects.create(
            practice=state.practice,
            language_id=state.language_id,
            working_language_id=language,
            translation=_kept_translation(state.practice, language, now) if state.translation else None,
            person=person,
            started_at=now,
        )


def _kept_translation(practice: PracticeSet, tag: str, now: datetime) -> TextTranslation | None:
    original = original_text(practice, practice.items.order_by("position"))
    if original is None:
        return None
    kind = TEXT_KINDS[practice.kind]
    return kept_translation(project=practice.project, kind=kind, original=original, now=now, tag=tag)


def write_to_managers(*, attempt: PracticeAttempt, text: str, now: datetime) -> None:
    """Tell the managers something after the last try failed; the try keeps the last message, their inbox all.

    While tries are left it does nothing.

    Raises MessageRefusedError.
    """
    text = as_nfc(text.strip())
    if unstorable(text) or not 0 < len(text) <= MAX_MESSAGE_CHARACTERS:
        raise MessageRefusedError(_("Write a message of at most 1,000 characters."))
    with transaction.atomic():
        lock_person(attempt.person)
        project = attempt.practice.project_id
        (state,) = practice_states(attempt.person, [(project, attempt.practice.kind, attempt.working_language_id)])
        if state is not None and state.has_failed and state.last == attempt and attempt.message != text:
            about: dict[str, Any] = {"project": attempt.practice.project, "language": attempt.working_language}
            ask_managers(**about, person=attempt.person, text=text, origin=MessageOrigin.PRACTICE, now=now)
            attempt.message = text
            attempt.save(update_fields=["message"])


def forget_messages(*, person: User, now: datetime) -> None:
    """Erase what `person` wrote to managers."""
    PracticeAttempt.objects.filter(person=person).exclude(message="").update(message="")


def faults_of(attempt: PracticeAttempt, item: PracticeItem, text: str) -> list[str]:
    """Say what is wrong with a caption: what screen 2 would warn about, and what it does not mention."""
    language = attempt.working_language
    faults = [str(fault.message) for fault in soft_warnings(text, language=language, others=())]
    if language.pk == item.language_id:
        missing = grading.unmentioned_words(text, item.mentions, language=language.pk, spaced=language.spaced)
        faults += [_("It does not mention: %(what)s.") % {"what": ", ".join(missing)}] if missing else []
    return faults


def answer_item(*, attempt: PracticeAttempt, position: int, answer: str, now: datetime) -> PracticeAnswer:
    """Store an answer; the last one ends the try.

    Raises NotNextError, NotAnAnswerError.
    """
    with transaction.atomic():
        attempts = PracticeAttempt.objects.select_related("practice", "language", "working_language", "translation")
        attempt = attempts.select_for_update(no_key=True, of=("self",)).get(pk=attempt.pk)
        items = items_of(attempt)
        answered = set(attempt.answers.values_list("item", flat=True))
        following = next((item for item in items if item.pk not in answered), None)
        if following is None or following.position != position:
            raise NotNextError
        answer = as_stored(answer)
        stored = PracticeAnswer.objects.create(
            attempt=attempt,
            item=following,
            answer=answer,
            is_right=_is_right(attempt, following, answer),
            answered_at=now,
        )
        if len(answered) + 1 == len(items):
            attempt.right = attempt.answers.filter(is_right=True).count()
            attempt.passed = grading.is_passed(
                right=attempt.right, total=len(items), pass_percent=attempt.practice.pass_percent
            )
            attempt.finished_at = now
            attempt.save(update_fields=["right", "passed", "finished_at"])
    return stored


def allow_another_try(*, attempt: PracticeAttempt, by: User, now: datetime) -> None:
    """Allow another try instead of a failed one. Repeating it changes nothing."""
    with transaction.atomic():
        project = attempt.practice.project
        audit_log.lock(project, by)
        if PracticeAttempt.objects.filter(pk=attempt.pk, passed=False, is_forgiven=False).update(is_forgiven=True):
            audit_log.record(
                project=project,
                action="practice.allowed-again",
                about=attempt.practice.get_kind_display(),
                by=by,
                person=attempt.person,
                now=now,
            )


def _is_right(attempt: PracticeAttempt, item: PracticeItem, answer: str) -> bool:
    match attempt.practice.kind:
        case PracticeKind.RATING:
            _check_is_one_of(answer, Rating.values)
            return grading.is_right_level(answer, answer=item.answer, also_right=item.also_right)
        case PracticeKind.COMPARING:
            _check_is_one_of(answer, [str(number) for number in SEVEN_POINTS.numbers])
            better_is_left = grading.is_better_left(attempt.pk, item.position)
            return grading.is_right_side(int(answer), answer=item.answer, better_is_left=better_is_left)
        case _writing:
            if fault := hard_error(answer):
                raise NotAnAnswerError(str(fault.message))
            return not faults_of(attempt, item, answer)


def _check_is_one_of(answer: str, known: Sequence[str]) -> None:
    if answer not in known:
        raise NotAnAnswerError(_("Choose one of the answers (%(known)s).") % {"known": ", ".join(known)})
