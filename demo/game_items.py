"""The items of the demo's gap filling season, in the shape of the lines that `import_gap_items` reads."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypedDict

from demo.game_english import ENGLISH
from demo.game_pictures import pictures
from demo.game_spanish import SPANISH

SENTENCES = {"en": ENGLISH, "es": SPANISH}


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


class Subject(NamedTuple):
    """What the sentences are about, in whichever language: its pictures, the representative first.

    `sense` is a WordNet synset, or empty where the pictures are of several senses or none is certain.
    """

    pictures: tuple[str, ...]
    sense: str = ""


SUBJECTS = {
    "astronaut": Subject(("astronaut", "1f9d1-200d-1f680", "1f469-200d-1f680"), "astronaut.n.01"),
    "balloon": Subject(("1f388",)),
    "banana": Subject(("1f34c",)),
    "bat": Subject(("1f3cf", "1f987")),
    "bed": Subject(("1f6cf",), "bed.n.01"),
    "boat": Subject(("26f5", "1f6a4", "1f6f6"), "boat.n.01"),
    "book": Subject(("1f4d6", "1f4da")),
    "bow": Subject(("1f380", "1f3f9")),
    "brain": Subject(("1f9e0",), "brain.n.01"),
    "bridge": Subject(("1f309",), "bridge.n.01"),
    "cactus": Subject(("1f335",), "cactus.n.01"),
    "camera": Subject(("camera/device", "camera", "1f4f7", "1f4f8"), "camera.n.01"),
    "candle": Subject(("1f56f",), "candle.n.01"),
    "car": Subject(("1f697", "1f698"), "car.n.01"),
    "card": Subject(("1f0cf", "1f4b3")),
    "carta": Subject(("1f0cf", "2709")),
    "castle": Subject(("1f3f0", "1f3ef")),
    "cat": Subject(("cat/face", "cat", "1f431", "1f408"), "cat.n.01"),
    "chair": Subject(("1fa91",), "chair.n.01"),
    "cheese": Subject(("1f9c0",), "cheese.n.01"),
    "chicken": Subject(("1f357", "1f414")),
    "clock": Subject(("1f570", "23f0", "clock"), "clock.n.01"),
    "coat": Subject(("camera/coat", "1f9e5"), "coat.n.01"),
    "coffee": Subject(("coffee", "coffee/surface", "2615"), "coffee.n.01"),
    "coin": Subject(("coins/one", "coins", "1fa99"), "coin.n.01"),
    "cometa": Subject(("2604", "1fa81")),
    "copa": Subject(("1f377", "1f3c6")),
    "cricket": Subject(("1f997", "1f3cf")),
    "crown": Subject(("1f451",)),
    "cup": Subject(("coffee/cup", "1f375"), "cup.n.01"),
    "dog": Subject(("1f436", "1f415", "1f429"), "dog.n.01"),
    "dragon": Subject(("1f409", "1f432"), "dragon.n.01"),
    "elephant": Subject(("1f418",), "elephant.n.01"),
    "eye": Subject(("retina", "cat/eye", "1f441"), "eye.n.01"),
    "fire": Subject(("1f525",)),
    "flag": Subject(("astronaut/flag", "officer/flag", "1f6a9"), "flag.n.01"),
    "flower": Subject(("dahlia/petals", "dahlia", "1f33c"), "flower.n.01"),
    "frog": Subject(("1f438",), "frog.n.01"),
    "gafas": Subject(("officer/glasses", "1f453", "1f576"), "spectacles.n.01"),
    "galaxy": Subject(("galaxies/part", "galaxies", "1f30c")),
    "ghost": Subject(("1f47b",)),
    "glasses": Subject(("1f37b", "1f453", "officer/glasses")),
    "grass": Subject(("grass/part", "grass", "camera/lawn"), "grass.n.01"),
    "guitar": Subject(("1f3b8",), "guitar.n.01"),
    "hammer": Subject(("1f528",)),
    "hat": Subject(("officer/hat", "officer", "1f3a9", "1f452"), "hat.n.01"),
    "heart": Subject(("1fac0", "2764")),
    "helmet": Subject(("astronaut/helmet", "26d1", "1fa96")),
    "hoja": Subject(("1f343", "1f4c4")),
    "horse": Subject(("horse", "1f40e", "1f434"), "horse.n.01"),
    "island": Subject(("1f3dd",), "island.n.01"),
    "key": Subject(("1f3b9", "1f511", "1f5dd")),
    "ladder": Subject(("1fa9c",), "ladder.n.01"),
    "lake": Subject(("pagoda/lake", "pagoda"), "lake.n.01"),
    "letter": Subject(("1f4e9", "1f524", "2709")),
    "llama": Subject(("1f999", "1f525")),
    "map": Subject(("1f5fa",), "map.n.01"),
    "mirror": Subject(("1fa9e",), "mirror.n.01"),
    "monkey": Subject(("1f435", "1f412"), "monkey.n.01"),
    "moon": Subject(("1f315", "1f319"), "moon.n.01"),
    "mouse": Subject(("1f5b1", "1f401", "1f42d")),
    "nose": Subject(("cat/nose", "1f443"), "nose.n.01"),
    "octopus": Subject(("1f419",), "octopus.n.02"),
    "orange": Subject(("1f7e0", "1f34a")),
    "owl": Subject(("1f989",), "owl.n.01"),
    "penguin": Subject(("1f427",), "penguin.n.01"),
    "piano": Subject(("1f3b9",), "piano.n.01"),
    "pico": Subject(("26cf", "1f3d4")),
    "pizza": Subject(("1f355",), "pizza.n.01"),
    "ring": Subject(("1f48d",)),
    "robot": Subject(("1f916",)),
    "rocket": Subject(("rocket/close", "rocket", "1f680"), "rocket.n.01"),
    "roof": Subject(("pagoda/roof", "pagoda"), "roof.n.01"),
    "shark": Subject(("1f988",), "shark.n.01"),
    "sierra": Subject(("26f0", "1fa9a")),
    "smile": Subject(("astronaut/smile", "1f604"), "smile.n.01"),
    "snail": Subject(("1f40c",), "snail.n.01"),
    "snowman": Subject(("2603", "26c4"), "snowman.n.01"),
    "sombrero": Subject(("1f3a9", "1f452"), "hat.n.01"),
    "spider": Subject(("1f577",), "spider.n.01"),
    "spoon": Subject(("coffee/spoon", "1f944"), "spoon.n.01"),
    "star": Subject(("galaxies/part", "2b50", "1f31f")),
    "stone": Subject(("gravel/part", "gravel", "1faa8")),
    "temple": Subject(("pagoda", "pagoda/roof", "1f6d5"), "temple.n.01"),
    "tie": Subject(("officer/tie", "1f454"), "necktie.n.01"),
    "tienda": Subject(("26fa", "1f3ea")),
    "tooth": Subject(("1f9b7",), "tooth.n.01"),
    "train": Subject(("1f682", "1f686"), "train.n.01"),
    "umbrella": Subject(("1f302", "2614"), "umbrella.n.01"),
    "vela": Subject(("26f5", "1f56f")),
    "volcano": Subject(("1f30b",)),
    "wall": Subject(("bricks", "bricks/part", "1f9f1"), "wall.n.01"),
    "wheel": Subject(("1f6de",), "wheel.n.01"),
}


def items() -> list[DemoItem]:
    """Every sentence of both languages, with the keys of its pictures."""
    keys = {name: picture.key for name, picture in pictures().items()}
    return [
        _item(language, subject, word, split, sentence, keys)
        for language, sentences in SENTENCES.items()
        for subject, word, split, sentence in sentences
    ]


def write(folder: Path) -> Path:
    """Put the items beside their pictures, as the file that an import reads."""
    path = folder / "items.jsonl"
    lines = (json.dumps(item, ensure_ascii=False) for item in items())
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def names_of_pictures() -> set[str]:
    """Of those that the sentences need."""
    subjects = {subject for sentences in SENTENCES.values() for subject, *_ in sentences}
    return {name for subject in subjects for name in SUBJECTS[subject].pictures}


def _item(language: str, subject: str, word: str, split: int, sentence: str, keys: dict[str, str]) -> DemoItem:
    about = SUBJECTS[subject]
    images = [keys[name] for name in about.pictures]
    return {
        # Of the sentence alone, so that the key tells nothing and stays when sentences are added.
        "key": f"{language}-{sha256(sentence.encode()).hexdigest()[:12]}",
        "language": language,
        "sentence": sentence,
        "word": word,
        "split": f"intersect_{split}",
        "sense": [about.sense] if about.sense else [],
        "images": images,
        "representative": images[0],
    }
