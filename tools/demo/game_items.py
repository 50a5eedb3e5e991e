"""Makes the gap items of the demo's season, in the form of the lines that `import_gap_items` reads."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypedDict

from tools.demo.files import read, write_lines
from tools.demo.game_pictures import pictures

Sentence = tuple[str, str, int, str]
_FILE = read("game.yaml")
SENTENCES: dict[str, tuple[Sentence, ...]] = _FILE["sentences"]
"""By language: subject, answer, split, sentence."""


class DemoItem(TypedDict):
    """`images` and `representative` are keys in the manifest of `game_pictures`."""

    key: str
    language: str
    sentence: str
    word: str
    split: str
    sense: list[str]
    images: list[str]
    representative: str


class SentenceSubject(NamedTuple):
    """What sentences of any language are about: its images, the representative first.

    `sense` is a WordNet synset, or empty where the images are of several senses or none is certain.
    """

    images: tuple[str, ...]
    sense: str = ""


SUBJECTS = {key: SentenceSubject(**fields) for key, fields in _FILE["subjects"].items()}


def items() -> list[DemoItem]:
    """Return every sentence of both languages, with the keys of its images."""
    keys = {name: picture.key for name, picture in pictures().items()}
    return [
        _item(language, subject, word, split, sentence, keys)
        for language, sentences in SENTENCES.items()
        for subject, word, split, sentence in sentences
    ]


def write(folder: Path) -> Path:
    """Write the items beside their images, as the file that an import reads."""
    path = folder / "items.jsonl"
    write_lines(path, items())
    return path


def names_of_pictures() -> set[str]:
    """Return the names of the images that the sentences need."""
    subjects = {subject for sentences in SENTENCES.values() for subject, *_ in sentences}
    return {name for subject in subjects for name in SUBJECTS[subject].images}


def _item(language: str, subject: str, word: str, split: int, sentence: str, keys: dict[str, str]) -> DemoItem:
    about = SUBJECTS[subject]
    images = [keys[name] for name in about.images]
    return {
        # From the sentence alone, so that the key gives nothing away and stays when sentences are added.
        "key": f"{language}-{sha256(sentence.encode()).hexdigest()[:12]}",
        "language": language,
        "sentence": sentence,
        "word": word,
        "split": f"intersect_{split}",
        "sense": [about.sense] if about.sense else [],
        "images": images,
        "representative": images[0],
    }
