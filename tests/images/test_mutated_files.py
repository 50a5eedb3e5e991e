"""Files that were sound and then changed at random, always in the same way: each is read, or refused with a sentence.

A few of each kind; the same with another seed and some thousand is what found the faults that these tests keep away.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from random import Random

import numpy as np
import pytest

from core.images.rules import manifests
from core.images.rules.archives import contents_of
from core.images.rules.image_checks import ImageRefusedError, inspect
from core.images.rules.resizing import served_sizes
from core.images.services import sources
from core.images.services.sources import ImportEntry
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import json_records
from gapgame.formats.sources import read_embeddings
from gapgame.rules.stripping import words_beside
from research.scoring.formats.references import reference_lines
from tests.images.image_files import animation, exif, image_file, profile, zipped

SOME = 60
PIECES = [
    *(b'"', b",", b"\n", b"\r", b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"{", b"[", b"}", b"]", b"../"),
    *(b"\\u0000", b"\\ud800", b"1e400", b"NaN", b"9" * 50, b"[" * 3_000, b'{"a":' * 3_000),
    *(b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"\xff" * 4, b"\0" * 4, b"\x80\0\0\0"),
]


def changed(content: bytes, rng: Random) -> bytes:
    mutated = bytearray(content)
    for _time in range(rng.choice((1, 1, 2, 3, 10))):
        at, piece = rng.randrange(len(mutated) or 1), rng.choice(PIECES)
        to = at + rng.randrange(1, 200)
        match rng.randrange(6):
            case 0:
                mutated[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                mutated[at:at] = piece
            case 2:
                mutated[at : at + len(piece)] = piece
            case 3:
                del mutated[at:to]
            case 4:
                mutated[at:at] = mutated[at:to] * rng.choice((1, 20))
            case _:
                del mutated[-to:]
    return bytes(mutated)


def read_manifest(content: bytes) -> None:
    list(manifests.lines_of(io.BytesIO(content), size_bytes=len(content)))


def read_references(content: bytes) -> None:
    list(reference_lines(io.BytesIO(content), language="de", known=["de", "sw"]))


def read_zip(content: bytes) -> None:
    with ExitStack() as stack:
        shelf = sources._zip(io.BytesIO(content), stack)
        for item in sources._plan(shelf, sources._manifest_in(shelf)):
            if isinstance(item, ImportEntry):
                with suppress(ImageRefusedError):
                    sources.spooled_file(item.content).close()


def read_image(content: bytes) -> None:
    file = io.BytesIO(content)
    facts = inspect(file, name="x", size_bytes=len(content))
    list(served_sizes(file, kind=facts.format))


def read_vectors(content: bytes) -> None:
    read_embeddings(io.BytesIO(content))


def embeddings() -> bytes:
    output = io.BytesIO()
    np.savez_compressed(output, images=np.array(["a", "b"]), vectors=np.eye(2, 8, dtype=np.float32))
    return output.getvalue()


CSV = b'file,key,title,latitude,longitude,mood\na.jpg,k,T,1.5,2,calm\nb.jpg,"q ""x""",,,,\nc.jpg,x,"y\nz",1,2,3\n'
LINES = b'{"file": "a.jpg", "key": "k", "latitude": 1, "longitude": 2, "x": {"y": [1, {"z": null}]}}\n' * 5
LIST = b'[{"file": "a.jpg", "t": "\\u00e4"}, {"file": "b"}, 3, "x", [1]]'
COCO = b'{"images": [{"id": 1, "file_name": "a"}], "annotations": [{"id": 1, "image_id": 1, "caption": "x"}], "x": 1}'
XM3600 = b'{"image/key": "a", "sw": {"caption": ["q"]}, "de": {"caption": ["p"]}}\n'
IMAGES = [
    image_file("JPEG", progressive=True, exif=exif(6, gps=(("N", (1.0, 2.0, 3.0)), ("E", (4.0, 5.0, 6.0))))),
    image_file("JPEG", mode="CMYK", icc_profile=profile()),
    image_file("PNG", mode="P"),
    image_file("PNG", mode="RGBA", exif=exif(3)),
    image_file("WEBP", mode="RGBA", lossless=True),
    image_file("TIFF", compression="tiff_lzw"),
    image_file("TIFF", mode="CMYK"),
    image_file("TIFF", mode="1", compression="group4"),
    animation(),
]
ZIP = zipped({"a.jpg": image_file(), "m/b.png": image_file("PNG"), "manifest.csv": b"file\na.jpg\n"})
KINDS: dict[str, tuple[list[bytes], Callable[[bytes], None]]] = {
    "manifest.csv": ([CSV, CSV.replace(b",", b";")], read_manifest),
    "manifest.json": ([LINES, LIST], read_manifest),
    "references": ([COCO, XM3600], read_references),
    "zip": ([ZIP, b"before it" + ZIP], read_zip),
    "image": (IMAGES, read_image),
    "embeddings": ([embeddings(), b'{"image": "a", "vector": [1, 2]}\n'], read_vectors),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_changed_at_random_is_read_or_refused(kind):
    (sound, read), rng = KINDS[kind], Random(16)
    for content in sound:
        read(content)
    refused = 0
    for _number in range(SOME):
        try:
            read(changed(rng.choice(sound), rng))
        except (FileRefusedError, ImageRefusedError):
            refused += 1
    # Neither is everything refused nor anything taken.
    assert 0 < refused < SOME


def test_a_list_that_is_not_utf8_is_refused_by_that_name():
    content = '[{"file": "Jörg.jpg"}]'.encode("latin-1")
    with pytest.raises(FileRefusedError, match="UTF-8"):
        list(json_records(io.BytesIO(content)))
    # What is no blank of JSON is no reason to take a list for lines, or lines for a list.
    assert isinstance(next(iter(json_records(io.BytesIO(b"\x0b[1]")))), LineError)


def test_a_manifest_of_a_zip_that_lies_before_its_beginning_is_refused():
    content = bytearray(zipped({"manifest.csv": b"file\na.jpg\n", "a.jpg": image_file()}))
    at = content.rindex(b"PK\x05\x06") + 16
    # The table of contents is said to lie further on than it does, so that all files lie further ahead.
    content[at : at + 4] = (int.from_bytes(content[at : at + 4], "little") + 500).to_bytes(4, "little")
    with pytest.raises(FileRefusedError):
        read_zip(bytes(content))


def test_an_entry_without_a_name_is_left_out_and_the_others_are_read():
    content = zipped({"a.jpg": image_file(), "QQQQ": b""}).replace(b"QQQQ", b"\0QQQ")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        contents = contents_of(archive)
    assert (list(contents.files), len(contents.refused)) == (["a.jpg"], 1)


def test_a_tag_that_cannot_be_read_hides_no_others():
    content = image_file("TIFF", mode="1", description="SECRET")
    # A photometric interpretation (262) of a hundred values.
    broken = content.replace(struct.pack("<HHL", 262, 3, 1), struct.pack("<HHL", 262, 3, 100))
    assert broken != content
    assert "SECRET" in words_beside(io.BytesIO(broken), kind="TIFF")
