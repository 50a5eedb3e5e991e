"""Read a line of a file of captions: the image and its caption. No message repeats a caption's words."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.records import is_text
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag

LANGUAGE = "language"
IMAGE_NAMES = ("image", "image_id", "image/key", "key", "file_name", "file")
MAX_REFERENCE_CHARACTERS = 500
MAX_CAPTION_CHARACTERS = 2_000
"""Of a model's caption."""
COCO_FILE_STEMS = ("{:012d}", "COCO_val2014_{:012d}", "COCO_train2014_{:012d}", "COCO_test2014_{:012d}")
"""The names of COCO's image files; its results have only the number."""


@dataclass(frozen=True)
class CaptionLine:
    """`reference` names the image by key, file name or SHA-256; `text` is in NFC, without blanks around it."""

    reference: str
    text: str


def caption_line(value: Any, *, language: str = "") -> CaptionLine:
    """Read a line of a file of captions, in one `language` where it is given; a line need not name it.

    Raises
    ------
    LineError
        With why, for who made the file.
    """
    if not isinstance(value, dict):
        raise LineError(_("This is not a JSON object with “image” and “caption”."))
    reference = image_named_in(value)
    named = language_tag(value[LANGUAGE], reference) if language and value.get(LANGUAGE) else language
    if named != language:
        message = _(
            "The line says that its caption is in %(named)s, but the file is imported as %(language)s. Put captions of "
            "different languages into different files."
        )
        raise LineError(message % {"named": named, "language": language}, reference)
    return CaptionLine(reference, caption_text(value.get("caption"), reference))


def language_tag(named: Any, reference: str) -> str:
    """Return the tag of a language that a line names.

    Raises
    ------
    LineError
    """
    if not isinstance(named, str):
        raise LineError(_("“language” must be text."), reference)
    try:
        return canonical_tag(named)
    except MalformedTagError as error:
        raise LineError(str(error), reference) from error


def image_named_in(value: dict[str, Any]) -> str:
    """
    Raises
    ------
    LineError
    """
    name = next((name for name in IMAGE_NAMES if name in value), None)
    if name is None:
        raise LineError(_("No image is named. Give its key, file name or SHA-256 as “image”."))
    name_or_id = value[name]
    if (
        isinstance(name_or_id, bool)
        or not isinstance(name_or_id, str | int)
        or not str(name_or_id).strip()
        or not is_text(str(name_or_id))
    ):
        raise LineError(_("“%(name)s” must be text or a whole number.") % {"name": name})
    return str(name_or_id).strip()[:MAX_REFERENCE_CHARACTERS]


def names_of(reference: str) -> list[str]:
    """List the keys that an image with this name may have, the likeliest first."""
    base = reference.replace("\\", "/").rpartition("/")[2]
    stem = base.rpartition(".")[0] or base
    names = [reference, base, stem]
    if reference.isascii() and reference.isdigit() and len(reference) <= 12:
        names += [pattern.format(int(reference)) for pattern in COCO_FILE_STEMS]
    return list(dict.fromkeys(names))


def caption_text(value: Any, reference: str) -> str:
    """
    Raises
    ------
    LineError
    """
    if value is None:
        raise LineError(_("There is no caption."), reference)
    if not isinstance(value, str):
        raise LineError(_("The caption must be text."), reference)
    if not is_text(value):
        raise LineError(_("The caption contains invalid characters."), reference)
    text = unicodedata.normalize("NFC", value).strip()
    if not any(unicodedata.category(character)[0] not in "CZ" for character in text):
        raise LineError(_("The caption is empty."), reference)
    if len(text) > MAX_CAPTION_CHARACTERS:
        raise LineError(
            _("The caption has %(length)s characters. The most allowed is %(limit)s.")
            % {"length": len(text), "limit": MAX_CAPTION_CHARACTERS},
            reference,
        )
    return text
