"""Images that nobody has to bring: coloured noise, each its own, as a zip of PNG files."""

from __future__ import annotations

import io
import random
import struct
import zipfile
import zlib

WIDTH, HEIGHT, BLOCK = 320, 240, 16


def archive(count: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as files:
        for number in range(1, count + 1):
            files.writestr(f"image-{number:04d}.png", image(number))
    return packed.getvalue()


def image(number: int) -> bytes:
    draw = random.Random(number)
    rows = bytearray()
    for _ in range(HEIGHT // BLOCK):
        blocks = b"".join(draw.randbytes(3) * BLOCK for _ in range(WIDTH // BLOCK))
        rows += (b"\0" + blocks) * BLOCK
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(bytes(rows))), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
