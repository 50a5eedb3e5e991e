"""Lines about captions of an image in one form, whatever the names of their fields or columns."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from crosslens_metrics.formats.names import image_name, readable_name
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.records import is_text
from crosslens_metrics.hidden_characters import visible_text
from crosslens_metrics.language_tags import NAMES_IN_FILES, MalformedTagError, canonical_tag
from crosslens_metrics.messages import gettext as _

IMAGE, CAPTION, LANGUAGE, MODEL = "image", "caption", "language", "model"
PARTS = (IMAGE, CAPTION, LANGUAGE, MODEL)

XM3600_KEY = "image/key"
FIELDS: Mapping[str, tuple[str, ...]] = {
    IMAGE: (
        *("image", XM3600_KEY, "key", "file_name", "filename", "image_name", "image_path", "image_file", "file"),
        *("imagename", "img", "photo", "picture", "image_id", "img_id", "url", "image_url"),
    ),
    CAPTION: (
        *("caption", "captions", "text", "texts", "sentence", "sentences", "raw", "description", "descriptions"),
        *("comment", "reference", "references", "candidate", "caption_str"),
    ),
    LANGUAGE: NAMES_IN_FILES,
    MODEL: ("model", "model_name", "system", "system_name"),
}
"""What files call the parts of a line, the likeliest first, in any case."""

IN_LANGUAGE = re.compile(r"(?:captions?|text|description)[ _.(-]+([A-Za-z]{2,3}(?:[-_][A-Za-z]{2,4})?)\)?")
"""A column with the captions of one language."""

INDONESIAN = "id"
"""As the name of a column it is more often a number."""

MAX_REFERENCE_CHARACTERS = 500
MAX_CAPTION_CHARACTERS = 2_000
MAX_PER_IMAGE = 1_000
"""Captions of one image in one language."""

KNOWN_LANGUAGES = frozenset(
    (
        *("ar", "bn", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fil", "fr", "he", "hi", "hr", "hu", "id", "it"),
        *("ja", "ko", "mi", "nl", "no", "pl", "pt", "quz", "ro", "ru", "sv", "sw", "te", "th", "tr", "uk", "vi", "zh"),
    )
)
"""Those of Crossmodal-3600, after which a column or a file may be named. Any other language has to be said."""


class GivenCaptions(NamedTuple):
    """A text or a list of texts, unchecked, with its language as it is written, None where it is not, and its model."""

    value: Any
    language: Any = None
    model: str = ""


class CaptionRow(NamedTuple):
    """What one line or entry says of an image; `names` are those that it may go by, the likeliest first."""

    number: int
    names: tuple[str, ...]
    captions: Sequence[GivenCaptions]

    @property
    def name(self) -> str:
        return self.names[0]


@dataclass(frozen=True)
class FieldNames:
    """Which fields of a line hold what. `by_language` has those that are named after a language, and its tag."""

    images: Sequence[str]
    captions: Sequence[str]
    language: str
    model: str
    by_language: Mapping[str, str]

    @property
    def has_captions(self) -> bool:
        return bool(self.images and (self.captions or self.by_language))


class RowReader:
    """Reads lines whose fields have whatever names; `said` has those that somebody gave, by part of the line."""

    def __init__(self, said: Mapping[str, str] | None = None) -> None:
        self._said = {part: folded_column(name) for part, name in (said or {}).items()}
        self._known: dict[tuple[str, ...], FieldNames] = {}

    def fields(self, value: Mapping[str, Any]) -> FieldNames:
        names = tuple(value)
        if names not in self._known:
            self._known[names] = self._found(names)
        return self._known[names]

    def row(self, number: int, value: Any) -> CaptionRow:
        """Raises LineError where the line is no object, or names no image."""
        if not isinstance(value, dict):
            raise LineError(_("This is not a JSON object with “image” and “caption”."))
        fields = self.fields(value)
        given = [name for name in fields.images if value[name] not in (None, "")]
        names = dict.fromkeys(image_named(name, value[name]) for name in given)
        if not names:
            raise LineError(_("No image is named. Give its key, file name or SHA-256 as “image”."))
        language = value[fields.language] if fields.language else None
        captions = [(language or None, value[name]) for name in fields.captions]
        if len(captions) > 1:
            raise LineError(_("This has both “caption” and “captions”. Give only one of them."), next(iter(names)))
        by_tag = [(fields.by_language.get(name, name), of) for name, of in value.items() if isinstance(of, dict)]
        captions += [(tag, of["caption"]) for tag, of in by_tag if "caption" in of]
        captions += [
            (tag, value[name])
            for name, tag in fields.by_language.items()
            if _is_said(value[name]) and not (folded_column(name) == INDONESIAN and str(value[name]).isdecimal())
        ]
        model = value[fields.model] if fields.model else ""
        by = readable_name(model) if isinstance(model, str) else ""
        return CaptionRow(number, tuple(names), [GivenCaptions(given, tag, by) for tag, given in captions])

    def _found(self, names: Sequence[str]) -> FieldNames:
        alike = {folded_column(name): name for name in reversed(names)}

        def known(part: str) -> list[str]:
            # Among several files one may lack the column that was said.
            said = self._said.get(part)
            wanted = (said,) if said in alike else FIELDS[part]
            return [alike[name] for name in wanted if name in alike]

        images, captions = known(IMAGE), known(CAPTION)
        if not {"caption", "captions"} <= set(map(folded_column, captions)):
            captions = captions[:1]
        by_language = {} if captions else {name: tag for name in names if (tag := language_of_column(name))}
        if by_language and images and INDONESIAN in alike:
            # Beside columns of other languages it is one too; `row` leaves out numbers.
            by_language[alike[INDONESIAN]] = INDONESIAN
        return FieldNames(images, captions, next(iter(known(LANGUAGE)), ""), next(iter(known(MODEL)), ""), by_language)


def _is_said(value: Any) -> bool:
    return bool(value) and not isinstance(value, dict)


def folded_column(name: str) -> str:
    return "_".join(name.lower().split())


def language_of_column(name: str) -> str:
    """The language whose captions the column holds, going by its name; "" if it does not say."""
    bare = name.strip()
    if match := IN_LANGUAGE.fullmatch(bare):
        bare = match[1]
    try:
        tag = canonical_tag(bare)
    except MalformedTagError:
        return ""
    return tag if tag.split("-")[0] in KNOWN_LANGUAGES and (match or bare.lower() != "id") else ""


def is_language(tag: str) -> bool:
    """Whether a name is the tag of one of the known languages, with or without a region."""
    try:
        return canonical_tag(tag).split("-")[0] in KNOWN_LANGUAGES
    except MalformedTagError:
        return False


def is_address(name: str) -> bool:
    return name.startswith(("https://", "http://"))


def image_named(field: str, given: Any) -> str:
    """Raises LineError."""
    name = image_name(given.partition("?")[0] if isinstance(given, str) and is_address(given) else given)
    if name is None or not is_text(name):
        raise LineError(_("“%(name)s” must be text or a whole number.") % {"name": field})
    return name[:MAX_REFERENCE_CHARACTERS]


def caption_texts(value: Any, image: str) -> tuple[list[str], list[LineError]]:
    """The captions that stand in one place, in the form in which they are kept, and what is wrong with the others.

    Raises LineError.
    """
    texts = given_texts(value)
    if len(texts) > MAX_PER_IMAGE:
        message = _("There are %(count)s captions of one image. The most allowed is %(limit)s.")
        raise LineError(message % {"count": len(texts), "limit": MAX_PER_IMAGE}, image)
    taken, refused = [], []
    for text in texts:
        try:
            taken.append(caption_text(text, image))
        except LineError as error:
            refused.append(error)
    return taken, refused


def given_texts(value: Any) -> list[Any]:
    """What stands in one place as a list, unchecked: a text, a list, or a list that a table has in one cell as JSON."""
    if isinstance(value, str) and value.startswith(('["', '{"text"')):
        with suppress(ValueError):  # A caption in brackets.
            value = json.loads(value)
    if isinstance(value, dict) and "text" in value:  # Several texts in Label Studio's short layouts.
        value = value["text"]
    return value if isinstance(value, list) else [value]


def caption_text(value: Any, image: str) -> str:
    """Return a caption in NFC, without hidden characters and blanks around it.

    Raises LineError.
    """
    if value is None:
        raise LineError(_("There is no caption."), image)
    if not isinstance(value, str):
        raise LineError(_("The caption must be text."), image)
    if not is_text(value):
        raise LineError(_("The caption contains invalid characters."), image)
    text = unicodedata.normalize("NFC", visible_text(value)).strip()
    if not any(unicodedata.category(character)[0] not in "CZ" for character in text):
        raise LineError(_("The caption is empty."), image)
    if len(text) > MAX_CAPTION_CHARACTERS:
        message = _("The caption has %(length)s characters. The most allowed is %(limit)s.")
        raise LineError(message % {"length": len(text), "limit": MAX_CAPTION_CHARACTERS}, image)
    return text


def language_tag(named: Any, image: str) -> str:
    """Return the tag of a language that a line names.

    Raises LineError.
    """
    if not isinstance(named, str):
        raise LineError(_("“language” must be text."), image)
    try:
        return canonical_tag(named)
    except MalformedTagError as error:
        raise LineError(str(error), image) from error
