"""The words of English examples as a text in languages, which is translated, reviewed and published as the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from core.people.models import Project, TextKind, TextTranslation
from core.people.selectors.texts import OriginalText, default_translation
from office.practice.models import PracticeItem, PracticeKind, PracticeSet
from office.practice.rules.texts import ExampleText, as_text, read_text

TEXT_KINDS: dict[str, TextKind] = {
    PracticeKind.RATING: TextKind.PRACTICE_RATING,
    PracticeKind.WRITING: TextKind.PRACTICE_WRITING,
    PracticeKind.COMPARING: TextKind.PRACTICE_COMPARING,
}


def newest_set(project: Project, kind: str) -> PracticeSet | None:
    return PracticeSet.objects.filter(project=project, kind=kind).order_by("version").last()


def newest_text(project: Project, *, kind: str) -> OriginalText | None:
    """Return the English examples of the newest version; None where it has none."""
    practice = newest_set(project, kind)
    return original_text(practice, practice.items.order_by("position")) if practice else None


def original_text(practice: PracticeSet, items: Iterable[PracticeItem]) -> OriginalText | None:
    words = [_words_of(item) for item in items if item.language_id == ENGLISH]
    return OriginalText(practice.version, as_text(words)) if words else None


Published = Mapping[tuple[int, str, int, str], TextTranslation]
"""Translations by project, kind, version and language."""


def published_translations(practices: Iterable[PracticeSet], tags: Collection[str]) -> Published:
    """Return the newest published translations of the practices of some projects into the languages, in one query."""
    found = TextTranslation.objects.filter(
        project__in={one.project_id for one in practices},
        kind__in=TEXT_KINDS.values(),
        version__in={one.version for one in practices},
        language__in=tags,
        published_at__isnull=False,
    ).order_by("revision")
    return {(one.project_id, one.kind, one.version, one.language_id): one for one in found}


def translation_into(
    tag: str, practice: PracticeSet, items: Iterable[PracticeItem], published: Published
) -> TextTranslation | None:
    """Return what people who work in `tag` read in place of English examples, perhaps unsaved."""
    original = original_text(practice, items) if tag != ENGLISH else None
    if original is None:
        return None
    project, kind, version = practice.project_id, TEXT_KINDS[practice.kind], practice.version
    about = {"project_id": project, "kind": kind, "version": version, "language_id": tag}
    return published.get((project, kind, version, tag)) or default_translation(original, **about)


def translated_items(
    items: Sequence[PracticeItem], translation: TextTranslation, captions_in: Language
) -> Sequence[PracticeItem]:
    """Put the words of a translation into English examples: reasons, and captions unless they stay in English."""
    translated = read_text(translation.body)
    if [len(one.captions) for one in translated] != [len(_words_of(item).captions) for item in items]:
        return items
    for item, words in zip(items, translated, strict=True):
        item.why = words.why
        if captions_in.pk != ENGLISH:
            item.language, item.mentions = captions_in, words.mentions
            item.caption, item.other_caption = (*words.captions, "")[:2]
    return items


def _words_of(item: PracticeItem) -> ExampleText:
    return ExampleText(tuple(filter(None, (item.caption, item.other_caption))), item.mentions, item.why)
