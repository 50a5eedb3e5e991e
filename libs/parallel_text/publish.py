"""Step `publish`: the files of a corpus that others use, at the top of its folder."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from crosslens_metrics.text import occurrences, stands_in
from parallel_text.building import done_step, sha256_of
from parallel_text.config import ENGLISH, CorpusConfig
from parallel_text.statistics import MAX_N, compute
from parallel_text.steps import SentencesStep, StepReport, StepWork, records_of, rows_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MAX_SENTENCE_CHARACTERS, MAX_WORD_CHARACTERS, MAX_SENSES = 500, 100, 100
"""The game's limits, in characters and synsets."""

NO_GAP = frozenset({"blank", "joined"})
"""Reasons for which no task for machines can cut the word out of its sentence, either."""

REASONS = (
    *("blank", "joined", "long_sentence", "long_word", "many_senses", "direction", "alone", "repeated"),
    "same_sentence",
)

_BLANK = re.compile("_{3,}")
_TURNERS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def why_unplayable(sentence: str, word: str, start: int, senses: Sequence[str], *, occurrence: int = 1) -> str:
    """Return the first of `REASONS` why the Gap Filling Game cannot ask for an English word, or an empty text.

    - `sentence` and `word`: in Unicode's form NFC.
    - `start`: where the word begins, in characters.
    - `senses`: its synsets.
    - `occurrence`: how often the sentence has come by now: no player should meet it twice.
    """
    before, after = sentence[:start], sentence[start + len(word) :]
    faults = {
        "blank": lambda: _BLANK.search(sentence),
        "joined": lambda: (start, start + len(word)) not in occurrences(sentence, word, spaced=True),
        "long_sentence": lambda: len(sentence) > MAX_SENTENCE_CHARACTERS,
        "long_word": lambda: len(word) > MAX_WORD_CHARACTERS,
        "many_senses": lambda: len(senses) > MAX_SENSES,
        "direction": lambda: _TURNERS.search(sentence),
        "alone": lambda: not any(unicodedata.category(character)[0] in "LN" for character in before + after),
        "same_sentence": lambda: occurrence > 1,
        "repeated": lambda: stands_in(before, word, spaced=True) or stands_in(after, word, spaced=True),
    }
    return next((reason for reason in REASONS if faults[reason]()), "")


IMAGE_COLUMNS = ("file", "author", "licence", "licence_url", "title", "source")
PUBLISHED = ("instances.jsonl", "dictionary.jsonl", "images.jsonl", "items.jsonl", "statistics.json")
PLAYABLE = "playable"
MAX_IMAGES = 100
"""Images of an item of the Gap Filling Game."""
BEFORE = ("ingest", "candidates", "align", "dictionary", "senses", "intersect", "images")


class PublishStep(SentencesStep):
    """Each chunk of sentences is written by itself; the end joins them. The same corpus gives the same bytes."""

    name = "publish"
    version = 3
    needs = BEFORE

    def settings(self, config: CorpusConfig) -> dict[str, Any]:
        return {"name": config.name, "seed": config.seed}

    def part(self, chunk: str) -> str:
        return f"publish/instances/{chunk}.jsonl"

    def run_chunk(self, work: StepWork, chunk: str) -> None:
        with (
            # The instances have their name last: where they are, all are.
            work.folder.writing(self.part(chunk)) as path,
            work.folder.writing(f"publish/items/{chunk}.jsonl") as items_path,
            work.folder.writing(f"publish/playable/{chunk}.json") as counts_path,
            path.open("w", encoding="utf-8") as file,
            items_path.open("w", encoding="utf-8") as items,
            work.database() as database,
        ):
            part, counts = _InstanceChunk(database, work, chunk), Counter[str]()
            for instance in part.instances():
                file.write(_line(part.published(instance)))
                if instance["images"]:
                    about = (instance[name] for name in ("text", "word", "start", "synsets"))
                    why = why_unplayable(*about, occurrence=instance["occurrence"])
                    counts[why or PLAYABLE] += 1
                    if why not in NO_GAP:
                        items.write(_line(part.item(instance) | ({"unplayable": why} if why else {})))
            counts_path.write_text(json.dumps(counts), encoding="utf-8")

    def finish(self, work: StepWork) -> StepReport:
        chunks = self.chunks(work)
        for kind in ("instances", "items"):
            with work.folder.writing(f"{kind}.jsonl") as path, path.open("wb") as whole:
                for chunk in chunks:
                    with work.folder.read(f"publish/{kind}/{chunk}.jsonl").open("rb") as part:
                        shutil.copyfileobj(part, whole)
        items = Counter[str]()
        for chunk in chunks:
            items.update(json.loads(work.folder.read(f"publish/playable/{chunk}.json").read_text(encoding="utf-8")))
        with work.database() as database:
            _write(work, "dictionary.jsonl", _dictionary(database, work))
            images = _write(work, "images.jsonl", _images(database, work))
        statistics = compute(work)
        made_by = {name: _made_by(work, name) for name in BEFORE}
        about = {"name": work.config.name, "seed": work.config.seed, **statistics.as_json(), "made_by": made_by}
        with work.folder.writing("statistics.json") as path:
            path.write_text(json.dumps(about, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        files = {name: sha256_of(work.folder.read(name)) for name in PUBLISHED}
        playable = {name: items[name] for name in (PLAYABLE, *REASONS) if items[name] or name == PLAYABLE}
        counts = {"instances": statistics.instances, "images": images, "items": playable, "sha256": files}
        return StepReport(counts)


STEP = PublishStep()


class _InstanceChunk:
    """The instances of one chunk, with what they refer to."""

    def __init__(self, database: DuckDBPyConnection, work: StepWork, chunk: str) -> None:
        self._database, self._work, self._chunk = database, work, chunk
        english = str(work.folder.read(f"ingest/english/{chunk}.parquet"))
        database.execute(
            """
            CREATE TABLE part AS SELECT * FROM parquet($instances)
            WHERE sentence BETWEEN (SELECT min(sentence) FROM parquet($english))
                AND (SELECT max(sentence) FROM parquet($english))
            """,
            {"instances": str(work.folder.read("images/instances.parquet")), "english": english},
        )
        self._texts = {language: self._pairs(language) for language in work.config.languages}
        self._images = self._images_of_synsets()

    def instances(self) -> Iterator[dict[str, Any]]:
        """Give the rows, in the order of sentences and positions."""
        return records_of(self._database.execute("SELECT * FROM part ORDER BY sentence, position"))

    def published(self, instance: Mapping[str, Any]) -> dict[str, Any]:
        """Return an instance as its line in instances.jsonl."""
        translations = {
            each["language"]: {
                "lemma": each["lemma"],
                "word": each["word"],
                "sentence": self._texts[each["language"]][each["pair"]],
            }
            for each in instance["translations"]
        }
        return {
            "id": instance["id"],
            "sentence": instance["text"],
            "word": instance["word"],
            "lemma": instance["lemma"],
            "start": instance["start"],
            "languages": {language: each["lemma"] for language, each in translations.items()},
            "translations": translations,
            "synsets": instance["synsets"],
            "n": instance["n"],
            "shared": {each["synset"]: each["languages"] for each in instance["shared"]},
        }

    def item(self, instance: Mapping[str, Any]) -> dict[str, Any]:
        """Return an instance as an item of the Gap Filling Game."""
        of_senses = [image for synset in instance["synsets"] for image in self._images.get(synset, ())]
        by_file = {image["file"]: image for image in of_senses}
        files = _drawn(sorted(by_file), instance["id"], self._work.config.seed)
        kept = [{name: by_file[file][name] for name in IMAGE_COLUMNS if by_file[file].get(name)} for file in files]
        item = {
            "key": instance["id"],
            "language": ENGLISH,
            "sentence": instance["text"],
            "word": instance["word"],
            "lemma": instance["lemma"],
            "start": instance["start"],
            "split": f"intersect_{min(instance['n'], MAX_N)}",
            "sense": instance["synsets"],
            "images": kept,
        }
        representative = next((image["file"] for image in of_senses if image["representative"]), None)
        return item | ({"representative": representative} if representative in files else {})

    def _pairs(self, language: str) -> dict[int, str]:
        name = f"ingest/pairs.{language}/{self._chunk}.parquet"
        if not self._work.folder.names(name):
            return {}
        return dict(
            self._database.execute(
                """
                SELECT pair, text FROM parquet($file) SEMI JOIN (
                    SELECT each.pair AS pair FROM (SELECT unnest(translations) AS each FROM part)
                    WHERE each.language = $language
                ) USING (pair)
                """,
                {"file": str(self._work.folder.read(name)), "language": language},
            ).fetchall()
        )

    def _images_of_synsets(self) -> Mapping[str, list[dict[str, Any]]]:
        cursor = self._database.execute(
            "SELECT * FROM parquet($1) SEMI JOIN (SELECT DISTINCT unnest(synsets) AS synset FROM part) "
            "USING (synset) ORDER BY synset, file",
            [str(self._work.folder.read("images/images.parquet"))],
        )
        images = defaultdict(list)
        for image in records_of(cursor):
            images[image["synset"]].append(image)
        return images


def _drawn(files: Sequence[str], key: str, seed: int) -> list[str]:
    """Draw as many files as an item may have: those whose hash with the seed is least."""
    if len(files) <= MAX_IMAGES:
        return list(files)

    def drawn(file: str) -> bytes:
        return hashlib.sha256(f"{seed}\0{key}\0{file}".encode()).digest()

    return sorted(sorted(files, key=drawn)[:MAX_IMAGES])


def _dictionary(database: DuckDBPyConnection, work: StepWork) -> Iterator[dict[str, Any]]:
    """Give a line for each noun and language: its translations by lemma, most frequent first."""
    cursor = database.execute(
        "SELECT english, language, total, lemma, word, alignments, share FROM parquet($1) WHERE kept "
        "ORDER BY english, language, alignments DESC, word",
        [str(work.folder.read("dictionary/entries.parquet"))],
    )
    for (english, language, total), rows in groupby(rows_of(cursor), key=lambda row: row[:3]):
        lemmas: dict[str, dict[str, Any]] = {}
        for *_key, lemma, word, alignments, _share in rows:
            entry = lemmas.setdefault(lemma, {"lemma": lemma, "share": 0, "words": {}})
            entry["share"] += alignments
            entry["words"][word] = alignments
        translations = sorted(lemmas.values(), key=lambda entry: (-entry["share"], entry["lemma"]))
        for entry in translations:
            entry["share"] /= total
        yield {"word": english, "language": language, "alignments": total, "translations": translations}


def _images(database: DuckDBPyConnection, work: StepWork) -> Iterator[dict[str, Any]]:
    cursor = database.execute(
        "SELECT * FROM parquet($1) ORDER BY synset, file", [str(work.folder.read("images/images.parquet"))]
    )
    for image in records_of(cursor):
        yield {name: value for name, value in image.items() if value not in (None, "")}


def _write(work: StepWork, name: str, lines: Iterable[Mapping[str, Any]]) -> int:
    """Write lines of JSON to a file, and count them."""
    count = 0
    with work.folder.writing(name) as path, path.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(_line(line))
            count += 1
    return count


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _made_by(work: StepWork, name: str) -> dict[str, Any]:
    """Return what a step says of how it was made, without how long it took."""
    record = done_step(work.folder, name)
    assert record is not None
    kept = ("version", "settings", "files", "tools", "counts")
    return {key: getattr(record, key) for key in kept} | {"problems": record.problems.counts}
