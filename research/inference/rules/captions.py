"""Captions of models as values: what a line may hold, and how a stabiliser and its caption are split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from crosslens_metrics.formats.caption_rows import CaptionRow, caption_texts, language_tag
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.hidden_characters import has_hidden

MAX_MODEL_NAME_CHARACTERS = 120


@dataclass(frozen=True)
class ModelText:
    """One caption of a line, by whom and in which language. `had_hidden`: hidden characters were removed from it."""

    model: str
    language: str
    text: str
    had_hidden: bool


def texts_of_models(
    row: CaptionRow, *, model: str, language: str, otherwise: str = ""
) -> Iterator[ModelText | LineError]:
    """Read the captions of a line of any layout; what it does not say is as `model` and `language` have it.

    A `model` that is given stands for whatever the line calls it. Captions that do not say their language are in
    `otherwise`, if no `language` is given. A line in another language than the one given is an
    error, because captions of two languages would be taken for one's.
    """
    for given in row.captions:
        try:
            tag = language_tag(given.language, row.name) if given.language else language or otherwise
            if not tag:
                raise LineError(_("No language is given. Choose the language of the file."), row.name)
            if language and tag != language:
                raise LineError(in_another_language() % {"named": tag, "language": language}, row.name)
            by = model or given.model
            if not by or len(by) > MAX_MODEL_NAME_CHARACTERS:
                raise LineError(
                    _("No model is named, or its name is longer than %(limit)s characters. Give the model's name.")
                    % {"limit": MAX_MODEL_NAME_CHARACTERS},
                    row.name,
                )
            texts, refused = caption_texts(given.value, row.name)
            texts = list(dict.fromkeys(texts))
            if (count := len(texts) + len(refused)) != 1:
                message = _("There are %(count)s captions. A model has one for each image and language.")
                raise LineError(message % {"count": count}, row.name, captions=max(1, count))
            if refused:
                raise refused[0]
            written = given.value if isinstance(given.value, str) else given.value[0]
            yield ModelText(by, tag, texts[0], has_hidden(written))
        except LineError as error:
            yield error


def in_another_language() -> str:
    """Say that a line is in another language than its file: a message with both."""
    return _(
        "The line says that its caption is in %(named)s, but the file is imported as %(language)s. Put captions of "
        "different languages into different files."
    )


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
