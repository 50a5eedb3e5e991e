"""What a step of building a corpus is, and what it is given: the folder of the corpus and a database."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from crosslens_metrics.messages import gettext as _
from parallel_text.config import CorpusConfig
from parallel_text.problems import CorpusError, LineProblems

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PARTIAL = ".partial-"
"""How the name of a file begins that is still being written."""


class CorpusFolder:
    """Files by names such as `ingest/english/00000.parquet`. A name has its file whole, or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name: str) -> Path:
        """Return the path of a file.

        Raises FileNotFoundError.
        """
        path = self.path / name
        if not path.is_file():
            raise FileNotFoundError(path)
        return path

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Give a path to write to; when the block ends without an error, the file has its name."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # Several processes may write the same file, each its own copy; the endings tell programs what is in it.
        partial = path.with_name(f"{PARTIAL}{uuid4().hex}-{path.name}")
        try:
            yield partial
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    def names(self, prefix: str) -> list[str]:
        """List the names that begin with `prefix`, sorted."""
        top = self.path / prefix.rpartition("/")[0]
        found = (path.relative_to(self.path).as_posix() for path in top.rglob("*") if _is_whole(path))
        return sorted(name for name in found if name.startswith(prefix))

    def remove(self, prefix: str) -> None:
        """Delete all files whose names begin with `prefix`."""
        if prefix.endswith("/"):
            shutil.rmtree(self.path / prefix, ignore_errors=True)
            return
        for name in self.names(prefix):
            (self.path / name).unlink(missing_ok=True)

    def forget_partial(self) -> None:
        """Delete what killed processes left half written. Nobody else may be writing."""
        for path in self.path.rglob(f"{PARTIAL}*"):
            path.unlink(missing_ok=True)


def _is_whole(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(PARTIAL)


PARQUET = "CREATE MACRO parquet(files) AS TABLE FROM read_parquet(files, hive_partitioning := false)"
"""Reads Parquet files; a folder called `n=3` adds no column."""

ROWS_AT_ONCE = 10_000
NOTHING: Mapping[str, Any] = {}


def make_view(database: DuckDBPyConnection, name: str, paths: Iterable[Path]) -> None:
    """Make a view of Parquet files: the statement that makes one takes no parameters."""
    database.read_parquet([str(path) for path in paths], hive_partitioning=False).create_view(name)


def write_table(
    database: DuckDBPyConnection, query: str, path: Path, values: Mapping[str, Any] = NOTHING, *, options: str = ""
) -> int:
    """Write what `query` selects with `values` as Parquet, and return how many rows there are.

    `options` are more of COPY's.
    """
    row = database.execute(
        f"COPY ({query}) TO $written_to (FORMAT parquet, COMPRESSION zstd{options and ', ' + options})",
        {**values, "written_to": str(path)},
    ).fetchone()
    assert row is not None
    return int(row[0])


def rows_of(result: DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    """Give the rows that were selected, some at a time."""
    while rows := result.fetchmany(ROWS_AT_ONCE):
        yield from rows


def records_of(result: DuckDBPyConnection) -> Iterator[dict[str, Any]]:
    """Give the rows that were selected, each by the names of its columns."""
    columns = [column[0] for column in result.description or ()]
    for row in rows_of(result):
        yield dict(zip(columns, row, strict=True))


@dataclass(frozen=True)
class StepWork:
    """What a step works with.

    `folder` holds the files of the corpus, `scratch` is a folder of this machine for what may be lost, and `input`
    gives the path of a file that the configuration names.
    """

    config: CorpusConfig
    folder: CorpusFolder
    scratch: Path
    input: Callable[[str], Path]

    def database(self) -> DuckDBPyConnection:
        """Open an empty DuckDB database in memory, which spills to `scratch` and reads files by `parquet(…)`."""
        import duckdb  # 65 MB, which processes that build no corpus do without

        spill = self.scratch / f"duckdb-{uuid4().hex}"
        spill.mkdir(parents=True)
        database = duckdb.connect(
            ":memory:",
            config={
                "memory_limit": self.config.memory,
                "temp_directory": str(spill),
                "threads": min(self.config.workers, os.cpu_count() or 1),
                # Every table that is written is sorted by name, so that its order depends on nothing else.
                "preserve_insertion_order": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            },
        )
        database.execute(PARQUET)
        return database


@dataclass(frozen=True)
class StepReport:
    """What a step did: numbers of what it counted, lines left out, and names and versions of the tools it used."""

    counts: Mapping[str, Any] = field(default_factory=dict)
    problems: LineProblems = field(default_factory=LineProblems)
    tools: Mapping[str, str] = field(default_factory=dict)


class Step:
    """One step. It keeps nothing between calls: everything it makes is in the folder.

    Unless it says more, it reads no file of the configuration and has no parts: all of it is done at its end.
    """

    name: str
    version: int
    """Raised when the same input gives another result, so that folders made before are built again."""
    needs: tuple[str, ...] = ()
    """Steps whose files it reads."""

    def settings(self, config: CorpusConfig) -> dict[str, Any]:
        """Return what its result depends on besides files, as JSON."""
        raise NotImplementedError

    def files(self, config: CorpusConfig) -> list[str]:
        """List the files of the configuration that it reads."""
        return []

    def chunks(self, work: StepWork) -> list[str]:
        """List its parts, which may run at the same time, and again."""
        return []

    def part(self, chunk: str) -> str:
        """Name the file of a part that is written last."""
        raise NotImplementedError

    def run_chunk(self, work: StepWork, chunk: str) -> None:
        """Do one part.

        Raises CorpusError.
        """
        raise CorpusError(_("The step has no part “%(name)s”.") % {"name": chunk})

    def is_written(self, work: StepWork, chunk: str) -> bool:
        """Return whether this part's output is there."""
        return self.part(chunk) in work.folder.names(self.part(chunk))

    def finish(self, work: StepWork) -> StepReport:
        """Join the parts and write the step's tables.

        Raises CorpusError.
        """
        raise NotImplementedError


class SentencesStep(Step):
    """Its parts are the chunks into which `ingest` cut the English sentences."""

    def chunks(self, work: StepWork) -> list[str]:
        return [name.rpartition("/")[2].removesuffix(".parquet") for name in work.folder.names("ingest/english/")]


@contextmanager
def building_in(out: Path) -> Iterator[None]:
    """Lock a folder for as long as the block runs, and clear what killed programs left half written.

    The lock ends with the process, however it ends.

    Raises CorpusError where another program has it, or the folder cannot be written to.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        with (out / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise CorpusError(
                    _("Another program is building in %(folder)s. Wait for it to end.") % {"folder": out}
                ) from error
            CorpusFolder(out).forget_partial()
            shutil.rmtree(out / ".scratch", ignore_errors=True)
            yield
    except OSError as error:
        raise CorpusError(
            _("%(file)s cannot be written: %(error)s.") % {"file": error.filename or out, "error": error.strerror}
        ) from error
