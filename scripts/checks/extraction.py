"""What is marked for translation in the source is in the Arabic catalogue, which has all of it, and nothing else is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polib
from django.utils.translation.template import templatize

from scripts.checks.sources import ROOT, TextFinding, at, name_of, text_of
from scripts.messages import ALL, catalogue_of

ALIAS = re.compile(r"\bn?p?gettext(?:_lazy|_noop)? as (?!_\b)\w+")

MARKS = {".py": re.compile(r"gettext|\b_\("), ".html": re.compile("trans"), ".txt": re.compile("trans")}
"""What a file has that marks a message, by the endings of the files that makemessages reads."""

KEYWORDS = [
    f"--keyword={name}"
    for name in (
        *("gettext_noop", "gettext_lazy", "ngettext_lazy:1,2", "pgettext:1c,2", "npgettext:1c,2,3"),
        *("pgettext_lazy:1c,2", "npgettext_lazy:1c,2,3"),
    )
]
"""Beside those that xgettext knows."""


FOLDERS = ("templates", *(path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name != "tests"))


def check(folders: tuple[str, ...] = FOLDERS) -> Iterator[TextFinding]:
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in MARKS]
    yield from aliases(files)
    catalogue = catalogue_of(ALL)
    if shutil.which("xgettext"):
        yield from differences(collected(files), polib.pofile(text_of(catalogue)))
    elif os.environ.get("CI") == "true":
        yield at(catalogue, 1, "xgettext is not installed, and CI skips nothing", "install gettext")
    else:
        sys.stdout.write(
            "Skipped: whether the catalogue has every message of the source. That needs gettext (xgettext).\n"
        )


def aliases(files: list[Path]) -> Iterator[TextFinding]:
    """xgettext knows `_` and the functions' own names: what is marked by another name never reaches the catalogue."""
    for file in files:
        for match in ALIAS.finditer(text_of(file)):
            yield at(file, match, f"“{match[0]}”", "import it as _ or by its own name")


def collected(files: list[Path]) -> polib.POFile:
    """What xgettext finds, asked as makemessages asks it, which takes far longer and writes beside what it reads."""
    with tempfile.TemporaryDirectory(prefix="crosslens_messages_") as folder:
        names = []
        for path in files:
            text = text_of(path)
            if MARKS[path.suffix].search(text):
                names.append(name_of(path))
                (Path(folder) / names[-1]).parent.mkdir(parents=True, exist_ok=True)
                code = text if path.suffix == ".py" else templatize(text, origin=names[-1])
                (Path(folder) / names[-1]).write_text(code, encoding="utf-8")
        command = ["xgettext", "--language=Python", "--from-code=UTF-8", "--output=-", "--files-from=-", *KEYWORDS]
        listed = "\n".join(names)
        found = subprocess.run(command, cwd=folder, input=listed, capture_output=True, text=True, check=True).stdout
    return polib.pofile(found)


def differences(source: polib.POFile, catalogue: polib.POFile) -> Iterator[TextFinding]:
    def keys(file: polib.POFile) -> dict[tuple[str | None, str, str], polib.POEntry]:
        return {(one.msgctxt, one.msgid, one.msgid_plural): one for one in file if not one.obsolete}

    there, known = keys(source), keys(catalogue)
    for key in there.keys() - known.keys():
        path, line = there[key].occurrences[0]
        do = "run make messages, then translate what is new"
        yield at(path, int(line or 1), f"“{key[1]}” is not in the catalogue", do)
    for key in known.keys() - there.keys():
        yield at(catalogue_of(ALL), known[key].linenum, f"“{key[1]}” is not in the source", "run make messages")
