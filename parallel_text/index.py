"""Sort the tables of a corpus by what its pages look up, so that a page reads a few rows of files of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parallel_text.config import Config
from parallel_text.sql import write_table
from parallel_text.steps import Report, WholeStep, Work

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROWS_IN_A_GROUP = 8192
"""A page reads whole groups of rows; fewer rows in each make the list of groups long, which every page reads, too."""

INSTANCES = """
SELECT lemma, sentence, position, instances.start, instances.text, word, n, synsets, translations,
  coalesce(illustrated.images, 0) AS images
FROM parquet($intersect) AS instances
LEFT JOIN (SELECT sentence, position, images FROM parquet($illustrated)) AS illustrated
  USING (sentence, position)
ORDER BY lemma, sentence, position
"""

SENSES = """
WITH counted AS (
  SELECT lemma, synset, count(*) AS instances, count(*) FILTER (n > 0) AS shared
  FROM (SELECT lemma, n, unnest(synsets) AS synset FROM parquet($instances)) GROUP BY ALL
), nouns AS (
  SELECT DISTINCT fragment AS lemma FROM parquet($fragments) WHERE kind = 'noun' AND kept
), listed AS (
  SELECT lemma, synset FROM parquet($inventory) JOIN nouns USING (lemma) WHERE language = 'en'
  UNION SELECT lemma, synset FROM counted
)
SELECT lemma, synset, coalesce(counted.instances, 0) AS instances, coalesce(counted.shared, 0) AS shared,
  coalesce(pictures.images, 0) AS images
FROM listed LEFT JOIN counted USING (lemma, synset)
LEFT JOIN (SELECT synset, count(*) AS images FROM parquet($images) GROUP BY synset) AS pictures USING (synset)
ORDER BY lemma, instances DESC, synset
"""

WORDS = """
WITH found AS (
  SELECT lemma, count(*) AS instances, count(*) FILTER (images > 0) AS illustrated
  FROM parquet($instances) GROUP BY lemma
), levels AS (
  SELECT lemma, list(struct_pack(n := n, instances := instances) ORDER BY n) AS by_n FROM (
    SELECT lemma, n, count(*) AS instances FROM parquet($instances) GROUP BY lemma, n) GROUP BY lemma
), translated AS (
  SELECT english AS lemma, list(struct_pack(language := language, words := words) ORDER BY language) AS translations
  FROM (SELECT english, language, count(DISTINCT lemma) AS words FROM parquet($entries) WHERE kept GROUP BY ALL)
  GROUP BY english
), meant AS (
  SELECT lemma, count(*) AS senses, sum(images)::BIGINT AS images FROM parquet($senses) GROUP BY lemma
)
SELECT fragment AS lemma, occurrences, imageability, source, coalesce(found.instances, 0) AS instances,
  coalesce(found.illustrated, 0) AS illustrated, by_n, translations, coalesce(senses, 0) AS senses,
  coalesce(meant.images, 0) AS images
FROM parquet($fragments) AS fragments
LEFT JOIN found ON found.lemma = fragment LEFT JOIN levels ON levels.lemma = fragment
LEFT JOIN translated ON translated.lemma = fragment LEFT JOIN meant ON meant.lemma = fragment
WHERE kind = 'noun' AND kept
ORDER BY fragment
"""


class Index(WholeStep):
    """Sorted copies of what the other steps made; nothing in it is new."""

    name = "index"
    version = 1
    needs: tuple[str, ...] = ("candidates", "dictionary", "senses", "intersect", "images")

    def settings(self, config: Config) -> dict[str, Any]:
        return {}

    def files(self, config: Config) -> list[str]:
        return []

    def finish(self, work: Work) -> Report:
        import duckdb

        files = {
            "fragments": "candidates/fragments",
            "entries": "dictionary/entries",
            "inventory": "senses/inventory",
            "intersect": "intersect/instances",
            "illustrated": "images/instances",
            "images": "images/images",
        }
        paths = {name: str(work.folder.read(f"{file}.parquet")) for name, file in files.items()}
        with work.database() as database:
            counts = {"instances": _write(work, database, "instances", INSTANCES, paths)}
            paths["instances"] = str(work.folder.read("index/instances.parquet"))
            counts["senses"] = _write(work, database, "senses", SENSES, paths)
            paths["senses"] = str(work.folder.read("index/senses.parquet"))
            counts["words"] = _write(work, database, "words", WORDS, paths)
            for name, query in COPIES.items():
                _write(work, database, name, query, paths)
        return Report(counts, tools={"DuckDB": duckdb.__version__})


COPIES = {
    "dictionary": "SELECT * FROM parquet($entries) ORDER BY english, language, share DESC, word",
    "inventory": "SELECT synset, language, lemma FROM parquet($inventory) ORDER BY synset, language, lemma",
    "images": "SELECT * FROM parquet($images) ORDER BY synset, representative DESC, file",
    "fragments": "SELECT * FROM parquet($fragments) ORDER BY fragment, kind",
    "frequent": "SELECT * FROM parquet($fragments) ORDER BY occurrences DESC, fragment, kind",
    "reasons": "SELECT kind, kept, reason, count(*) AS count FROM parquet($fragments) GROUP BY ALL ORDER BY ALL",
}


def _write(work: Work, database: DuckDBPyConnection, name: str, query: str, paths: dict[str, str]) -> int:
    """Write a table, and return how many rows it has."""
    used = {key: value for key, value in paths.items() if f"${key})" in query}
    with work.folder.writing(f"index/{name}.parquet") as path:
        return write_table(database, query, path, used, options=f"ROW_GROUP_SIZE {ROWS_IN_A_GROUP}")


STEP = Index()
