"""Statistics of a corpus, as published of MultiSubs: sentences by N, tokens, types, images, and the senses left.

J. Wang, J. Figueiredo, L. Specia (2022), MultiSubs: A Large-scale Multimodal and Multilingual Dataset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Self

from parallel_text.config import ENGLISH
from parallel_text.steps import StepWork, make_view

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SHARING = """
    CREATE VIEW sharing AS
    SELECT sentence, n, unnest(['en'] || list_transform(
        list_filter(translations, lambda each: each.shares), lambda each: each.language
    )) AS language
    FROM instances WHERE n > 0
"""
"""Each word of intersect_1 once for English and for each language that shares its sense."""

MAX_N = 4
"""Splits of the game and of the tasks end here; statistics go as far as there are languages."""


@dataclass(frozen=True)
class SideStatistics:
    """Table 2: one side of the sentences that English and `language` illustrate together.

    `mean_length` is in tokens, `types` are tokens in lower case, and `singletons` are sentences that occur once.
    """

    language: str
    is_english: bool
    sentences: int
    tokens: int
    types: int
    singletons: int
    mean_length: float


@dataclass(frozen=True)
class SenseStatistics:
    """Of the instances of intersect_`n`: how many have one sense that at least `n` languages share.

    At 0, their senses are all of the English word.
    """

    n: int
    instances: int
    one_sense: int

    @property
    def share(self) -> float | None:
        """From 0 to 1, or None without instances."""
        return self.one_sense / self.instances if self.instances else None


@dataclass(frozen=True)
class CorpusStatistics:
    """All figures of a corpus."""

    instances: int
    nouns: int
    sentences: Mapping[str, list[int]]
    """Table 1: by language, the sentences of intersect_1, intersect_2 … in which the language shares a sense; of
    English, all of them.
    """
    sides: list[SideStatistics]
    """Table 2."""
    words_per_sentence: Mapping[int, int]
    """How many sentences have so many illustrated words of intersect_1. Sentences without one are not counted."""
    images_per_synset: Mapping[int, int]
    """How many synsets that illustrate a word of intersect_1 have so many images."""
    senses: list[SenseStatistics]
    """By N from 0."""
    words_by_language: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """The same as `words_per_sentence`, of the words whose sense the language shares."""

    @property
    def mean_words_per_sentence(self) -> float | None:
        return _mean(self.words_per_sentence)

    @property
    def mean_words_by_language(self) -> dict[str, float | None]:
        return {language: _mean(counts) for language, counts in self.words_by_language.items()}

    @property
    def mean_images_per_synset(self) -> float | None:
        return _mean(self.images_per_synset)

    @property
    def median_images_per_synset(self) -> float | None:
        return _median(self.images_per_synset)

    def as_json(self) -> dict[str, Any]:
        return {
            "instances": self.instances,
            "nouns": self.nouns,
            "table_1": {language: dict(enumerate(counts, start=1)) for language, counts in self.sentences.items()},
            "table_2": [asdict(side) for side in self.sides],
            "words_per_sentence": {
                "mean": self.mean_words_per_sentence,
                "sentences": dict(self.words_per_sentence),
                "languages": {
                    language: {"mean": mean, "sentences": dict(self.words_by_language[language])}
                    for language, mean in self.mean_words_by_language.items()
                },
            },
            "images_per_synset": {
                "mean": self.mean_images_per_synset,
                "median": self.median_images_per_synset,
                "synsets": dict(self.images_per_synset),
            },
            "one_sense": [asdict(senses) | {"share": senses.share} for senses in self.senses],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what `as_json` gave."""
        return cls(
            instances=data["instances"],
            nouns=data["nouns"],
            sentences={language: list(counts.values()) for language, counts in data["table_1"].items()},
            sides=[SideStatistics(**side) for side in data["table_2"]],
            words_per_sentence=_numbered(data["words_per_sentence"]["sentences"]),
            images_per_synset=_numbered(data["images_per_synset"]["synsets"]),
            senses=[SenseStatistics(each["n"], each["instances"], each["one_sense"]) for each in data["one_sense"]],
            # Corpora that were published by earlier versions do not have these.
            words_by_language={
                language: _numbered(of["sentences"])
                for language, of in data["words_per_sentence"].get("languages", {}).items()
            },
        )


def compute(work: StepWork) -> CorpusStatistics:
    """Compute the statistics of a corpus whose images are there."""
    with work.database() as database:
        make_view(database, "instances", [work.folder.read("images/instances.parquet")])
        database.execute(SHARING)
        languages = work.config.languages
        words = _words(database, languages)
        [(count, nouns)] = database.sql("SELECT count(*), count(DISTINCT lemma) FROM instances").fetchall()
        return CorpusStatistics(
            instances=count,
            nouns=nouns,
            sentences=_sentences(database, languages),
            sides=[side for language in languages for side in _sides(database, work, language)],
            words_per_sentence=words.pop(ENGLISH),
            images_per_synset=_images(database, work),
            senses=_senses(database, len(languages)),
            words_by_language=words,
        )


def _sentences(database: DuckDBPyConnection, languages: tuple[str, ...]) -> dict[str, list[int]]:
    rows = database.sql(
        """
        SELECT language, n, count(DISTINCT sentence) FROM (
            SELECT sentence, language, unnest(range(1, max(n) + 1)) AS n FROM sharing GROUP BY sentence, language
        ) GROUP BY language, n
        """
    ).fetchall()
    counts = {(language, n): count for language, n, count in rows}
    return {
        language: [counts.get((language, n), 0) for n in range(1, len(languages) + 1)]
        for language in (ENGLISH, *languages)
    }


def _words(database: DuckDBPyConnection, languages: tuple[str, ...]) -> dict[str, dict[int, int]]:
    counts: dict[str, dict[int, int]] = {language: {} for language in (ENGLISH, *languages)}
    rows = database.sql(
        """
        SELECT language, words, count(*) FROM (
            SELECT language, count(*) AS words FROM sharing GROUP BY sentence, language
        ) GROUP BY language, words ORDER BY language, words
        """
    ).fetchall()
    for language, words, sentences in rows:
        counts[language][words] = sentences
    return counts


def _sides(database: DuckDBPyConnection, work: StepWork, language: str) -> list[SideStatistics]:
    """Tokens of the pairs that hold an instance in which the language shares a sense, English first."""
    database.execute(
        """
        CREATE OR REPLACE TEMP TABLE held AS
        SELECT DISTINCT sentence, translation.pair AS pair
        FROM (SELECT sentence, unnest(translations) AS translation FROM instances)
        WHERE translation.language = $1 AND translation.shares
        """,
        [language],
    )
    sides = []
    for words, texts, column in (
        ("candidates/tokens/", "ingest/english/", "sentence"),
        (f"align/{language}/", f"ingest/pairs.{language}/", "pair"),
    ):
        files = {
            name: [str(work.folder.read(file)) for file in work.folder.names(prefix)]
            for name, prefix in (("words", words), ("texts", texts))
        }
        figures = (0, 0, 0, 0)
        if files["words"]:
            [figures] = database.execute(
                f"""
                WITH tokens AS (
                    SELECT lower(unnest(words)) AS word FROM parquet($words) SEMI JOIN held USING ({column})
                ), texts AS (
                    SELECT count(*) AS times FROM parquet($texts) SEMI JOIN held USING ({column}) GROUP BY text
                )
                SELECT (SELECT coalesce(sum(times), 0)::BIGINT FROM texts), count(*), count(DISTINCT word),
                    (SELECT count(*) FROM texts WHERE times = 1)
                FROM tokens
                """,
                files,
            ).fetchall()
        sentences, tokens, *_ = figures
        mean_length = tokens / sentences if sentences else 0.0
        sides.append(SideStatistics(language, column == "sentence", *figures, mean_length=mean_length))
    return sides


def _images(database: DuckDBPyConnection, work: StepWork) -> dict[int, int]:
    rows = database.execute(
        """
        SELECT images, count(*) FROM (
            SELECT count(*) AS images FROM parquet($1)
            SEMI JOIN (SELECT unnest(synsets) AS synset FROM instances WHERE n > 0) USING (synset) GROUP BY synset
        ) GROUP BY images ORDER BY images
        """,
        [str(work.folder.read("images/images.parquet"))],
    ).fetchall()
    return dict(rows)


def _senses(database: DuckDBPyConnection, languages: int) -> list[SenseStatistics]:
    """Count instances by their senses at each N; at 0, the senses of the English word are those of the inventory."""
    [(instances, one)] = database.sql("SELECT count(*), count(*) FILTER (english_senses = 1) FROM instances").fetchall()
    senses = [SenseStatistics(0, instances, one)]
    for n in range(1, languages + 1):
        [(instances, one)] = database.execute(
            "SELECT count(*), count(*) FILTER (len(list_filter(shared, lambda each: len(each.languages) >= $n)) = 1) "
            "FROM instances WHERE n >= $n",
            {"n": n},
        ).fetchall()
        senses.append(SenseStatistics(n, instances, one))
    return senses


def _numbered(data: Mapping[str, int]) -> dict[int, int]:
    return {int(number): count for number, count in data.items()}


def _mean(counts: Mapping[int, int]) -> float | None:
    total = sum(counts.values())
    return sum(number * count for number, count in counts.items()) / total if total else None


def _median(counts: Mapping[int, int]) -> float | None:
    return float(median(Counter(counts).elements())) if any(counts.values()) else None
