"""Consent, guidelines and instructions in the language of the page, where a person has published a translation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.http import Http404
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from core.languages.models import Language
from core.languages.rules.page_languages import tag_of
from core.people import defaults
from core.people.models import Consent, ConsentText, Project, TextKind, TextTranslation, User
from core.people.rules.markdown import to_html


def newest_consent_text(project: Project) -> ConsentText | None:
    return project.consent_texts.order_by("-version").first()


def has_gaps(text: ConsentText | None) -> bool:
    """Return whether a placeholder of the default text still has to be replaced by a manager."""
    return text is not None and defaults.GAP in text.body


def has_consented(user: User, text: ConsentText) -> bool:
    return Consent.objects.filter(user=user, text=text, withdrawn_at=None).exists()


@dataclass(frozen=True)
class OriginalText:
    """The newest version of a text as a manager wrote it."""

    version: int
    body: str


@dataclass(frozen=True)
class ShownText:
    """A text as a page shows it: the original if `translation` is None. `is_translated` says that there is another."""

    html: SafeString
    translation: TextTranslation | None
    is_translated: bool = False


_originals: dict[TextKind, Callable[[Project], OriginalText | None]] = {}


def register(kind: TextKind, newest: Callable[[Project], OriginalText | None]) -> None:
    """Register where the newest version of a kind of text stands."""
    _originals[kind] = newest


def original_of(project: Project, kind: TextKind) -> OriginalText | None:
    return _originals[kind](project)


def _consent(project: Project) -> OriginalText | None:
    text = newest_consent_text(project)
    return OriginalText(text.version, text.body) if text else None


register(TextKind.CONSENT, _consent)


def translation_of(project: Project, kind: TextKind, version: int) -> TextTranslation | None:
    """Return the published translation of this version into the language of the page; None where there is none."""
    published = TextTranslation.objects.filter(
        project=project, kind=kind, version=version, language=tag_of(get_language()), published_at__isnull=False
    )
    return published.order_by("-revision").first()


def language_shown(project: Project, kind: TextKind, version: int) -> str:
    """Return the tag of the language that a text is shown in now; empty for the original."""
    translation = translation_of(project, kind, version)
    return translation.language_id if translation else ""


def shown_text(project: Project, kind: TextKind, version: int, body: str, *, wants_original: bool = False) -> ShownText:
    translation = translation_of(project, kind, version)
    if translation is None or wants_original:
        return ShownText(to_html(body), None, translation is not None)
    return ShownText(to_html(translation.body), translation, True)


def shown_consent(text: ConsentText, *, wants_original: bool = False) -> ShownText:
    return shown_text(text.project, TextKind.CONSENT, text.version, text.body, wants_original=wants_original)


def translation_rows(
    project: Project, languages: Iterable[Language]
) -> list[tuple[TextKind, OriginalText, list[dict[str, Any]]]]:
    """List the texts that the project has, each with its languages: what is published, and whether a draft waits."""
    newest: dict[tuple[str, str, bool], TextTranslation] = {}
    for translation in TextTranslation.objects.filter(project=project).defer("body").order_by("version", "revision"):
        newest[translation.kind, translation.language_id, translation.published_at is not None] = translation
    languages = list(languages)
    listed = []
    for kind in TextKind:
        original = original_of(project, kind)
        if original is not None:
            rows = [
                {
                    "language": one,
                    "published": newest.get((kind, one.pk, True)),
                    "draft": newest.get((kind, one.pk, False)),
                }
                for one in languages
            ]
            listed.append((kind, original, rows))
    return listed


@dataclass(frozen=True)
class TextToTranslate:
    """A text with its newest draft or published translation into a language, of whatever version, if there is one."""

    project: Project
    kind: TextKind
    language: Language
    original: OriginalText
    last: TextTranslation | None


def text_to_translate(project: Project, kind: str, tag: str) -> TextToTranslate:
    """
    Raises
    ------
    Http404
        There is no such text or language.
    """
    language = Language.objects.filter(pk=tag).first()
    original = original_of(project, TextKind(kind)) if kind in TextKind.values else None
    if language is None or original is None:
        raise Http404(_("There is no such page."))
    last = latest_of(project, TextKind(kind), language)
    return TextToTranslate(project, TextKind(kind), language, original, last)


def latest_of(project: Project, kind: TextKind, language: Language) -> TextTranslation | None:
    """Return the newest draft or published translation, of whatever version: what the next one begins with."""
    found = TextTranslation.objects.filter(project=project, kind=kind, language=language)
    return found.order_by("version", "revision").last()
