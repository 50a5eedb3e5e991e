"""Read captions of images from JSON lines, to train a projection or to project them."""

from __future__ import annotations

from pathlib import Path

from crosslens_metrics.formats.fields import LineFields
from crosslens_metrics.formats.lines import LineReader
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.records import is_text

EXAMPLE = '{"image": …, "caption": …}'


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Read images and captions in the order of the file.

    Each line is {"image": name, "caption": text}, or has "captions", a list of texts. A JSON list of such will do too.

    Raises
    ------
    FileProblemsError
    """
    pairs: list[tuple[str, str]] = []
    with LineReader(path) as reader:
        for record in reader.records():
            with reader.line(record):
                fields = LineFields(record.value, example=EXAMPLE)
                image = fields.image()
                captions = [fields.values["caption"]] if "caption" in fields.values else fields.list("captions")
                if not captions or not all(isinstance(caption, str) and is_text(caption) for caption in captions):
                    raise LineError(f"image {image} needs “caption”, a text, or “captions”, a list of texts.")
                pairs += [(image, caption) for caption in captions]
        if not pairs and not reader.problems:
            reader.refuse("The file holds no captions.")
    return pairs
