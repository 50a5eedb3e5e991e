"""Step: what each English noun was aligned with, how often, and which of that is a translation."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from parallel_text import words
from parallel_text.config import Config
from parallel_text.steps import Report, Work

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ENTRIES = "dictionary/entries.parquet"

# A chunk's sentences follow one another in `nouns`: each chunk reads its own rows only, and memory does not grow.
COUNT_CHUNK = """
    INSERT INTO counted
    WITH links AS (
        SELECT sentence, unnest(english_positions) AS position,
            unnest(list_transform(positions, lambda place: words[place + 1])) AS word
        FROM read_parquet($aligned)
    ), range AS (SELECT min(sentence) AS first, max(sentence) AS last FROM read_parquet($aligned))
    SELECT lemma, word, count(*)
    FROM links JOIN (
        SELECT sentence, position, lemma FROM read_parquet($nouns)
        WHERE sentence BETWEEN (SELECT first FROM range) AND (SELECT last FROM range)
    ) USING (sentence, position)
    GROUP BY ALL
"""

ENTRIES_OF_A_LANGUAGE = """
    WITH summed AS (
        SELECT english, form AS word, any_value(lemma) AS lemma, sum(alignments)::BIGINT AS alignments
        FROM counted JOIN forms USING (word)
        GROUP BY ALL
    ), shared AS (
        SELECT *, sum(alignments) OVER (PARTITION BY english)::BIGINT AS total FROM summed
    )
    SELECT $language AS language, english, word, lemma, alignments, total,
        -- Rounded once, as the share in the configuration is: exactly 1% is at least 1%.
        alignments::DOUBLE / total AS share, share >= $share AS kept
    FROM shared
    ORDER BY english, alignments DESC, word
"""


class Dictionary:
    """One part for each language.

    Each link counts: intersection leaves a token one link in each direction. A link with a number or with punctuation
    is no alignment of the noun, and is not in its total either.
    """

    name = "dictionary"
    version = 1
    needs = ("candidates", "align")

    def settings(self, config: Config) -> dict[str, Any]:
        return {"share": config.dictionary.share, "words": words.VERSION}

    def files(self, config: Config) -> list[str]:
        return []

    def chunks(self, work: Work) -> list[str]:
        return list(work.config.languages)

    def is_written(self, work: Work, chunk: str) -> bool:
        return _part(chunk) in work.folder.names(_part(chunk))

    def run_chunk(self, work: Work, chunk: str) -> None:
        nouns = str(work.folder.read("candidates/nouns.parquet"))
        with work.database() as database:
            database.execute("CREATE TABLE counted (english VARCHAR, word VARCHAR, alignments BIGINT)")
            for name in work.folder.names(f"align/{chunk}/"):
                database.execute(COUNT_CHUNK, {"aligned": str(work.folder.read(name)), "nouns": nouns})
            _add_forms(database, chunk)
            query = {"language": chunk, "share": work.config.dictionary.share}
            with work.folder.writing(_part(chunk)) as path:
                _copy(database, ENTRIES_OF_A_LANGUAGE, query, str(path))

    def finish(self, work: Work) -> Report:
        files = [str(work.folder.read(_part(language))) for language in work.config.languages]
        with work.database() as database, work.folder.writing(ENTRIES) as path:
            rows = "SELECT * FROM read_parquet($files) ORDER BY language, english, alignments DESC, word"
            _copy(database, rows, {"files": files}, str(path))
            counts = _counts(database, str(path))
        tools = {"duckdb": version("duckdb"), **words.lemma_tools(work.config.languages)}
        return Report(counts, tools=tools)


def _part(language: str) -> str:
    return f"dictionary/languages/{language}.parquet"


def _copy(database: DuckDBPyConnection, query: str, values: dict[str, Any], path: str) -> None:
    quoted = path.replace("'", "''")
    database.execute(f"COPY ({query}) TO '{quoted}' (FORMAT parquet, COMPRESSION zstd)", values)


def _add_forms(database: DuckDBPyConnection, language: str) -> None:
    """Make a table of the words that translate: as spelt, as they compare, and their lemmas."""
    import pyarrow as pa

    spelt = [word for (word,) in database.execute("SELECT DISTINCT word FROM counted").fetchall()]
    spelt = [word for word in spelt if words.is_word(word)]
    forms = [words.lower(word, language) for word in spelt]
    lemmas = {form: words.lemma_of(form, language) for form in set(forms)}
    table = pa.table(
        {
            "word": pa.array(spelt, pa.string()),
            "form": pa.array(forms, pa.string()),
            "lemma": pa.array([lemmas[form] for form in forms], pa.string()),
        }
    )
    database.register("spelt", table)
    database.execute("CREATE TABLE forms AS SELECT * FROM spelt")


def _counts(database: DuckDBPyConnection, path: str) -> dict[str, Any]:
    rows = database.execute(
        """
        SELECT language, count(DISTINCT english) AS nouns, sum(alignments)::BIGINT AS alignments, count(*) AS words,
            count_if(kept) AS kept, coalesce(sum(alignments) FILTER (kept), 0)::BIGINT AS alignments_kept,
            count(DISTINCT (english, lemma)) FILTER (kept) AS lemmas
        FROM read_parquet($1) GROUP BY language ORDER BY language
        """,
        [path],
    ).fetchall()
    names = ("nouns", "alignments", "words", "kept", "alignments_kept", "lemmas")
    languages = {language: dict(zip(names, numbers, strict=True)) for language, *numbers in rows}
    totals = {name: sum(of[name] for of in languages.values()) for name in names[1:]}
    return {**totals, "languages": languages}


STEP = Dictionary()
