"""Captions of images in JSON lines: what a projection is trained on, or projects."""

from __future__ import annotations

from pathlib import Path

from crosslens_metrics.formats.records import BrokenRecord, FileRefusedError, is_text, json_records


class PairFileError(ValueError):
    """The file cannot be used; says what is wrong, in which line, and what to do."""


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Image and caption, in the order of the file.

    Each line is {"image": name, "caption": text}, or has "captions", a list of texts. A JSON list of such will do too.

    Raises
    ------
    PairFileError
    """
    pairs: list[tuple[str, str]] = []
    try:
        with path.open("rb") as file:
            for record in json_records(file):
                if isinstance(record, BrokenRecord):
                    raise PairFileError(f"{path}, line {record.number}: {record.reason}")
                row = record.value if isinstance(record.value, dict) else {}
                image = row.get("image")
                if not _is_text(image) or not image:
                    raise PairFileError(f"{path}, line {record.number}: there is no “image”, the name of the picture.")
                captions = [row["caption"]] if "caption" in row else row.get("captions")
                if not isinstance(captions, list) or not captions or not all(map(_is_text, captions)):
                    raise PairFileError(
                        f"{path}, line {record.number}: image {image} needs “caption”, a text, or “captions”, a list."
                    )
                pairs += [(image, caption) for caption in captions]
    except FileRefusedError as refused:
        raise PairFileError(f"{path}: {refused}") from refused
    except OSError as error:
        raise PairFileError(f"{path} cannot be read ({error.strerror}).") from error
    if not pairs:
        raise PairFileError(f"{path} holds no captions.")
    return pairs


def _is_text(value: object) -> bool:
    return isinstance(value, str) and is_text(value)
