"""Read parallel text, join the lines of several languages that are one sentence, and cut sentences into chunks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from crosslens_metrics.messages import gettext as _
from parallel_text.config import CorpusConfig, Text
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.readers import no_pairs, read_pairs
from parallel_text.steps import NOTHING, Step, StepReport, StepWork, write_table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROWS_AT_ONCE = 50_000
ROW_GROUP = 20_480
"""Rows that are read together: small, as each chunk reads a short range of every file."""

KEYS_AT_ONCE = 1 << 21
"""About how many rows are looked at together to find where chunks end."""

MAX_KEY = 2**64 - 1
KEY = "('0x' || left(md5({column}), 16))::UBIGINT"
"""The order of sentences: the first half of their MD5. Any range of it is a random sample of the sentences."""


class IngestStep(Step):
    """Its parts are the texts of the configuration, each read and sorted by itself."""

    name = "ingest"
    version = 2

    def settings(self, config: CorpusConfig) -> dict[str, Any]:
        texts = [[text.language, text.format, *text.files] for text in config.texts]
        return {"texts": texts, "chunk_sentences": config.chunk_sentences}

    def files(self, config: CorpusConfig) -> list[str]:
        return [name for text in config.texts for name in text.files]

    def chunks(self, work: StepWork) -> list[str]:
        return [f"{number:05d}" for number in range(len(work.config.texts))]

    def part(self, chunk: str) -> str:
        return f"ingest/lines/{chunk}.json"

    def run_chunk(self, work: StepWork, chunk: str) -> None:
        """Write the lines of one text, in the order of their English sentences.

        Raises CorpusError where a file cannot be read, or no pair of it can be used.
        """
        text, problems = work.config.texts[int(chunk)], LineProblems()
        work.scratch.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=work.scratch) as scratch, work.folder.writing(_lines(chunk)) as path:
            unsorted = Path(scratch) / "lines.parquet"
            count = _write_lines(unsorted, text, work, problems)
            with work.database() as database:
                key = KEY.format(column="english")
                write_table(
                    database,
                    f"SELECT {key} AS key, * FROM parquet($unsorted) ORDER BY key, number",
                    path,
                    {"unsorted": str(unsorted)},
                    options=f"ROW_GROUP_SIZE {ROW_GROUP}",
                )
        with work.folder.writing(self.part(chunk)) as path:
            path.write_text(json.dumps({"pairs": count, "problems": problems.as_json()}, ensure_ascii=False))

    def finish(self, work: StepWork) -> StepReport:
        """Number the sentences, and write each chunk with its pairs in every language."""
        import duckdb
        import pyarrow

        texts, problems, read = _SortedTexts(work), LineProblems(), 0
        for chunk in self.chunks(work):
            about = json.loads(work.folder.read(self.part(chunk)).read_text())
            problems.merge(LineProblems.from_json(about["problems"]))
            read += about["pairs"]
        for prefix in ("english", "pairs."):
            work.folder.remove(f"ingest/{prefix}")
        sentences, written = 0, dict.fromkeys(work.config.languages, 0)
        languages_of: dict[str, int] = {}
        size = work.config.chunk_sentences
        for number, keys in enumerate(texts.ranges(size, read)):
            with work.database() as database:
                cut = _SentenceChunk(database, work, f"{number:05d}.parquet")
                cut.load(texts, keys, number * size, (number + 1) * size - 1)
                for language in written:
                    written[language] += cut.write_pairs(language, written[language])
                for count, of_chunk in cut.languages():
                    languages_of[str(count)] = languages_of.get(str(count), 0) + of_chunk
                sentences += cut.write_english()
        work.folder.remove("ingest/lines/")
        by_languages = dict(sorted(languages_of.items()))
        counts = {"sentences": sentences, "pairs": written, "sentences_by_languages": by_languages}
        return StepReport(counts, problems, {"DuckDB": duckdb.__version__, "Apache Arrow": pyarrow.__version__})


STEP = IngestStep()


_LINES = """
    WITH read AS ({rows}), single AS (
        SELECT key, english FROM read WHERE id = '' GROUP BY ALL
        HAVING count(DISTINCT (source, number)) = count(DISTINCT language)
    )
    SELECT read.*, CASE WHEN id <> '' THEN 'id ' || id WHEN single.key IS NOT NULL THEN ''
        ELSE 'line ' || number || ' of ' || source END AS unit
    FROM read LEFT JOIN single USING (key, english)
"""
"""Lines with the same English text and `unit` are one sentence: those of which the source gives the same id, and those
without ids of a text that no language has twice."""

_ENGLISH = """
    CREATE TABLE english AS SELECT * FROM (
        SELECT $first + row_number() OVER (ORDER BY key, english, place) - 1 AS sentence,
            row_number() OVER (PARTITION BY key, english ORDER BY place) AS occurrence, english AS text, unit
        FROM (
            SELECT key, english, unit, min(struct_pack(source := source, number := number)) AS place
            FROM lines GROUP BY ALL
        )
    ) WHERE sentence BETWEEN $least AND $most
"""

_JOINED = "lines JOIN english ON english.text = lines.english AND english.unit = lines.unit"


class _KeyRange(NamedTuple):
    """The keys of a chunk, and the number of the first sentence that has the first key: the chunk may begin later."""

    first: int
    last: int
    sentence: int


class _SortedTexts:
    """The sorted lines of all texts, as tables of DuckDB."""

    def __init__(self, work: StepWork) -> None:
        self._work = work
        languages = enumerate(text.language for text in work.config.texts)
        self._languages = {f"language_{number}": language for number, language in languages}
        numbers = range(len(work.config.texts))
        self._paths = {f"path_{number}": str(work.folder.read(_lines(f"{number:05d}"))) for number in numbers}
        rows = " UNION ALL ".join(
            f"SELECT *, {number} AS source, $language_{number} AS language FROM parquet($path_{number})"
            " WHERE key BETWEEN $first_key::UBIGINT AND $last_key::UBIGINT"
            for number in numbers
        )
        self.lines = _LINES.format(rows=rows)
        """SQL of the lines between two keys, with the number of their text as `source`, `language` and `unit`."""

    def values(self, first: int, last: int) -> dict[str, Any]:
        return {**self._languages, **self._paths, "first_key": first, "last_key": last}

    def ranges(self, size: int, rows: int) -> Iterator[_KeyRange]:
        """Give the keys of each chunk of `size` sentences; `rows` is about how many lines there are."""
        import numpy as np

        query = (
            f"SELECT key, count(DISTINCT (english, unit)) AS sentences FROM ({self.lines}) GROUP BY key ORDER BY key"
        )
        step = MAX_KEY // max(1, rows // KEYS_AT_ONCE)
        chunk, counted = 0, 0
        begun: tuple[int, int] | None = None
        with self._work.database() as database:
            for start in range(0, MAX_KEY + 1, step + 1):
                end = min(start + step, MAX_KEY)
                found = database.execute(query, self.values(start, end)).fetchnumpy()
                keys, before = np.asarray(found["key"]), counted
                ends = counted + np.cumsum(found["sentences"])
                while True:
                    if begun is None:
                        place = int(np.searchsorted(ends, chunk * size, side="right"))
                        if place == len(keys):
                            break
                        begun = int(keys[place]), int(ends[place - 1] if place else before)
                    place = int(np.searchsorted(ends, (chunk + 1) * size))
                    if place == len(keys):
                        break
                    yield _KeyRange(begun[0], int(keys[place]), begun[1])
                    chunk, begun = chunk + 1, None
                counted = int(ends[-1]) if len(keys) else counted
        if begun is not None:
            yield _KeyRange(begun[0], MAX_KEY, begun[1])


class _SentenceChunk:
    """One chunk, in a database of its own."""

    def __init__(self, database: DuckDBPyConnection, work: StepWork, file: str) -> None:
        self._database, self._work, self._file = database, work, file

    def load(self, texts: _SortedTexts, keys: _KeyRange, least: int, most: int) -> None:
        """Read the lines between two keys, and keep the sentences from the number `least` to `most`."""
        self._database.execute(f"CREATE TABLE lines AS {texts.lines}", texts.values(keys.first, keys.last))
        self._database.execute(_ENGLISH, {"first": keys.sentence, "least": least, "most": most})

    def languages(self) -> list[tuple[int, int]]:
        """Count sentences by the number of their languages besides English."""
        counts: list[tuple[int, int]] = self._database.execute(
            "SELECT languages, count(*) FROM"
            f" (SELECT count(DISTINCT language) AS languages FROM {_JOINED} GROUP BY sentence) GROUP BY languages"
        ).fetchall()
        return counts

    def write_english(self) -> int:
        return self._write("english", "SELECT sentence, text, occurrence FROM english ORDER BY sentence")

    def write_pairs(self, language: str, pairs: int) -> int:
        """Write the lines of a language, numbered from `pairs` on."""
        return self._write(
            f"pairs.{language}",
            "SELECT $pairs + row_number() OVER (ORDER BY sentence, source, number, other) - 1 AS pair, sentence,"
            f" other AS text, file, line FROM {_JOINED} WHERE language = $language ORDER BY pair",
            {"pairs": pairs, "language": language},
        )

    def _write(self, folder: str, query: str, values: Mapping[str, Any] = NOTHING) -> int:
        with self._work.folder.writing(f"ingest/{folder}/{self._file}") as path:
            return write_table(self._database, query, path, values)


def _write_lines(path: Path, text: Text, work: StepWork, problems: LineProblems) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    texts = dict.fromkeys(("english", "other", "file", "id"), pa.string())
    schema = pa.schema([*texts.items(), ("line", pa.int64()), ("number", pa.int64())])
    rows, count = _numbered(text, work, problems), 0
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while some := list(islice(rows, ROWS_AT_ONCE)):
            count += len(some)
            writer.write_table(pa.table(list(map(list, zip(*some, strict=True))), schema=schema))
    if not count:
        raise no_pairs(text, problems)
    return count


def _numbered(text: Text, work: StepWork, problems: LineProblems) -> Iterator[tuple[str, str, str, str, int, int]]:
    """Give the lines of a text; `number` is that of the English sentence, over all files in it.

    Where several languages name the same English file, each of its lines is one sentence: its place is an id.
    """
    is_shared = sum(each.files[0] == text.files[0] for each in work.config.texts) > 1
    number, last = 0, None
    for pair in read_pairs(text, _path_of(work), problems):
        place = (pair.file, pair.number)
        number, last = number + (place != last), place
        id = pair.id or (f"{pair.file}\t{pair.number}" if is_shared else "")
        yield pair.english, pair.other, pair.file, id, pair.line, number


def _path_of(work: StepWork) -> Any:
    def path_of(name: str) -> Path:
        path = work.input(name)
        if not path.is_file():
            raise CorpusError(_("%(file)s does not exist. Check the name in the configuration.") % {"file": name})
        return path

    return path_of


def _lines(chunk: str) -> str:
    return f"ingest/lines/{chunk}.parquet"
