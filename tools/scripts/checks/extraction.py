"""Messages are marked so that they are collected; how many were not collected yet is only counted."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polib
from django.utils.translation.template import templatize

from config import ROOT
from tools.scripts.checks.sources import TextFinding, at, name_of, text_of
from tools.scripts.messages import ALL, catalogue_of

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


FOLDERS = (
    "templates",
    "libs",
    *(path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name != "tests"),
)


def check(folders: tuple[str, ...] = FOLDERS) -> Iterator[TextFinding]:
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in MARKS]
    yield from aliases(files)
    if shutil.which("xgettext"):
        count_differences(collected(files), polib.pofile(text_of(catalogue_of(ALL))))
    else:
        sys.stdout.write("Not counted without gettext (xgettext): messages of the source that no catalogue has.\n")


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


def count_differences(source: polib.POFile, catalogue: polib.POFile) -> None:
    there, known = (
        {(one.msgctxt, one.msgid, one.msgid_plural) for one in file if not one.obsolete} for file in (source, catalogue)
    )
    if new := len(there - known):
        sys.stdout.write(f"In no catalogue before somebody runs make messages, and shown in English: messages {new}.\n")
    if old := len(known - there):
        sys.stdout.write(f"In catalogues, but no longer in the source: messages {old}.\n")
