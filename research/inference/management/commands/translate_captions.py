"""`manage.py translate_captions CAPTIONS.jsonl --source FOLDER --to de fr --out OUT.jsonl`."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.languages.rules.registry import ENGLISH
from crosslens_metrics.commands.running import language_tag
from research.inference.backends.captioners import (
    GeneratedCaption,
)
from research.inference.management.arguments import LoadedTranslation, add_translator_arguments, load_translator
from research.inference.projections.folder import replacing
from research.inference.services.captioning import translated_texts
from research.inference.training.examples import TrainingExample, digest_of, read_examples


class Command(BaseCommand):
    help = (
        "Translate English captions of images into other languages, as references or training data. Run the same "
        "command again to resume after an interruption."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("captions", type=Path, help='JSON lines: {"image": …, "caption": …} or "captions": […]')
        parser.add_argument(
            "--to", nargs="+", required=True, type=language_tag, metavar="TAG", help="for example de fr"
        )
        parser.add_argument("--out", type=Path, required=True, help="file for the translations")
        add_translator_arguments(parser)
        parser.add_argument("--json", action="store_true", help="print a JSON object a line")

    def handle(self, *, captions: Path, to: list[str], out: Path, **given: Any) -> None:
        self._is_json = given["json"]
        with load_translator(given, to=to) as translator:
            english = [one for one in read_examples(captions, language=ENGLISH) if one.language == ENGLISH]
            if not english:
                raise CommandError(f"{captions} has no English captions, and translators translate from English.")
            self._translate(translator, english, to, out)

    def _translate(
        self,
        translator: LoadedTranslation,
        english: Sequence[TrainingExample],
        to: Sequence[str],
        out: Path,
    ) -> None:
        translation, spec, decoding = translator.translation, translator.spec, translator.decoding
        by_image: dict[str, list[str]] = {}
        for one in english:
            by_image.setdefault(one.image, []).append(one.caption)
        made = {
            "captions": digest_of(english),
            "translator": {**translation.describe(), "source": spec.source, "options": spec.options},
            "decoding": decoding.stored(),
        }
        done = _begin(out, made)
        failed = 0
        size = translation.batch_size
        with out.open("a", encoding="utf-8") as file:
            for language in to:
                images = [image for image in by_image if (image, language) not in done]
                for start in range(0, len(images), size):
                    some = images[start : start + size]
                    texts = [text for image in some for text in by_image[image]]
                    keys = [f"{image} {number}" for image in some for number, _text in enumerate(by_image[image])]
                    results = iter(
                        translated_texts(translation, texts, keys=keys, language=language, decoding=decoding)
                    )
                    for image in some:
                        pairs = [(text, next(results)) for text in by_image[image]]
                        good = [(text, one.text) for text, one in pairs if isinstance(one, GeneratedCaption)]
                        failed += len(pairs) - len(good)
                        if good:
                            line = {"image": image, "language": language, "captions": [text for _english, text in good]}
                            line["stabilisers"] = [text for text, _translation in good]
                            file.write(json.dumps(line, ensure_ascii=False) + "\n")
                    file.flush()
                    os.fsync(file.fileno())
                    self._say(language, start + len(some), len(images))
        self._end(out, failed)

    def _say(self, language: str, done: int, total: int) -> None:
        text = f"{language}: {done} of {total} images"
        self.stdout.write(json.dumps({"language": language, "done": done, "total": total}) if self._is_json else text)
        self.stdout.flush()

    def _end(self, out: Path, failed: int) -> None:
        if self._is_json:
            self.stdout.write(json.dumps({"out": str(out), "failed": failed}))
            return
        more = f" Captions that could not be translated and are left out: {failed}." if failed else ""
        self.stdout.write(f"The translations are in {out}, and what made them is in {_about(out)}.{more}")


def _about(out: Path) -> Path:
    return out.with_name(f"{out.name}.json")


def _begin(out: Path, made: dict[str, Any]) -> set[tuple[str, str]]:
    """Return what is in the file already; a line that a killed process left unfinished is taken off.

    Raises CommandError where the file was made otherwise.
    """
    about = _about(out)
    if not out.exists():
        with replacing(about) as partial:
            partial.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        return set()
    try:
        before = json.loads(about.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{out} is there, but nothing says what made it ({error}). Choose another file.") from error
    if before != json.loads(json.dumps(made)):
        raise CommandError(f"{out} was made from other captions, or by another translator. Choose another file.")
    lines = out.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    if len(whole) < len(lines):
        with replacing(out) as partial:
            partial.write_text("".join(whole), encoding="utf-8")
    values = [json.loads(line) for line in whole]
    return {(value["image"], value["language"]) for value in values}
