"""Step `candidates`: tokens with parts of speech, fragments that an image might show, and which of them are kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from crosslens_metrics.formats.word_vectors import WordVectorFileError, vectors_in
from crosslens_metrics.messages import gettext as _
from crosslens_metrics.word_vectors import MalformedTableError, WordVectorSource
from parallel_text.config import CorpusConfig
from parallel_text.imageability import WORDS_AT_ONCE, ImageabilityRatings, read_ratings
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.steps import SentencesStep, StepReport, StepWork, make_view, write_table
from parallel_text.tagging import COMMON_NOUNS, VERSION, EnglishTagger, TaggedSentence, tagger_version

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MAX_PHRASE_WORDS = 5
"""Words of a phrase."""

_NOUN_PHRASE = re.compile(r"J*N+")
_VERB_PHRASE = re.compile(r"V(?:P|[DJ]*N+)")
_CLASSES = {"AJ0": "J", "AJC": "J", "AJS": "J", "AVP": "P", "AT0": "D", "DPS": "D", "DT0": "D", "CRD": "D"}
"""Tags of the CLAWS C5 tag set: adjectives, particles, and what stands before a noun."""


@dataclass(frozen=True)
class CandidateFragment:
    """A candidate and the positions of its tokens, from `start` to before `end`."""

    text: str
    kind: str
    start: int
    end: int


def fragments(tagged: TaggedSentence) -> Iterator[CandidateFragment]:
    """Find nouns, verbs and adjectives by their lemmas, and noun and verb phrases by their words in lower case.

    Proper nouns are no candidates.
    """
    classes = "".join(_class(tag, word) for tag, word in zip(tagged.tags, tagged.words, strict=True))
    for position, (letter, lemma) in enumerate(zip(classes, tagged.lemmas, strict=True)):
        if kind := {"N": "noun", "V": "verb", "J": "adjective"}.get(letter):
            yield CandidateFragment(lemma, kind, position, position + 1)
    for kind, pattern in (("noun_phrase", _NOUN_PHRASE), ("verb_phrase", _VERB_PHRASE)):
        for match in pattern.finditer(classes):
            if 2 <= match.end() - match.start() <= MAX_PHRASE_WORDS:
                words = tagged.words[match.start() : match.end()]
                yield CandidateFragment(" ".join(words).lower(), kind, match.start(), match.end())


def _class(tag: str, word: str) -> str:
    if not word[0].isalpha():
        return "."
    if tag in COMMON_NOUNS:
        return "N"
    return "V" if tag.startswith("VV") else _CLASSES.get(tag, ".")


ROWS_AT_ONCE = 10_000
TOKENS = pa.schema(
    [
        ("sentence", pa.int64()),
        ("words", pa.list_(pa.string())),
        ("starts", pa.list_(pa.int32())),
        ("tags", pa.list_(pa.string())),
        ("lemmas", pa.list_(pa.string())),
    ]
)
WRITTEN = "round(imageability, 1)"
"""Rounded only where it is written: 499.96 is below a threshold of 500."""

COUNTS = pa.schema(
    [
        ("fragment", pa.string()),
        ("kind", pa.string()),
        ("lemmas", pa.list_(pa.string())),
        ("forms", pa.list_(pa.string())),
        ("occurrences", pa.int64()),
    ]
)


class CandidatesStep(SentencesStep):
    name = "candidates"
    version = 2
    needs = ("ingest",)

    def settings(self, config: CorpusConfig) -> dict[str, Any]:
        settings = asdict(config.candidates)
        kept = {"threshold": settings["threshold"], "occurrences": settings["occurrences"]}
        return kept | {"seed": config.seed, "words": VERSION}

    def files(self, config: CorpusConfig) -> list[str]:
        return [name for name in (config.candidates.ratings, config.candidates.vectors) if name]

    def part(self, chunk: str) -> str:
        return f"candidates/tokens/{chunk}.parquet"

    def run_chunk(self, work: StepWork, chunk: str) -> None:
        tagger, counts = EnglishTagger(), Counter[_FragmentReading]()
        sentences = pq.ParquetFile(work.folder.read(f"ingest/english/{chunk}.parquet"))
        with work.folder.writing(self.part(chunk)) as path:
            with pq.ParquetWriter(path, TOKENS, compression="zstd") as writer:
                for batch in sentences.iter_batches(ROWS_AT_ONCE, columns=["sentence", "text"]):
                    rows = []
                    for number, text in zip(batch["sentence"].to_pylist(), batch["text"].to_pylist(), strict=True):
                        tagged = tagger.tag(text)
                        counts.update(_readings(tagged))
                        rows.append({"sentence": number} | vars(tagged))
                    writer.write_table(pa.Table.from_pylist(rows, TOKENS))
            # The tokens have their name last: a part whose tokens are there has its counts, too.
            with work.folder.writing(f"candidates/counts/{chunk}.parquet") as counted:
                rows = [reading._asdict() | {"occurrences": n} for reading, n in counts.items()]
                pq.write_table(pa.Table.from_pylist(rows, COUNTS), counted, compression="zstd")

    def finish(self, work: StepWork) -> StepReport:
        problems, tools = LineProblems(), {"HanTa": tagger_version()}
        settings = work.config.candidates
        ratings = read_ratings(work.input(settings.ratings), problems, name=settings.ratings)
        vectors = _vectors(work)
        if vectors is not None:
            tools["word vectors"] = vectors.signature
        imageability = ImageabilityRatings(ratings, vectors, threshold=settings.threshold, seed=work.config.seed)
        with work.database() as database:
            _count(database, work)
            _score(database, imageability)
            counts = self._decide(database, work)
            _write_nouns(database, work)
        counts["imageability"] = {
            "rated_words": len(ratings),
            "predictions": None if imageability.fit is None else imageability.fit.as_json(),
        }
        return StepReport(counts, problems, tools)

    def _decide(self, database: DuckDBPyConnection, work: StepWork) -> dict[str, Any]:
        """Keep or reject each fragment, write them all, and count them."""
        settings = work.config.candidates
        database.execute(
            """
            CREATE TABLE decided AS
            SELECT *, reason IS NULL AS kept FROM (
                SELECT fragment, kind, occurrences, imageability, source,
                    CASE WHEN occurrences < $occurrences THEN 'too_rare'
                        WHEN imageability IS NULL THEN 'no_imageability'
                        WHEN imageability < $threshold THEN 'not_imageable' END AS reason
                FROM scored
            )
            """,
            {"occurrences": settings.occurrences, "threshold": settings.threshold},
        )
        with work.folder.writing("candidates/fragments.parquet") as path:
            columns = f"fragment, kind, occurrences, {WRITTEN} AS imageability, source, kept, reason"
            write_table(database, f"SELECT {columns} FROM decided ORDER BY kind, occurrences DESC, fragment", path)
        [(sentences, tokens)] = database.sql("SELECT count(*), coalesce(sum(len(words)), 0) FROM tokens").fetchall()
        kinds = database.sql(
            "SELECT kind, count(*), count(*) FILTER (kept) FROM decided GROUP BY kind ORDER BY kind"
        ).fetchall()
        reasons = database.sql(
            "SELECT reason, count(*) FROM decided WHERE NOT kept GROUP BY reason ORDER BY reason"
        ).fetchall()
        return {
            "sentences": sentences,
            "tokens": int(tokens),
            "fragments": {kind: {"all": count, "kept": kept} for kind, count, kept in kinds},
            "rejected": dict(reasons),
        }


STEP = CandidatesStep()


class _FragmentReading(NamedTuple):
    """A fragment with the lemmas of its words, and the words in lower case: *saw* is from *see*, or a *saw*."""

    fragment: str
    kind: str
    lemmas: tuple[str, ...]
    forms: tuple[str, ...]


def _readings(tagged: TaggedSentence) -> Iterator[_FragmentReading]:
    for found in fragments(tagged):
        forms = tuple(word.lower() for word in tagged.words[found.start : found.end])
        yield _FragmentReading(found.text, found.kind, tagged.lemmas[found.start : found.end], forms)


def _vectors(work: StepWork) -> WordVectorSource | None:
    name = work.config.candidates.vectors
    if not name:
        return None
    try:
        vectors = vectors_in(work.input(name), language="en", copy_to=work.scratch / "vectors")
    except (WordVectorFileError, MalformedTableError) as error:
        raise CorpusError(_("%(file)s: %(error)s") % {"file": name, "error": error}) from error
    if vectors is None:
        raise CorpusError(
            _("%(file)s is neither a file of word vectors nor a folder with a table of them.") % {"file": name}
        )
    return vectors


def _paths(work: StepWork, prefix: str) -> list[Path]:
    return [work.folder.read(name) for name in work.folder.names(prefix)]


def _count(database: DuckDBPyConnection, work: StepWork) -> None:
    make_view(database, "tokens", _paths(work, "candidates/tokens/"))
    database.execute(
        """
        CREATE TABLE readings AS
        SELECT *, row_number() OVER () AS number FROM (
            SELECT fragment, kind, lemmas, forms, sum(occurrences)::BIGINT AS occurrences
            FROM parquet($counts) GROUP BY ALL
        )
        """,
        {"counts": list(map(str, _paths(work, "candidates/counts/")))},
    )


def _score(database: DuckDBPyConnection, imageability: ImageabilityRatings) -> None:
    """Give each fragment the mean imageability of its words, unknown words counting zero.

    Of a word its lemma counts first, then its form; a rating comes before any prediction. Of several readings of a
    fragment the one with most words known counts, then most words rated, then the most frequent one.
    """
    _score_words(database, imageability)
    database.execute(
        """
        CREATE TABLE scored AS
        WITH words AS (
            SELECT number, generate_subscripts(lemmas, 1) AS position, unnest(lemmas) AS lemma, unnest(forms) AS form
            FROM readings
        ), each AS (
            SELECT number, position,
                CASE WHEN of_lemma.source = 'rated' THEN of_lemma.score WHEN of_form.source = 'rated' THEN of_form.score
                    ELSE coalesce(of_lemma.score, of_form.score) END AS score,
                CASE WHEN 'rated' IN (of_lemma.source, of_form.source) THEN 'rated'
                    ELSE coalesce(of_lemma.source, of_form.source) END AS source
            FROM words LEFT JOIN scores AS of_lemma ON of_lemma.word = lemma
            LEFT JOIN scores AS of_form ON of_form.word = form
        ), means AS (
            SELECT number, fsum(score ORDER BY position) / count(*) AS mean, min(source) AS source, count(*) AS words,
                count(score) AS known, count(*) FILTER (source = 'rated') AS rated
            FROM each GROUP BY number
        )
        SELECT DISTINCT ON (fragment, kind) fragment, kind,
            sum(occurrences) OVER (PARTITION BY fragment, kind)::BIGINT AS occurrences, mean AS imageability,
            CASE WHEN mean IS NULL THEN 'none' WHEN words = 1 THEN source ELSE 'mean' END AS source
        FROM readings JOIN means USING (number)
        ORDER BY fragment, kind, known DESC, rated DESC, readings.occurrences DESC, lemmas, forms
        """
    )


def _score_words(database: DuckDBPyConnection, imageability: ImageabilityRatings) -> None:
    """Score lemmas and forms, some at a time: the vectors of all of them may not fit into memory."""
    database.execute("CREATE TABLE scores (word VARCHAR, score DOUBLE, source VARCHAR)")
    with database.cursor() as reading:
        reading.execute("SELECT DISTINCT unnest(lemmas || forms) AS word FROM readings ORDER BY word")
        while rows := reading.fetchmany(WORDS_AT_ONCE):
            scores = imageability.of(word for (word,) in rows)
            table = pa.table(
                {
                    "word": pa.array(list(scores), pa.string()),
                    "score": pa.array([score for score, _source in scores.values()], pa.float64()),
                    "source": pa.array([source for _score, source in scores.values()], pa.string()),
                }
            )
            database.register("given", table)
            database.execute("INSERT INTO scores FROM given")
            database.unregister("given")


def _write_nouns(database: DuckDBPyConnection, work: StepWork) -> None:
    with work.folder.writing("candidates/nouns.parquet") as path:
        write_table(
            database,
            """
            WITH nouns AS (SELECT fragment FROM decided WHERE kind = 'noun' AND kept),
            each AS (
                SELECT sentence, unnest(range(len(words))) AS position, unnest(starts) AS start,
                    unnest(words) AS word, unnest(tags) AS tag, unnest(lemmas) AS lemma FROM tokens
            )
            SELECT sentence, position::INTEGER AS position, start, word, lemma
            FROM each SEMI JOIN nouns ON each.lemma = nouns.fragment WHERE list_contains($tags, tag)
            ORDER BY sentence, position
            """,
            path,
            {"tags": sorted(COMMON_NOUNS)},
        )
