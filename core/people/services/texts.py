"""Translations of consent, guidelines, instructions and e-mails: drafts, and what a person publishes."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from core.languages.models import Language
from core.people.models import EMAIL_KINDS, Project, TextKind, TextTranslation, User
from core.people.rules.placeholders import check_addresses
from core.people.selectors.texts import (
    OriginalText,
    check_translation,
    has_gaps,
    newest_consent_text,
    original_of,
    translation_of,
)
from core.people.services import audit_log

OF_THE_PLATFORM = 0
"""The revision of a translation that the platform brings; people's begin with 1."""


class StaleTranslationError(Exception):
    """The text has a newer version than the one that was translated."""


class ConsentGapsError(Exception):
    """The consent text leaves open what only a manager can say. Nobody is invited to it until that is filled in."""

    def __init__(self) -> None:
        super().__init__(_("The consent text does not say who to ask, or the licence of captions. Fill it in first."))


def check_gaps(project: Project) -> None:
    """Raise ConsentGapsError if nobody should be invited to the consent text yet."""
    if has_gaps(newest_consent_text(project)):
        raise ConsentGapsError


def save_translation(
    *,
    project: Project,
    kind: TextKind,
    language: Language,
    version: int,
    body: str,
    publishes: bool = False,
    drafted_by: str = "",
    reviewed_by: str = "",
    by: User | None,
    now: datetime,
) -> TextTranslation:
    """Store a draft, or publish: people see it from then on. What was published is never edited, only followed.

    - `drafted_by`: the translator whose words a draft has, empty for a person's.
    - `reviewed_by`: the name of a person without an account.

    Raises StaleTranslationError. Raises PartsError or PlaceholdersError if what would be published lacks something of
    its original, or if nobody with an account publishes an e-mail with an address that its original lacks.
    """
    with transaction.atomic():
        audit_log.lock(project, by)
        original = original_of(project, kind)
        if original is None or original.version != version:
            text = _("Version %(version)d was published in the meantime. Check what it changed, then publish again.")
            raise StaleTranslationError(text % {"version": original.version if original else 0})
        if publishes:
            check_translation(kind, original, body)
            if by is None and kind in EMAIL_KINDS:
                # The link of a reviewer can be passed on to anybody.
                check_addresses(original.body, body)
        about = {"project": project, "kind": kind, "language": language, "version": version}
        last = TextTranslation.objects.filter(**about).order_by("revision").last()
        if last is None or last.published_at is not None:
            last = TextTranslation(**about, revision=last.revision + 1 if last else 1, drafted_by=drafted_by)
        elif drafted_by:
            last.drafted_by = drafted_by
        last.body, last.saved_at, last.saved_by, last.reviewed_by = body, now, by, reviewed_by
        if publishes:
            last.published_at = now
            audit_log.record(
                project=project,
                action="translation.published",
                about=f"{kind.label}, {language.english_name}",
                by=by,
                now=now,
                details={
                    "version": version,
                    "revision": last.revision,
                    "drafted_by": last.drafted_by,
                    "reviewed_by": reviewed_by,
                },
            )
        last.save()
    return last


def kept_translation(
    *, project: Project, kind: TextKind, original: OriginalText, now: datetime, tag: str = ""
) -> TextTranslation | None:
    """Return what is shown in `tag` or the page's language, stored to stay on record; None for the original.

    What the platform brings is stored as the first revision: what people save or publish meanwhile comes after it.
    """
    shown = translation_of(project, kind, original, tag=tag)
    if shown is None or not shown._state.adding:
        return shown
    about = {"project": project, "kind": kind, "version": original.version, "language_id": shown.language_id}
    said = {"body": shown.body, "drafted_by": shown.drafted_by, "saved_at": now, "published_at": now}
    return TextTranslation.objects.get_or_create(**about, revision=OF_THE_PLATFORM, defaults=said)[0]
