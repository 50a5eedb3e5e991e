"""Step `intersect`: how many languages agree on a sense of a noun in its sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from parallel_text.config import CorpusConfig
from parallel_text.senses import ENGLISH_NOUNS
from parallel_text.steps import SentencesStep, StepReport, StepWork

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

INSTANCES = "intersect/instances.parquet"

_INSTANCES = """
    WITH sentences AS (
        SELECT sentence, text, occurrence FROM parquet($english)
    ), range AS (
        SELECT min(sentence) AS first, max(sentence) AS last FROM sentences
    ), nouns AS (
        SELECT sentence, position, start, word, found.lemma, synsets AS all_synsets
        FROM parquet($nouns) AS found JOIN senses ON senses.lemma = found.lemma AND senses.form = lower(found.word)
        WHERE sentence BETWEEN (SELECT first FROM range) AND (SELECT last FROM range)
    ), aligned AS (
        SELECT sentence, position, english, language, pair, target, word, lemma, synsets FROM parquet($aligned)
        WHERE sentence BETWEEN (SELECT first FROM range) AND (SELECT last FROM range)
    ), sharing AS (
        SELECT sentence, position, synset, list(language ORDER BY language) AS languages
        FROM (SELECT sentence, position, english, language, unnest(synsets) AS synset FROM aligned)
        ANTI JOIN excluded USING (english, synset)
        GROUP BY ALL
    ), most AS (
        SELECT sentence, position, max(len(languages)) AS n FROM sharing GROUP BY ALL
    ), shared AS (
        SELECT sentence, position, n,
            list(struct_pack(synset := synset, languages := languages) ORDER BY synset) AS shared,
            list(synset ORDER BY synset) AS synsets,
            list_sort(list_distinct(flatten(list(languages)))) AS sharers
        FROM sharing JOIN most USING (sentence, position) WHERE len(languages) = n GROUP BY ALL
    ), every AS (
        SELECT sentence, position, list(struct_pack(synset := synset, languages := languages) ORDER BY synset) AS every
        FROM sharing GROUP BY ALL
    ), translated AS (
        SELECT sentence, position, list(
            struct_pack(
                language := language, lemma := lemma, word := word, pair := pair, target := target,
                shares := coalesce(list_contains(sharers, language), false)
            ) ORDER BY language
        ) AS translations
        FROM aligned LEFT JOIN shared USING (sentence, position) GROUP BY ALL
    )
    SELECT left(md5(text), 16) || '-' || position || CASE WHEN occurrence > 1 THEN '-' || occurrence ELSE '' END AS id,
        occurrence, sentence, position, start, text, word, lemma,
        coalesce(translations, []) AS translations,
        CASE WHEN shared.n IS NULL THEN all_synsets ELSE shared.synsets END AS synsets,
        len(all_synsets)::INTEGER AS english_senses,
        coalesce(every.every, []) AS shared,
        coalesce(shared.n, 0)::INTEGER AS n
    FROM nouns JOIN sentences USING (sentence)
    LEFT JOIN shared USING (sentence, position)
    LEFT JOIN every USING (sentence, position)
    LEFT JOIN translated USING (sentence, position)
    ORDER BY sentence, position
"""


class IntersectStep(SentencesStep):
    """An instance is in *intersect_N* where its `n` is at least N, so that intersect_(N+1) is a part of intersect_N."""

    name = "intersect"
    version = 2
    needs = ("ingest", "candidates", "senses")

    def settings(self, config: CorpusConfig) -> dict[str, Any]:
        return {"words": list(config.exclude.words), "senses": [list(pair) for pair in config.exclude.senses]}

    def part(self, chunk: str) -> str:
        return f"intersect/parts/{chunk}.parquet"

    def run_chunk(self, work: StepWork, chunk: str) -> None:
        files = {
            "english": str(work.folder.read(f"ingest/english/{chunk}.parquet")),
            "nouns": str(work.folder.read("candidates/nouns.parquet")),
            "aligned": str(work.folder.read("senses/aligned.parquet")),
        }
        with work.database() as database:
            _add_senses(database, work)
            rows = database.sql(_INSTANCES, params=files).to_arrow_table()
        with work.folder.writing(self.part(chunk)) as path:
            pq.write_table(rows, path, compression="zstd")

    def finish(self, work: StepWork) -> StepReport:
        """Put the parts together, and count instances by N."""
        parts = [work.folder.read(self.part(chunk)) for chunk in self.chunks(work)]
        with (
            work.folder.writing(INSTANCES) as path,
            pq.ParquetWriter(path, pq.read_schema(parts[0]), compression="zstd") as writer,
        ):
            for part in parts:
                writer.write_table(pq.read_table(part))
        work.folder.remove("intersect/parts/")
        with work.database() as database:
            rows = database.execute(
                "SELECT n, count(*) FROM parquet($1) GROUP BY n ORDER BY n", [str(work.folder.read(INSTANCES))]
            ).fetchall()
        import duckdb

        counts = {"instances": sum(count for _n, count in rows), "by_n": {str(n): count for n, count in rows}}
        return StepReport(counts, tools={"DuckDB": duckdb.__version__})


STEP = IntersectStep()


def _add_senses(database: DuckDBPyConnection, work: StepWork) -> None:
    """Make tables of the senses of English nouns and of those that were excluded."""
    exclude = work.config.exclude
    excluded = pa.table(
        {
            "english": pa.array([word.lower() for word, _synset in exclude.senses], pa.string()),
            "synset": pa.array([synset for _word, synset in exclude.senses], pa.string()),
        }
    )
    words = pa.table({"lemma": pa.array([word.lower() for word in exclude.words], pa.string())})
    database.register("excluded", excluded)
    database.register("excluded_words", words)
    database.execute(
        """
        CREATE TABLE senses AS
        SELECT lemma, form, list(synset ORDER BY synset) AS synsets
        FROM (SELECT lemma, form, lemma AS english, synset FROM parquet($1))
        ANTI JOIN excluded USING (english, synset) ANTI JOIN excluded_words USING (lemma)
        GROUP BY lemma, form
        """,
        [str(work.folder.read(ENGLISH_NOUNS))],
    )
