"""E-mails of a project: in each language what the platform says, until somebody publishes other words for it.

The original is English. A manager's English is stored as what was published of the version before, and begins the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import cache, partial

from django.template.loader import render_to_string
from django.utils.html import format_html, linebreaks
from django.utils.safestring import SafeString
from django.utils.translation import get_language, override
from django.utils.translation import gettext_lazy as _

from core.languages.rules.cldr import DAY, MOMENT, WITH_ZONE, date_text
from core.languages.rules.page_languages import PAGE_LANGUAGES, code_of
from core.languages.rules.registry import ENGLISH
from core.people.models import EMAIL_KINDS, Project, TextKind, TextTranslation
from core.people.rules.placeholders import check_placeholders
from core.people.selectors.texts import OriginalText, register

FIRST_VERSION = 1
_HELP = _("The first line is the subject. What is in braces is filled in when the e-mail is sent, and has to stay.")


def sample_values() -> dict[str, str]:
    """Return what a preview fills in, in the language of the page."""
    language = get_language() or ""
    return {
        "INVITER": "maria",
        "LINK": "https://example.org/…",
        "DATE": date_text(date(2030, 1, 31), language, DAY),
        "DEADLINE": date_text(datetime(2030, 1, 31, 17, tzinfo=UTC), language, MOMENT + WITH_ZONE),
    }


@cache
def platform_email(kind: TextKind, tag: str = ENGLISH) -> str:
    """Return what the platform says in a language of the pages, with placeholders in braces; empty in others."""
    if code_of(tag) not in dict(PAGE_LANGUAGES):
        return ""
    names = ("PROJECT", *sample_values())
    context: Mapping[str, object] = {"kind": kind, **{name: f"{{{name}}}" for name in names}}
    template = "invitation" if kind in (TextKind.INVITATION, TextKind.REMINDER) else "notice"
    with override(code_of(tag)):
        return render_to_string(f"people/email/{template}.txt", context)


def email_parts(text: str) -> tuple[str, str]:
    """Return the subject, which is the first line, and the rest."""
    subject, _newline, body = text.lstrip().partition("\n")
    return subject.strip(), body.strip() + "\n"


def _newest(project: Project, kind: TextKind) -> OriginalText:
    published = TextTranslation.objects.filter(project=project, kind=kind, language=ENGLISH, published_at__isnull=False)
    changed, values = published.order_by("version").last(), {"PROJECT": project.name}
    if changed is None:
        return OriginalText(FIRST_VERSION, platform_email(kind), values)
    return OriginalText(changed.version + 1, changed.body, values)


def _as_shown(text: str) -> SafeString:
    subject, body = email_parts(text)
    return format_html("<p><strong>{}</strong></p>{}", subject, SafeString(linebreaks(body.strip(), autoescape=True)))


def register_emails() -> None:
    for kind in EMAIL_KINDS:
        register(
            kind,
            partial(_newest, kind=kind),
            sample_values,
            default=partial(platform_email, kind),
            check=check_placeholders,
            help=_HELP,
            as_html=_as_shown,
        )
