"""Writing an e-mail of a project in the language that is active, and noting what was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.functional import Promise
from django.utils.translation import get_language, override

from core.languages.rules.page_languages import code_of, tag_of
from core.languages.rules.registry import ENGLISH
from core.people.models import OutgoingMail, Project, TextKind, TextTranslation
from core.people.rules.placeholders import filled
from core.people.selectors.email_texts import email_parts, platform_email
from core.people.selectors.texts import original_of
from core.people.services.texts import kept_translation

EmailValues = Mapping[str, str | Promise]


@dataclass(frozen=True)
class WrittenEmail:
    """A subject and a text with all filled in. `version` is of the project's text; None if it is the platform's."""

    subject: str
    body: str
    version: int | None = None
    translation: TextTranslation | None = None

    def note_on(self, mail: OutgoingMail) -> None:
        """Store with the row of an e-mail what it says."""
        rows = type(mail)._default_manager.filter(pk=mail.pk)
        rows.update(text_version=self.version, translation=self.translation)


def write_email(*, project: Project | None, kind: TextKind, values: EmailValues, now: datetime) -> WrittenEmail:
    """Write an e-mail as a project has it, or as the platform has it if it is not about one project alone.

    - `values`: what its placeholders stand for. Lazy ones are in the language of the text, such as a date.
    """
    original = original_of(project, kind) if project else None
    if project is None or original is None:
        return WrittenEmail(*_filled(platform_email(kind, tag_of(get_language())), values))
    shown = kept_translation(project=project, kind=kind, original=original, now=now)
    with override(code_of(shown.language_id if shown else ENGLISH)):
        subject, body = _filled(shown.body if shown else original.body, values)
    return WrittenEmail(subject, body, original.version, shown)


def _filled(text: str, lazy_values: EmailValues) -> tuple[str, str]:
    values = {name: str(value) for name, value in lazy_values.items()}
    subject, body = email_parts(text)
    # A line break in a name would begin another header, which Django refuses with an error.
    return " ".join(filled(subject, values).split()), filled(body, values)
