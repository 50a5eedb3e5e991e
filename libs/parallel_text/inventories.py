"""Sense inventories: which synsets the words of a language have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosslens_metrics.language_tags import ALIASES
from crosslens_metrics.messages import gettext as _
from parallel_text.config import Inventory
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.sentences import MAX_LINE_BYTES, faults_of, lines_of, opened
from parallel_text.words import lower

NOUN = "n"
_OFFSET = re.compile(r"([0-9]{8})-([nvasr])$")
_BABELNET = re.compile(r"bn:[0-9]{8}([nvar])$")
_OMW_TYPE = re.compile(r"(?:[\w-]+:)?lemma$")
FIRST_LINES = 1000
_MAX_LEMMA_CHARACTERS = 200
"""Characters of a lemma."""


@dataclass(frozen=True)
class LemmaSense:
    """A lemma as words compare, one of its synsets, and the line that says so."""

    lemma: str
    synset: str
    line: int

    @property
    def is_noun(self) -> bool:
        match = _OFFSET.search(self.synset) or _BABELNET.match(self.synset)
        return match is None or match.groups()[-1] == NOUN


def plain_lemma(text: str, language: str) -> str:
    """Spell a lemma as words compare: in the lower case of its language, NFC, with spaces."""
    return " ".join(lower(text.replace("_", " "), language).split())


def format_of(path: Path) -> str:
    """Recognise the format of an inventory by its name and its first lines."""
    name = path.name.lower().removesuffix(".gz")
    if path.is_dir() or name.startswith("data."):
        return "wordnet"
    if name.endswith(".xml"):
        return "lmf"
    for line in _first_lines(path):
        text = line.decode("utf-8", errors="replace")
        if text.startswith("<?xml"):
            return "lmf"
        if text.startswith("#") or not text.strip():
            continue
        fields = text.rstrip("\r\n").split("\t")
        if fields[0].startswith("bn:") and len(fields) >= 3:
            return "babelnet"
        return "omw" if len(fields) >= 3 and _OMW_TYPE.search(fields[1]) else "tsv"
    return "tsv"


def read_inventory(inventory: Inventory, path: Path, problems: LineProblems) -> Iterator[LemmaSense]:
    """Read the senses of one language.

    Formats are `tsv` (synset, tab, lemma), `omw` (Open Multilingual Wordnet's tab files), `wordnet` (the folder or the
    file data.noun of WordNet 3.0), `lmf` (WN-LMF, by the package wn) and `babelnet` (id, language, lemma, between
    tabs). Lines that cannot be used are added to `problems`.

    Raises CorpusError where the file cannot be read at all.
    """
    readers = {"tsv": _tsv, "omw": _omw, "wordnet": _wordnet, "lmf": _lmf, "babelnet": _babelnet}
    with faults_of(inventory.file):
        yield from readers[inventory.format or format_of(path)](inventory, path, problems)


def _tsv(inventory: Inventory, path: Path, problems: LineProblems) -> Iterator[LemmaSense]:
    for line, fields in _fields(inventory, path, problems):
        if len(fields) != 2:
            _bad(problems, inventory, line, _("A line needs a synset, a tab and a lemma."))
        else:
            yield from _sense(fields[1], fields[0], line, inventory, problems)


def _omw(inventory: Inventory, path: Path, problems: LineProblems) -> Iterator[LemmaSense]:
    for line, fields in _fields(inventory, path, problems):
        if len(fields) < 3:
            _bad(problems, inventory, line, _("A line needs a synset, a type and a lemma, with tabs between them."))
        elif _OMW_TYPE.search(fields[1]):
            yield from _sense(fields[2], fields[0], line, inventory, problems)


def _babelnet(inventory: Inventory, path: Path, problems: LineProblems) -> Iterator[LemmaSense]:
    wanted = {inventory.language.lower(), inventory.language.partition("-")[0].lower()}
    wanted |= {other for other, tag in ALIASES.items() if tag in wanted}
    for line, fields in _fields(inventory, path, problems):
        if len(fields) < 3:
            _bad(problems, inventory, line, _("A line needs an id, a language and a lemma, with tabs between them."))
        elif fields[1].lower() in wanted:
            yield from _sense(fields[2], fields[0], line, inventory, problems)


def _wordnet(inventory: Inventory, path: Path, problems: LineProblems) -> Iterator[LemmaSense]:
    if path.is_dir():
        path = next((found for found in (path / "data.noun", path / "dict" / "data.noun") if found.is_file()), path)
    if path.is_dir():
        raise CorpusError(_("The folder %(file)s has no data.noun of WordNet.") % {"file": inventory.file})
    for line, text in _texts(inventory, path, problems):
        if text.startswith("  "):  # the licence
            continue
        fields = text.split(" ")
        try:
            words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
            synset = f"{int(fields[0]):08d}-{fields[2]}"
        except (IndexError, ValueError):
            _bad(problems, inventory, line, _("This is not a line of WordNet's data files."))
            continue
        for word in words:
            yield from _sense(word, synset, line, inventory, problems)


def _lmf(inventory: Inventory, path: Path, problems: LineProblems) -> Iterator[LemmaSense]:
    from wn import lmf  # brings a client of HTTP with it, which nothing else here needs

    try:
        lexicons = lmf.load(path, progress_handler=None)["lexicons"]
    except Exception as error:  # of XML, of the file's version, of missing attributes
        raise CorpusError(
            _("%(file)s is not a lexicon in WN-LMF: %(error)s") % {"file": inventory.file, "error": error}
        ) from error
    for lexicon in lexicons:
        names = {synset["id"]: _lmf_name(synset["id"], str(synset.get("ili") or "")) for synset in lexicon["synsets"]}
        entries: list[Any] = list(lexicon["entries"])
        for entry in entries:
            if entry["lemma"]["partOfSpeech"] != NOUN:
                continue
            for sense in entry["senses"]:
                synset = names.get(sense["synset"], sense["synset"])
                yield from _sense(entry["lemma"]["writtenForm"], synset, 0, inventory, problems)


def _lmf_name(identifier: str, ili: str) -> str:
    """Take the offset at the end of an id, which ties inventories together, or else the interlingual index."""
    match = _OFFSET.search(identifier)
    return match[0] if match else ili or identifier


def _sense(lemma: str, synset: str, line: int, inventory: Inventory, problems: LineProblems) -> Iterator[LemmaSense]:
    lemma, synset = plain_lemma(lemma, inventory.language), synset.strip()
    if not lemma or not synset or len(lemma) > _MAX_LEMMA_CHARACTERS or len(synset) > _MAX_LEMMA_CHARACTERS:
        _bad(problems, inventory, line, _("The lemma or the synset is missing or too long."))
    else:
        yield LemmaSense(lemma, synset, line)


def _fields(inventory: Inventory, path: Path, problems: LineProblems) -> Iterator[tuple[int, list[str]]]:
    for line, text in _texts(inventory, path, problems):
        if text.strip() and not text.startswith("#"):
            yield line, text.split("\t")


def _texts(inventory: Inventory, path: Path, problems: LineProblems) -> Iterator[tuple[int, str]]:
    with opened(path, inventory.file) as file:
        for line, text in lines_of(file, inventory.file, problems):
            if text is not None:
                yield line, text


def _first_lines(path: Path) -> list[bytes]:
    with opened(path, path.name) as file:
        return [file.readline(MAX_LINE_BYTES) for _line in range(FIRST_LINES)]


def _bad(problems: LineProblems, inventory: Inventory, line: int, message: str) -> None:
    problems.add("bad_inventory_line", message, file=inventory.file, line=line)
