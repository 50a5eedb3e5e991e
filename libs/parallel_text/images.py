"""Step `images`: read a manifest of images, give senses their images, and keep the illustrated words."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field, fields
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from crosslens_metrics.formats.csv_records import csv_records
from crosslens_metrics.formats.lines import LineFields
from crosslens_metrics.formats.names import ImageNames, without_suffix
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import LineRecord, json_records
from crosslens_metrics.messages import gettext as _
from crosslens_metrics.named_vectors import MalformedVectorsError, NamedVectors, most_central, read_named_vectors
from parallel_text.config import CorpusConfig
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.sentences import opened
from parallel_text.steps import Step, StepReport, StepWork, make_view, rows_of, write_table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MAX_CHARACTERS = {
    "synset": 100,
    "file": 500,
    "licence": 200,
    "licence_url": 500,
    "author": 500,
    "source": 1000,
    "title": 500,
}
ALIASES = {"license": "licence", "license_url": "licence_url"}
EXAMPLE = '{"synset": "02077923-n", "file": "seal.jpg", "licence": "CC BY 4.0", "author": "…", "source": "…"}'
NO_LICENCE = {"", "-", "?", "all rights reserved", "copyrighted", "n/a", "none", "unknown"}
"""What people write where an image has no open licence."""

IMAGE_NETS = re.compile(r"([nvars])(\d{8})")
OFFSET = re.compile(r"(\d{8})-([nvars])")
ROWS_AT_ONCE = 50_000
MIN_LENGTH = 1e-12
"""A vector that is shorter has no direction."""
SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".gif"}


@dataclass(frozen=True)
class ImageLine:
    """An image of a sense. `file` is where it was found in the folder of images, `named` what the manifest says."""

    line: int
    synset: str
    file: str
    named: str
    licence: str
    licence_url: str
    author: str
    source: str
    title: str


@dataclass
class ImageManifest:
    """Reads a manifest; `excluded` counts the images that were excluded.

    Without a folder, nothing tells whether files exist. A line without a file is of all images in its sense's folder.
    """

    path: Path
    name: str
    folder: Path | None
    exclude: frozenset[str]
    problems: LineProblems
    excluded: int = field(default=0, init=False)
    names_in: dict[str, ImageNames[None]] = field(default_factory=dict, init=False)

    def lines(self) -> Iterator[ImageLine]:
        """Give the images that can be used.

        Raises CorpusError where the manifest as a whole cannot be read.
        """
        for number, line in self._records():
            try:
                yield from self._images(number, line)
            except _UnusableError as error:
                self.problems.add(error.kind, str(error), file=self.name, line=number)
            except LineError as error:
                self.problems.add("bad_line", error.reason, file=self.name, line=number)

    def _records(self) -> Iterator[tuple[int, LineFields]]:
        is_csv = self.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))
        records = partial(csv_records, column="synset") if is_csv else json_records
        try:
            with opened(self.path, self.name) as file:
                for record in records(file):
                    try:
                        if isinstance(record, LineError):
                            raise record
                        yield record.number, _fields(record, is_csv=is_csv)
                    except LineError as error:
                        self.problems.add("bad_line", error.reason, file=self.name, line=record.number)
        except FileRefusedError as error:
            raise CorpusError(f"{self.name}: {error}") from error

    def _images(self, number: int, line: LineFields) -> Iterator[ImageLine]:
        values = {name: line.text(name, longest=longest) for name, longest in MAX_CHARACTERS.items()}
        synset, named = synset_of(values.pop("synset")), values.pop("file").replace("\\", "/")
        if not synset:
            raise LineError(_("synset is empty. Fill it in."))
        if values["licence"].casefold().strip(" .") in NO_LICENCE:
            raise _UnusableError("no_licence", _("The image has no licence. Name the open licence that it is under."))
        if values["licence_url"] and not is_address(values["licence_url"]):
            values["licence_url"] = ""
            message = _("licence_url must start with https:// or http://. The image is used without it.")
            self.problems.add("bad_licence_url", message, file=self.name, line=number)
        for file in self._files(synset, named):
            if self.exclude & {file, named or file}:
                self.excluded += 1
                continue
            yield ImageLine(line=number, synset=synset, file=file, named=named or file, **values)

    def _files(self, synset: str, named: str) -> list[str]:
        if named and (".." in PurePosixPath(named).parts or named.startswith("/") or ":" in named.split("/")[0]):
            raise LineError(_("file must be a name inside the folder of images."))
        if self.folder is None:
            if not named:
                raise LineError(_("file is empty. Fill it in."))
            return [named]
        tops = folders_of(synset)
        if named:
            files = (named, *(f"{top}/{named}" for top in tops))
            for file in files:
                if os.path.isfile(self.folder / file):  # noqa: PTH113 - that of a path fails if the name is too long
                    return [file]
            for file in files:
                parent, slash, name = file.rpartition("/")
                found = self._names_in(parent).find(name)
                if len(found) == 1:
                    return [f"{parent}{slash}{found[0]}"]
            message = _("There is no file “%(file)s” in the folder of images.") % {"file": named}
            raise _UnusableError("missing_file", message)
        for top in tops:
            if (self.folder / top).is_dir():
                found = sorted(each.name for each in (self.folder / top).iterdir() if each.suffix.lower() in SUFFIXES)
                return [f"{top}/{name}" for name in found]
        message = _("The line names no file, and the folder of images has no folder “%(name)s”.") % {"name": tops[0]}
        raise _UnusableError("missing_file", message)

    def _names_in(self, parent: str) -> ImageNames[None]:
        """The images in one folder; looked through only if some name is not spelt as its file is."""
        assert self.folder is not None
        if parent not in self.names_in:
            try:
                names = [one for one in os.listdir(self.folder / parent) if without_suffix(one) != one]  # noqa: PTH208
            except OSError:
                names = []
            self.names_in[parent] = ImageNames(dict.fromkeys(names))
        return self.names_in[parent]


def is_address(value: str) -> bool:
    """Return whether a text is an address of the web, as the Gap Filling Game needs for licences."""
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and " " not in value
    except ValueError:
        return False


def synset_of(name: str) -> str:
    """Bring the id of a synset into the form of inventories: ImageNet's n02077923 is 02077923-n, others stay."""
    match = IMAGE_NETS.fullmatch(name)
    return f"{match[2]}-{match[1]}" if match else name


def folders_of(synset: str) -> list[str]:
    """Return the names that a folder with images of a synset may have, ImageNet's first."""
    match = OFFSET.fullmatch(synset)
    return [f"{match[2]}{match[1]}", synset] if match else [synset.replace(":", "_").replace("/", "_")]


def _fields(record: LineRecord, *, is_csv: bool) -> LineFields:
    values: Any = record.value
    if isinstance(values, dict):
        values = {ALIASES.get(name, name): value for name, value in values.items()}
    return LineFields(values, example=EXAMPLE, is_csv=is_csv)


class _UnusableError(ValueError):
    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class ImagesStep(Step):
    """It has no parts. Without a manifest no image is known, and all words that have a sense are kept."""

    name = "images"
    version = 2
    needs: tuple[str, ...] = ("senses", "intersect")

    def settings(self, config: CorpusConfig) -> dict[str, Any]:
        # Which of the three a file is, as hashes of files alone do not tell.
        given = [bool(name) for name in (config.images.manifest, config.images.folder, config.images.features)]
        return {"given": given, "exclude": list(config.exclude.images)}

    def files(self, config: CorpusConfig) -> list[str]:
        return [name for name in (config.images.manifest, config.images.folder, config.images.features) if name]

    def finish(self, work: StepWork) -> StepReport:
        """Write the images that can be used, and the words that have any.

        Raises CorpusError where the manifest or the features cannot be read, or no image can be used.
        """
        import duckdb

        problems, counts = LineProblems(), dict.fromkeys(("excluded", "chosen_by_features"), 0)
        with work.database() as database:
            counts["excluded"] = _load_lines(database, work, problems)
            _keep_known(database, work, problems)
            counts["chosen_by_features"] = _choose_representatives(database, work, problems)
            with work.folder.writing("images/images.parquet") as path:
                counts["images"] = write_table(database, IMAGES, path)
                if work.config.images.manifest and not counts["images"] and not counts["excluded"]:
                    raise _no_images(work, problems)
            counts |= _write_instances(database, work)
        return StepReport(counts, problems, {"DuckDB": duckdb.__version__})


STEP = ImagesStep()

LINES = """CREATE TABLE lines (line BIGINT, synset VARCHAR, file VARCHAR, named VARCHAR, licence VARCHAR,
    licence_url VARCHAR, author VARCHAR, source VARCHAR, title VARCHAR)"""

KNOWN = """CREATE TABLE known AS SELECT DISTINCT synset FROM parquet($1) WHERE synset IN (SELECT synset FROM lines)"""

UNKNOWN = """SELECT line, any_value(synset) FROM lines WHERE synset NOT IN (SELECT synset FROM known)
    GROUP BY line ORDER BY line"""

FIRST = """CREATE TABLE images AS SELECT *, row_number() OVER (PARTITION BY synset, file ORDER BY line) AS time,
    false AS representative FROM lines WHERE synset IN (SELECT synset FROM known)"""

REPEATED = "SELECT line, file FROM images WHERE time > 1 ORDER BY line, file"

OF_SYNSETS = "SELECT synset, file, named FROM images ORDER BY synset, line, file"

IMAGES = """SELECT synset, file, licence, licence_url, author, source, title, representative
    FROM images ORDER BY synset, line, file"""

# Few combinations of synsets stand behind many instances: each is counted once.
COUNTS = """CREATE TABLE counts AS SELECT synsets, count(DISTINCT file)::INTEGER AS images
    FROM (SELECT synsets, unnest(synsets) AS synset FROM (SELECT DISTINCT synsets FROM parquet($1)))
    JOIN images USING (synset) GROUP BY synsets"""


def _load_lines(database: DuckDBPyConnection, work: StepWork, problems: LineProblems) -> int:
    """Load the images of the manifest that can be used by themselves, and return how many were excluded."""
    import pyarrow as pa
    from pyarrow import parquet

    database.execute(LINES)
    given = work.config.images
    if not given.manifest:
        return 0
    folder = work.input(given.folder) if given.folder else None
    if folder is not None and not folder.is_dir():
        raise CorpusError(_("%(folder)s is not a folder. Give the folder of the images.") % {"folder": given.folder})
    manifest = ImageManifest(
        work.input(given.manifest), given.manifest, folder, frozenset(work.config.exclude.images), problems
    )
    lines = manifest.lines()
    schema = pa.schema(
        [(field.name, pa.int64() if field.name == "line" else pa.string()) for field in fields(ImageLine)]
    )
    work.scratch.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=work.scratch) as scratch:
        path = Path(scratch) / "lines.parquet"
        with parquet.ParquetWriter(path, schema) as writer:
            while rows := [astuple(line) for line in islice(lines, ROWS_AT_ONCE)]:
                writer.write_table(pa.table(list(map(list, zip(*rows, strict=True))), schema=schema))
        database.execute("INSERT INTO lines BY NAME SELECT * FROM parquet($1)", [str(path)])
    return manifest.excluded


def _keep_known(database: DuckDBPyConnection, work: StepWork, problems: LineProblems) -> None:
    """Leave out images of synsets that no inventory has, and those that come again."""
    manifest = work.config.images.manifest
    database.execute(KNOWN, [str(work.folder.read("senses/inventory.parquet"))])
    for line, synset in rows_of(database.execute(UNKNOWN)):
        message = _("No sense inventory has the synset %(synset)s. Check that it is of the same WordNet.")
        problems.add("unknown_offset", message % {"synset": synset}, file=manifest, line=line)
    database.execute(FIRST)
    for line, file in rows_of(database.execute(REPEATED)):
        message = _("The image %(file)s comes again with the same synset.") % {"file": file}
        problems.add("duplicate_image", message, file=manifest, line=line)
    database.execute("DELETE FROM images WHERE time > 1")


def _choose_representatives(database: DuckDBPyConnection, work: StepWork, problems: LineProblems) -> int:
    """Choose an image of each synset by features, else its first; return how many were chosen by features."""
    features = _ImageFeatures(work, problems)
    chosen, by_features = [], 0
    for synset, images in groupby(rows_of(database.execute(OF_SYNSETS)), itemgetter(0)):
        files = [(file, named) for _synset, file, named in images]
        place = features.central_index_of(files)
        by_features += place is not None
        chosen.append((synset, files[place or 0][0]))
    if chosen:
        import pyarrow as pa

        table = pa.table({"synset": [one[0] for one in chosen], "file": [one[1] for one in chosen]})
        database.register("chosen", table)
        database.execute(
            "UPDATE images SET representative = true FROM chosen"
            " WHERE images.synset = chosen.synset AND images.file = chosen.file"
        )
        database.unregister("chosen")
    return by_features


def _write_instances(database: DuckDBPyConnection, work: StepWork) -> dict[str, int]:
    """Write the instances that have images, in their order; all of them where there is no manifest."""
    path_of_all = work.folder.read("intersect/instances.parquet")
    database.execute(COUNTS, [str(path_of_all)])
    make_view(database, "instances", [path_of_all])
    # One thread keeps the order, and needs half the memory that sorting would.
    database.execute("SET threads = 1")
    kind = "JOIN" if work.config.images.manifest else "LEFT JOIN"
    with work.folder.writing("images/instances.parquet") as path:
        illustrated = write_table(
            database,
            f"SELECT instances.*, coalesce(counts.images, 0) AS images FROM instances {kind} counts USING (synsets)",
            path,
        )
    [[instances, synsets]] = database.execute(
        "SELECT (SELECT count(*) FROM instances), (SELECT count(DISTINCT synset) FROM images)"
    ).fetchall()
    return {"synsets": synsets, "instances": instances, "illustrated": illustrated}


class _ImageFeatures:
    """Image features by the names that a file of them may use."""

    def __init__(self, work: StepWork, problems: LineProblems) -> None:
        self._name, self._problems = work.config.images.features, problems
        self._vectors: NamedVectors | None = None
        self._rows: dict[str, int] = {}
        if self._name:
            path = work.input(self._name)
            try:
                self._vectors = read_named_vectors(path)
            except MalformedVectorsError as error:
                raise CorpusError(str(error).replace(str(path), self._name)) from error
            self._rows = {key: row for row, key in reversed(list(enumerate(self._vectors.keys)))}

    def central_index_of(self, files: list[tuple[str, str]]) -> int | None:
        """Return the place of the image closest to the others by those that have features; None if none has."""
        if self._vectors is None:
            return None
        places, vectors = [], []
        for place, (file, named) in enumerate(files):
            vector = self._vector_of(file, named)
            if vector is not None:
                places.append(place)
                vectors.append(vector)
        return places[most_central(np.stack(vectors))] if places else None

    def _vector_of(self, file: str, named: str) -> np.ndarray[Any, np.dtype[np.float32]] | None:
        assert self._vectors is not None
        path = PurePosixPath(file)
        row = next((self._rows[name] for name in (file, named, path.name, path.stem) if name in self._rows), None)
        if row is None:
            self._problems.add("no_features", _("There are no features of %(file)s.") % {"file": file}, file=self._name)
            return None
        if np.linalg.norm(self._vectors.vectors[row]) < MIN_LENGTH:
            message = _("The features of %(file)s are all 0, which has no direction.") % {"file": file}
            self._problems.add("bad_features", message, file=self._name)
            return None
        return self._vectors.vectors[row]


def _no_images(work: StepWork, problems: LineProblems) -> CorpusError:
    counts = ", ".join(f"{kind} {count}" for kind, count in sorted(problems.counts.items()))
    first = next((examples[0] for examples in problems.examples.values()), None)
    message = _("No image of %(file)s can be used (%(counts)s).") % {
        "file": work.config.images.manifest,
        "counts": counts or "0",
    }
    if first is not None:
        message += " " + _("Line %(number)s: %(message)s") % {"number": first.line, "message": first.message}
    return CorpusError(message)
