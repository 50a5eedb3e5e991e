"""Captions alone in layouts that other programs read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, groupby
from typing import Any

from django.utils.translation import gettext as _

from annotation.formats.captions import xm3600_lines
from office.exports.selectors.tables import ExportError, ExportWish, table_of
from tabular.downloads import in_pieces, json_line


def as_xm3600(wish: ExportWish) -> Iterator[bytes]:
    lines = xm3600_lines(wish.project, until=wish.until, images=wish.images, languages=wish.languages)
    return in_pieces(lines)


def as_coco(wish: ExportWish) -> Iterator[bytes]:
    """Write COCO captions, which have no language: so of one.

    Raises ExportError if several languages are asked for.
    """
    known = wish.languages or sorted(set(wish.project.rounds.values_list("language", flat=True)))
    if len(known) > 1:
        said = _("A file of COCO captions has one language. Choose one: %(known)s.")
        raise ExportError(said % {"known": ", ".join(known)})
    return in_pieces(_coco_lines(_by_image(wish)))


def _coco_lines(images: Iterator[tuple[str, list[dict[str, Any]]]]) -> Iterator[str]:
    listed: list[dict[str, Any]] = []
    number, before = 0, '{"annotations": [\n'
    for key, rows in images:
        listed.append({"id": len(listed) + 1, "file_name": key})
        for row in rows:
            number += 1
            annotation = {"id": number, "image_id": len(listed), "caption": row["caption"]}
            yield before + json_line(annotation)
            before = ","
    if listed:
        yield f'], "images": {json_line(listed)}}}\n'


def as_label_studio(wish: ExportWish) -> Iterator[bytes]:
    """Write a task for each image and language, with an annotation for each caption.

    The short layouts that Label Studio makes of tasks keep their data alone.
    """
    return in_pieces(_label_studio_lines(_by_image(wish)))


def _label_studio_lines(images: Iterator[tuple[str, list[dict[str, Any]]]]) -> Iterator[str]:
    before, numbers = "[\n", count(1)
    for key, rows in images:
        by_language: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            by_language.setdefault(row["language"], []).append({"result": [_result(row)]})
        for tag, results in by_language.items():
            data = {"image": key, "language": tag}
            yield before + json_line({"id": next(numbers), "data": data, "annotations": results})
            before = ","
    if before == ",":
        yield "]\n"


def _result(row: dict[str, Any]) -> dict[str, Any]:
    value = {"text": [row["caption"]]}
    meta = {"language": row["language"], "author": row["author"]}
    return {"from_name": "caption", "to_name": "image", "type": "textarea", "value": value, "meta": meta}


def as_hugging_face(wish: ExportWish) -> Iterator[bytes]:
    """Write the `metadata.jsonl` that lies in a folder beside its images."""
    rows = table_of(wish).records()
    return in_pieces(
        json_line({"file_name": row["image"], "text": row["caption"], "language": row["language"]}) for row in rows
    )


def _by_image(wish: ExportWish) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    return ((key, list(rows)) for key, rows in groupby(table_of(wish).records(), key=lambda row: row["image"]))
