"""What an item set is made from: a folder of MultiSubs' files or of `build_corpus`, and vectors of images."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from crosslens_metrics.formats.arrays import ArchiveRefusedError, opened_arrays
from crosslens_metrics.formats.lines import LineFields, LineReader
from crosslens_metrics.formats.names import ImageNames
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import LineRecord
from crosslens_metrics.named_vectors import most_central
from gapgame.formats.task_folders import sha256_of
from gapgame.rules.item_sources import ItemChoice, blanked_sentence, chosen_items

TABLE = ".items.tsv"
SENTENCES = (".sents.det", ".sents.tok")
FRAGMENTS = ".fragments"
COLUMNS = ("sentence-id", "word", "split", "synsets", "images")
ITEMS, STATISTICS, PUBLISHED = "items.jsonl", "statistics.json", "steps/publish.json"
MADE_WITH = ("version", "settings", "files", "tools")
Vectors = Mapping[str, NDArray[np.float32]]
ZIP_START = b"PK\x03\x04"


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


def item_folders(names: Iterable[str]) -> list[str]:
    """Find the folders of MultiSubs and of `build_corpus` among the names of files; "" is where they all lie."""
    listed, found = set(names), set()
    for name in listed:
        home, slash, last = name.rpartition("/")
        if last.endswith(TABLE) or (last == ITEMS and f"{home}{slash}{STATISTICS}" in listed):
            found.add(home)
    return sorted(found)


def multisubs_records(folder: Path) -> Iterator[LineRecord | LineError]:
    """Yield the rows of `LANGUAGE.items.tsv`, with the word blanked in each sentence as `LANGUAGE.fragments` says.

    Only the sentences in the table are kept in memory: there may be tens of millions of others.

    Raises FileRefusedError where a file is missing, or there are several tables.
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


def is_corpus(path: Path) -> bool:
    return all((path / name).is_file() for name in (ITEMS, STATISTICS))


def origin_of(folder: Path, choice: ItemChoice) -> dict[str, Any]:
    """Return what a set says of its corpus: name, fingerprint, which items were drawn, and the configuration.

    Raises FileRefusedError where the corpus is not built, or its items are not those that were built.
    """
    try:
        published, statistics = (
            json.loads((folder / name).read_text(encoding="utf-8")) for name in (PUBLISHED, STATISTICS)
        )
    except FileNotFoundError as error:
        raise FileRefusedError(_("The corpus in this folder is not built. Run build_corpus to its end.")) from error
    if sha256_of(folder / ITEMS) != published["counts"]["sha256"][ITEMS]:
        raise FileRefusedError(
            _("“%(name)s” was changed after it was built. Run build_corpus with --step publish --again.")
            % {"name": ITEMS}
        )
    return {
        "name": published["settings"]["name"],
        "fingerprint": published["fingerprint"],
        "choice": asdict(choice),
        "configuration": {
            step: {name: made[name] for name in MADE_WITH} for step, made in statistics["made_by"].items()
        },
    }


def corpus_records(folder: Path, choice: ItemChoice) -> list[LineRecord]:
    """Return the items that are drawn, in the order of the file.

    Raises FileRefusedError where there are none.
    """
    drawn = {item["key"] for item in chosen_items((line.value for line in _lines(folder)), choice)}
    if not drawn:
        raise FileRefusedError(_("No word with an image has a sense that so many languages share. Choose fewer."))
    return [line for line in _lines(folder) if line.value["key"] in drawn]


def _lines(folder: Path) -> Iterator[LineRecord]:
    with (folder / ITEMS).open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            yield LineRecord(number, json.loads(line))


def read_embeddings(file: IO[bytes]) -> Vectors:
    """Map image to vector, from a NumPy archive (.npz) or JSON lines with “image” and “vector”.

    The archive holds one array named after each image, or two: “images”, the names, and “vectors”, a row for each.

    Raises FileRefusedError where it is neither, or two vectors have different lengths, or one has no direction.
    """
    file.seek(0)
    is_archive = file.read(len(ZIP_START)) == ZIP_START
    file.seek(0)
    vectors = _archive(file) if is_archive else _vector_lines(file)
    if not vectors:
        raise FileRefusedError(_("The embeddings file has no vectors."))
    length = next(iter(vectors.values())).size
    for number, vector in enumerate(vectors.values(), start=1):
        if vector.size != length or not np.isfinite(vector).all() or not vector.any():
            raise FileRefusedError(
                _("Embedding %(number)s must be %(length)s finite numbers that are not all 0.")
                % {"number": number, "length": length}
            )
    return vectors


def central_of(vectors: ImageNames[NDArray[np.float32]], images: Iterable[Iterable[str]]) -> tuple[int | None, int]:
    """Return the index of the most central image, each given by its possible names, or None; count those missing."""
    vectors_of = [vectors.first(*names) for names in images]
    known = [vector for vector in vectors_of if vector is not None]
    missing = len(vectors_of) - len(known)
    return (None if missing else most_central(np.stack(known))), missing


def _archive(file: IO[bytes]) -> dict[str, NDArray[np.float32]]:
    try:
        with opened_arrays(file) as arrays:
            if set(arrays) == {"images", "vectors"}:
                names, rows = [str(name) for name in arrays["images"]], np.asarray(arrays["vectors"], np.float32)
                if rows.ndim != 2 or len(names) != len(rows):
                    raise FileRefusedError(_("“images” and “vectors” in the embeddings file differ in length."))
                return dict(zip(names, rows, strict=True))
            return {name: np.asarray(array, np.float32).ravel() for name, array in arrays.items()}
    except FileRefusedError:
        raise
    except ArchiveRefusedError as refused:
        raise FileRefusedError(_("Embeddings: %(reason)s") % {"reason": refused}) from refused
    except Exception as error:  # NumPy, zipfile and zlib raise almost any exception on a broken file
        raise FileRefusedError(_("The embeddings file is not a NumPy archive of numbers, or is incomplete.")) from error


def _vector_lines(file: IO[bytes]) -> dict[str, NDArray[np.float32]]:
    vectors = {}
    with LineReader(_("Embeddings")) as reader:
        for record in reader.records(file):
            with reader.line(record):
                fields = LineFields(record.value, example='{"image": …, "vector": […]}')
                vector = fields.list("vector")
                if not vector or not all(
                    isinstance(number, int | float) and not isinstance(number, bool) for number in vector
                ):
                    raise LineError(_("“vector” is not a list of numbers."))
                with np.errstate(over="ignore"):
                    vectors[fields.image()] = np.asarray(vector, np.float32)
    return vectors
