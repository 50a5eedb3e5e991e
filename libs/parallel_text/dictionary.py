"""Step: what each English noun was aligned with, how often, and which of that is a translation."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from parallel_text import words
from parallel_text.config import ENGLISH, CorpusConfig, Inventory
from parallel_text.inventories import read_inventory
from parallel_text.problems import LineProblems
from parallel_text.steps import Step, StepReport, StepWork, write_table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ENTRIES = "dictionary/entries.parquet"
WORDS_AT_ONCE = 100_000

# A chunk's sentences follow one another in `nouns`: each chunk reads its own rows only, and memory does not grow.
COUNT_CHUNK = """
    INSERT INTO counted
    WITH links AS (
        SELECT sentence, unnest(english_positions) AS position,
            unnest(list_transform(positions, lambda place: words[place + 1])) AS word
        FROM parquet($aligned)
    ), range AS (SELECT min(sentence) AS first, max(sentence) AS last FROM parquet($aligned))
    SELECT lemma, word, count(*)
    FROM links JOIN (
        SELECT sentence, position, lemma FROM parquet($nouns)
        WHERE sentence BETWEEN (SELECT first FROM range) AND (SELECT last FROM range)
    ) USING (sentence, position)
    GROUP BY ALL
"""

SHARES = """
    CREATE TABLE shared AS
    WITH summed AS (
        SELECT english, form AS word, sum(alignments)::BIGINT AS alignments
        FROM counted JOIN forms USING (word) GROUP BY ALL
    ), totals AS (SELECT english, sum(alignments)::BIGINT AS total FROM summed GROUP BY ALL)
    SELECT english, word, alignments, total,
        -- Rounded once, as the share in the configuration is: exactly 1% is at least 1%.
        alignments::DOUBLE / total AS share, share >= $share AS kept
    FROM summed JOIN totals USING (english)
"""

ENTRIES_OF_A_LANGUAGE = """
    SELECT $language AS language, english, word, coalesce(lemma, word) AS lemma, alignments, total, share, kept
    FROM shared LEFT JOIN lemmas ON kept AND shared.word = lemmas.form
    ORDER BY english, alignments DESC, word
"""


class DictionaryStep(Step):
    """One part for each language. Words that are kept have lemmas; the lemma of others is the word itself.

    Each link counts: intersection leaves a token one link in each direction. A link with a number or with punctuation
    is no alignment of the noun, and is not in its total either.
    """

    name = "dictionary"
    version = 1
    needs = ("candidates", "align")

    def settings(self, config: CorpusConfig) -> dict[str, Any]:
        inventories = [[inventory.language, inventory.format] for inventory in _inventories(config)]
        return {"share": config.translation_share, "inventories": inventories, "words": words.VERSION}

    def files(self, config: CorpusConfig) -> list[str]:
        return [inventory.file for inventory in _inventories(config)]

    def chunks(self, work: StepWork) -> list[str]:
        return list(work.config.languages)

    def part(self, chunk: str) -> str:
        return f"dictionary/languages/{chunk}.parquet"

    def run_chunk(self, work: StepWork, chunk: str) -> None:
        nouns = str(work.folder.read("candidates/nouns.parquet"))
        with work.database() as database:
            database.execute("CREATE TABLE counted (english VARCHAR, word VARCHAR, alignments BIGINT)")
            for name in work.folder.names(f"align/{chunk}/"):
                database.execute(COUNT_CHUNK, {"aligned": str(work.folder.read(name)), "nouns": nouns})
            database.execute("CREATE TABLE forms (word VARCHAR, form VARCHAR)")
            _translate(database, "SELECT DISTINCT word FROM counted", "forms", lambda word: _form(word, chunk))
            database.execute(SHARES, {"share": work.config.translation_share})
            database.execute("DROP TABLE counted; DROP TABLE forms; CREATE TABLE lemmas (form VARCHAR, lemma VARCHAR)")
            kept = "SELECT DISTINCT word FROM shared WHERE kept"
            known = _nouns(work, chunk)
            _translate(database, kept, "lemmas", lambda form: words.noun_lemma(form, chunk, known))
            with work.folder.writing(self.part(chunk)) as path:
                write_table(database, ENTRIES_OF_A_LANGUAGE, path, {"language": chunk})

    def finish(self, work: StepWork) -> StepReport:
        files = [str(work.folder.read(self.part(language))) for language in work.config.languages]
        with work.database() as database, work.folder.writing(ENTRIES) as path:
            rows = "SELECT * FROM parquet($files) ORDER BY language, english, alignments DESC, word"
            write_table(database, rows, path, {"files": files})
            counts = _counts(database, str(path))
        tools = {"duckdb": version("duckdb"), **words.lemma_tools(work.config.languages)}
        return StepReport(counts, tools=tools)


def _inventories(config: CorpusConfig) -> list[Inventory]:
    """The sense inventories of the languages besides English, whose nouns tell lemmas of nouns from others."""
    return [inventory for inventory in config.inventories if inventory.language != ENGLISH]


def _nouns(work: StepWork, language: str) -> set[str]:
    """Read the nouns of a language. What is wrong with its inventories is reported by `senses`."""
    return {
        sense.lemma
        for inventory in _inventories(work.config)
        if inventory.language == language
        for sense in read_inventory(inventory, work.input(inventory.file), LineProblems())
        if sense.is_noun
    }


def _form(word: str, language: str) -> str | None:
    return words.lower(word, language) if words.is_word(word) else None


def _translate(database: DuckDBPyConnection, query: str, table: str, function: Callable[[str], str | None]) -> None:
    """Write each word that `query` selects and what `function` makes of it, unless that is nothing, to `table`."""
    import pyarrow as pa

    with database.cursor() as writer:
        for batch in database.sql(query).to_arrow_reader(WORDS_AT_ONCE):
            of = {word: made for word in batch[0].to_pylist() if (made := function(word)) is not None}
            rows = pa.table([pa.array(of, pa.string()), pa.array(of.values(), pa.string())], ["word", "made"])
            writer.register("rows", rows)
            writer.execute(f"INSERT INTO {table} SELECT * FROM rows")
            writer.unregister("rows")


def _counts(database: DuckDBPyConnection, path: str) -> dict[str, Any]:
    rows = database.execute(
        """
        SELECT language, count(DISTINCT english) AS nouns, sum(alignments)::BIGINT AS alignments, count(*) AS words,
            count_if(kept) AS kept, coalesce(sum(alignments) FILTER (kept), 0)::BIGINT AS alignments_kept,
            count(DISTINCT (english, lemma)) FILTER (kept) AS lemmas
        FROM parquet($1) GROUP BY language ORDER BY language
        """,
        [path],
    ).fetchall()
    names = ("nouns", "alignments", "words", "kept", "alignments_kept", "lemmas")
    languages = {language: dict(zip(names, numbers, strict=True)) for language, *numbers in rows}
    totals = {name: sum(of[name] for of in languages.values()) for name in names[1:]}
    return {**totals, "languages": languages}


STEP = DictionaryStep()
