"""A small corpus for tests of building on the platform, with a program in place of an aligner."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from corpora.models import CorpusBuild
from corpora.services import corpus_builds, corpus_files, corpus_jobs
from people.models import Project
from tests.commands import make_program
from tests.factories import NOW, make_project

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
    """Write the files of a corpus of English and Spanish: 30 sentences of six nouns."""
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


def make_corpus(folder: Path, *, project: Project | None = None, name: str = "Animals") -> CorpusBuild:
    """Make a corpus with all files that it needs, in chunks of 100 sentences, to be aligned by `made_aligner`."""
    configuration = {"chunk_sentences": 100, "align": {"program": str(made_aligner(folder))}}
    build = corpus_builds.create_build(
        project=project or make_project(), name=name, configuration=configuration, by=None, now=NOW
    )
    for file, path in made_files(folder).items():
        corpus_files.add_file(build=build, path=path, name=file, by=None, now=NOW)
    return build


class Clock:
    """A clock that a test turns on."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def turn_on(self, by: timedelta) -> None:
        self.now += by


def work_off(build: CorpusBuild, clock: Callable[[], datetime] | None = None, *, worker: str = "ann") -> list[str]:
    """Do all jobs of a corpus; returns their kinds in order."""
    kinds = []
    while (kind := corpus_jobs.work_on(build_id=build.pk, worker=worker, clock=clock or Clock())) is not None:
        kinds.append(str(kind))
    return kinds
