"""Lines of a file of items: a sentence with a gap, the word, its images. No message repeats the word."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from core.images.rules.manifests import ImageAttribution, attribution_of
from core.languages.rules.scripts import LanguageTraits
from crosslens_metrics.formats.lines import LineFields
from crosslens_metrics.formats.names import normalised_name
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.records import is_text
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag
from crosslens_metrics.text import folded, is_wordy, occurrences, stands_in
from gapgame.rules.play import MAX_GUESS_CHARACTERS

MIN_STEM_CHARACTERS = 4
"""(ours) How many first characters two words share to be taken for forms of one word."""

MIN_PART_CHARACTERS = 3
"""(ours) A shorter word is not searched inside others: too many contain it by chance."""
EXAMPLE = '{"sentence": …, "word": …, "images": […]}'
MAX_WORD_CHARACTERS = MAX_GUESS_CHARACTERS
MAX_SENTENCE_CHARACTERS = 500
MAX_KEY_CHARACTERS = 200
MAX_REFERENCE_CHARACTERS = 500
MAX_SENSE_CHARACTERS = 100
MAX_SENSES = 100
MAX_IMAGES = 100
SPLITS = range(5)
SPLIT_NAME = re.compile(r"(?:intersect_)?([0-9])")
BLANK = re.compile("_{3,}")
LINE_BREAKS = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")
TURNERS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def stem_in(text: str, word: str, *, spaced: bool, language: str = "") -> bool:
    """Return whether a word of `text` contains `word`, is part of it, or begins like it, giving it away (ours)."""
    if not spaced:
        return False  # any part of the text that equals the word is an occurrence there
    wanted = folded(word, language=language)
    return any(_is_akin(wanted, other) for other in words_of(folded(text, language=language)))


def words_of(text: str) -> Iterator[str]:
    """Return the runs of letters, marks and digits."""
    run = ""
    for character in text:
        if is_wordy(character):
            run += character
        elif run:
            yield run
            run = ""
    if run:
        yield run


def is_named_in(text: str, word: str) -> bool:
    """Return whether `text`, such as a file name or a title, contains `word`, inside other words too."""
    wanted = folded(word)
    joined = folded(re.sub(r"[\W_]+", " ", text))
    plain = folded(re.sub(r"[\W_]+", " ", word))
    if len(wanted) < MIN_PART_CHARACTERS and wanted.isascii():
        return wanted in words_of(folded(text)) or plain in joined.split()
    return wanted in folded(text) or (bool(plain.strip()) and plain in joined)


def _is_akin(word: str, other: str) -> bool:
    shorter, longer = sorted((word, other), key=len)
    if len(shorter) >= MIN_PART_CHARACTERS and shorter in longer and (shorter == word or longer.startswith(shorter)):
        return True
    common = next((place for place, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), len(shorter))
    return common >= max(MIN_STEM_CHARACTERS, 3 * len(longer) / 5)


@dataclass(frozen=True)
class ImageReference:
    """How a line names an image (key, file name, SHA-256 or path), and its credits."""

    name: str
    attribution: ImageAttribution


@dataclass(frozen=True)
class ItemLine:
    """`before` + the gap + `after` is the sentence, in NFC. `representative` is an index in `images`, or None."""

    key: str
    language: str
    before: str
    after: str
    word: str
    split: int
    sense: tuple[str, ...]
    images: tuple[ImageReference, ...]
    representative: int | None
    warnings: tuple[str, ...]


def item_line(value: Any, *, languages: Mapping[str, LanguageTraits]) -> ItemLine:
    """Raises LineError with the reason, for the author of the file."""
    fields = LineFields(value, example=EXAMPLE)
    tag = _language(value.get("language"), languages)
    spaced = languages[tag].spaced
    word = _word(fields)
    before, after = _parts(value, word, spaced=spaced, language=tag)
    images, representative = _images(fields)
    split, sense = split_of(value.get("split")), _sense(value.get("sense"))
    given = fields.text("key", longest=MAX_KEY_CHARACTERS)
    if not given.isprintable():
        raise LineError(_("The key has control characters. Remove them."))
    if why := value.get("unplayable"):
        raise LineError(_("The corpus says that the word cannot be asked for: %(why)s.") % {"why": str(why)[:40]})
    warnings = []
    if len(images) < len(value["images"]):
        warnings.append(_("An image is named twice. It is used once."))
    if any(stem_in(part, word, spaced=spaced, language=tag) for part in (before, after)):
        warnings.append(_("Another word in the sentence looks like a form of the word and may give it away."))
    return ItemLine(
        key=given or key_of(tag, before, after, word),
        language=tag,
        before=before,
        after=after,
        word=word,
        split=split,
        sense=sense,
        images=images,
        representative=representative,
        warnings=tuple(warnings),
    )


def key_of(language: str, before: str, after: str, word: str) -> str:
    """Return the key of an item without one: the same for the same sentence, gap and word."""
    content = "\0".join((language, before, after, word))
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _language(given: Any, languages: Mapping[str, LanguageTraits]) -> str:
    if not isinstance(given, str) or not given.strip():
        raise LineError(_("There is no language. Give its tag as “language”, for example en."))
    try:
        tag = canonical_tag(given)
    except MalformedTagError:
        tag = ""
    if tag not in languages:
        raise LineError(_("The language “%(tag)s” is not in the table of languages.") % {"tag": given[:40]})
    return tag


def _word(fields: LineFields) -> str:
    word = unicodedata.normalize("NFC", fields.text("word", needed=True))
    if len(word) > MAX_WORD_CHARACTERS:
        raise LineError(
            _("The word has %(length)s characters. It can have at most %(limit)s.")
            % {"length": len(word), "limit": MAX_WORD_CHARACTERS}
        )
    if not any(unicodedata.category(character)[0] in "LN" for character in word):
        raise LineError(_("The word has no letter or digit."))
    if not word.isprintable() and not _is_joined(word):
        raise LineError(_("The word contains control characters. Remove them."))
    return word


def _is_joined(word: str) -> bool:
    return all(character.isprintable() or character in "\u200c\u200d" for character in word)


def _parts(value: Mapping[str, Any], word: str, *, spaced: bool, language: str) -> tuple[str, str]:
    sentence = value.get("sentence")
    if not isinstance(sentence, str) or not sentence.strip() or not is_text(sentence):
        raise LineError(_("There is no “sentence”."))
    if len(sentence) > MAX_SENTENCE_CHARACTERS:
        raise LineError(
            _("The sentence has %(length)s characters. It can have at most %(limit)s.")
            % {"length": len(sentence), "limit": MAX_SENTENCE_CHARACTERS}
        )
    if TURNERS.search(sentence):
        raise LineError(_("The sentence contains invisible characters that change its direction. Remove them."))
    start, end = _gap(sentence, word, value.get("start"), spaced=spaced)
    before, after = _tidy(sentence[:start]).lstrip(), _tidy(sentence[end:]).rstrip()
    if not any(unicodedata.category(character)[0] in "LN" for character in before + after):
        raise LineError(_("The sentence has no words besides the gap."))
    if not (before + after).isprintable() and not all(
        character.isprintable() or unicodedata.category(character) in ("Cf", "Zs") for character in before + after
    ):
        raise LineError(_("The sentence contains control characters. Remove them."))
    if any(stands_in(part, word, spaced=spaced, language=language) for part in (before, after)):
        raise LineError(_("The word also occurs outside the gap, which gives it away. Choose another sentence."))
    return before, after


def _tidy(text: str) -> str:
    return LINE_BREAKS.sub(" ", unicodedata.normalize("NFC", text))


def _gap(sentence: str, word: str, start: Any, *, spaced: bool) -> tuple[int, int]:
    """Return the start and end of the blank, in characters of the sentence as given."""
    if start is not None and (isinstance(start, bool) or not isinstance(start, int) or start < 0):
        raise LineError(_("“start” is not a whole number from 0."))
    blanks = [match.span() for match in BLANK.finditer(sentence)]
    if len(blanks) > 1:
        raise LineError(_("The sentence has %(count)s blanks. There must be exactly one.") % {"count": len(blanks)})
    if blanks:
        if start is not None and start != blanks[0][0]:
            raise LineError(_("“start” is not where the blank starts. Remove “start”."))
        return blanks[0]
    if start is not None:
        return start, _end_of(sentence, word, start)
    occurrence = _found(sentence, word, spaced=spaced)
    if not occurrence and word.casefold() in sentence.casefold():
        raise LineError(
            _(
                "The word occurs only inside other words. Put a blank (___) where it was, or give its position "
                "as “start”."
            )
        )
    if not occurrence:
        raise LineError(_("There is no gap: the sentence contains neither a blank (___) nor the word."))
    if len(occurrence) > 1:
        raise LineError(
            _("The word occurs %(count)s times, which would give it away. Choose another sentence.")
            % {"count": len(occurrence)}
        )
    return occurrence[0]


def _found(sentence: str, word: str, *, spaced: bool) -> list[tuple[int, int]]:
    places = [
        span
        for spelling in dict.fromkeys((word, unicodedata.normalize("NFD", word)))
        for span in occurrences(sentence, spelling, spaced=spaced)
    ]
    return sorted(set(places))


def _end_of(sentence: str, word: str, start: int) -> int:
    for spelling in (word, unicodedata.normalize("NFD", word)):
        end = start + len(spelling)
        if unicodedata.normalize("NFC", sentence[start:end]).casefold() == word.casefold():
            return end
    raise LineError(_("The word is not at “start”, which counts characters from 0."))


def split_of(given: Any) -> int:
    """Return the number of a split, from its number or name.

    Raises LineError.
    """
    if isinstance(given, int) and not isinstance(given, bool) and given in SPLITS:
        return given
    match = SPLIT_NAME.fullmatch(given.strip()) if isinstance(given, str) else None
    if match and int(match[1]) in SPLITS:
        return int(match[1])
    raise LineError(_("Unknown split: give “split” as intersect_0, intersect_1 and so on up to intersect_4."))


def _sense(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, list):
        raise LineError(_('“sense” is not a list. Write the ids of synsets as ["…", "…"].'))
    if len(given) > MAX_SENSES or not all(
        isinstance(sense, str) and is_text(sense) and 0 < len(sense.strip()) <= MAX_SENSE_CHARACTERS for sense in given
    ):
        raise LineError(
            _("“sense” must be a list of at most %(count)s texts of at most %(limit)s characters each.")
            % {"count": MAX_SENSES, "limit": MAX_SENSE_CHARACTERS}
        )
    return tuple(dict.fromkeys(sense.strip() for sense in given))


def _images(fields: LineFields) -> tuple[tuple[ImageReference, ...], int | None]:
    given = fields.list("images")
    if not given:
        raise LineError(_("There are no images. Name at least one."))
    if len(given) > MAX_IMAGES:
        raise LineError(
            _("There are %(count)s images. There can be at most %(limit)s.")
            % {"count": len(given), "limit": MAX_IMAGES}
        )
    by_name: dict[str, ImageReference] = {}
    for reference in _references(given):
        by_name.setdefault(reference.name, reference)
    chosen = fields.text("representative", longest=MAX_REFERENCE_CHARACTERS)
    if chosen and chosen not in by_name:
        raise LineError(_("“representative” is not one of the images on this line."))
    return tuple(by_name.values()), list(by_name).index(chosen) if chosen else None


def _references(given: list[Any]) -> Iterator[ImageReference]:
    for number, image in enumerate(given, start=1):
        about = image if isinstance(image, dict) else {"file": image}
        name = about.get("file")
        if not isinstance(name, str) or not name.strip() or not is_text(name) or len(name) > MAX_REFERENCE_CHARACTERS:
            raise LineError(_("Image %(number)s must be a text or an object with “file”.") % {"number": number})
        try:
            attribution = attribution_of({key: value for key, value in about.items() if key != "file"})
        except ValueError as wrong:
            raise LineError(_("Image %(number)s: %(reason)s") % {"number": number, "reason": wrong}) from wrong
        yield ImageReference(normalised_name(name), attribution)
