"""Step: align the words of every pair with those of its English sentence, in both directions, and intersect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crosslens_metrics.messages import gettext as _
from parallel_text import tagging, words
from parallel_text.aligners import MAX_SENTENCE_TOKENS, Links, WordAligner, find_aligner
from parallel_text.config import ENGLISH, CorpusConfig
from parallel_text.problems import LineProblems
from parallel_text.steps import Step, StepReport, StepWork

if TYPE_CHECKING:
    import pyarrow as pa

TOOLS = b"crosslens_"
"""How the keys of a file's metadata begin that name a tool."""


class AlignStep(Step):
    """One part for each language and file of English sentences, called "es-00003"."""

    name = "align"
    version = 1
    # Not `candidates`, whose thresholds would have everything aligned again: its English tokens are found here, too.
    needs = ("ingest",)

    def settings(self, config: CorpusConfig) -> dict[str, Any]:
        return {"program": config.align.program, "english_words": tagging.VERSION, "words": words.VERSION}

    def chunks(self, work: StepWork) -> list[str]:
        # Refused here, once and before any work, where no part could be done.
        find_aligner(work.config.align.program)
        return [
            f"{language}-{name.rpartition('/')[2].removesuffix('.parquet')}"
            for language in work.config.languages
            for name in work.folder.names(f"ingest/pairs.{language}/")
        ]

    def part(self, chunk: str) -> str:
        language, _dash, number = chunk.rpartition("-")
        return f"align/{language}/{number}.parquet"

    def run_chunk(self, work: StepWork, chunk: str) -> None:
        from pyarrow import parquet

        aligner = find_aligner(work.config.align.program)
        language, _dash, _number = chunk.rpartition("-")
        table, english = _pairs(work, chunk)
        theirs = words.tokens_of(table["text"].to_pylist(), language)
        sides = [
            (_compared(one, ENGLISH), _compared(other, language)) for one, other in zip(english, theirs, strict=True)
        ]
        links = aligner.links(sides, scratch=work.scratch)
        made = _table(table, theirs, links, _tools(aligner, language))
        with work.folder.writing(self.part(chunk)) as path:
            parquet.write_table(made, path, compression="zstd")

    def finish(self, work: StepWork) -> StepReport:
        """Count what was aligned, and name the aligners: each part may have met another."""
        from pyarrow import parquet

        tools: dict[str, set[str]] = {}
        for chunk in self.chunks(work):
            metadata = parquet.read_schema(work.folder.read(self.part(chunk))).metadata or {}
            for key, value in metadata.items():
                if key.startswith(TOOLS):
                    tools.setdefault(key.removeprefix(TOOLS).decode(), set()).add(value.decode())
        counts: dict[str, Any] = {}
        problems = LineProblems()
        for language in work.config.languages:
            counts[language] = _count(work, language, problems)
        totals = {name: sum(of[name] for of in counts.values()) for name in ("pairs", "links")}
        return StepReport(
            {**totals, "languages": counts}, problems, {name: " | ".join(sorted(of)) for name, of in tools.items()}
        )


def _pairs(work: StepWork, chunk: str) -> tuple[pa.Table, list[list[str]]]:
    """Read a part's pairs in their order, and the English tokens of each."""
    language, _dash, number = chunk.rpartition("-")
    query = """
        SELECT pair, pairs.sentence, pairs.text, english.text AS english
        FROM parquet($pairs) AS pairs JOIN parquet($english) AS english USING (sentence)
        ORDER BY pair
    """
    files = {
        "pairs": str(work.folder.read(f"ingest/pairs.{language}/{number}.parquet")),
        "english": str(work.folder.read(f"ingest/english/{number}.parquet")),
    }
    with work.database() as database:
        table = database.sql(query, params=files).to_arrow_table()
    return table, [[word for word, _start in tagging.tokens(text)] for text in table["english"].to_pylist()]


def _compared(tokens: Sequence[str], language: str) -> list[str]:
    return [words.lower(token, language) for token in tokens]


def _tools(aligner: WordAligner, language: str) -> dict[str, str]:
    return {aligner.kind: aligner.version, **words.word_tools([language])}


def _table(pairs: pa.Table, theirs: list[list[str]], links: list[Links], tools: Mapping[str, str]) -> pa.Table:
    import pyarrow as pa

    places = pa.list_(pa.int32())
    columns = {
        "pair": pairs["pair"],
        "sentence": pairs["sentence"],
        "words": pa.array(theirs, pa.list_(pa.string())),
        "english_positions": pa.array([[english for english, _other in each] for each in links], places),
        "positions": pa.array([[other for _english, other in each] for each in links], places),
    }
    metadata = {TOOLS + name.encode(): value.encode() for name, value in tools.items()}
    return pa.table(columns).replace_schema_metadata(metadata)


def _count(work: StepWork, language: str, problems: LineProblems) -> dict[str, Any]:
    """Count pairs, their tokens and links, and name the first pairs that are too long to be aligned."""
    files = [str(work.folder.read(name)) for name in work.folder.names(f"align/{language}/")]
    if not files:
        return {"pairs": 0, "tokens": 0, "links": 0, "unaligned": 0}
    with work.database() as database:
        counted = database.execute(
            """
            SELECT count(*), coalesce(sum(len(words)), 0)::BIGINT, coalesce(sum(len(positions)), 0)::BIGINT,
                count_if(len(positions) = 0)
            FROM parquet($1)
            """,
            [files],
        ).fetchone()
        too_long = database.execute(
            "SELECT pair, len(words) FROM parquet($1) WHERE len(words) > $2 ORDER BY pair", [files, MAX_SENTENCE_TOKENS]
        ).fetchall()
    for pair, length in too_long:
        message = _("Pair %(pair)s has %(length)s words in %(language)s and was not aligned.")
        problems.add("too_long", message % {"pair": pair, "length": length, "language": language})
    assert counted is not None
    return dict(zip(("pairs", "tokens", "links", "unaligned"), counted, strict=True))


STEP = AlignStep()
