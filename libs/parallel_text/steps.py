"""What a step of building a corpus is, and what it is given."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from crosslens_metrics.messages import gettext as _
from parallel_text.config import CorpusConfig
from parallel_text.folder import CorpusFolder
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.sql import PARQUET

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


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

        Raises
        ------
        CorpusError
        """
        raise CorpusError(_("The step has no part “%(name)s”.") % {"name": chunk})

    def is_written(self, work: StepWork, chunk: str) -> bool:
        """Return whether this part's output is there."""
        return self.part(chunk) in work.folder.names(self.part(chunk))

    def finish(self, work: StepWork) -> StepReport:
        """Join the parts and write the step's tables.

        Raises
        ------
        CorpusError
        """
        raise NotImplementedError


class SentencesStep(Step):
    """Its parts are the chunks into which `ingest` cut the English sentences."""

    def chunks(self, work: StepWork) -> list[str]:
        return [name.rpartition("/")[2].removesuffix(".parquet") for name in work.folder.names("ingest/english/")]
