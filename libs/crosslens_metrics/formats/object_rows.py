"""The captions of files that are one JSON object around all images: COCO's, Karpathy's, captions by image."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import IO, Any

from crosslens_metrics.formats.caption_rows import CaptionRow, GivenCaptions, image_named
from crosslens_metrics.formats.names import image_name
from crosslens_metrics.formats.problems import LeftOutError, LineError
from crosslens_metrics.formats.records import LineRecord, json_members
from crosslens_metrics.messages import gettext as _

Records = Iterator[LineRecord | LineError]
Rows = Iterator[CaptionRow | LineError]

IMAGES, ANNOTATIONS = "images", "annotations"


def converted(records: Records, rows_of: Callable[[int, Any], Iterable[CaptionRow | LineError]]) -> Rows:
    """The rows of records; each has a number of its own, also where a line has several of them.

    What is left out comes last, once for each reason, so that other problems keep the numbers of their lines.
    """
    last = 0
    left_out: dict[str, LeftOutError] = {}
    for record in records:
        for row in [record] if isinstance(record, LineError) else _rows_of_line(record, rows_of):
            if isinstance(row, LeftOutError):
                first = left_out.setdefault(row.reason, row)
                first.captions += row.captions if first is not row else 0
                continue
            last = max(row.number, last + 1)
            if isinstance(row, LineError):
                row.number = last
            yield row if isinstance(row, LineError) else row._replace(number=last)
    for number, error in enumerate(left_out.values(), start=last + 1):
        error.number = number
        yield error


def _rows_of_line(
    record: LineRecord, rows_of: Callable[[int, Any], Iterable[CaptionRow | LineError]]
) -> Iterator[CaptionRow | LineError]:
    try:
        yield from rows_of(record.number, record.value)
    except LineError as error:
        # Without its traceback, which keeps the line.
        yield LineError(error.reason, error.name, number=record.number, captions=error.captions)


def has_sentences(value: Any) -> bool:
    return isinstance(value, dict) and "sentences" in value


def whole_as_record(file: IO[bytes]) -> Records:
    value: dict[str, Any] = {}
    for name, record in json_members(file):
        if isinstance(record, LineError):
            yield record
            return
        # What is a list comes item by item.
        value[name] = [*value.get(name, ()), record.value] if record.number else record.value
    yield LineRecord(1, value)


def member_records(member: str | None, file: IO[bytes]) -> Records:
    """The items of one list of an object, or of all."""
    return (record for name, record in json_members(file) if member in (None, name))


def karpathy_rows(file: IO[bytes]) -> Rows:
    records = (record for member, record in json_members(file) if member == IMAGES)
    return converted(records, lambda number, value: [_karpathy_row(number, value)])


def _karpathy_row(number: int, value: Any) -> CaptionRow:
    if not has_sentences(value) or not isinstance(value["sentences"], list):
        raise LineError(_("This is not an image with “sentences”."))
    name, folder = value.get("filename", ""), value.get("filepath", "")
    known = [value["cocoid"]] if "cocoid" in value else []
    names = [name, *([f"{folder}/{name}"] if folder else []), *known]
    texts = [sentence.get("raw") if isinstance(sentence, dict) else None for sentence in value["sentences"]]
    return CaptionRow(number, tuple(image_named("filename", one) for one in names), [GivenCaptions(texts)])


def coco_rows(file: IO[bytes]) -> Rows:
    # Images may be named after their captions: only then is all of the file read twice.
    files: dict[str, str] = {}
    for member, record in json_members(file):
        if member == ANNOTATIONS and files:
            break
        entry = record.value if member == IMAGES and isinstance(record, LineRecord) else None
        if isinstance(entry, dict) and isinstance(entry.get("file_name"), str):
            files[str(entry.get("id"))] = entry["file_name"].strip()

    def row(number: int, value: Any) -> list[CaptionRow]:
        if not isinstance(value, dict) or "image_id" not in value:
            raise LineError(_("No image is named. Give its key, file name or SHA-256 as “image”."))
        image = image_named("image_id", value["image_id"])
        names = (files[image], image) if image in files else (image,)
        return [CaptionRow(number, names, [GivenCaptions(value.get("caption"))])]

    return converted((record for member, record in json_members(file) if member == ANNOTATIONS), row)


def rows_by_image(file: IO[bytes]) -> Rows:
    groups = groupby(json_members(file), key=lambda pair: pair[0])
    for number, (image, members) in enumerate(groups, start=1):
        records = [record for _image, record in members]
        broken = next((record for record in records if isinstance(record, LineError)), None)
        if broken is not None:
            yield LineError(broken.reason, image, number=number)
            continue
        values = [record.value for record in records if isinstance(record, LineRecord)]
        captions = [GivenCaptions(texts)] if (texts := [one for one in values if not isinstance(one, dict)]) else []
        captions += [GivenCaptions(of, tag) for one in values if isinstance(one, dict) for tag, of in one.items()]
        yield CaptionRow(number, (image_name(image) or image,), captions)
