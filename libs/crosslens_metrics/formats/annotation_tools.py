"""Exports of Label Studio, doccano, Potato and Pearmut: captions that people or models wrote, or why there are none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from crosslens_metrics.formats.caption_rows import (
    CAPTION,
    FIELDS,
    IMAGE,
    LANGUAGE,
    CaptionRow,
    GivenCaptions,
    RowReader,
    image_named,
    language_of_column,
)
from crosslens_metrics.formats.names import SUFFIXES
from crosslens_metrics.formats.problems import LayoutError, LeftOutError, LineError
from crosslens_metrics.messages import gettext as _

LABEL_STUDIO, DOCCANO, POTATO, PEARMUT = "Label Studio", "doccano", "Potato", "Pearmut"
BESIDE = ("id", "annotation_id", "annotator", "lead_time", "created_at", "updated_at")
"""What its short layouts have beside the data of a task."""
NAME_OF_IMAGE = re.compile(rf"(?:{'|'.join(map(re.escape, SUFFIXES))})$", re.IGNORECASE)
PUT_BEFORE = re.compile(r"[0-9a-f]{8}-(?=.)")
"""What Label Studio puts before the names of files that are sent to it."""
IMAGE_TAG = re.compile(r"<img[^>]*\bsrc\s*=\s*[\"']([^\"']+)", re.IGNORECASE)


@dataclass(frozen=True)
class AnnotationTool:
    """`rows` makes rows of a line or entry of its export."""

    name: str
    rows: Callable[[int, Any], Iterable[CaptionRow | LineError]]
    is_of_model: bool = False


def tool_of(objects: Sequence[Mapping[str, Any]]) -> AnnotationTool | None:
    """The tool that wrote lines or entries with captions; None if it is none of these.

    Raises LayoutError where the tool is known, and wrote no captions.
    """
    value = objects[0]
    refuse_campaign(value)
    if {"annotation_id", "lead_time"} <= value.keys():
        if any("rectanglelabels" in str(of) for one in objects for of in one.values()):
            raise LayoutError(_without_captions(LABEL_STUDIO, _("bounding boxes")), LABEL_STUDIO)
        return AnnotationTool(LABEL_STUDIO, _label_studio_row)
    if _is_task(value):
        _refuse_label_studio(objects)
        return AnnotationTool(LABEL_STUDIO, _label_studio_rows)
    if _is_of_potato(value):
        schemes = {scheme for one in objects for scheme, _language, _text in _potato_texts(one)}
        if not schemes:
            raise LayoutError(_without_captions(POTATO, _("choices and marks")), POTATO)
        return AnnotationTool(POTATO, partial(_potato_rows, not schemes.isdisjoint(FIELDS[CAPTION])))
    if "annotation" in value and "item" in value and "user_id" in value:
        if not any(_shown_images(one) for one in objects):
            raise LayoutError(_without_captions(PEARMUT, _("scores of translations")), PEARMUT)
        return AnnotationTool(PEARMUT, _pearmut_rows, is_of_model=True)
    if "filename" in value and value.keys() & {"bbox", "segmentation"}:
        what = _("bounding boxes") if "bbox" in value else _("outlines of objects")
        raise LayoutError(_without_captions(DOCCANO, what), DOCCANO)
    if isinstance(labels := value.get("label"), list):
        if "filename" not in value or not all(isinstance(label, str) for label in labels):
            raise LayoutError(_without_captions(DOCCANO, _("labelled texts")), DOCCANO)
        return AnnotationTool(DOCCANO, _doccano_rows)
    return None


def is_entry(value: Mapping[str, Any]) -> bool:
    """Whether an object is one line or entry of a tool's export, and not all of it."""
    is_of_doccano = "label" in value and not value.keys().isdisjoint({"text", "filename"})
    is_of_pearmut = value.keys() >= {"annotation", "item", "user_id"}
    return _is_task(value) or is_of_pearmut or is_of_doccano or _is_of_potato(value)


def _is_task(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("data"), dict) and bool(value.keys() & {"annotations", "completions", "predictions"})


def refuse_campaign(members: Mapping[str, Any]) -> None:
    """Refuse what Pearmut was given to do, alone or in a list of campaigns."""
    if {"campaign_id", "info", "data"} <= members.keys():
        raise LayoutError(_("This is a campaign of Pearmut, not its results. Give the file of its outputs."), PEARMUT)


def _without_captions(tool: str, what: str) -> str:
    return _("This is a %(tool)s export of %(what)s. It has no captions.") % {"tool": tool, "what": what}


def _image(given: Any) -> tuple[str, ...]:
    """The names of an image that is given by its address or place."""
    if not isinstance(given, str):
        return (image_named(IMAGE, given),)
    parts = urlsplit(given)
    local = parse_qs(parts.query).get("d")
    path = local[0] if local else unquote(parts.path) if parts.scheme or parts.path.startswith("/data/") else given
    name = path.rpartition("/")[2] if path.startswith("/") or parts.scheme else path
    return tuple(dict.fromkeys(image_named(IMAGE, one) for one in (PUT_BEFORE.sub("", name, count=1), name)))


# Label Studio


def _results(task: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Each result of a task, with the model that predicted it, or ""."""
    for name in ("annotations", "completions", "predictions"):
        given = task.get(name)
        for one in given if isinstance(given, list) else ():
            results = one.get("result") if isinstance(one, dict) and not one.get("was_cancelled") else None
            model = str(one.get("model_version") or name) if results and name == "predictions" else ""
            for result in results if isinstance(results, list) else ():
                if isinstance(result, dict):
                    yield model, result


def _refuse_label_studio(tasks: Sequence[Mapping[str, Any]]) -> None:
    types = {str(result.get("type")) for task in tasks for _model, result in _results(task)}
    if not types:
        raise LayoutError(_("These are tasks of Label Studio that nobody has annotated yet."), LABEL_STUDIO)
    if "textarea" in types:
        return
    held = {
        "rectangle": _("bounding boxes"),
        "rectanglelabels": _("bounding boxes"),
        "polygon": _("outlines of objects"),
        "polygonlabels": _("outlines of objects"),
        "brush": _("outlines of objects"),
        "brushlabels": _("outlines of objects"),
        "keypointlabels": _("key points"),
        "choices": _("choices"),
        "rating": _("ratings"),
        "labels": _("labelled texts"),
    }
    what = ", ".join(sorted({held.get(name, name) for name in types}))
    raise LayoutError(_without_captions(LABEL_STUDIO, what), LABEL_STUDIO)


def _label_studio_rows(number: int, task: Any) -> list[CaptionRow]:
    data = task.get("data") if isinstance(task, dict) else None
    if not isinstance(data, dict):
        raise LineError(_("This is not a task of Label Studio, with “data”."))
    given = next((data[name] for name in FIELDS[IMAGE] if name in data), None)
    given = next(iter(data.values()), None) if given is None else given
    names = _image(given)
    of_task = next((data[name] for name in FIELDS[LANGUAGE] if isinstance(data.get(name), str)), None)
    found: dict[tuple[str | None, str], list[Any]] = {}
    for model, result in _results(task):
        value = result.get("value")
        if result.get("type") == "textarea" and isinstance(value, dict):
            texts = value.get("text")
            language = _language_of(result) or of_task or None
            found.setdefault((language, model), []).extend(texts if isinstance(texts, list) else [texts])
    if not found:
        raise LineError(_("There is no caption."), names[0])
    return [CaptionRow(number, names, [GivenCaptions(texts, *by) for by, texts in found.items()])]


def _language_of(result: Mapping[str, Any]) -> str | None:
    """The language of one result, as our export has it; what people note in Label Studio is no text there."""
    meta = result.get("meta")
    language = meta.get("language") if isinstance(meta, dict) else None
    return language if isinstance(language, str) else None


def _label_studio_row(number: int, value: Any) -> list[CaptionRow]:
    """A row of its short layouts: JSON-MIN, CSV and TSV."""
    held = {name: of for name, of in value.items() if name not in BESIDE}
    addresses = (name for name, of in held.items() if isinstance(of, str) and NAME_OF_IMAGE.search(of))
    column = next(iter(RowReader().fields(held).images), None) or next(addresses, "")
    row = RowReader({IMAGE: column}).row(number, held)
    return [row._replace(names=_image(held[column]))]


# The others


def _doccano_rows(number: int, value: Any) -> list[CaptionRow]:
    labels = value.get("label") if isinstance(value, dict) else None
    if not isinstance(labels, list) or "filename" not in value:
        raise LineError(_("This is not a line with “filename” and “label”."))
    # Each person's file lists all images, also those that are left for others.
    return [CaptionRow(number, _image(value["filename"]), [GivenCaptions(labels)])] if labels else []


def _is_of_potato(value: Mapping[str, Any]) -> bool:
    """Whether it has “label_annotations” or columns SCHEME:::LABEL of version 1, or “labels” or SCHEME.LABEL of 2."""
    is_second = {"instance_id", "user_id"} <= value.keys()
    if "label_annotations" in value or (is_second and isinstance(value.get("labels"), dict)):
        return True
    signs = (".", ":::") if is_second else (":::",)
    has_labels = any(sign in str(name) for name in value for sign in signs)
    # A table that names images and captions is read as it is.
    return has_labels and not RowReader().fields(value).has_captions


def _potato_texts(value: Mapping[str, Any]) -> list[tuple[str, str | None, str]]:
    """What somebody typed, of all that is annotated, with its scheme and the language that its box is named after."""
    given = value.get("label_annotations", value.get("labels"))
    schemes = given.items() if isinstance(given, dict) else ()
    cells = [
        (f"{name}.{label}", of) for name, labels in schemes if isinstance(labels, dict) for label, of in labels.items()
    ]
    cells += [(str(name).replace(":::", "."), of) for name, of in value.items()]
    texts = [(*name.rpartition("."), name, of) for name, of in cells if isinstance(of, str) and of.strip()]
    return [
        (scheme, language or None, text)
        for scheme, sign, label, name, text in texts
        if (language := language_of_column(name) if sign else "") or (sign and label.startswith("text"))
    ]


def _potato_rows(is_named: bool, number: int, value: Any) -> list[CaptionRow | LineError]:
    """The row of a line: of the likeliest scheme, if schemes of the file are named after captions, otherwise of all."""
    if not isinstance(value, dict):
        raise LineError(_("This is not a JSON object with “image” and “caption”."))
    shown = value.get("displayed_text")
    tag = IMAGE_TAG.search(shown) if isinstance(shown, str) else None
    identifier = value.get("instance_id", value.get("id"))
    names = _image(tag[1] if tag else identifier if identifier is not None else shown)
    texts = _potato_texts(value)
    schemes = dict.fromkeys(scheme for scheme, _tag, _text in texts)
    meant = [name for name in FIELDS[CAPTION] if name in schemes][:1] if is_named else [*schemes]
    captions = [GivenCaptions(text, tag) for scheme, tag, text in texts if scheme in meant]
    if not captions:
        raise LineError(_("There is no caption."), names[0])
    rows: list[CaptionRow | LineError] = [CaptionRow(number, names, captions)]
    if others := [f"“{scheme}”" for scheme in schemes if scheme not in meant]:
        reason = _(
            "Texts of “%(name)s” are imported as captions, and those of %(others)s are not. To import these too, put "
            "them in a table of their own, with the columns image and caption."
        )
        about = {"name": meant[0], "others": ", ".join(others)}
        rows.append(LeftOutError(reason % about, names[0], number=number, captions=len(texts) - len(captions)))
    return rows


def _shown_images(value: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The address of the image of each item that has one, and the item."""
    items = value.get("item")
    found: list[tuple[str, Mapping[str, Any]]] = []
    for item in items if isinstance(items, list) else [items]:
        if isinstance(item, dict) and isinstance(item.get("tgt"), dict):
            tag = IMAGE_TAG.search(str(item.get("src")))
            found += [(tag[1], item)] if tag else []
    return found


def _pearmut_rows(number: int, value: Any) -> list[CaptionRow | LineError]:
    """A row for each image; an item may say the language of its texts, as Pearmut keeps what it does not know."""
    shown = _shown_images(value) if isinstance(value, dict) else []
    rows: list[CaptionRow | LineError] = [
        CaptionRow(
            number,
            _image(address),
            [GivenCaptions(text, item.get("language") or None, str(model)) for model, text in item["tgt"].items()],
        )
        for address, item in shown
    ]
    if shown and (scores := _scores_in(value)):
        reason = _(
            "Captions are imported, and their scores are not. To import which model was preferred, make a table with "
            "the columns image, rater, left, right and winner."
        )
        rows.append(LeftOutError(reason, _image(shown[0][0])[0], number=number, captions=scores))
    return rows


def _scores_in(value: Mapping[str, Any]) -> int:
    """How many texts somebody scored or marked."""
    given = value.get("annotation")
    by_model = [one for one in (given if isinstance(given, list) else [given]) if isinstance(one, dict)]
    judged = [one for models in by_model for one in models.values() if isinstance(one, dict)]
    return sum(one.get("score") is not None or bool(one.get("error_spans")) for one in judged)
