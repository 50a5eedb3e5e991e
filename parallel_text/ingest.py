"""Read parallel text, join its English sentences across languages, and cut them into chunks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from crosslens_metrics.messages import gettext as _
from parallel_text.config import Config, Text
from parallel_text.problems import CorpusError, Problems
from parallel_text.readers import no_pairs, read_pairs
from parallel_text.sql import quoted, write_table
from parallel_text.steps import Report, Work

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROWS_AT_ONCE = 50_000
ROW_GROUP = 20_480
"""Rows that are read together: small, as each chunk reads a short range of every file."""

KEYS_AT_ONCE = 1 << 21
"""About how many rows are looked at together to find where chunks end."""

LARGEST_KEY = 2**64 - 1
KEY = "('0x' || left(md5({column}), 16))::UBIGINT"
"""The order of sentences: the first half of their MD5. Any range of it is a random sample of the sentences."""


class Ingest:
    """Its parts are the texts of the configuration, each read and sorted by itself."""

    name = "ingest"
    version = 1
    needs: tuple[str, ...] = ()

    def settings(self, config: Config) -> dict[str, Any]:
        texts = [[text.language, text.format, *text.files] for text in config.texts]
        return {"texts": texts, "chunk_sentences": config.chunk_sentences}

    def files(self, config: Config) -> list[str]:
        return [name for text in config.texts for name in text.files]

    def chunks(self, work: Work) -> list[str]:
        return [f"{number:05d}" for number in range(len(work.config.texts))]

    def is_written(self, work: Work, chunk: str) -> bool:
        return {_lines(chunk), _about(chunk)} <= set(work.folder.names(f"ingest/lines/{chunk}."))

    def run_chunk(self, work: Work, chunk: str) -> None:
        """Write the pairs of one text, in the order of their English sentences.

        Raises
        ------
        CorpusError
            Where a file cannot be read, or no pair of it can be used.
        """
        text, problems = work.config.texts[int(chunk)], Problems()
        work.scratch.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=work.scratch) as scratch, work.folder.writing(_lines(chunk)) as path:
            unsorted = Path(scratch) / "lines.parquet"
            count = _write_pairs(unsorted, text, work, problems)
            with work.database() as database:
                key = KEY.format(column="english")
                write_table(
                    database,
                    f"SELECT {key} AS key, * FROM read_parquet('{quoted(unsorted)}') ORDER BY key, line",
                    path,
                    options=f"ROW_GROUP_SIZE {ROW_GROUP}",
                )
        with work.folder.writing(_about(chunk)) as path:
            path.write_text(json.dumps({"pairs": count, "problems": problems.as_json()}, ensure_ascii=False))

    def finish(self, work: Work) -> Report:
        """Number the sentences, and write each chunk with its pairs in every language."""
        import duckdb
        import pyarrow

        texts, problems, read = _Texts(work), Problems(), 0
        for chunk in self.chunks(work):
            about = json.loads(work.folder.read(_about(chunk)).read_text())
            problems.merge(Problems.from_json(about["problems"]))
            read += about["pairs"]
        for prefix in ("english", "pairs."):
            work.folder.remove(f"ingest/{prefix}")
        sentences, written = 0, dict.fromkeys(work.config.languages, 0)
        languages_of: dict[str, int] = {}
        for number, (first, last) in enumerate(texts.ranges(work.config.chunk_sentences, read)):
            with work.database() as database:
                cut = _Chunk(database, work, f"{number:05d}.parquet")
                cut.load(texts, first, last, sentences)
                for language in written:
                    written[language] += cut.write_pairs(language, written[language])
                for count, of_chunk in cut.languages():
                    languages_of[str(count)] = languages_of.get(str(count), 0) + of_chunk
                sentences += cut.write_english()
        work.folder.remove("ingest/lines/")
        counts = {
            "pairs_read": read,
            "identical_pairs": read - sum(written.values()),
            "sentences": sentences,
            "pairs": written,
            "sentences_by_languages": dict(sorted(languages_of.items())),
        }
        return Report(counts, problems, {"DuckDB": duckdb.__version__, "Apache Arrow": pyarrow.__version__})


STEP = Ingest()


class _Texts:
    """The sorted pairs of all texts, as tables of DuckDB."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._paths = [
            (text.language, work.folder.read(_lines(f"{number:05d}"))) for number, text in enumerate(work.config.texts)
        ]

    def rows(self, columns: str, first: int, last: int) -> str:
        """SQL of a table of `columns` between two keys, with `text` and `language` of each row."""
        return " UNION ALL ".join(
            f"SELECT {columns}, {number} AS text, '{language}' AS language FROM read_parquet('{quoted(path)}')"
            f" WHERE key BETWEEN {first}::UBIGINT AND {last}::UBIGINT"
            for number, (language, path) in enumerate(self._paths)
        )

    def ranges(self, sentences: int, rows: int) -> Iterator[tuple[int, int]]:
        """Give the first and last key of each chunk of `sentences`; `rows` is about how many there are."""
        step = LARGEST_KEY // max(1, rows // KEYS_AT_ONCE)
        first, begun = 0, 0
        with self._work.database() as database:
            for start in range(0, LARGEST_KEY + 1, step + 1):
                end = min(start + step, LARGEST_KEY)
                keys = database.execute(
                    f"SELECT DISTINCT key FROM ({self.rows('key', start, end)}) ORDER BY key"
                ).fetchnumpy()["key"]
                # The last key of each chunk is the one at which its number of sentences is reached.
                for last in keys[sentences - begun - 1 :: sentences]:
                    yield first, int(last)
                    first = int(last) + 1
                begun = (begun + len(keys)) % sentences
        if begun:
            yield first, LARGEST_KEY


class _Chunk:
    """One chunk, in a database of its own."""

    def __init__(self, database: DuckDBPyConnection, work: Work, file: str) -> None:
        self._database, self._work, self._file = database, work, file

    def load(self, texts: _Texts, first: int, last: int, sentences: int) -> None:
        """Read the rows between two keys, and number their sentences from `sentences` on."""
        self._database.execute(f"CREATE TABLE lines AS {texts.rows('key, english, other, file, line', first, last)}")
        self._database.execute(
            "CREATE TABLE english AS"
            " SELECT $1 + row_number() OVER (ORDER BY key, english) - 1 AS sentence, english AS text"
            " FROM (SELECT DISTINCT key, english FROM lines)",
            [sentences],
        )

    def languages(self) -> list[tuple[int, int]]:
        """Count sentences by the number of their languages besides English."""
        counts: list[tuple[int, int]] = self._database.execute(
            "SELECT languages, count(*) FROM (SELECT count(DISTINCT language) AS languages FROM lines GROUP BY english)"
            " GROUP BY languages"
        ).fetchall()
        return counts

    def write_english(self) -> int:
        return self._write("english", "SELECT sentence, text FROM english ORDER BY sentence")

    def write_pairs(self, language: str, pairs: int) -> int:
        """Write each pair of a language once, with the place where it came first, numbered from `pairs` on."""
        return self._write(
            f"pairs.{language}",
            f"SELECT {pairs} + row_number() OVER (ORDER BY sentence, place) - 1 AS pair, sentence, other AS text,"
            " place.file AS file, place.line AS line FROM ("
            "  SELECT sentence, other, min(struct_pack(text := lines.text, line := line, file := file)) AS place"
            f"  FROM lines JOIN english ON english.text = lines.english WHERE language = '{language}'"
            "  GROUP BY sentence, other) ORDER BY pair",
        )

    def _write(self, folder: str, query: str) -> int:
        with self._work.folder.writing(f"ingest/{folder}/{self._file}") as path:
            return write_table(self._database, query, path)


def _write_pairs(path: Path, text: Text, work: Work, problems: Problems) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    columns = [("english", pa.string()), ("other", pa.string()), ("file", pa.string()), ("line", pa.int64())]
    schema = pa.schema(columns)
    pairs, count = read_pairs(text, _path_of(work), problems), 0
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while rows := list(islice(pairs, ROWS_AT_ONCE)):
            count += len(rows)
            writer.write_table(pa.table(list(map(list, zip(*rows, strict=True))), schema=schema))
    if not count:
        raise no_pairs(text, problems)
    return count


def _path_of(work: Work) -> Any:
    def path_of(name: str) -> Path:
        path = work.input(name)
        if not path.is_file():
            raise CorpusError(_("%(file)s does not exist. Check the name in the configuration.") % {"file": name})
        return path

    return path_of


def _lines(chunk: str) -> str:
    return f"ingest/lines/{chunk}.parquet"


def _about(chunk: str) -> str:
    return f"ingest/lines/{chunk}.json"
