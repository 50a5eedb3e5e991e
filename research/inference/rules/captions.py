"""Captions of models as values: what a line may hold, and how a stabiliser and its caption are split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from crosslens_metrics.formats.caption_rows import CaptionRow, caption_text, caption_texts, image_named, language_tag
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.hidden_characters import has_hidden
from crosslens_metrics.language_tags import language_named_in

IMAGE_NAMES = ("image", "image_id", "image/key", "key", "file_name", "file")
MAX_MODEL_NAME_CHARACTERS = 120


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
        raise LineError(_in_another_language() % {"named": named, "language": language}, reference)
    text = caption_text(value.get("caption"), reference)
    return CaptionLine(reference, text, had_hidden=has_hidden(value["caption"]))


@dataclass(frozen=True)
class ModelText:
    """One caption of a line, by whom and in which language. `had_hidden` as in `CaptionLine`."""

    model: str
    language: str
    text: str
    had_hidden: bool


def texts_of_models(row: CaptionRow, *, model: str, language: str) -> Iterator[ModelText | LineError]:
    """Read the captions of a line of any layout; what it does not say is as `model` and `language` have it.

    A `model` that is given stands for whatever the line calls it. A line in another language than the one given is an
    error, because captions of two languages would be taken for one's.
    """
    for given in row.captions:
        try:
            tag = language_tag(given.language, row.name) if given.language else language
            if not tag:
                raise LineError(_("No language is given. Choose the language of the file."), row.name)
            if language and tag != language:
                raise LineError(_in_another_language() % {"named": tag, "language": language}, row.name)
            by = model or given.model
            if not by or len(by) > MAX_MODEL_NAME_CHARACTERS:
                raise LineError(
                    _("No model is named, or its name is longer than %(limit)s characters. Give the model's name.")
                    % {"limit": MAX_MODEL_NAME_CHARACTERS},
                    row.name,
                )
            texts = caption_texts(given.value, row.name)
            if len(texts) != 1:
                message = _("There are %(count)s captions. A model has one for each image and language.")
                raise LineError(message % {"count": len(texts)}, row.name, captions=max(1, len(texts)))
            written = given.value if isinstance(given.value, str) else given.value[0]
            yield ModelText(by, tag, texts[0], has_hidden(written))
        except LineError as error:
            yield error


def _in_another_language() -> str:
    return _(
        "The line says that its caption is in %(named)s, but the file is imported as %(language)s. Put captions of "
        "different languages into different files."
    )


def image_named_in(value: dict[str, Any]) -> str:
    """
    Raises
    ------
    LineError
    """
    name = next((name for name in IMAGE_NAMES if name in value), None)
    if name is None:
        raise LineError(_("No image is named. Give its key, file name or SHA-256 as “image”."))
    return image_named(name, value[name])


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
