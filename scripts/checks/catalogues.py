"""The translations: complete, compiled, and with the placeholders and tags of the English."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import polib

from languages.rules.page_languages import COMPLETE, PAGE_LANGUAGES, UNKNOWN_TO_DJANGO, is_of_work
from scripts.checks.sources import TextFinding, at, quoted, text_of, unless
from scripts.messages import ALL, LOCALE, catalogue_of, folder_of

PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%%|\{\w*\}")
TAG = re.compile(r"</?[a-z][^>]*>")
# Plural forms for one number each, which may say it in words: none, one and two in Arabic, one in other languages.
FORMS_OF_ONE_NUMBER = {ALL: {0, 1, 2}}
TERMS = {"caption", "batch", "rating", "Not enough info", "leaderboard"}
"""Of every glossary for translators."""
OF_DJANGO = {"January", "This field is required.", "Monday"}
COLLECT = "run make messages"
TRANSLATE = "translate it, then run make messages"

LANGUAGES = (ALL, *(code for code, _own_name in PAGE_LANGUAGES if code not in COMPLETE))
Key = tuple[str | None, str]


def check(languages: tuple[str, ...] = LANGUAGES) -> Iterator[TextFinding]:
    for language in languages:
        yield from in_catalogue(language)
    for language in UNKNOWN_TO_DJANGO:
        path = catalogue_of(language, under=LOCALE / "lacking")
        missing = OF_DJANGO - {entry.msgid for entry in polib.pofile(text_of(path))}
        yield from unless(not missing, path, 1, f"Django's {quoted(missing)} is missing", "add its translation")


def in_catalogue(language: str) -> Iterator[TextFinding]:
    path = catalogue_of(language)
    file = polib.pofile(text_of(path))
    plurals = int(file.metadata["Plural-Forms"].partition("nplurals=")[2].partition(";")[0])
    for entry in file:
        message = f"“{entry.msgid}”"
        if entry.obsolete:
            yield at(path, entry.linenum, f"{message} is no longer in the source", COLLECT)
        elif entry.fuzzy or not all(forms_of(entry).values()):
            yield at(path, entry.linenum, f"{message} is not translated, or only by a guess", TRANSLATE)
        elif entry.msgid_plural and set(forms_of(entry)) != set(range(plurals)):
            yield at(path, entry.linenum, f"{message} has not {plurals} plural forms", TRANSLATE)
        else:
            yield from in_entry(path, entry, FORMS_OF_ONE_NUMBER.get(language, {0}))
    texts = {key_of(entry): forms_of(entry) for entry in file}
    if language != ALL:
        for _context, message in of_work(text_of(catalogue_of(ALL))) - texts.keys():
            yield at(path, 1, f"“{message}” is missing", COLLECT)
        for _context, message in texts.keys() - of_work(text_of(catalogue_of(ALL))):
            yield at(path, f'msgid "{message}', f"“{message}” is on no page of work", COLLECT)
        glossary = LOCALE / folder_of(language) / "glossary.tsv"
        missing = TERMS - {line.split("\t")[0] for line in text_of(glossary).splitlines()}
        yield from unless(not missing, glossary, 1, f"{quoted(missing)} is missing", "add a line for it")
    compiled = {key_of(entry): forms_of(entry) for entry in polib.mofile(str(path.with_suffix(".mo")))}
    for key in texts.keys() | compiled.keys():
        if texts.get(key) != compiled.get(key):
            yield at(path, f'msgid "{key[1]}', f"“{key[1]}” is compiled otherwise in django.mo", COLLECT)


def in_entry(path: Path, entry: polib.POEntry, of_one_number: set[int]) -> Iterator[TextFinding]:
    english = entry.msgid_plural or entry.msgid
    for number, text in forms_of(entry).items():
        wanted, found = Counter(PLACEHOLDER.findall(english)), Counter(PLACEHOLDER.findall(text))
        if found != wanted and not (number in of_one_number and found < wanted):
            yield at(path, entry.linenum, f"“{text}” has other placeholders", "use those of the English")
        if Counter(TAG.findall(english)) != Counter(TAG.findall(text)):
            yield at(path, entry.linenum, f"“{text}” has other tags", "use those of the English")


@cache
def of_work(complete: str) -> set[Key]:
    """The messages of the pages of work, of the text of the catalogue that has all messages."""
    asked = cache(is_of_work)
    return {key_of(one) for one in polib.pofile(complete) if any(asked(name) for name, _line in one.occurrences)}


def key_of(entry: polib.POEntry) -> Key:
    return entry.msgctxt, entry.msgid


def forms_of(entry: polib.POEntry) -> dict[int, str]:
    return entry.msgstr_plural or {-1: entry.msgstr}
