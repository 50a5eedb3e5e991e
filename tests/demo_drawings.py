"""A demo for tests: its photographs are drawn here, and its game is short."""

from __future__ import annotations

import io
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from PIL import Image as Pillow

from tools.demo import game_items, games, photographs

KEYS = [photograph.key for photograph in photographs.PHOTOGRAPHS]
SENTENCES, BATCH_SIZE = 10, 5


def picture(number: int, size: tuple[int, int] = (320, 240)) -> bytes:
    file = io.BytesIO()
    Pillow.new("RGB", size, (number * 16 % 256, 255 - number * 5, 128)).save(file, "PNG")
    return file.getvalue()


def draw(var: Path, patch: pytest.MonkeyPatch) -> Path:
    """Photographs that need no network: small pictures under the real names, known by their own hashes."""
    folder = var / "demo" / "photographs"
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for number, real in enumerate(photographs.PHOTOGRAPHS):
        bytes_ = picture(number, (320, 240))
        path = str(Path(real.path).with_suffix(".png"))
        made.append(replace(real, path=path, sha256=sha256(bytes_).hexdigest()))
        (folder / made[-1].file).write_bytes(bytes_)
    patch.setattr(photographs, "PHOTOGRAPHS", tuple(made))
    _shorten_the_game(patch, folder)
    return folder


def _shorten_the_game(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """A few sentences whose pictures are drawings, drawn here, and vectors that take no time to import."""
    drawings = {drawing.key: drawing for drawing in game_items.DRAWINGS}
    sentences = {
        language: [row for row in rows if drawings.keys() >= set(game_items.SUBJECTS[row[0]].images)][:SENTENCES]
        for language, rows in game_items.SENTENCES.items()
    }
    patch.setattr(game_items, "SENTENCES", sentences)
    made = []
    for number, key in enumerate(sorted(game_items.names_of_pictures()), start=len(KEYS) + 1):
        # As small as the real ones, which are enlarged five times.
        bytes_ = picture(number, (72, 72))
        made.append(replace(drawings[key], sha256=sha256(bytes_).hexdigest()))
        (folder / made[-1].file).write_bytes(bytes_)
    patch.setattr(game_items, "PACKAGED", tuple(made))
    patch.setattr(games, "VECTORS", dict.fromkeys(sentences, "use-multilingual-v3"))
    patch.setattr(games, "BATCH_SIZE", BATCH_SIZE)
