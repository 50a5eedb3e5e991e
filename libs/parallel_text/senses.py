"""Step `senses`: the synsets that an English noun shares with the word it is aligned with."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from crosslens_metrics.messages import gettext as _
from parallel_text import words
from parallel_text.config import ENGLISH, CorpusConfig, Inventory
from parallel_text.inventories import LemmaSense, read_inventory
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.steps import Step, StepReport, StepWork, make_view, write_table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

INVENTORY = "senses/inventory.parquet"
ENGLISH_NOUNS = "senses/english.parquet"
"""The synsets of each noun of the corpus by lemma and form, in small letters."""
ALIGNED = "senses/aligned.parquet"
ROWS_AT_ONCE = 100_000
_SENSES = pa.schema([("language", pa.string()), ("lemma", pa.string()), ("synset", pa.string())])

# The lemma is looked up, and the form as well: inventories have "glasses", whose lemma is another word.
_ENGLISH = """
    SELECT DISTINCT nouns.lemma, form, synset
    FROM (
        SELECT lemma, form, unnest([lemma, form]) AS spelling
        FROM (SELECT DISTINCT lemma, lower(word) AS form FROM parquet($nouns))
    ) AS nouns
    JOIN inventory ON inventory.language = 'en' AND inventory.lemma = spelling
    ORDER BY nouns.lemma, form, synset
"""

_ENTRIES = """
    CREATE TABLE entries AS
    WITH english AS (SELECT lemma AS english, form, synset FROM parquet($english)),
        kept AS (SELECT language, english, word, lemma FROM parquet($entries) WHERE kept),
        spelt AS (
            SELECT language, english, word, lemma, unnest(list_distinct([lemma, word])) AS spelling FROM kept
        ),
        shared AS (
            SELECT spelt.language, spelt.english, form, word,
                list(DISTINCT english.synset ORDER BY english.synset) AS synsets
            FROM spelt
            JOIN inventory ON inventory.language = spelt.language AND inventory.lemma = spelling
            JOIN english ON english.english = spelt.english AND english.synset = inventory.synset
            GROUP BY ALL
        )
    SELECT language, english, form, word, lemma, coalesce(synsets, []) AS synsets
    FROM kept JOIN (SELECT DISTINCT lemma AS english, lower(word) AS form FROM parquet($nouns)) USING (english)
    LEFT JOIN shared USING (language, english, form, word)
"""

_ALIGNED = """
    WITH links AS (
        SELECT pair, sentence, unnest(english_positions) AS position, unnest(positions) AS target,
            unnest(list_transform(positions, lambda place: words[place + 1])) AS spelt
        FROM parquet($aligned)
    ), range AS (
        SELECT min(sentence) AS first, max(sentence) AS last FROM parquet($aligned)
    ), nouns AS (
        SELECT sentence, position, lemma AS english, lower(word) AS english_form FROM parquet($nouns)
        WHERE sentence BETWEEN (SELECT first FROM range) AND (SELECT last FROM range)
    )
    SELECT sentence, position, english, $language AS language, chosen.* FROM (
        SELECT sentence, position, nouns.english AS english, arg_min(
            struct_pack(pair := pair, target := target, word := spelt, lemma := lemma, synsets := synsets),
            (len(synsets) = 0, pair, target)
        ) AS chosen
        FROM links JOIN nouns USING (sentence, position) JOIN forms USING (spelt)
        JOIN entries ON entries.english = nouns.english AND entries.form = english_form
            AND entries.word = forms.form AND entries.language = $language
        GROUP BY ALL
    )
"""


class SensesStep(Step):
    name = "senses"
    version = 2
    needs = ("candidates", "align", "dictionary")

    def settings(self, config: CorpusConfig) -> dict[str, Any]:
        return {"inventories": [[each.language, each.format] for each in config.inventories], "words": words.VERSION}

    def files(self, config: CorpusConfig) -> list[str]:
        return [inventory.file for inventory in config.inventories]

    def finish(self, work: StepWork) -> StepReport:
        """Write the inventories as one table, and the senses of every aligned noun.

        Raises CorpusError where an inventory cannot be read, or has no synset in common with the English one.
        """
        problems = LineProblems()
        counts = {"synsets": _write_inventory(work, problems)}
        with work.database() as database:
            make_view(database, "inventory", [work.folder.read(INVENTORY)])
            nouns = str(work.folder.read("candidates/nouns.parquet"))
            with work.folder.writing(ENGLISH_NOUNS) as path:
                write_table(database, _ENGLISH, path, {"nouns": nouns})
            entries = str(work.folder.read("dictionary/entries.parquet"))
            english = str(work.folder.read(ENGLISH_NOUNS))
            database.execute(_ENTRIES, {"entries": entries, "nouns": nouns, "english": english})
            counts |= _write_aligned(work, database)
        import duckdb

        return StepReport(counts, problems, {"DuckDB": duckdb.__version__})


STEP = SensesStep()


def _write_inventory(work: StepWork, problems: LineProblems) -> dict[str, int]:
    """Write the nouns of all inventories, and count the synsets of each language."""
    english: set[str] = set()
    counts: dict[str, int] = {}
    ordered = sorted(work.config.inventories, key=lambda inventory: inventory.language != ENGLISH)
    with work.folder.writing("senses/read.parquet") as path, pq.ParquetWriter(path, _SENSES) as writer:
        for inventory in ordered:
            known: set[str] = set()
            senses = _nouns(inventory, work, problems, english)
            while some := list(islice(senses, ROWS_AT_ONCE)):
                known.update(sense.synset for sense in some)
                rows = {
                    "language": [inventory.language] * len(some),
                    "lemma": [sense.lemma for sense in some],
                    "synset": [sense.synset for sense in some],
                }
                writer.write_table(pa.table(rows, _SENSES))
            if inventory.language == ENGLISH:
                english |= known
            if not known:
                raise CorpusError(_no_senses(inventory))
            counts[inventory.language] = counts.get(inventory.language, 0) + len(known)
    with work.database() as database, work.folder.writing(INVENTORY) as path:
        query = "SELECT DISTINCT * FROM parquet($read) ORDER BY language, lemma, synset"
        write_table(database, query, path, {"read": str(work.folder.read("senses/read.parquet"))})
    work.folder.remove("senses/read.parquet")
    return dict(sorted(counts.items()))


def _no_senses(inventory: Inventory) -> str:
    if inventory.language == ENGLISH:
        return _("%(file)s has no noun that can be used.") % {"file": inventory.file}
    return _(
        "%(file)s has no synset in common with the English inventory. Both must have the same ids, such as offsets of "
        "WordNet 3.0."
    ) % {"file": inventory.file}


def _nouns(inventory: Inventory, work: StepWork, problems: LineProblems, english: set[str]) -> Iterator[LemmaSense]:
    """Give the senses of nouns whose synset English has, too."""
    for sense in read_inventory(inventory, work.input(inventory.file), problems):
        if not sense.is_noun:
            continue
        if inventory.language != ENGLISH and sense.synset not in english:
            message = _("The English inventory has no synset %(synset)s.") % {"synset": sense.synset}
            problems.add("unknown_offset", message, file=inventory.file, line=sense.line)
            continue
        yield sense


def _write_aligned(work: StepWork, database: DuckDBPyConnection) -> dict[str, Any]:
    """Write the aligned nouns chunk by chunk, so that memory does not grow with the corpus."""
    nouns = str(work.folder.read("candidates/nouns.parquet"))
    numbers = sorted({name.rpartition("/")[2] for name in work.folder.names("align/")})
    counts = dict.fromkeys(work.config.languages, 0)
    shared = dict.fromkeys(work.config.languages, 0)
    writer = None
    with work.folder.writing(ALIGNED) as path:
        try:
            for number in numbers:
                tables = []
                for language in work.config.languages:
                    name = f"align/{language}/{number}"
                    if name not in work.folder.names(name):
                        continue
                    aligned = str(work.folder.read(name))
                    _add_forms(database, aligned, language)
                    query = {"aligned": aligned, "nouns": nouns, "language": language}
                    table: pa.Table = database.sql(_ALIGNED, params=query).to_arrow_table()
                    counts[language] += table.num_rows
                    tables.append(table)
                    shared[language] += sum(bool(synsets) for synsets in table["synsets"].to_pylist())
                rows = pa.concat_tables(tables).sort_by(
                    [("sentence", "ascending"), ("position", "ascending"), ("language", "ascending")]
                )
                writer = writer or pq.ParquetWriter(path, rows.schema, compression="zstd")
                writer.write_table(rows)
        finally:
            if writer is not None:
                writer.close()
    return {"aligned_nouns": counts, "with_a_shared_synset": shared}


def _add_forms(database: DuckDBPyConnection, aligned: str, language: str) -> None:
    """Make a table of the aligned words as spelt and as they compare."""
    spelt = [
        word
        for (word,) in database.execute(
            "SELECT DISTINCT unnest(list_transform(positions, lambda place: words[place + 1])) FROM parquet($1)",
            [aligned],
        ).fetchall()
    ]
    table = pa.table(
        {
            "spelt": pa.array(spelt, pa.string()),
            "form": pa.array([words.lower(word, language) for word in spelt], pa.string()),
        }
    )
    database.register("forms", table)
