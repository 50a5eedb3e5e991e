"""Consent, guidelines and instructions in the language of the page, where a person has published a translation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db.models import TextChoices
from django.http import Http404
from django.utils import translation
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from core.languages.models import Language
from core.languages.rules.page_languages import tag_of
from core.languages.rules.registry import ENGLISH
from core.people import defaults
from core.people.models import (
    EMAIL_KINDS,
    Consent,
    ConsentText,
    Membership,
    Project,
    Role,
    TextKind,
    TextTranslation,
    User,
)
from core.people.rules.consent_parts import (
    ROLES_OF_PARTS,
    check_parts,
    consent_roles,
    covers,
    has_parts,
    text_for,
    with_markers,
    without_markers,
)
from core.people.rules.markdown import to_html
from core.people.rules.placeholders import filled
from core.people.rules.roles import ANNOTATOR

MACHINE = "Crosslens"
"""Who drafted the translations that the platform brings."""


@dataclass(frozen=True)
class OriginalText:
    """A version of a text as a manager wrote it. `values` are what its placeholders stand for in this project."""

    version: int
    body: str
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ShownText:
    """A text as a page shows it: the original if `translation` is None. `is_translated` says that there is another."""

    html: SafeString
    translation: TextTranslation | None
    is_translated: bool = False


Names = Callable[[], Mapping[str, str]]
Check = Callable[[str, str], None]


@dataclass(frozen=True)
class _TextSource:
    newest: Callable[[Project], OriginalText | None]
    names: Names
    default: Callable[[str], str]
    check: Check
    help: Promise | str
    as_html: Callable[[str], SafeString]


_sources: dict[TextKind, _TextSource] = {}


def register(
    kind: TextKind,
    newest: Callable[[Project], OriginalText | None],
    names: Names = dict,
    *,
    default: Callable[[str], str] | None = None,
    check: Check = check_parts,
    help: Promise | str = "",
    as_html: Callable[[str], SafeString] = to_html,
) -> None:
    """Register where the newest version of a kind of text stands, and what buttons call what is in braces in it.

    - `default`: what the platform brings in a language; a file of core/people/defaults if it is not given.
    - `check`: raises PartsError or PlaceholdersError where a translation (its second argument) lacks what the original
      has, in braces or on lines of their own.
    - `help`: what a translator has to know about its lines.
    - `as_html`: how people see it, once all is filled in.
    """
    default = default or partial(defaults.default_text, kind)
    _sources[kind] = _TextSource(newest, names, default, check, help, as_html)


def platform_text(kind: TextKind, tag: str = ENGLISH) -> str:
    """Return what the platform brings in a language; empty where it brings nothing."""
    return _sources[kind].default(tag)


def check_translation(kind: TextKind, original: OriginalText, body: str) -> None:
    """Raise PartsError or PlaceholdersError if people should not read `body` as a translation."""
    _sources[kind].check(original.body, body)


def help_with(kind: TextKind) -> str:
    return str(_sources[kind].help)


def original_of(project: Project, kind: TextKind) -> OriginalText | None:
    return _sources[kind].newest(project)


def newest_consent_text(project: Project) -> ConsentText | None:
    return project.consent_texts.order_by("-version").first()


def has_gaps(text: ConsentText | None) -> bool:
    """Return whether a manager still has to say what a placeholder of the text stands for."""
    if text is None:
        return False
    gaps = [f"{{{name}}}" for name, value in text.values.items() if not value]
    return any(gap in text.body for gap in [defaults.GAP, *gaps])


def notes_writing_marks(project: Project) -> bool:
    """Return whether people who take work now have read that pasted text and absences are noted.

    The text alone decides: without its English sentence nothing is noted.
    """
    text = newest_consent_text(project)
    return text is not None and defaults.WRITING_MARKS in " ".join(text_for(text.body, [ANNOTATOR]).split())


@dataclass(frozen=True)
class AskedConsent:
    """What a page asks somebody to agree to: as what ("" for all roles at once), and for which roles it is shown."""

    asked: tuple[str, ...]
    shown: tuple[str, ...]
    has_agreed: bool


def asked_consent(user: User, text: ConsentText) -> AskedConsent:
    """Return as what `user` has yet to agree to `text`. If nothing is left, it is shown for all of their roles."""
    held = Membership.objects.filter(user=user, project=text.project_id).values_list("role", flat=True)
    given = set(Consent.objects.filter(user=user, text=text, withdrawn_at=None).values_list("role", flat=True))
    roles = consent_roles(text.body, set(held))
    asked = tuple(role for role in roles if not covers(given, role))
    return AskedConsent(asked, asked or roles, has_agreed=bool(given) and not asked)


def original_consent(text: ConsentText) -> OriginalText:
    return OriginalText(text.version, text.body, text.values)


def _consent(project: Project) -> OriginalText | None:
    text = newest_consent_text(project)
    return original_consent(text) if text else None


register(TextKind.CONSENT, _consent)


def filled_text(kind: TextKind, body: str, values: Mapping[str, str], *, roles: Collection[str] | None = None) -> str:
    """Fill in the placeholders of a text, in the language of the page, as people with `roles` read it.

    Without `roles`, it has the parts for each role, with their markers.
    """
    read = with_markers(body) if roles is None else text_for(body, roles)
    return filled(read, {**_sources[kind].names(), **values})


def html_text(
    kind: TextKind, body: str, values: Mapping[str, str], *, roles: Collection[str] | None = None
) -> SafeString:
    """Return a text as people with `roles` see it, with its placeholders filled in."""
    return _sources[kind].as_html(filled_text(kind, body, values, roles=roles))


def english_text(kind: TextKind, body: str, values: Mapping[str, str]) -> str:
    """Fill in the placeholders of a text, in English, for files."""
    with translation.override(ENGLISH):
        return filled_text(kind, body, values)


def is_default(kind: TextKind, body: str) -> bool:
    """Return whether nobody has changed the text that projects begin with.

    Older projects have it without parts, or with the English names of levels filled in.
    """
    default = platform_text(kind)
    whole = without_markers(default)
    return body.split() in [text.split() for text in (default, whole, english_text(kind, whole, {}))]


def translation_of(
    project: Project, kind: TextKind, original: OriginalText, *, tag: str = ""
) -> TextTranslation | None:
    """Return the translation of this version into `tag`, or the language of the page; None where there is none.

    It is what a person has published or, for a text that projects begin with, what the platform brings, unsaved.
    """
    about = {
        "project": project,
        "kind": kind,
        "version": original.version,
        "language_id": tag or tag_of(get_language()),
    }
    published = TextTranslation.objects.filter(**about, published_at__isnull=False).order_by("-revision").first()
    return published or default_translation(original, **about)


def default_translation(original: OriginalText, **about: Any) -> TextTranslation | None:
    """Return what the platform brings in a language, unsaved; None if the original is no longer the platform's.

    - `about`: fields of the translation, with `language_id`.
    """
    tag = about["language_id"]
    if tag == ENGLISH or not is_default(about["kind"], original.body):
        return None
    body = platform_text(about["kind"], tag)
    if not has_parts(original.body):
        body = without_markers(body)
    return TextTranslation(**about, body=body, drafted_by=MACHINE) if body else None


def shown_text(
    project: Project,
    kind: TextKind,
    original: OriginalText,
    *,
    roles: Collection[str] | None = None,
    wants_original: bool = False,
) -> ShownText:
    found = translation_of(project, kind, original)
    shown = None if wants_original else found
    html = html_text(kind, shown.body if shown else original.body, original.values, roles=roles)
    return ShownText(html, shown, found is not None)


def shown_consent(text: ConsentText, roles: Collection[str], *, wants_original: bool = False) -> ShownText:
    """Return what people with `roles` read before they agree."""
    original = original_consent(text)
    return shown_text(text.project, TextKind.CONSENT, original, roles=roles, wants_original=wants_original)


def consent_by_role(text: ConsentText) -> list[tuple[str, ShownText]]:
    """Return what people with each role read, with the role's label; once, without one, where all read the same."""
    if not has_parts(text.body):
        return [("", shown_consent(text, [], wants_original=True))]
    return [(str(Role(role).label), shown_consent(text, [role], wants_original=True)) for role in ROLES_OF_PARTS]


class TranslationState(TextChoices):
    NONE = "none", _("not translated")
    OLDER = "older", _("of an older version")
    DRAFT = "draft", _("draft")
    MACHINE = "machine", _("by machine, not reviewed")
    REVIEWED = "reviewed", _("reviewed")


@dataclass(frozen=True)
class TranslationCell:
    """How far the newest version of a text is in a language; `has_draft` says that a newer draft waits."""

    kind: TextKind
    state: TranslationState
    has_draft: bool = False
    reviewer: str = ""


Originals = Mapping[TextKind, OriginalText]


def originals_of(project: Project) -> Originals:
    """Return the texts that the project has."""
    return {kind: text for kind in TextKind if (text := original_of(project, kind)) is not None}


def translation_rows(
    project: Project, originals: Originals, languages: Iterable[Language]
) -> list[tuple[Language, list[TranslationCell]]]:
    """Say for each language how far each text is."""
    stored: dict[tuple[str, str], list[TextTranslation]] = {}
    rows = TextTranslation.objects.filter(project=project).defer("body").select_related("saved_by")
    for row in rows.order_by("version", "revision"):
        stored.setdefault((row.kind, row.language_id), []).append(row)
    return [
        (one, [_cell(kind, original, one.pk, stored.get((kind, one.pk), ())) for kind, original in originals.items()])
        for one in languages
    ]


def _cell(kind: TextKind, original: OriginalText, tag: str, rows: Sequence[TextTranslation]) -> TranslationCell:
    newest = [row for row in rows if row.version == original.version]
    has_draft = bool(newest) and newest[-1].published_at is None
    if published := [row for row in newest if row.published_at]:
        last = published[-1]
        state = TranslationState.REVIEWED if last.reviewer else TranslationState.MACHINE
        return TranslationCell(kind, state, has_draft, last.reviewer)
    if tag != ENGLISH and is_default(kind, original.body) and platform_text(kind, tag):
        return TranslationCell(kind, TranslationState.MACHINE, has_draft)
    if has_draft:
        return TranslationCell(kind, TranslationState.DRAFT)
    return TranslationCell(kind, TranslationState.OLDER if rows else TranslationState.NONE)


@dataclass(frozen=True)
class TextToTranslate:
    """A text with its newest draft or published translation into a language, of whatever version, if there is one."""

    project: Project
    kind: TextKind
    language: Language
    original: OriginalText
    last: TextTranslation | None


def text_to_translate(project: Project, kind: str, tag: str) -> TextToTranslate:
    """Raises Http404: there is no such text or language."""
    language = Language.objects.filter(pk=tag).first()
    original = original_of(project, TextKind(kind)) if kind in TextKind.values else None
    if language is None or original is None:
        raise Http404(gettext("There is no such page."))
    last = latest_of(project, TextKind(kind), language)
    return TextToTranslate(project, TextKind(kind), language, original, last)


def latest_of(project: Project, kind: TextKind, language: Language) -> TextTranslation | None:
    """Return what the next translation begins with: the newest, draft or published, or what the platform brings."""
    found = TextTranslation.objects.filter(project=project, kind=kind, language=language)
    last = found.order_by("version", "revision").last()
    if language.pk == ENGLISH and kind in EMAIL_KINDS and last is not None and last.published_at is not None:
        # It is the original now.
        return None
    original = original_of(project, kind)
    if original is None or (last is not None and last.version == original.version):
        return last
    about = {"project": project, "kind": kind, "version": original.version, "language_id": language.pk}
    return default_translation(original, **about) or last
