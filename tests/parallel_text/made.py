"""Small corpora, written as the steps before would have written them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from parallel_text.building import work_in
from parallel_text.config import CandidateSettings, CorpusConfig, Inventory, Text
from parallel_text.steps import Step, StepReport, StepWork

INTEGERS = pa.list_(pa.int32())


def work_with(folder: Path, *languages: str, **settings: Any) -> StepWork:
    """Prepare to build from `es.tsv` and the inventories `senses.es.tsv` and so on, or as `settings` have it."""
    for language in ("en", *languages):
        path = folder / f"senses.{language}.tsv"
        if not path.exists():
            path.write_text("00000001-n\tnothing\n")
    usual: dict[str, Any] = {
        "texts": tuple(Text(language, "tsv", (f"{language}.tsv",)) for language in languages),
        "inventories": tuple(Inventory(language, f"senses.{language}.tsv") for language in ("en", *languages)),
        "candidates": CandidateSettings(ratings="ratings.csv"),
        "workers": 1,
    }
    return work_in(folder / "out", CorpusConfig(name="made", **usual | settings), base=folder)


def write(work: StepWork, name: str, columns: Mapping[str, Sequence[object] | pa.Array]) -> None:
    with work.folder.writing(name) as path:
        parquet.write_table(pa.table(dict(columns)), path)


def rows(work: StepWork, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = parquet.read_table(work.folder.read(name)).to_pylist()
    return found


def cells(work: StepWork, name: str, *columns: str) -> list[tuple[Any, ...]]:
    """The rows of a table, of all columns or of those that are named."""
    return [tuple(row[column] for column in columns or row) for row in rows(work, name)]


def run(step: Step, work: StepWork) -> StepReport:
    """Do all parts of a step, and its end."""
    for chunk in step.chunks(work):
        assert not step.is_written(work, chunk)
        step.run_chunk(work, chunk)
        assert step.is_written(work, chunk)
    return step.finish(work)
