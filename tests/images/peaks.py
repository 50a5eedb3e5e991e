"""How much memory large images take, each told on a line: `python -m tests.images.peaks [NAME ...]`, on Linux."""

from __future__ import annotations

import io
import json
import os
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django
from PIL import Image as Pillow

from core.images.rules.image_checks import ImageRefusedError, inspect
from core.images.rules.resizing import served_sizes

SIDE = 8_940
"""Of a square that has just as many pixels as are taken."""

Make = Callable[[], bytes]
PASSES_OF_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def png(depth: int, colours: int, *, is_interlaced: bool = False) -> bytes:
    """A PNG as other programs write it: 16 bits of each colour, interlaced, a palette with alpha."""
    bits = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colours] * depth
    packer, data = zlib.compressobj(1), b""
    for left, top, across, down in PASSES_OF_ADAM7 if is_interlaced else ((0, 0, 1, 1),):
        row = b"\0" + b"\x10" * -(-(-(-(SIDE - left) // across) * bits) // 8)
        for _number in range(-(-(SIDE - top) // down)):
            data += packer.compress(row)
    data += packer.flush()
    palette = _chunk(b"PLTE", bytes(range(256)) * 3) + _chunk(b"tRNS", bytes(range(256))) if colours == 3 else b""
    header = struct.pack(">IIBBBBB", SIDE, SIDE, depth, colours, 0, 0, is_interlaced)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + palette + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def saved(kind: str, mode: str = "RGB", side: int = SIDE, *, frames: int = 1, **options: Any) -> Make:
    def make() -> bytes:
        output = io.BytesIO()
        more = [Pillow.new(mode, (side, side), number) for number in range(1, frames)]
        many = {"save_all": True, "append_images": more} if more else {}
        Pillow.new(mode, (side, side)).save(output, kind, **many, **options)
        return output.getvalue()

    return make


TAKEN: dict[str, Make] = {
    "grey of 16 bits.png": lambda: png(16, 0),
    "RGBA of 16 bits, interlaced.png": lambda: png(16, 6, is_interlaced=True),
    "grey with alpha.png": lambda: png(8, 4),
    "palette with alpha.png": lambda: png(8, 3),
    "one bit.png": lambda: png(1, 0),
    "lossless.webp": saved("WEBP", side=4_980, lossless=True, method=0, quality=0),
    "animated.webp": saved("WEBP", side=4_980, frames=3, lossless=True, method=0, quality=0),
    "animated.gif": saved("GIF", "P", frames=2),
    "CMYK.jpg": saved("JPEG", "CMYK"),
    "progressive.jpg": saved("JPEG", progressive=True),
    "floating point.tif": saved("TIFF", "F", compression="tiff_lzw"),
    "one strip.tif": saved("TIFF", "L", compression="tiff_lzw", strip_size=10**9),
    "CMYK.tif": saved("TIFF", "CMYK", compression="packbits"),
}
REFUSED: dict[str, Make] = {
    "large.webp": saved("WEBP", lossless=True, method=0, quality=0),
    "CMYK, progressive.jpg": saved("JPEG", "CMYK", progressive=True),
    "one strip of RGB.tif": saved("TIFF", compression="packbits", strip_size=10**9),
}


def measure(name: str, make: Make) -> None:
    """In a process of its own, for memory that was freed may stay with one and be used again."""
    if process := os.fork():
        os.waitpid(process, 0)
        return
    file = io.BytesIO(make())
    size_bytes, refused, peaks = len(file.getvalue()), "", []
    before = _memory("VmRSS")
    try:
        _forget_peak()
        facts = inspect(file, name=name, size_bytes=size_bytes)
        peaks.append(_memory("VmHWM") - before)
        _forget_peak()
        list(served_sizes(file, kind=facts.format))
    except ImageRefusedError as error:
        refused = str(error)
    peaks.append(_memory("VmHWM") - before)
    sys.stdout.write(json.dumps({"name": name, "bytes": size_bytes, "peaks": peaks, "refused": refused}) + "\n")
    sys.stdout.flush()
    os._exit(0)


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _memory(name: str) -> int:
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[name].split()[0]) * 1024


if __name__ == "__main__":
    django.setup()
    Pillow.init()
    made = TAKEN | REFUSED
    for name in sys.argv[1:] or made:
        measure(name, made[name])
