"""A corpus of five sentences in Spanish and Arabic, as the steps before `index` leave it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from parallel_text.config import Config, Inventory, Text
from parallel_text.folder import Folder, LocalFolder
from parallel_text.index import STEP
from parallel_text.steps import Work

CONFIG = Config(
    name="seals",
    texts=(Text("ar", "tsv", ("ar.tsv",)), Text("es", "tsv", ("es.tsv",))),
    inventories=(Inventory("en", "en.tsv"), Inventory("es", "es.tsv"), Inventory("ar", "ar.tsv")),
    workers=1,
)

ANIMAL, STAMP, DOG = "02077923-n", "03156279-n", "02084071-n"

ENGLISH = [
    "The seal swims.",
    "A seal on the letter.",
    "Seals and dogs!",
    "My dog barks.",
    "It rains.",
]
TOKENS = [
    (["The", "seal", "swims", "."], [0, 4, 9, 14], ["AT", "NN", "VBZ", "."], ["the", "seal", "swim", "."]),
    (["A", "seal", "on", "the", "letter", "."], [0, 2, 7, 10, 14, 20], ["AT", "NN", "IN", "AT", "NN", "."],
     ["a", "seal", "on", "the", "letter", "."]),
    (["Seals", "and", "dogs", "!"], [0, 6, 10, 14], ["NNS", "CC", "NNS", "."], ["seal", "and", "dog", "!"]),
    (["My", "dog", "barks", "."], [0, 3, 7, 12], ["PP$", "NN", "VBZ", "."], ["my", "dog", "bark", "."]),
    (["It", "rains", "."], [0, 3, 8], ["PPS", "VBZ", "."], ["it", "rain", "."]),
]  # fmt: skip
SPANISH = ["La foca nada.", "Un sello en la carta.", "¡Focas y perros!", "Mi perro ladra.", "Llueve."]
ARABIC = {0: "الفقمة تسبح.", 3: "كلبي ينبح."}


def build_index(path: Path, changes: dict[str, list[Any]] | None = None) -> Folder:
    """Write the tables of the corpus to `path`, with other rows of a table where `changes` names it; index them."""
    folder = LocalFolder(path)
    for name, (columns, rows) in tables().items():
        write(folder, name, columns, (changes or {}).get(name, rows))
    STEP.finish(Work(CONFIG, folder, path / ".scratch", lambda name: path / name))
    return folder


def write(folder: Folder, name: str, columns: str, rows: list[Any]) -> None:
    import duckdb

    with duckdb.connect() as database, folder.writing(f"{name}.parquet") as to:
        database.execute(f"CREATE TABLE made ({columns})")
        if rows:
            database.executemany(f"INSERT INTO made VALUES ({', '.join('?' * len(rows[0]))})", rows)  # noqa: S608
        database.table("made").write_parquet(str(to))


def tables() -> dict[str, tuple[str, list[Any]]]:
    """Return columns and rows of each table by name."""
    return {
        "ingest/english/00000": ("sentence BIGINT, text VARCHAR", list(enumerate(ENGLISH))),
        "ingest/pairs.es/00000": (PAIRS, [(n, n, text, "es.tsv", n + 1) for n, text in enumerate(SPANISH)]),
        "ingest/pairs.ar/00000": (
            PAIRS,
            [(n, key, text, "ar.tsv", n + 1) for n, (key, text) in enumerate(ARABIC.items())],
        ),
        "candidates/tokens/00000": (
            "sentence BIGINT, words VARCHAR[], starts INTEGER[], tags VARCHAR[], lemmas VARCHAR[]",
            [(n, *row) for n, row in enumerate(TOKENS)],
        ),
        "candidates/fragments": (FRAGMENTS, FRAGMENT_ROWS),
        "align/es/00000": (
            ALIGNED,
            [
                (0, 0, ["La", "foca", "nada", "."], [0, 1, 2, 3], [0, 1, 2, 3]),
                (1, 1, ["Un", "sello", "en", "la", "carta", "."], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]),
                (2, 2, ["¡", "Focas", "y", "perros", "!"], [0, 1, 2, 3], [1, 2, 3, 4]),
                (3, 3, ["Mi", "perro", "ladra", "."], [0, 1, 2, 3], [0, 1, 2, 3]),
                (4, 4, ["Llueve", "."], [1, 2], [0, 1]),
            ],
        ),
        "align/ar/00000": (
            ALIGNED,
            [
                (0, 0, ["الفقمة", "تسبح", "."], [1, 2, 3], [0, 1, 2]),
                (1, 3, ["كلبي", "ينبح", "."], [1, 2, 3], [0, 1, 2]),
            ],
        ),
        "dictionary/entries": (
            ENTRIES,
            [
                ("es", "seal", "foca", "foca", 60, 150, 0.4, True),
                ("es", "seal", "focas", "foca", 30, 150, 0.2, True),
                ("es", "seal", "sello", "sello", 59, 150, 59 / 150, True),
                ("es", "seal", "nada", "nadar", 1, 150, 1 / 150, False),
                ("ar", "seal", "الفقمة", "فقمة", 3, 3, 1.0, True),
                ("es", "dog", "perro", "perro", 2, 2, 1.0, True),
            ],
        ),
        "senses/inventory": (
            "language VARCHAR, lemma VARCHAR, synset VARCHAR",
            [
                ("en", "seal", ANIMAL), ("en", "seal", STAMP), ("es", "foca", ANIMAL), ("es", "sello", STAMP),
                ("ar", "فقمة", ANIMAL), ("en", "dog", DOG), ("es", "perro", DOG), ("en", "canis familiaris", DOG),
            ],
        ),
        "intersect/instances": (INSTANCES, INSTANCE_ROWS),
        "images/images": (
            "synset VARCHAR, file VARCHAR, licence VARCHAR, author VARCHAR, source VARCHAR, representative BOOLEAN",
            [
                (ANIMAL, "seal_1.jpg", "CC BY 4.0", "Ann O.", "https://images.test/seal_1", False),
                (ANIMAL, "seal_2.jpg", "CC0", "Bo", "https://images.test/seal_2", True),
                (DOG, "dog_1.jpg", "CC BY-SA 4.0", "Cem", "javascript:alert(1)", True),
            ],
        ),
        "images/instances": (
            f"{INSTANCES}, images INTEGER",
            [(*row, 2 if row[6] != "dog" else 1) for row in INSTANCE_ROWS if row[1] != 1],
        ),
    }  # fmt: skip


PAIRS = "pair BIGINT, sentence BIGINT, text VARCHAR, file VARCHAR, line BIGINT"
ALIGNED = "pair BIGINT, sentence BIGINT, words VARCHAR[], english_positions INTEGER[], positions INTEGER[]"
ENTRIES = (
    "language VARCHAR, english VARCHAR, word VARCHAR, lemma VARCHAR, alignments BIGINT, total BIGINT, share DOUBLE,"
    " kept BOOLEAN"
)
FRAGMENTS = (
    "fragment VARCHAR, kind VARCHAR, occurrences BIGINT, imageability DOUBLE, source VARCHAR, kept BOOLEAN,"
    " reason VARCHAR"
)
FRAGMENT_ROWS = [
    ("seal", "noun", 3, 581.0, "rated", True, None),
    ("dog", "noun", 2, 636.0, "rated", True, None),
    ("letter", "noun", 1, 590.5, "vectors", False, "too_rare"),
    ("thing", "noun", 9, 320.0, "rated", False, "not_imageable"),
    ("my dog", "noun_phrase", 2, 318.0, "mean", False, "not_imageable"),
    ("swim", "verb", 1, None, "none", False, "too_rare"),
]
TRANSLATION = "STRUCT(language VARCHAR, lemma VARCHAR, word VARCHAR, pair BIGINT, target INTEGER, shares BOOLEAN)"
INSTANCES = (
    "id VARCHAR, sentence BIGINT, position INTEGER, start INTEGER, text VARCHAR, word VARCHAR, lemma VARCHAR,"
    f" translations {TRANSLATION}[], synsets VARCHAR[], shared STRUCT(synset VARCHAR, languages VARCHAR[])[], n INTEGER"
)


def _instance(sentence: int, position: int, lemma: str, translations: list[Any], synsets: list[str], n: int) -> Any:
    words, starts, _tags, _lemmas = TOKENS[sentence]
    names = ("language", "lemma", "word", "pair", "target", "shares")
    named = [dict(zip(names, row, strict=True)) for row in translations]
    shared = [{"synset": each, "languages": [one[0] for one in translations if one[5]]} for each in synsets if n]
    place = (f"{sentence}-{position}", sentence, position, starts[position])
    return (*place, ENGLISH[sentence], words[position], lemma, named, synsets, shared, n)


INSTANCE_ROWS = [
    _instance(
        0, 1, "seal", [("ar", "فقمة", "الفقمة", 0, 0, True), ("es", "foca", "foca", 0, 1, True)], [ANIMAL], 2
    ),
    _instance(1, 1, "seal", [("es", "sello", "sello", 1, 1, True)], [STAMP], 1),
    _instance(2, 0, "seal", [("es", "foca", "Focas", 2, 1, True)], [ANIMAL], 1),
    _instance(2, 2, "dog", [("es", "perro", "perros", 2, 3, True)], [DOG], 1),
    _instance(3, 1, "dog", [], [DOG], 0),
]  # fmt: skip
