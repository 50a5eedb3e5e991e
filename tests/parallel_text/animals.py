"""A small corpus of English and Spanish: its files, its configuration, and a program in place of an aligner."""

from __future__ import annotations

from pathlib import Path

from tests.commands import make_program

NOUNS = {"dog": "perro", "cat": "gato", "horse": "caballo", "house": "casa", "tree": "árbol", "boat": "barco"}
SYNSETS = {noun: f"{number:08d}-n" for number, noun in enumerate(NOUNS, start=2_000_001)}

ALIGNER = """
import sys
# Speaks as fast_align does; the words of the made text stand in the same order in both languages.
text = open(sys.argv[sys.argv.index("-i") + 1], encoding="utf-8").read()
for line in text.splitlines():
    source, target = (side.split() for side in line.split(" ||| "))
    print(" ".join(f"{at}-{at}" for at in range(min(len(source), len(target)))))
"""


def made_aligner(folder: Path) -> Path:
    """Write a deterministic program in place of fast_align."""
    return make_program(folder / "fast_align", ALIGNER)


def made_files(folder: Path) -> dict[str, Path]:
    """Write the files of the corpus: 30 sentences of six nouns."""
    pairs = [
        (f"The {one} sees a {other} today", f"El {NOUNS[one]} ve un {NOUNS[other]} hoy")
        for one in NOUNS
        for other in NOUNS
        if one != other
    ]
    contents = {
        "text.es.tsv": "".join(f"{english}\t{spanish}\n" for english, spanish in pairs),
        "imageability.csv": "word,imageability\n" + "".join(f"{noun},600\n" for noun in NOUNS),
        "senses.en.tsv": "".join(f"{SYNSETS[noun]}\t{noun}\n" for noun in NOUNS),
        "senses.es.tsv": "".join(f"{SYNSETS[noun]}\t{word}\n" for noun, word in NOUNS.items()),
        "images.jsonl": "".join(
            f'{{"synset": "{synset}", "file": "{noun}.jpg", "licence": "CC0", "author": "Ada", "source": "made"}}\n'
            for noun, synset in SYNSETS.items()
        ),
    }
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")
    return {name: folder / name for name in contents}


def made_config(folder: Path) -> Path:
    """Write the files and a configuration that names them; `folder` gets the images in `pictures`."""
    made_files(folder)
    path = folder / "corpus.toml"
    path.write_text(
        f"""
        name = "animals"
        workers = 1
        [[texts]]
        language = "es"
        file = "text.es.tsv"
        [candidates]
        ratings = "imageability.csv"
        [align]
        program = "{made_aligner(folder)}"
        [[inventories]]
        language = "en"
        file = "senses.en.tsv"
        [[inventories]]
        language = "es"
        file = "senses.es.tsv"
        [images]
        manifest = "images.jsonl"
        folder = "pictures"
        """
    )
    return path
