"""How fast a corpus is built from parallel text: `python -m benchmarks.parallel_text [--pairs 30000] [--full]`.

Text of that many pairs and of ten times as many is made; with --full, of 100,000 and 1,000,000 pairs. Each goes through
all steps by `build_corpus`, in processes of its own; the smaller one also with a single worker. An aligner must be
there: eflomal or fast_align.

The words are English ones, which come as often as Zipf's law says; two other languages are made word by word, in
another order, with words missing and others added. So it is known what each noun should be aligned with. Half of the
sentences are in both languages. Memory is the most that all processes held together.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from pathlib import Path
from typing import Any

import psutil

from benchmarks.harness import ROOT, arguments, environment, tell

SEED = 20
LANGUAGES = ("de", "es")
NOUNS, OTHERS = 12_000, 4_000
SENSES = (1, 1, 1, 1, 1, 1, 2, 2, 2, 3)
FIRST_SENSE, PLURAL, ADJECTIVE, MISSING, ADDED, SAME_WORD = 0.7, 0.3, 0.4, 0.03, 0.05, 0.2
IMAGES, WORKERS = 3, 2
CHUNK_SENTENCES = 17_000
"""Four chunks for 100,000 pairs, so that two workers have as much to do. Aligners do shorter ones less well."""

DETERMINERS, PREPOSITIONS = ("the", "a"), ("near", "under", "with", "from", "behind")
LOOK_EVERY_S = 0.2


def main() -> None:
    options = arguments(__doc__, pairs=30_000, full=False)
    pairs = 100_000 if options.full else options.pairs
    from parallel_text.aligners import find_aligner
    from parallel_text.problems import CorpusError

    try:
        find_aligner("")
    except CorpusError as error:
        tell({"error": str(error)}, f"Building a corpus was not measured. {error}")
        return
    language = Made.of(random.Random(SEED))
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as folder:
        sizes = {"few": pairs, "many": 10 * pairs}
        for name, size in sizes.items():
            (Path(folder) / name).mkdir()
            language.write(Path(folder) / name, size)
        alone, few = (_measure(language, Path(folder) / "few", pairs, workers=count) for count in (1, WORKERS))
        many = _measure(language, Path(folder) / "many", 10 * pairs, workers=WORKERS)
    result = {"few": few, "alone": alone, "many": many}
    growth = {name: round(many[name] / few[name], 2) for name in ("seconds", "cpu_s")}
    lines = [_line(f"{one['pairs']:,} pairs, {one['workers']} workers", one) for one in (alone, few, many)]
    lines.append(f"  ten times as many pairs take {growth['seconds']} times as long")
    lines.append(f"  and {growth['cpu_s']} times as much of the processor")
    lines.append(f"  twice the workers take {few['seconds'] / alone['seconds']:.2f} of the time")
    tell({**result, "growth": growth}, "\n".join(["Building a corpus:", *lines]))


def _line(name: str, one: dict[str, Any]) -> str:
    steps = ", ".join(f"{step} {seconds:.0f}" for step, seconds in one["steps"].items())
    return (
        f"  {name}: {one['seconds']:.0f} s ({one['cpu_s']:.0f} s of the processor), {one['peak_mb']} MB at most\n"
        f"    {one['seconds_per_100_000']:.1f} s for 100,000; by step: {steps}\n"
        f"    {one['correct']:.1%} of alignments in the dictionary correct"
    )


def _measure(language: Made, folder: Path, pairs: int, *, workers: int) -> dict[str, Any]:
    out = folder / f"out-{workers}"
    command = [sys.executable, "manage.py", "build_corpus", str(folder / "made.toml"), "--out", str(out)]
    start_s, start_cpu_s = time.perf_counter(), _children_cpu_s()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--workers", str(workers)], cwd=ROOT, env=environment(None), stdout=log, stderr=log
        )
        peak = _peak_mb(process)
    took_s, cpu_s = time.perf_counter() - start_s, _children_cpu_s() - start_cpu_s
    if process.returncode:
        raise SystemExit((folder / "log").read_text()[-2000:])
    steps = {path.stem: json.loads(path.read_text())["seconds"] for path in (out / "steps").glob("*.json")}
    return {
        "pairs": pairs,
        "workers": workers,
        "seconds": round(took_s, 1),
        "cpu_s": round(cpu_s, 1),
        "seconds_per_100_000": round(took_s / pairs * 100_000, 1),
        "peak_mb": round(peak),
        "steps": dict(sorted(steps.items(), key=lambda step: -step[1])),
        "correct": round(language.correct(out), 4),
    }


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _peak_mb(process: subprocess.Popen[bytes]) -> float:
    """Wait for a process; return the most memory that it and those that it started held together."""
    tree, most = psutil.Process(process.pid), 0
    while process.poll() is None:
        held = 0
        for one in [tree, *_children(tree)]:
            try:
                held += one.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        most = max(most, held)
        time.sleep(LOOK_EVERY_S)
    return most / 10**6


def _children(tree: psutil.Process) -> list[psutil.Process]:
    try:
        return tree.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


@dataclass(frozen=True)
class Made:
    """English words, and what they are in languages that were made; `senses` has the words of each sense of a noun."""

    nouns: Sequence[str]
    verbs: Sequence[str]
    adjectives: Sequence[str]
    senses: dict[str, list[dict[str, str]]]
    other: dict[str, dict[str, str]]

    @classmethod
    def of(cls, rng: random.Random) -> Made:
        nouns, verbs, adjectives = _english(rng)
        words = _words(rng)
        senses: dict[str, list[dict[str, str]]] = {}
        for noun in nouns:
            senses[noun] = [{language: next(words) for language in LANGUAGES} for _sense in range(rng.choice(SENSES))]
            for sense in senses[noun][1:]:
                for language in LANGUAGES:
                    if rng.random() < SAME_WORD:
                        sense[language] = senses[noun][0][language]
        plain = [*verbs, *adjectives, *DETERMINERS, *PREPOSITIONS]
        return cls(nouns, verbs, adjectives, senses, {word: {tag: next(words) for tag in LANGUAGES} for word in plain})

    def write(self, folder: Path, pairs: int) -> None:
        """Write texts, ratings, inventories, a manifest of images and a configuration."""
        rng = random.Random(SEED + pairs)
        sentences, added = self._sentences(rng), [self.other[word] for word in PREPOSITIONS]
        files = {tag: (folder / f"{tag}.tsv").open("w", encoding="utf-8") for tag in LANGUAGES}
        # Two of four sentences are in both languages, and one in each alone.
        for number in range(2 * pairs // 3):
            english, others = next(sentences)
            for place, tag in enumerate(LANGUAGES):
                if number % 4 in (0, 1, 2 + place):
                    words = [word[tag] for word in others[tag] if rng.random() >= MISSING]
                    if rng.random() < ADDED:
                        words.insert(rng.randrange(len(words) + 1), rng.choice(added)[tag])
                    files[tag].write(f"{english}\t{' '.join(words)}.\n")
        for file in files.values():
            file.close()
        ratings = (f"{noun},{rng.randint(350, 700)}\n" for noun in self.nouns)
        (folder / "ratings.csv").write_text("word,imageability\n" + "".join(ratings))
        with (folder / "images.jsonl").open("w") as file:
            about = {"licence": "CC0", "author": "made", "source": "made"}
            for synset, _noun, _sense in self._synsets():
                for image in range(IMAGES):
                    file.write(json.dumps({"synset": synset, "file": f"{synset}_{image}.jpg", **about}) + "\n")
        for tag in ("en", *LANGUAGES):
            lines = (f"{synset}\t{sense.get(tag, noun)}\n" for synset, noun, sense in self._synsets())
            (folder / f"senses.{tag}.tsv").write_text("".join(lines))
        (folder / "made.toml").write_text(_configuration())

    def correct(self, out: Path) -> float:
        """Return which share of the alignments that the dictionary keeps are those that were made."""
        import duckdb

        rows = duckdb.execute(
            f"SELECT language, english, word, alignments FROM '{out}/dictionary/entries.parquet' WHERE kept"
        ).fetchall()
        right = sum(
            count
            for language, english, word, count in rows
            if any(sense[language] == word for sense in self.senses.get(english, []))
        )
        return float(right / sum(row[3] for row in rows))

    def _synsets(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        for number, noun in enumerate(self.nouns):
            for place, sense in enumerate(self.senses[noun]):
                yield f"{10 * number + place:08d}-n", noun, sense

    def _sentences(self, rng: random.Random) -> Iterator[tuple[str, dict[str, list[dict[str, str]]]]]:
        """Give English sentences with the words of each other language in its order, without end."""
        draw = {id(words): _zipf(words, rng) for words in (self.nouns, self.verbs, self.adjectives)}
        nouns, verbs, adjectives = (draw[id(words)] for words in (self.nouns, self.verbs, self.adjectives))
        while True:
            english: list[str] = []
            phrases: list[list[dict[str, str]]] = []
            verb = next(verbs)
            for place in range(rng.randint(2, 4)):
                if place:
                    link = verb if place == 1 else rng.choice(PREPOSITIONS)
                    english.append(f"{link}s" if place == 1 else link)
                noun, determiner = next(nouns), rng.choice(DETERMINERS)
                is_plural, senses = rng.random() < PLURAL, self.senses[noun]
                sense = senses[0] if rng.random() < FIRST_SENSE else rng.choice(senses)
                phrase = [self.other[determiner], sense]
                english.append("the" if is_plural else determiner)
                if is_plural:
                    phrase[0] = self.other["the"]
                if rng.random() < ADJECTIVE:
                    adjective = next(adjectives)
                    english.append(adjective)
                    phrase.append(self.other[adjective])
                english.append(f"{noun}s" if is_plural else noun)
                phrases.append(([self.other[link]] if place > 1 else []) + phrase)
            # Both put adjectives after nouns, one the verb second, the other last.
            middle = [self.other[verb]]
            last = [word for phrase in phrases for word in phrase] + middle
            second = phrases[0] + middle + [word for phrase in phrases[1:] for word in phrase]
            yield f"{' '.join(english).capitalize()}.", {"de": last, "es": second}


def _english(rng: random.Random) -> tuple[list[str], list[str], list[str]]:
    """Draw nouns, verbs and adjectives from simplemma's English words, as HanTa sorts them."""
    from HanTa.HanoverTagger import HanoverTagger
    from simplemma.strategies.dictionaries import DefaultDictionaryFactory

    lemma_of = dict(DefaultDictionaryFactory().get_dictionary("en").items())
    words = sorted(word for word in set(lemma_of.values()) if word.isascii() and word.isalpha() and word.islower())
    words = [word for word in words if 3 <= len(word) <= 12 and lemma_of.get(f"{word}s") == word]
    rng.shuffle(words)
    tagger = HanoverTagger("morphmodel_en.pgz")
    found: dict[str, list[str]] = {"NN1": [], "VVI": [], "AJ0": []}
    for word in words:
        tag = tagger.analyze(word)[1]
        if tag in found and word not in DETERMINERS + PREPOSITIONS:
            found[tag].append(word)
    return found["NN1"][:NOUNS], found["VVI"][:OTHERS], found["AJ0"][:OTHERS]


def _words(rng: random.Random) -> Iterator[str]:
    """Make words that no language has, each once."""
    syllables = ["".join(pair) for pair in product("bdfgklmnprtvz", "aeiou")]
    words = ["".join(parts) for parts in product(syllables, repeat=3)]
    rng.shuffle(words)
    return iter(words)


def _zipf(words: Sequence[str], rng: random.Random) -> Iterator[str]:
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    while True:
        yield from rng.choices(words, cum_weights=weights, k=10_000)


def _configuration() -> str:
    texts = "".join(f'[[texts]]\nlanguage = "{tag}"\nfile = "{tag}.tsv"\n' for tag in LANGUAGES)
    senses = "".join(f'[[inventories]]\nlanguage = "{tag}"\nfile = "senses.{tag}.tsv"\n' for tag in ("en", *LANGUAGES))
    return (
        f'name = "made"\nchunk_sentences = {CHUNK_SENTENCES}\n{texts}[candidates]\nratings = "ratings.csv"\n{senses}'
        '[images]\nmanifest = "images.jsonl"\n'
    )


if __name__ == "__main__":
    main()
