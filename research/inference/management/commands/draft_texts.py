"""`manage.py draft_texts SLUG --source FOLDER --to de fr`."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.languages.models import Language
from core.people.models import Project, TextKind
from core.people.rules.consent_parts import is_marker
from core.people.selectors.texts import latest_of, original_of
from core.people.services.texts import save_translation
from crosslens_metrics.commands.running import language_tag
from research.inference.backends.captioners import GeneratedCaption
from research.inference.management.arguments import LoadedTranslation, add_translator_arguments, load_translator
from research.inference.services.captioning import translated_texts

MARKDOWN = re.compile(r"^(\s*(?:#{1,6}|[-*>=]|\d+\.)?\s*)(.*?)(\s*)$")


class Command(BaseCommand):
    help = (
        "Draft translations of a project's English texts. Nobody sees a draft before a manager has published it. "
        "Languages that have a translation of the newest version are left alone."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="name of the project in addresses")
        parser.add_argument(
            "--to", nargs="+", required=True, type=language_tag, metavar="TAG", help="for example de fr"
        )
        add_translator_arguments(parser)

    def handle(self, *, project: str, to: list[str], **given: Any) -> None:
        found = Project.objects.filter(slug=project).first()
        if found is None:
            raise CommandError(f"There is no project {project}. Its name is the part after /projects/ in addresses.")
        languages = Language.objects.in_bulk(to)
        if unknown := sorted(set(to) - languages.keys()):
            raise CommandError(f"The installation has no language {', '.join(unknown)}.")
        with load_translator(given, to=to) as translator:
            for tag in to:
                for kind in TextKind:
                    self._draft(found, kind, languages[tag], translator)

    def _draft(self, project: Project, kind: TextKind, language: Language, translator: LoadedTranslation) -> None:
        original = original_of(project, kind)
        last = latest_of(project, kind, language)
        if original is None or (last is not None and last.version == original.version):
            return
        body, failed = _translated(original.body, language.tag, translator)
        save_translation(
            project=project,
            kind=kind,
            language=language,
            version=original.version,
            body=body,
            drafted_by=translator.spec.source,
            by=None,
            now=timezone.now(),
        )
        more = f", {failed} lines left in English" if failed else ""
        self.stdout.write(f"{language.english_name}: drafted {kind.value}, version {original.version}{more}")


def _translated(body: str, tag: str, translator: LoadedTranslation) -> tuple[str, int]:
    """Translate line by line, so that headings and lists stay; lines that fail, have no words or are markers stay."""
    parts = [
        (line, "", "") if is_marker(line) or not any(map(str.isalpha, line)) else match.groups()
        for line in body.splitlines()
        if (match := MARKDOWN.match(line))
    ]
    texts = [text for _mark, text, _end in parts if text]
    size = translator.translation.batch_size
    results = []
    for start in range(0, len(texts), size):
        some = texts[start : start + size]
        keys = [f"line {start + number + 1}" for number in range(len(some))]
        results += translated_texts(translator.translation, some, keys=keys, language=tag, decoding=translator.decoding)
    made = iter(results)
    lines, failed = [], 0
    for mark, text, _end in parts:
        one = next(made) if text else None
        failed += one is not None and not isinstance(one, GeneratedCaption)
        lines.append(mark + (one.text if isinstance(one, GeneratedCaption) else text))
    return "\n".join(lines) + "\n", failed
