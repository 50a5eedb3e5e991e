"""Small corpora, written as the steps before would have written them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from parallel_text.building import work_in
from parallel_text.config import AlignSettings, CandidateSettings, CorpusConfig, DictionarySettings, Inventory, Text
from parallel_text.steps import StepWork

INTEGERS = pa.list_(pa.int32())


def work_with(folder: Path, *languages: str, program: str = "", share: float = 0.01) -> StepWork:
    (folder / "senses.tsv").write_text("00000001-n\tnothing\n")
    config = CorpusConfig(
        name="made",
        texts=tuple(Text(language, "tsv", (f"{language}.tsv",)) for language in languages),
        inventories=tuple(Inventory(language, "senses.tsv") for language in ("en", *languages)),
        candidates=CandidateSettings(ratings="ratings.csv"),
        align=AlignSettings(program),
        dictionary=DictionarySettings(share),
    )
    return work_in(folder / "out", config, base=folder)


def write(work: StepWork, name: str, columns: Mapping[str, Sequence[object] | pa.Array]) -> None:
    with work.folder.writing(name) as path:
        parquet.write_table(pa.table(dict(columns)), path)


def rows(work: StepWork, name: str) -> list[dict[str, object]]:
    return parquet.read_table(work.folder.read(name)).to_pylist()
