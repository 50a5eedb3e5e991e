"""Messages are marked so that they are collected, and translations have their placeholders, tags and plural forms.

How many are missing is only counted: a message that a catalogue lacks is shown in English.
"""

from __future__ import annotations

import calendar
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from gettext import find
from importlib.util import find_spec
from pathlib import Path

import polib

from core.languages.rules.catalogues import LOCALE
from core.languages.rules.page_languages import COMPLETE, PAGE_LANGUAGES, is_of_work
from tools.scripts.checks.sources import PRODUCT, TextFinding, at, files_in, quoted, text_of, unless
from tools.scripts.messages import ALL, catalogue_of, folder_of

ALIAS = re.compile(r"\bn?p?gettext(?:_lazy|_noop)? as (?!_\b)\w+")
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%%|\{\w*\}")
TAG = re.compile(r"</?[a-z][^>]*>")
# Plural forms for one number each, which may say it in words: none, one and two in Arabic, one in other languages.
FORMS_OF_ONE_NUMBER = {ALL: {0, 1, 2}}
TERMS = {"caption", "batch", "rating", "Not enough info", "leaderboard"}
"""Of every glossary for translators."""
OF_DATES = {*calendar.month_name, *calendar.month_abbr, *calendar.day_name, *calendar.day_abbr} - {""}
PACKAGES = ("django.conf", "django.contrib.auth", "allauth")
"""Whose messages pages of work show."""
LACKING = LOCALE / "lacking"
SWITCHED_OFF = re.compile(
    "(login|reset|verification)_code|confirm_code|email_confirmation_|phone|passkey|webauthn|trust|sent.html|/verified_"
    "|signup|/account/email.html|/snippets/|unknown_account|usersessions|idp/|headless|providers/"
)
"""Templates of allauth for what is switched off here: codes by e-mail, phones, security keys, signing up."""
NOT_SHOWN = re.compile("[Ss]ecurity [Kk]ey|^(Add|Manage|I have saved my recovery codes)$")
"""Stand in templates that are shown, but not as this platform is set up."""

LANGUAGES = (ALL, *(code for code, _own_name in PAGE_LANGUAGES if code not in COMPLETE))
Key = tuple[str | None, str]


OF_WORK = "core/languages/rules/page_languages.py"


def check(languages: tuple[str, ...] = LANGUAGES) -> Iterator[TextFinding]:
    for path in files_in(*PRODUCT):
        # makemessages knows `_` and the functions' own names: what is marked by another name it never finds.
        for match in ALIAS.finditer(text_of(path)):
            yield at(path, match, f"“{match[0]}”", "import it as _ or by its own name")
    missing: dict[str, set[Key]] = {}
    for pattern in re.findall('^    "([^"]+/[^"]+)",$', text_of(OF_WORK), re.MULTILINE):
        known = any(LOCALE.parent.glob(pattern))
        yield from unless(known, OF_WORK, f'"{pattern}"', f"there is no file {pattern}", "name what it became")
    for language in languages:
        yield from in_catalogue(language)
        if (path := catalogue_of(language, under=LACKING)).exists():
            yield from in_file(path, language)
        wanted = of_work(text_of(catalogue_of(ALL))) if language != ALL else set()
        missing[language] = untranslated(language) | (wanted | of_packages()) - keys_of(language)
    if messages := set[Key]().union(*missing.values()):
        count = len([language for language, keys in missing.items() if keys])
        sys.stdout.write(f"Not translated, and shown in English: messages {len(messages)}, languages {count}.\n")


def untranslated(language: str) -> set[Key]:
    return {key_of(entry) for entry in polib.pofile(text_of(catalogue_of(language))) if not entry.translated()}


def in_catalogue(language: str) -> Iterator[TextFinding]:
    path = catalogue_of(language)
    yield from in_file(path, language)
    if language != ALL:
        glossary = LOCALE / folder_of(language) / "glossary.tsv"
        missing = TERMS - {line.split("\t")[0] for line in text_of(glossary).splitlines()}
        yield from unless(not missing, glossary, 1, f"{quoted(missing)} is missing", "add a line for it")
    for entry in polib.pofile(text_of(path)):
        if entry.msgid in OF_DATES and not entry.msgctxt:
            wrong = f"“{entry.msgid}” is a name in dates, too"
            yield at(path, entry.linenum, wrong, "use another word, or give it a context")


def in_file(path: Path, language: str) -> Iterator[TextFinding]:
    file = polib.pofile(text_of(path))
    plurals = int(file.metadata["Plural-Forms"].partition("nplurals=")[2].partition(";")[0])
    for entry in file:
        if not entry.translated():
            continue
        if entry.msgid_plural and set(forms_of(entry)) != set(range(plurals)):
            yield at(path, entry.linenum, f"“{entry.msgid}” has not {plurals} plural forms", "translate all")
        else:
            yield from in_entry(path, entry, FORMS_OF_ONE_NUMBER.get(language, {0}))


def in_entry(path: Path, entry: polib.POEntry, of_one_number: set[int]) -> Iterator[TextFinding]:
    english = entry.msgid_plural or entry.msgid
    for number, text in forms_of(entry).items():
        wanted, found = Counter(PLACEHOLDER.findall(english)), Counter(PLACEHOLDER.findall(text))
        if found != wanted and not (number in of_one_number and found < wanted):
            yield at(path, entry.linenum, f"“{text}” has other placeholders", "use those of the English")
        if Counter(TAG.findall(english)) != Counter(TAG.findall(text)):
            yield at(path, entry.linenum, f"“{text}” has other tags", "use those of the English")


@cache
def of_packages() -> set[Key]:
    """The messages of packages that pages show in all languages: what one language is given, and allauth's pages."""
    needed = {key_of(entry) for path in LACKING.rglob("*.po") for entry in polib.pofile(text_of(path))}
    own = {path.relative_to(LOCALE.parent) for path in LOCALE.parent.glob("templates/**/*.*")}
    for entry in polib.pofile(str(folder_in("allauth") / "fr" / "LC_MESSAGES" / "django.po")):
        files = [name for name, _line in entry.occurrences if name.startswith("templates/")]
        shown = [name for name in files if Path(name) not in own and not SWITCHED_OFF.search(name)]
        if shown and not NOT_SHOWN.search(entry.msgid):
            needed.add(key_of(entry))
    return needed


def keys_of(language: str) -> set[Key]:
    """What pages of work show in a language: of its own catalogues, and of those of packages."""
    paths = [catalogue_of(language), catalogue_of(language, under=LACKING)]
    known = {key_of(entry) for path in paths if path.exists() for entry in polib.pofile(text_of(path))}
    for package in PACKAGES:
        # As Django looks for it: pt is in pt_PT where there is no pt.
        if path := find("django", str(folder_in(package)), [folder_of(language)]):
            known |= {key_of(entry) for entry in polib.mofile(path)}
    return known


def folder_in(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None, package
    return Path(spec.origin or "").parent / "locale"


@cache
def of_work(complete: str) -> set[Key]:
    """The messages of the pages of work, of the text of the catalogue that has all messages."""
    asked = cache(is_of_work)
    return {key_of(one) for one in polib.pofile(complete) if any(asked(name) for name, _line in one.occurrences)}


def key_of(entry: polib.POEntry) -> Key:
    return entry.msgctxt, entry.msgid


def forms_of(entry: polib.POEntry) -> dict[int, str]:
    return entry.msgstr_plural or {-1: entry.msgstr}
