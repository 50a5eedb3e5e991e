"""Predictions of lexical translation with what they are compared with: docs/game-files.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from crosslens_metrics.formats.lines import LineFields, LineReader
from crosslens_metrics.formats.problems import LineError
from gapgame.formats.predictions import (
    PLAIN,
    PUBLISHED_TEST,
    check_ids,
    check_number,
    plain_words,
    published_entries,
    published_json,
)
from gapgame.formats.task_folders import objects_of
from gapgame.rules.translation_scores import TranslatedInstance, compared_form

EXAMPLE = '{"word": "seal", "positives": ["selo"], "negatives": ["foca"], "prediction": "selo"}'


def read_translated(file: Path) -> list[TranslatedInstance]:
    """Read one instance per line.

    Raises
    ------
    FileProblemsError
        With every line that cannot be used, or where there is no line at all.
    """
    translated = []
    with LineReader(file) as reader:
        for record in reader.records():
            with reader.line(record):
                translated.append(_translated(record.value))
        if not translated and not reader.problems:
            raise LineError(_("The file is empty."))
    return translated


def read_predictions(predictions: Path, folder: Path, part: str) -> list[TranslatedInstance]:
    """Pair each instance of the part of a task with its prediction; its source word is the lemma of the word.

    Raises
    ------
    FileProblemsError
        Where a file cannot be read, or ids are missing, unknown or there twice.
    """
    gold = list(objects_of(folder / f"{part}.gold.jsonl"))
    asked = {
        line["id"]: {"word": line["lemma"], "translate_to": line.get("translate_to", "")}
        for line in objects_of(folder / f"{part}.jsonl")
    }
    found = _predicted(predictions, [line["id"] for line in gold])
    with LineReader(folder / f"{part}.gold.jsonl"):
        pairs = zip(gold, found, strict=True)
        return [_translated({**line, **asked[line["id"]], "prediction": word}) for line, word in pairs]


def read_published(
    predictions: Path, gold: Path, *, splits: Path, dictionary: Path, part: str
) -> list[TranslatedInstance]:
    """Pair each instance of MultiSubs' sents.json that splits.json lists as `part` with its prediction.

    As in the published script, all translations of the word in the dictionary that are not right are wrong. Ids of
    predictions are places in sents.json, from 0.

    Raises
    ------
    FileProblemsError
        Where a file cannot be read, or predictions do not fit the instances.
    """
    entries = published_entries(gold, splits, part or PUBLISHED_TEST)
    with LineReader(dictionary):
        translations = published_json(dictionary)
        if not isinstance(translations, dict) or not all(map(_is_list, translations.values())):
            raise LineError(_("The file does not give a list of translations for each word."))
        known = {compared_form(word): frozenset(map(compared_form, words)) for word, words in translations.items()}
    found = _predicted(predictions, list(map(str, entries)))
    with LineReader(gold):
        rows = [(compared_form(one["word"]), _words(one, "positiveTargets", "")) for one in entries.values()]
    return [
        TranslatedInstance(word, positives, known.get(word, frozenset()) - positives, compared_form(prediction))
        for (word, positives), prediction in zip(rows, found, strict=True)
    ]


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _predicted(predictions: Path, ids: Sequence[str]) -> list[str]:
    """Return the prediction of each instance: by its id or, in a .txt file, by its line."""
    if predictions.suffix.lower() == PLAIN:
        words = plain_words(predictions)
        check_number(len(ids), len(words), predictions)
        return words
    given: list[tuple[str, str]] = []
    with LineReader(predictions) as reader:
        for record in reader.records():
            with reader.line(record):
                fields = LineFields(record.value, example='{"id": "test-000001", "prediction": "selo"}')
                name = fields.text("id", needed=True, numbers=True)
                if "prediction" not in record.value:
                    raise LineError(_('There is no “prediction”. Write "" where the model predicts nothing.'))
                given.append((name, fields.text("prediction")))
    check_ids(ids, [name for name, _word in given], predictions)
    found = dict(given)
    return [found[name] for name in ids]


def _translated(value: Any) -> TranslatedInstance:
    fields = LineFields(value, example=EXAMPLE)
    language = fields.text("translate_to")
    positives, negatives = (_words(value, name, language) for name in ("positives", "negatives"))
    if not positives:
        raise LineError(_("“positives” is empty. Name at least one word that is right."))
    if both := sorted(positives & negatives):
        raise LineError(
            _("Among both “positives” and “negatives”: %(words)s. Leave each in one.") % {"words": ", ".join(both)}
        )
    if "prediction" not in value:
        raise LineError(_('There is no “prediction”. Write "" where the model predicts nothing.'))
    word = compared_form(fields.text("word", needed=True))
    return TranslatedInstance(word, positives, negatives, compared_form(fields.text("prediction"), language=language))


def _words(value: dict[str, Any], name: str, language: str) -> frozenset[str]:
    given = value.get(name)
    if not isinstance(given, list) or not all(isinstance(word, str) and word.strip() for word in given):
        raise LineError(_("“%(column)s” is not a list of words.") % {"column": name})
    return frozenset(compared_form(word, language=language) for word in given)
