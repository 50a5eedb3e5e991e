"""Gold answers and predictions: JSON Lines with ids, or one word a line as in MultiSubs' evaluation toolkit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from crosslens_metrics.formats.problems import FileProblemsError, LineError
from crosslens_metrics.formats.records import malformed
from gapgame.formats.task_folders import objects_of, refused
from gapgame.rules.task import TEST
from gapgame.rules.task_scores import FilledInstance, names_of

PLAIN, JSON_LINES = ".txt", ".jsonl"
PUBLISHED_TEST = "testSubset"
MAX_NAMED = 5


def read_filled(gold: Path, predictions: Path, *, splits: Path | None = None, part: str = "") -> list[FilledInstance]:
    """Pair each instance of the gold file with its prediction, in the order of the gold file.

    `gold` may be the folder of a task, with `part` valid or test. `splits` is for MultiSubs' own sents.json: the
    instances that it lists under `part`.

    Raises
    ------
    FileProblemsError
        Where a file cannot be read, or ids are missing, unknown or there twice.
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

    Raises
    ------
    FileProblemsError
    """
    if answers != words:
        text = _(
            "Without ids, the two files must have the same number of lines, but there are %(gold)s "
            "answers and %(found)s words."
        )
        raise refused(predictions, text % {"gold": answers, "found": words})


def check_ids(known: Sequence[str], given: Sequence[str], predictions: Path, gold: Path | None = None) -> None:
    """Check that there is one prediction for each instance.

    Raises
    ------
    FileProblemsError
        With the first ids that are missing, unknown or there twice.
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

    Raises
    ------
    FileProblemsError
        Where they are not there, or one has no word.
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
