"""What a file of another tool is, found out by what is in it, and its captions line by line.

What is recognised and cannot be used is refused by its name, so that nobody looks for a fault in a file that is whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import IO, Any

from crosslens_metrics.formats import annotation_tools, xm3600
from crosslens_metrics.formats.caption_rows import CaptionRow, GivenCaptions, RowReader, image_named, is_language
from crosslens_metrics.formats.csv_records import SEPARATORS, csv_records, is_own_csv, own_csv_records
from crosslens_metrics.formats.limits import MAX_LINE_BYTES
from crosslens_metrics.formats.names import SUFFIXES
from crosslens_metrics.formats.object_rows import (
    ANNOTATIONS,
    IMAGES,
    Records,
    Rows,
    coco_rows,
    converted,
    has_sentences,
    karpathy_rows,
    member_records,
    rows_by_image,
    whole_as_record,
)
from crosslens_metrics.formats.parts import is_archive_of_arrays
from crosslens_metrics.formats.problems import LayoutError, LineError
from crosslens_metrics.formats.records import (
    LineRecord,
    StrictDecoder,
    head_of,
    is_text,
    json_members,
    json_records,
    limited_lines,
    not_utf8,
    printable,
)
from crosslens_metrics.formats.table_files import excel_records, images_left_out, parquet_captions, parquet_records
from crosslens_metrics.formats.table_parts import (
    LEFT,
    RIGHT,
    WINNER,
    FileKind,
    converted_fields,
    item_fields,
    judgement_fields,
    kind_of_parts,
    lacking_columns,
    lower_case,
    missing_parts,
    renamed,
    said_of,
)
from crosslens_metrics.messages import gettext as _

FIRST_RECORDS = 20
"""Of a file, in which its layout shows."""
WORDS_OF_A_CAPTION = 3
SHOWN_ROWS, MAX_SHOWN_CHARACTERS = 3, 80
JUDGEMENT, GAP_ITEM, VECTOR = {"image", "rater", "score"}, {"sentence", "word"}, {"image", "vector"}
"""Names that their lines have."""
WON = {"image", "rater", LEFT, RIGHT, WINNER}
"""Names of judgements that only say which of two models won."""
POINT, KEYS_OF_CANDIDATES, ADDRESSES = {"latitude", "longitude"}, {"key", "imageid"}, {"address", "url", "originalurl"}
"""Names of columns of candidates, ours or those of Open Images: a point, and one of either."""
OWN_TABLES = (
    ({"scoring", "metric", "value"}, "scores"),
    ({"scoring", "project", "image"}, "image-scores"),
    ({"image", "rater", "rating", "rating_ms"}, "ratings"),
    ({"panel_id", "hours", "cost"}, "time"),
    ({"key", "collection", "sha256"}, "images"),
    ({"turn", "season", "player", "outcome"}, "turns"),
)
"""Names of columns by which exports of ours are known that do not come in, and what they are called."""
SPLITS_OF_ITEMS, IMAGES_OF_ITEMS = {"split", "intersect"}, {"images", "image", "imageids", "image_ids"}
"""One of which the lines of gap items have, ours or those of MultiSubs, which may call their sentences otherwise."""
TOKEN_LINE = re.compile(r"(?P<image>[^\t]+\.\w{3,4})#(?P<number>[0-9]+)\t(?P<caption>.*)")
ADDRESS_LINE = re.compile(r"(?P<caption>[^\t]+)\t(?P<image>https?://\S+)")
NAME_OF_IMAGE = re.compile(rf"(?P<image>\S.*(?:{'|'.join(map(re.escape, SUFFIXES))}))(?:#[0-9]+)?", re.IGNORECASE)
"""In a list also with the number of one of its captions, as Multi30k names images of COCO."""


@dataclass(frozen=True)
class FileLayout:
    """What a file is. `rows` reads its captions, if it holds some; `is_of_model` says that a model wrote them.
    `records` reads the lines of judgements and sentences of the game, under our names.

    `has_entries` says that numbers of its rows count entries, and not lines; `says_models`, that it names the models.
    `columns` and `first_rows` are those of a table.
    """

    kind: FileKind
    name: str
    rows: Callable[[IO[bytes]], Rows] | None = None
    is_of_model: bool = False
    has_entries: bool = False
    says_models: bool = False
    columns: tuple[str, ...] = ()
    first_rows: tuple[tuple[str, ...], ...] = ()
    records: Callable[[IO[bytes]], Records] | None = None

    def captions(self, file: IO[bytes]) -> Rows:
        """Raises LayoutError where it holds none."""
        if self.kind != FileKind.CAPTIONS or self.rows is None:
            raise LayoutError(_("The file has no captions: it is a %(layout)s.") % {"layout": self.name}, self.name)
        return self.rows(file)


def layout_of(file: IO[bytes], *, said: Mapping[str, str] | None = None) -> FileLayout:
    """Find out what a file is.

    - `said`: names of the fields or columns with the parts of a line (`table_parts.PARTS`), where somebody gave them.

    Raises LayoutError where nothing in it can be used; says what it is, as far as that shows.
    """
    file.seek(0)
    start = file.read(4)
    if start == b"PAR1":
        return _of_records(parquet_records, file, "Parquet", said)
    if start == b"PK\x03\x04":
        if is_archive_of_arrays(file):
            return FileLayout(FileKind.VECTORS, "NumPy")
        return _of_records(excel_records, file, "Excel", said)
    head = head_of(file).lstrip()
    if head.startswith(b"[") or (head.startswith(b"{") and not _is_one_object(file)):
        is_list = head.startswith(b"[")
        return replace(_of_records(json_records, file, "JSON" if is_list else "JSON Lines", said), has_entries=is_list)
    if head.startswith(b"{"):
        return replace(_of_object(file), has_entries=True)
    return _of_text(file, said)


def _is_one_object(file: IO[bytes]) -> bool:
    """Whether the file is one object for all images, and not one for each."""
    file.seek(0)
    lines = (line for _number, line in limited_lines(file, MAX_LINE_BYTES) if line is None or line.strip())
    first, second = next(lines, b""), next(lines, b"")
    file.seek(0)
    if first is None:
        return True
    text = first.decode("utf-8-sig", "replace").strip()
    try:
        value = StrictDecoder().decode(text)
    except (ValueError, RecursionError):
        # An object over several lines begins with a piece of one; a broken line is a whole one that is wrong.
        return not (text.endswith("}") and second)
    return not second and not _is_line(value)


def _is_line(value: Any) -> bool:
    """Whether an object is of one image, and not of all."""
    if not isinstance(value, dict) or annotation_tools.is_entry(value) or lower_case(value).keys() >= GAP_ITEM:
        return True
    return any(isinstance(value[name], str | int | float) for name in RowReader().fields(value).images)


# Lines, entries of a list, and rows of a table


def _of_records(
    read: Callable[[IO[bytes]], Records], file: IO[bytes], form: str, said: Mapping[str, str] | None
) -> FileLayout:
    records = list(islice(read(file), FIRST_RECORDS))
    objects = [record.value for record in records if isinstance(record, LineRecord) and isinstance(record.value, dict)]
    if not records:
        raise LayoutError(_("There is nothing in the file to import."))
    if not objects:
        reason = next((record.reason for record in records if isinstance(record, LineError)), "")
        raise LayoutError(reason or _("Each line or entry has to be an object that names an image and its caption."))
    mine = said_of({name for value in objects for name in value}, said)
    kind = kind_of_parts(set(mine))
    if not mine and (tool := annotation_tools.tool_of(objects)):
        return FileLayout(FileKind.CAPTIONS, tool.name, lambda file: converted(read(file), tool.rows), tool.is_of_model)
    names = {name.strip().lower() for value in objects for name in renamed(value, mine)}
    shown: dict[str, Any] = {"columns": tuple(map(printable, objects[0])), "first_rows": _first_rows(objects)}
    if not mine:
        _refuse_coco(objects[0], _("COCO results"))
        _refuse_own(names)
    reader = RowReader(({"image": mine["file"]} if "file" in mine else {}) | dict(said or {}))
    fields = [reader.fields(value) for value in objects]
    has_captions = any(one.has_captions for one in fields)
    # What is said of the images of a table with captions does not make a manifest of it.
    is_of_both = kind == FileKind.IMAGES and has_captions and "file" not in mine
    if (
        kind != FileKind.CAPTIONS
        and not is_of_both
        and (other := _of_other_table(read, form, names, mine, kind, shown))
    ):
        return other
    is_parquet = form == "Parquet"
    if has_captions or any(map(_is_xm3600, objects)):
        has_model = any(one.model for one in fields)
        is_coco = form == "JSON" and names <= {"image_id", "caption", "id"} and "image_id" in names
        name = _("COCO results") if is_coco else _name_of_rows(objects[0], names, form)
        return FileLayout(
            FileKind.CAPTIONS,
            name,
            partial(_converted_records, parquet_captions if is_parquet else read, reader),
            has_model or is_coco,
            says_models=has_model,
            **shown,
        )
    if names & {"file", "file_name"} and not mine:
        return FileLayout(FileKind.IMAGES, _("manifest of images"), partial(_converted_records, read, reader), **shown)
    raise _unknown_columns(objects, [one.reason for one in (images_left_out(file) if is_parquet else ())])


def _of_other_table(
    read: Callable[[IO[bytes]], Records],
    form: str,
    names: set[str],
    mine: Mapping[str, str],
    kind: str,
    shown: Mapping[str, Any],
) -> FileLayout | None:
    """What a table is that has no captions, going by its `names` and by the `kind` that the parts said are of."""
    lines: Callable[[IO[bytes]], Records]
    if names >= JUDGEMENT or names >= WON:
        # An apostrophe before a cell is not part of its text, in any table.
        cells = own_csv_records if form == "CSV" else read
        lines = partial(converted_fields, cells, partial(judgement_fields, said=mine))
        return FileLayout(FileKind.JUDGEMENTS, form, records=lines, **shown)
    if names >= POINT and names & KEYS_OF_CANDIDATES and names & ADDRESSES and not names & {"file", "caption"}:
        return FileLayout(FileKind.CANDIDATES, form)
    if names >= VECTOR:
        return FileLayout(FileKind.VECTORS, form)
    if names & IMAGES_OF_ITEMS and (names >= GAP_ITEM or ("word" in names and names & SPLITS_OF_ITEMS)):
        is_table = bool(mine) or not form.startswith("JSON")
        lines = partial(converted_fields, read, partial(item_fields, said=mine) if is_table else lower_case)
        return FileLayout(FileKind.GAP_ITEMS, _("Gap items"), records=lines, **shown)
    if kind and (missing := missing_parts(kind, names)):
        raise lacking_columns(missing, **shown)
    if kind != FileKind.IMAGES:
        return None
    lines = partial(converted_fields, read, partial(renamed, said=mine))
    return FileLayout(
        FileKind.IMAGES, _("manifest of images"), partial(_converted_records, lines, RowReader()), **shown
    )


def _refuse_own(names: set[str]) -> None:
    if what := next((what for columns, what in OWN_TABLES if names >= columns), ""):
        reason = _("This is a Crosslens export of %(what)s; exports of captions and judgements come in again.")
        raise LayoutError(reason % {"what": what}, "Crosslens")


def _converted_records(read: Callable[[IO[bytes]], Records], reader: RowReader, file: IO[bytes]) -> Rows:
    return converted(read(file), lambda number, value: [reader.row(number, value)])


def _is_xm3600(value: Mapping[str, Any]) -> bool:
    return xm3600.KEY in value


def _name_of_rows(value: Mapping[str, Any], names: set[str], form: str) -> str:
    if _is_xm3600(value):
        return xm3600.LAYOUT_NAME
    if {"raw", "filename", "img_id"} <= names:
        return "Flickr30k (Hugging Face)"
    if {"image_name", "comment_number", "comment"} <= names:
        return "Flickr30k"
    return _("Hugging Face metadata (%(form)s)") % {"form": form} if "file_name" in names else form


def _first_rows(objects: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], ...]:
    """The cells of the columns of the first row, so that somebody can tell what is in which."""
    return tuple(
        tuple(printable(str(value.get(name, "")))[:MAX_SHOWN_CHARACTERS] for name in objects[0])
        for value in objects[:SHOWN_ROWS]
    )


def _unknown_columns(objects: Sequence[Mapping[str, Any]], left_out: Sequence[str]) -> LayoutError:
    columns = tuple(map(printable, objects[0]))
    named = ", ".join(f"“{name}”" for name in columns if name)[:300]
    reason = _(
        "It has %(columns)s. Call the column with the names of the images “image”, and the one with the captions "
        "“caption”."
    )
    text = " ".join([reason % {"columns": named}, *left_out])
    return LayoutError(text, columns=columns, first_rows=_first_rows(objects))


# One object around all


def _of_object(file: IO[bytes]) -> FileLayout:
    first: dict[str, Any] = {}
    are_lists: set[str] = set()
    for member, record in json_members(file):
        if isinstance(record, LineError) and member not in first:
            raise LayoutError(record.reason)
        value = record.value if isinstance(record, LineRecord) else None
        first.setdefault(member, value)
        are_lists |= {member} if record.number else set()
        if len(first) > FIRST_RECORDS or (IMAGES in first and ANNOTATIONS in first) or has_sentences(value):
            break
    if has_sentences(first.get(IMAGES)):
        return FileLayout(FileKind.CAPTIONS, "Karpathy", karpathy_rows)
    if isinstance(annotation := first.get(ANNOTATIONS), dict):
        if "caption" in annotation:
            return FileLayout(FileKind.CAPTIONS, _("COCO captions"), coco_rows)
        _refuse_coco(annotation, "COCO")
        raise LayoutError(_("The entries under “annotations” have no “caption”."), "COCO")
    if isinstance(first.get(IMAGES), dict):
        raise LayoutError(_("This is a COCO list of images without captions."), "COCO")
    annotation_tools.refuse_campaign(first)
    if not first:
        raise LayoutError(_("There is nothing in the file to import."))
    if _is_line({name: value for name, value in first.items() if name not in are_lists}):
        return _of_records(whole_as_record, file, "JSON", None)
    lists = [name for name, value in first.items() if name in are_lists and isinstance(value, dict) and _is_line(value)]
    if len(lists) == 1 or (lists and all(annotation_tools.is_entry(first[name]) for name in lists)):
        return _of_records(partial(member_records, lists[0] if len(lists) == 1 else None), file, "JSON", None)
    texts = [pair for pair in first.items() if isinstance(pair[1], str)]
    are_captions = 2 * sum(name in are_lists or _may_be_caption(name, text) for name, text in texts) >= len(texts)
    if are_captions and len(texts) + sum(map(_by_language, first.values())) == len(first):
        return FileLayout(FileKind.CAPTIONS, _("captions by image"), rows_by_image)
    raise LayoutError(
        _("It is one JSON object with %(names)s, which is not known.")
        % {"names": ", ".join(f"“{name}”" for name in islice(first, FIRST_RECORDS))}
    )


def _may_be_caption(name: str, text: str) -> bool:
    """Whether a text of an object is rather the caption of an image than a setting."""
    return bool(NAME_OF_IMAGE.fullmatch(name) or name.isdecimal() or len(text.split()) >= WORDS_OF_A_CAPTION)


def _by_language(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(map(is_language, value))


def _refuse_coco(value: Mapping[str, Any], layout: str) -> None:
    """Say what a file of COCO holds in place of captions."""
    if "caption" in value:
        return
    held = {
        "keypoints": _("key points"),
        "bbox": _("bounding boxes"),
        "segmentation": _("outlines of objects"),
        "segments_info": _("outlines of objects"),
        "question": _("questions"),
        "question_id": _("questions and answers"),
        "category_id": _("categories"),
    }
    if what := next((words for name, words in held.items() if name in value and "image_id" in value), ""):
        reason = _("This is a COCO file of %(what)s, without captions. COCO's captions are in captions_*.json.")
        raise LayoutError(reason % {"what": what}, layout)


# Text and tables


def _of_text(file: IO[bytes], said: Mapping[str, str] | None) -> FileLayout:
    file.seek(0)
    first = [line for _number, line in islice(limited_lines(file, MAX_LINE_BYTES), FIRST_RECORDS)]
    lines = [line.decode("utf-8-sig", "surrogateescape").strip() for line in first if line and line.strip()]
    if not all(map(is_text, lines)):
        raise LayoutError(not_utf8())
    if not lines:
        limit = {"limit": MAX_LINE_BYTES // 10**6}
        is_long = any(line is None for line in first)
        raise LayoutError(_("A line is longer than %(limit)s MB.") % limit if is_long else _("The file is empty."))
    if all(map(TOKEN_LINE.fullmatch, lines)):
        return FileLayout(FileKind.CAPTIONS, "Flickr30k", _token_rows)
    if all(map(ADDRESS_LINE.fullmatch, lines)):
        return FileLayout(FileKind.CAPTIONS, "Conceptual Captions", _address_rows)
    if all(map(NAME_OF_IMAGE.fullmatch, lines)) and not any("\t" in line for line in lines):
        return FileLayout(FileKind.NAMES, _("list of images"))
    try:
        return _of_records(own_csv_records if is_own_csv(file) else _csv_records, file, "CSV", said)
    except LayoutError:
        cells = {sign: {line.count(sign) for line in lines} for sign in SEPARATORS}
        if len(lines) > 1 and not said and not any(len(counts) == 1 and counts != {0} for counts in cells.values()):
            return FileLayout(FileKind.SENTENCES, _("sentences, one on each line"))
        raise


_csv_records = partial(csv_records, keeps_case=True)


def _token_rows(file: IO[bytes]) -> Rows:
    return _matched_rows(file, TOKEN_LINE, _("The line is not NAME#NUMBER, a tab, and a caption."))


def _address_rows(file: IO[bytes]) -> Rows:
    return _matched_rows(file, ADDRESS_LINE, _("The line is not a caption, a tab, and the address of an image."))


def _matched_rows(file: IO[bytes], pattern: re.Pattern[str], otherwise: str) -> Rows:
    file.seek(0)
    for number, line in limited_lines(file, MAX_LINE_BYTES):
        text = (line or b"").decode("utf-8-sig", "surrogateescape").strip("\r\n")
        match = pattern.fullmatch(text)
        if match and is_text(text):
            yield CaptionRow(number, (image_named("image", match["image"]),), [GivenCaptions(match["caption"])])
        elif text.strip():
            yield LineError(otherwise, number=number)
