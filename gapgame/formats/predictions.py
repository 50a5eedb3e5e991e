"""Predictions and gold answers: JSON Lines with ids, or one word a line as in MultiSubs' toolkit; and baselines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from django.utils.translation import gettext as _

from crosslens_metrics.formats.lines import LineFields, LineReader
from crosslens_metrics.formats.problems import FileProblemsError, LineError
from crosslens_metrics.formats.records import malformed
from gapgame.formats.task_folders import objects_of, refused
from gapgame.formats.task_images import FEATURES, features_of, instances_of, rows_of
from gapgame.formats.tasks import GAP
from gapgame.rules.play import normalised_word
from gapgame.rules.task import TEST, TRAIN, BackOff, BaselineMethod, Context, nearest_word, random_words, words_before
from gapgame.rules.task_scores import FilledInstance, names_of
from gapgame.rules.translation import TranslatedInstance, compared_form
from tabular.downloads import json_line

PLAIN, JSON_LINES = ".txt", ".jsonl"
PUBLISHED_TEST = "testSubset"
MAX_NAMED = 5
EXAMPLE = '{"word": "seal", "positives": ["selo"], "negatives": ["foca"], "prediction": "selo"}'


def read_filled(gold: Path, predictions: Path, *, splits: Path | None = None, part: str = "") -> list[FilledInstance]:
    """Pair each instance of the gold file with its prediction, in the order of the gold file.

    `gold` may be the folder of a task, with `part` valid or test. `splits` is for MultiSubs' own sents.json: the
    instances that it lists under `part`.

    Raises FileProblemsError where a file cannot be read, or ids are missing, unknown or there twice.
    """
    if gold.is_dir():
        gold /= f"{part or TEST}.gold.jsonl"
    answers = _published(gold, splits, part or PUBLISHED_TEST) if splits else _answers(gold)
    words = _answers(predictions)
    is_plain = {file: file.suffix.lower() == PLAIN for file in (gold, predictions)}
    if is_plain[predictions] or is_plain[gold]:
        check_number(len(answers), len(words), predictions)
        words = [(ours, "", word) for (ours, _item, _word), (_id, _none, word) in zip(answers, words, strict=True)]
    check_ids([one[0] for one in answers], [one[0] for one in words], predictions, gold)
    word_of = {name: word for name, _item, word in words}
    languages = _languages(gold)
    return [FilledInstance(item, word, word_of[name], languages.get(name, "")) for name, item, word in answers]


def check_number(answers: int, words: int, predictions: Path) -> None:
    """Check that predictions without ids are as many as the answers.

    Raises FileProblemsError.
    """
    if answers != words:
        text = _(
            "Without ids, the two files must have the same number of lines, but there are %(gold)s "
            "answers and %(found)s words."
        )
        raise refused(predictions, text % {"gold": answers, "found": words})


def check_ids(known: Sequence[str], given: Sequence[str], predictions: Path, gold: Path | None = None) -> None:
    """Check that there is one prediction for each instance.

    Raises FileProblemsError with the first ids that are missing, unknown or there twice.
    """
    for file, ids in ((gold or predictions, known), (predictions, given)):
        twice = [name for name, number in Counter(ids).items() if number > 1]
        if twice:
            raise refused(file, names_of({_("duplicate ids"): twice}, MAX_NAMED))
    differing = {
        _("ids without a prediction"): sorted(set(known) - set(given)),
        _("ids that are not in the gold file"): sorted(set(given) - set(known)),
    }
    if any(differing.values()):
        raise refused(predictions, names_of(differing, MAX_NAMED))


def _answers(file: Path) -> list[tuple[str, str, str]]:
    """Yield (id, item, word) of each line; the line's number is the id if there is none."""
    answers: list[tuple[str, str, Any]]
    if file.suffix.lower() == PLAIN:
        answers = [(str(number), "", word) for number, word in enumerate(plain_words(file), start=1)]
    else:
        answers = [(value["id"], str(value.get("item") or ""), value.get("word")) for value in objects_of(file)]
    for number, (_id, _item, word) in enumerate(answers, start=1):
        if not isinstance(word, str) or not word.strip():
            raise FileProblemsError([LineError(_("There is no “word”."), number=number)], file)
    if not answers:
        raise refused(file, _("The file is empty."))
    return answers


def _languages(gold: Path) -> dict[str, str]:
    """Return the language of each answer, by id, where the file says it."""
    if gold.suffix.lower() != JSON_LINES:
        return {}
    return {value["id"]: str(value.get("language") or "") for value in objects_of(gold)}


def plain_words(file: Path) -> list[str]:
    """Return the words of a file with one a line."""
    try:
        return [line.strip() for line in file.read_text(encoding="utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise refused(file, _("The file cannot be read as UTF-8 text: %(error)s.") % {"error": error}) from error


def _published(gold: Path, splits: Path, part: str) -> list[tuple[str, str, str]]:
    """Return the answers of sents.json that splits.json lists: ascending and in lower case, as published."""
    entries = published_entries(gold, splits, part)
    return [(str(place), str(entry.get("key") or ""), entry["word"].lower()) for place, entry in entries.items()]


def published_entries(gold: Path, splits: Path, part: str) -> dict[int, Any]:
    """Return the entries of MultiSubs' sents.json that splits.json lists, by their place, ascending.

    Raises FileProblemsError where they are not there, or one has no word.
    """
    entries, lists = published_json(gold), published_json(splits)
    places = lists.get(part) if isinstance(lists, dict) else None
    if not isinstance(places, list) or not all(isinstance(place, int) for place in places):
        known = ", ".join(lists) if isinstance(lists, dict) else ""
        raise refused(splits, _("The file has no list “%(part)s”. It has: %(known)s.") % {"part": part, "known": known})
    if not isinstance(entries, list) or not places or not 0 <= min(places) <= max(places) < len(entries):
        raise refused(gold, _("The file is not a list that covers the positions of “%(part)s”.") % {"part": part})
    listed = {place: entries[place] for place in sorted(set(places))}
    if not all(isinstance(one, dict) and isinstance(one.get("word"), str) and one["word"] for one in listed.values()):
        raise refused(gold, _("Some entries have no “word”."))
    return listed


def published_json(file: Path) -> Any:
    """Read a JSON file as a whole."""
    try:
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except RecursionError as error:
        raise refused(file, malformed(error)) from error
    except (OSError, ValueError) as error:
        raise refused(file, _("The file cannot be read as JSON: %(error)s.") % {"error": error}) from error


def read_translated(file: Path) -> list[TranslatedInstance]:
    """Read one instance per line.

    Raises FileProblemsError with every line that cannot be used, or where there is no line at all.
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

    Raises FileProblemsError where a file cannot be read, or ids are missing, unknown or there twice.
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

    Raises FileProblemsError where a file cannot be read, or predictions do not fit the instances.
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


def predict(
    folder: Path,
    part: str,
    *,
    method: BaselineMethod,
    longest: int,
    seed: int,
    features: Path | None = None,
    neighbours: int = 0,
) -> Iterator[str]:
    """Yield one line for each question of `part`; `longest` is the n of n-grams.

    `neighbours` training images vote by `features`, else by those in the folder.

    Raises FileProblemsError where a file of the folder cannot be used, or an image has no features.
    """
    if method == BaselineMethod.IMAGE:
        yield from _by_image(folder, part, features or folder / FEATURES, neighbours)
        return
    questions = list(objects_of(folder / f"{part}.jsonl"))
    contexts = [_before(question, longest) for question in questions]
    model = BackOff(contexts)
    for line in objects_of(folder / f"{TRAIN}.jsonl"):
        context = _before(line, longest) if method == BaselineMethod.NGRAM else ()
        model.learn(context, _word(line))
    words = _predicted_words(method, model, contexts, model.training, seed)
    for question, word in zip(questions, words, strict=True):
        yield json_line({"id": question["id"], "word": word})


def _by_image(folder: Path, part: str, features: Path, neighbours: int) -> Iterator[str]:
    instances = instances_of(folder, (TRAIN, part))
    words: dict[str, Counter[str]] = {}
    for line in instances[TRAIN]:
        words.setdefault(line["image"], Counter())[_word(line)] += 1
    vectors = features_of(features)
    asked = rows_of([line["image"] for line in instances[part]], vectors, features)
    found = nearest_word(rows_of(list(words), vectors, features), list(words.values()), asked, neighbours=neighbours)
    for line, word in zip(instances[part], found, strict=True):
        yield json_line({"id": line["id"], "word": word})


def _before(line: Mapping[str, Any], longest: int) -> Context:
    before = line["sentence"].partition(GAP)[0]
    return words_before(before, number=longest - 1, language=line.get("language", ""))


def _word(line: Mapping[str, Any]) -> str:
    return normalised_word(line["word"], language=line.get("language", ""))


def _predicted_words(
    method: BaselineMethod, model: BackOff, contexts: list[Context], training: Counter[str], seed: int
) -> list[str]:
    if method == BaselineMethod.NGRAM:
        return [model.predict(context) for context in contexts]
    rng = np.random.default_rng(seed % 2**64)
    return random_words(training, len(contexts), by_frequency=method == BaselineMethod.FREQUENCY, rng=rng)
