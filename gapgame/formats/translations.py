"""Predictions of lexical translation with what they are compared with, as JSON Lines: docs/game-files.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from crosslens_metrics.formats.fields import Fields
from crosslens_metrics.formats.lines import LineReader
from crosslens_metrics.formats.problems import LineError
from gapgame.formats.predictions import check_ids
from gapgame.formats.task_folders import objects_of
from gapgame.rules.translation_scores import Translated, compared

EXAMPLE = '{"word": "seal", "positives": ["selo"], "negatives": ["foca"], "prediction": "selo"}'


def read_translated(file: Path) -> list[Translated]:
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


def read_predictions(predictions: Path, folder: Path, part: str) -> list[Translated]:
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
    given: list[tuple[str, str]] = []
    with LineReader(predictions) as reader:
        for record in reader.records():
            with reader.line(record):
                fields = Fields(record.value, example='{"id": "test-000001", "prediction": "selo"}')
                name = fields.text("id", needed=True)
                if "prediction" not in record.value:
                    raise LineError(_('There is no “prediction”. Write "" where the model predicts nothing.'))
                given.append((name, fields.text("prediction")))
    check_ids([line["id"] for line in gold], [name for name, _word in given], predictions)
    found = dict(given)
    with LineReader(folder / f"{part}.gold.jsonl"):
        return [_translated({**line, **asked[line["id"]], "prediction": found[line["id"]]}) for line in gold]


def _translated(value: Any) -> Translated:
    fields = Fields(value, example=EXAMPLE)
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
    word = compared(fields.text("word", needed=True))
    return Translated(word, positives, negatives, compared(fields.text("prediction"), language=language))


def _words(value: dict[str, Any], name: str, language: str) -> frozenset[str]:
    given = value.get(name)
    if not isinstance(given, list) or not all(isinstance(word, str) and word.strip() for word in given):
        raise LineError(_("“%(column)s” is not a list of words.") % {"column": name})
    return frozenset(compared(word, language=language) for word in given)
