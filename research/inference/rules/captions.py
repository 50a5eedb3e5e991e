"""Captions of models as values: what a line may hold, and how a stabiliser and its caption are split."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from crosslens_metrics.formats.names import image_name
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.records import is_text
from crosslens_metrics.hidden_characters import has_hidden, visible_text
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag, language_named_in

IMAGE_NAMES = ("image", "image_id", "image/key", "key", "file_name", "file")
MAX_REFERENCE_CHARACTERS = 500
MAX_CAPTION_CHARACTERS = 2_000
"""Of a model's caption."""


@dataclass(frozen=True)
class CaptionLine:
    """`reference` names the image by key, file name or SHA-256; `text` is in NFC, without blanks around it.

    `had_hidden` says whether hidden characters were removed from it.
    """

    reference: str
    text: str
    had_hidden: bool = False


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
    said = language_named_in(value)
    named = language_tag(said, reference) if language and said else language
    if named != language:
        message = _(
            "The line says that its caption is in %(named)s, but the file is imported as %(language)s. Put captions of "
            "different languages into different files."
        )
        raise LineError(message % {"named": named, "language": language}, reference)
    text = caption_text(value.get("caption"), reference)
    return CaptionLine(reference, text, had_hidden=has_hidden(value["caption"]))


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
    reference = image_name(value[name])
    if reference is None or not is_text(reference):
        raise LineError(_("“%(name)s” must be text or a whole number.") % {"name": name})
    return reference[:MAX_REFERENCE_CHARACTERS]


def caption_text(value: Any, reference: str) -> str:
    """Return a caption in NFC, without hidden characters and blanks around it.

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
    text = unicodedata.normalize("NFC", visible_text(value)).strip()
    if not any(unicodedata.category(character)[0] not in "CZ" for character in text):
        raise LineError(_("The caption is empty."), reference)
    if len(text) > MAX_CAPTION_CHARACTERS:
        raise LineError(
            _("The caption has %(length)s characters. The most allowed is %(limit)s.")
            % {"length": len(text), "limit": MAX_CAPTION_CHARACTERS},
            reference,
        )
    return text


def separators_of(options: Mapping[str, Any], codes: Mapping[str, str]) -> dict[str, str]:
    """Return the separator of each language, by our tag: from `options`, or ` <code> ` with the model's own code."""
    separators = options.get("separators") or {}
    return {tag: str(separators.get(tag) or f" <{code}> ") for tag, code in codes.items()}


def split(output: str, separator: str) -> tuple[str, str] | None:
    """Split stabiliser and caption, without blanks around them; None if one is missing.

    The first separator parts them: a caption may hold what looks like another.
    """
    before, match, after = output.partition(separator)
    if not match:
        # Tokenisers put blanks around what they decode, or take them away.
        before, match, after = output.partition(separator.strip())
    stabiliser, caption = before.strip(), after.strip()
    return (stabiliser, caption) if match and stabiliser and caption else None
