"""Collect the messages of the source into every catalogue, and list the catalogues: `make messages` (needs gettext).

Arabic has all of them, the other languages those of the pages of work (core/languages/rules/page_languages.py).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import polib

from config import ROOT
from core.languages.rules.catalogues import LOCALE, build_messages
from core.languages.rules.page_languages import COMPLETE, PAGE_LANGUAGES, is_of_work

TABLE = ROOT / "docs" / "translations.md"
IGNORED = (".venv", "var", "tests")
ALL = "ar"
HEADER = {
    "Content-Type": "text/plain; charset=UTF-8",
    "Content-Transfer-Encoding": "8bit",
    "X-Translated-By": "a machine",
    "X-Reviewed-By": "nobody yet",
}
ONE, THREE = "nplurals=1; plural=0;", "nplurals=3; plural="
SLAVIC = THREE + "(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"
ZERO_AND_ONE = "nplurals=2; plural=(n > 1);"
PLURALS = {
    **dict.fromkeys(("id", "ja", "ko", "th", "vi", "zh-hans"), ONE),
    **dict.fromkeys(("hr", "ru", "uk"), SLAVIC),
    **dict.fromkeys(("fa", "fil", "fr", "mi", "quz", "tr"), ZERO_AND_ONE),
    "cs": THREE + "(n==1 ? 0 : n>=2 && n<=4 ? 1 : 2);",
    "pl": THREE + "(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);",
    "ro": THREE + "(n==1 ? 0 : (n==0 || (n%100>0 && n%100<20)) ? 1 : 2);",
}
"""Source: GNU gettext manual and Unicode CLDR, whole numbers only."""
OF_MOST = "nplurals=2; plural=(n != 1);"


def folder_of(language: str) -> str:
    """The name of a language's folder: zh_Hans for zh-hans."""
    base, _, script = language.partition("-")
    return f"{base}_{script.title()}" if script else base


def catalogue_of(language: str, *, under: Path = LOCALE) -> Path:
    return under / folder_of(language) / "LC_MESSAGES" / "django.po"


def collect() -> polib.POFile:
    """Bring the complete catalogue up to date, and return it with the files that each message is from."""
    ignored = [f"--ignore={name}" for name in IGNORED]
    command = ["makemessages", "--locale", ALL, "--no-wrap", "--add-location", "file", *ignored]
    clean = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    subprocess.run([sys.executable, "-m", "django", *command], cwd=ROOT, env=clean, check=True)
    found = polib.pofile(str(catalogue_of(ALL)), wrapwidth=0)
    for entry in found.obsolete_entries():
        found.remove(entry)
    for entry in found.fuzzy_entries():
        # A guess is no translation.
        entry.flags.remove("fuzzy")
        entry.msgstr, entry.msgstr_plural = "", dict.fromkeys(entry.msgstr_plural, "")
        entry.previous_msgid = entry.previous_msgctxt = entry.previous_msgid_plural = None
    found.save()
    return found


def of_work(found: polib.POFile) -> list[polib.POEntry]:
    return [entry for entry in found if any(is_of_work(file) for file, _line in entry.occurrences)]


def bring_up_to_date(language: str, messages: list[polib.POEntry]) -> None:
    """Give a language's catalogue the `messages`, with the translations that it has."""
    path = catalogue_of(language)
    path.parent.mkdir(parents=True, exist_ok=True)
    old = polib.pofile(str(path)) if path.exists() else polib.POFile()
    known = {(entry.msgctxt, entry.msgid): entry for entry in old}
    new = polib.POFile(wrapwidth=0)
    plural = PLURALS.get(language, OF_MOST)
    new.metadata = HEADER | {"Language": folder_of(language), "Plural-Forms": plural} | old.metadata
    forms = int(plural.partition("nplurals=")[2].partition(";")[0])
    for message in messages:
        entry = polib.POEntry(
            msgid=message.msgid, msgid_plural=message.msgid_plural, msgctxt=message.msgctxt,
            occurrences=message.occurrences, comment=message.comment, flags=message.flags,
        )  # fmt: skip
        before = known.get((message.msgctxt, message.msgid))
        if before is not None and bool(before.msgid_plural) == bool(message.msgid_plural):
            entry.msgstr, entry.msgstr_plural = before.msgstr, before.msgstr_plural
        elif message.msgid_plural:
            entry.msgstr_plural = dict.fromkeys(range(forms), "")
        new.append(entry)
    new.save(str(path))


def row_of(language: str, own_name: str) -> str:
    """A language's line of the table in docs/translations.md."""
    catalogue = polib.pofile(str(catalogue_of(language)))
    translated, by = len(catalogue.translated_entries()), catalogue.metadata
    name = f"{own_name} (`{language}`)"
    return f"| {name} | {translated:,} of {len(catalogue):,} | {by['X-Translated-By']} | {by['X-Reviewed-By']} |\n"


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    messages = of_work(collect())
    rows = []
    for language, own_name in PAGE_LANGUAGES:
        if language not in COMPLETE:
            bring_up_to_date(language, messages)
        if language != "en":
            rows.append(row_of(language, own_name))
    before, head, _rows = TABLE.read_text(encoding="utf-8").partition("| --- | --- | --- | --- |\n")
    TABLE.write_text(before + head + "".join(rows), encoding="utf-8")
    build_messages()
    sys.stdout.write("".join(rows))


if __name__ == "__main__":
    main()
