"""Read a folder in the layout of MultiSubs' monolingual files as lines of a file of items."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import LineRecord
from gapgame.rules.multisubs import blanked_sentence

TABLE = ".items.tsv"
SENTENCES = (".sents.det", ".sents.tok")
FRAGMENTS = ".fragments"
COLUMNS = ("sentence-id", "word", "split", "synsets", "images")


class _LineRow(NamedTuple):
    number: int
    cells: list[str]


class _TextFragment(NamedTuple):
    start: int
    end: int
    raw: str
    tokenised: str


def is_layout(path: Path) -> bool:
    return path.is_dir() and any(path.glob(f"*{TABLE}"))


def records_of(folder: Path) -> Iterator[LineRecord | LineError]:
    """Yield the rows of `LANGUAGE.items.tsv`, with the word blanked in each sentence as `LANGUAGE.fragments` says.

    Only the sentences in the table are kept in memory: there may be tens of millions of others.

    Raises
    ------
    FileRefusedError
        Where a file is missing, or there are several tables.
    """
    tables = sorted(folder.glob(f"*{TABLE}"))
    if len(tables) != 1:
        raise FileRefusedError(
            _("The folder has %(count)s tables named “LANGUAGE.items.tsv”. There must be exactly one.")
            % {"count": len(tables)}
        )
    language = tables[0].name.removesuffix(TABLE)
    rows = [_LineRow(number, cells) for number, cells in _cells(tables[0]) if cells[0] != COLUMNS[0]]
    wanted = {row.cells[0] for row in rows}
    sentences = [_sentences(folder / f"{language}{ending}", wanted) for ending in SENTENCES]
    if not any(sentences):
        raise FileRefusedError(
            _("None of the sentences in the table are in “%(name)s”.") % {"name": f"{language}{SENTENCES[0]}"}
        )
    fragments = _fragments(folder / f"{language}{FRAGMENTS}", wanted)
    for row in rows:
        yield _record(row, language, sentences, fragments)


def _record(
    row: _LineRow, language: str, sentences: list[dict[str, str]], fragments: dict[str, list[_TextFragment]]
) -> LineRecord | LineError:
    if len(row.cells) != len(COLUMNS):
        reason = _("This line has %(found)s cells separated by tabs. There must be %(wanted)s: %(names)s.")
        about = {"found": len(row.cells), "wanted": len(COLUMNS), "names": ", ".join(COLUMNS)}
        return LineError(reason % about, number=row.number)
    sentence_id, word, split, synsets, images = row.cells
    texts = [by_id[sentence_id] for by_id in sentences if sentence_id in by_id]
    if not texts:
        return LineError(_("There is no sentence with this id."), number=row.number)
    meant = [one for one in fragments.get(sentence_id, ()) if word.casefold() in (one.raw.casefold(), one.tokenised)]
    gapped = (
        blanked_sentence(text, one.start, one.end, raw)
        for text in texts
        for one in meant
        for raw in (one.raw, one.tokenised)
    )
    sentence = next((text for text in gapped if text), None)
    if meant and sentence is None:
        return LineError(_("The fragment is not at the stated place in the sentence."), number=row.number)
    value: dict[str, Any] = {
        "key": f"{sentence_id}-{word}",
        "language": language,
        "sentence": sentence or texts[0],
        "word": word,
        "split": split,
        "sense": _several(synsets),
        "images": _several(images),
    }
    return LineRecord(row.number, value)


def _several(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(",") if part.strip()]


def _sentences(path: Path, wanted: set[str]) -> dict[str, str]:
    return {cells[0]: cells[1] for _number, cells in _cells(path) if len(cells) > 1 and cells[0] in wanted}


def _fragments(path: Path, wanted: set[str]) -> dict[str, list[_TextFragment]]:
    fragments: dict[str, list[_TextFragment]] = defaultdict(list)
    for _number, cells in _cells(path):
        if len(cells) > 5 and cells[0] in wanted and cells[1].isdecimal() and cells[2].isdecimal():
            fragments[cells[0]].append(_TextFragment(int(cells[1]), int(cells[2]), cells[4], cells[5].casefold()))
    return fragments


def _cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    if not path.is_file():
        return
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield number, line.rstrip("\r\n").split("\t")
