"""A corpus of illustrated words, and the folder of a task made from it: docs/game-files.md."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from crosslens_metrics.formats.lines import LineFields, LineReader
from crosslens_metrics.formats.problems import MAX_SHOWN, LineError
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag, spaces_separate_words
from crosslens_metrics.text import occurrences
from gapgame.formats.corpora import ITEMS, is_corpus
from gapgame.formats.multisubs import is_layout, records_of
from gapgame.formats.task_building import TaskDrawing, write_task
from gapgame.formats.task_folders import Object, sha256_of
from gapgame.formats.task_images import Credits, credits_beside, credits_in
from gapgame.rules.items import BLANK, EXAMPLE, key_of, split_of
from gapgame.rules.multisubs import as_item, looks_like_it
from gapgame.rules.play import normalised_word
from gapgame.rules.task import WordInstance

VERSION = 2
GAP = "____"
FIELDS = {"id": "name of the instance", "language": "tag", "sentence": f"the sentence with the gap `{GAP}`"}
ANSWERS = {
    "language": "tag of its language, whose lower case counts",
    "word": "the word that belongs in the gap",
    "sense": "its synsets",
    "split": "in how many languages the sense was confirmed",
    "item": "key of the sentence in the corpus, as in exports of turns",
    "place": "line of the corpus, from 0",
}


class CorpusLine(NamedTuple):
    item: str
    language: str
    before: str
    after: str
    word: str
    split: str
    sense: tuple[str, ...]
    images: tuple[str, ...]
    credits: Credits


def corpus_lines(path: Path, reader: LineReader) -> Iterator[CorpusLine]:
    """Read the illustrated words of a file of items, of MultiSubs' sents.json, or of a folder in its layout."""
    for record in reader.whole(records_of(path)) if is_layout(path) else reader.records():
        with reader.line(record):
            line = _corpus_line(record.value)
            yield line


def _corpus_line(value: Any) -> CorpusLine:
    if looks_like_it(value):
        value = as_item(value)
    fields = LineFields(value, example=EXAMPLE)
    language, word, sentence = (
        unicodedata.normalize("NFC", fields.text(name, needed=True)) for name in ("language", "word", "sentence")
    )
    try:
        language = canonical_tag(language)
    except MalformedTagError as error:
        raise LineError(str(error)) from error
    before, after = _parts(sentence, word, value.get("start"), is_spaced=spaces_separate_words(language))
    return CorpusLine(
        item=value.get("key") or key_of(language, before, after, word),
        language=language,
        before=before,
        after=after,
        word=word,
        split=f"intersect_{split_of(value.get('split'))}",
        sense=tuple(sorted(set(_texts(value, "sense")))),
        images=tuple(dict.fromkeys(_texts(value, "images"))),
        credits=credits_in(value["images"]),
    )


def _texts(value: Mapping[str, Any], name: str) -> list[str]:
    given = value.get(name)
    texts = [one.get("file") if isinstance(one, dict) else one for one in given] if isinstance(given, list) else []
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise LineError(_("%(column)s is not a list of names.") % {"column": name})
    return [str(text) for text in texts]


def _parts(sentence: str, word: str, start: Any, *, is_spaced: bool) -> tuple[str, str]:
    spans = [match.span() for match in BLANK.finditer(sentence)]
    if not spans:
        spans = occurrences(sentence, word, spaced=is_spaced)
        if isinstance(start, int) and not isinstance(start, bool):
            spans = [span for span in spans if span[0] == start]
    if len(spans) != 1:
        raise LineError(
            _(
                "There are %(count)s possible gaps. Put one blank (___) where the word was, or give its "
                "position as “start”."
            )
            % {"count": len(spans)}
        )
    return sentence[: spans[0][0]], sentence[spans[0][1] :]


def build_task(corpus: Path, folder: Path, drawing: TaskDrawing) -> Object:
    """Draw the parts of a corpus and write them, and return the manifest; raises as `write_task`."""
    items, credits = items_of(corpus), credits_beside(corpus)
    return write_task(
        folder,
        drawing,
        instances=partial(_instances, items),
        questions=_questions(items, credits),
        whole=_whole_of,
        credits=credits,
        facts=lambda: {"task": "gap-task", "version": VERSION, "corpus": {"sha256": sha256_of(items)}},
        readme={
            "title": "Fill-in-the-blank",
            "what": f"Predict the word that belongs in the gap `{GAP}`, from the sentence, the image, or both.",
            "fields": FIELDS,
            "answers": ANSWERS,
            "prediction": '{"id": "test-000001", "word": "cat"}',
            "command": "score_gap_task . predictions.jsonl --part test [--vectors FOLDER]",
        },
    )


def items_of(corpus: Path) -> Path:
    """Return the file of items in a folder that `build_corpus` made; else `corpus` itself."""
    return corpus / ITEMS if is_corpus(corpus) else corpus


def _instances(corpus: Path) -> list[WordInstance]:
    """The columns of the corpus that drawing needs; recurring texts are kept once."""
    instances: list[WordInstance] = []
    sentences: dict[bytes, int] = {}
    kept: dict[Any, Any] = {}
    with LineReader(corpus) as reader:
        for line in corpus_lines(corpus, reader):
            whole = hashlib.sha256(_whole(line).encode()).digest()[:16]
            noun = f"{line.language} {normalised_word(line.word, language=line.language)}"
            instances.append(
                WordInstance(
                    kept.setdefault(noun, noun),
                    kept.setdefault(line.sense, line.sense),
                    sentences.setdefault(whole, len(sentences)),
                    kept.setdefault(line.split, line.split),
                    kept.setdefault(line.images, line.images),
                )
            )
            if len(reader.problems) > MAX_SHOWN:
                break
    return instances


def _whole(line: CorpusLine) -> str:
    return f"{line.language} {normalised_word(line.before + line.word + line.after, language=line.language)}"


def _questions(corpus: Path, credits: Credits) -> Iterator[tuple[Object, Object, tuple[str, ...]]]:
    """Yield question, answer and images of each instance; credits that lines state are added to `credits`."""
    for line in corpus_lines(corpus, LineReader(corpus)):
        credits.update(line.credits)
        question = {"language": line.language, "sentence": line.before + GAP + line.after}
        answer = {
            "item": line.item,
            "language": line.language,
            "word": line.word,
            "sense": list(line.sense),
            "split": line.split,
        }
        yield question, answer, line.images


def _whole_of(question: Object, answer: Object) -> str:
    language = question["language"]
    return f"{language} {normalised_word(question['sentence'].replace(GAP, answer['word'], 1), language=language)}"
