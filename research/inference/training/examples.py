"""Captions to learn from: read, split by image, and made into what the model is to write."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.languages.rules.registry import ENGLISH
from crosslens_metrics.cider import cider
from crosslens_metrics.formats.caption_rows import language_tag
from crosslens_metrics.formats.lines import LineFields, LineReader
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.records import is_text
from crosslens_metrics.language_tags import language_named_in, spaces_separate_words
from crosslens_metrics.text import Tokenizer, tokenise, tokenise_groups
from research.inference.training.options import TrainingError, TrainingTargets

LINE = '{"image": …, "caption": …, "language": …}'


@dataclass(frozen=True)
class TrainingExample:
    """A caption of an image; `stabiliser` is the English text that a pivot-stabilised model writes before it."""

    image: str
    language: str
    caption: str
    stabiliser: str = ""


def read_examples(path: Path, *, language: str = "") -> list[TrainingExample]:
    """Read captions from JSON lines, in the order of the file.

    Each line has `image`, `caption` or `captions`, `language` unless it is given here, and perhaps `stabiliser`, or
    `stabilisers`, one for each caption.

    Raises crosslens_metrics.formats.problems.FileProblemsError.
    """
    examples: list[TrainingExample] = []
    with LineReader(path) as reader:
        for record in reader.records():
            with reader.line(record):
                fields = LineFields(record.value, example=LINE)
                image = fields.image()
                named = language_named_in(fields.values)
                tag = language_tag(named, image) if named else language
                if not tag:
                    raise LineError(f"image {image} needs “language”, the tag of its captions' language.")
                captions = [fields.values["caption"]] if "caption" in fields.values else fields.list("captions")
                if not captions or not all(isinstance(one, str) and is_text(one) for one in captions):
                    raise LineError(f"image {image} needs “caption”, a text, or “captions”, a list of texts.")
                stabilisers = [fields.text("stabiliser")] * len(captions)
                if "stabilisers" in fields.values:
                    stabilisers = fields.list("stabilisers")
                    if len(stabilisers) != len(captions) or not all(isinstance(one, str) for one in stabilisers):
                        raise LineError(f"image {image} needs as many “stabilisers”, texts, as it has captions.")
                pairs = zip(captions, stabilisers, strict=True)
                examples += [
                    TrainingExample(image, tag, " ".join(one.split()), stabiliser) for one, stabiliser in pairs
                ]
        if not examples and not reader.problems:
            reader.refuse("The file holds no captions.")
    return examples


def split_by_image(
    examples: Sequence[TrainingExample], *, share: float, seed: int
) -> tuple[list[TrainingExample], list[TrainingExample]]:
    """Split into training and validation, all captions of an image on one side.

    An image's side follows from its name and the seed, so that more captions of the same images change nothing.

    Raises TrainingError where one of the sides would be empty.
    """
    if not 0 < share < 1:
        raise TrainingError(_("The share for validation must be between 0 and 1."))
    images = sorted({example.image for example in examples}, key=lambda image: _drawn(image, seed))
    number = max(1, round(share * len(images)))
    if number >= len(images):
        raise TrainingError(
            _(
                "Too few images have captions to keep some of them for validation: %(images)s. Give more images, or a "
                "smaller share for validation."
            )
            % {"images": len(images)}
        )
    kept = set(images[:number])
    return (
        [example for example in examples if example.image not in kept],
        [example for example in examples if example.image in kept],
    )


def check_split(
    training: Sequence[TrainingExample], validation: Sequence[TrainingExample], *, evaluated: Collection[str] = ()
) -> None:
    """Refuse splits that are empty or share images, and images of an evaluation set.

    Raises TrainingError.
    """
    for examples, name in ((training, _("training")), (validation, _("validation"))):
        if not examples:
            raise TrainingError(_("There are no captions for %(split)s.") % {"split": name})
    ours = {example.image for example in training}
    both = sorted(ours & {example.image for example in validation})
    if both:
        raise TrainingError(
            ngettext(
                "%(number)s image is in training and in validation: %(image)s. Give it to one of them.",
                "%(number)s images are in training and in validation, for example %(image)s. Give each to one of them.",
                len(both),
            )
            % {"number": len(both), "image": both[0]}
        )
    forbidden = sorted((ours | {example.image for example in validation}) & set(evaluated))
    if forbidden:
        raise TrainingError(
            ngettext(
                "%(number)s image belongs to an evaluation set: %(image)s. A model that has seen it cannot be "
                "evaluated on it: leave it out.",
                "%(number)s images belong to an evaluation set, for example %(image)s. A model that has seen them "
                "cannot be evaluated on them: leave them out.",
                len(forbidden),
            )
            % {"number": len(forbidden), "image": forbidden[0]}
        )


def as_targets(examples: Sequence[TrainingExample], targets: TrainingTargets) -> list[TrainingExample]:
    """Give each example the stabiliser that the model is to write before its caption.

    With `PIVOT`, it is the one given or, of captions without, the English caption of the image at the same place, such
    as the one that it was translated from. With `CONSISTENT`, it is the first of the image for all of its captions.

    Raises TrainingError where an image has no English caption and no stabiliser.
    """
    if targets == TrainingTargets.PLAIN:
        return [replace(example, stabiliser="") for example in examples]
    english: dict[str, list[str]] = defaultdict(list)
    for example in examples:
        if example.language == ENGLISH:
            english[example.image].append(example.caption)
    places: dict[tuple[str, str], int] = defaultdict(int)
    firsts: dict[str, str] = {}
    found = []
    for example in examples:
        place = places[example.image, example.language]
        places[example.image, example.language] += 1
        captions = english[example.image]
        stabiliser = example.stabiliser or (captions[min(place, len(captions) - 1)] if captions else "")
        if not stabiliser:
            raise TrainingError(
                _("Image %(image)s has neither a stabiliser nor an English caption, which could be it.")
                % {"image": example.image}
            )
        if targets == TrainingTargets.CONSISTENT:
            stabiliser = firsts.setdefault(example.image, captions[0] if captions else stabiliser)
        found.append(replace(example, stabiliser=stabiliser))
    return found


def digest_of(examples: Iterable[TrainingExample]) -> str:
    """SHA-256 of captions in their order."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(json.dumps(astuple(example), ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()


def _drawn(image: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}\0{image}".encode()).hexdigest()


def cider_of(captions: dict[str, str], references: dict[str, list[str]], language: str) -> float:
    """Compute the CIDEr of a caption for each image, on the ×100 scale."""
    tokenizer = Tokenizer.WHITESPACE if spaces_separate_words(language) else Tokenizer.ICU
    candidates = tokenise(
        [captions[name] for name in references], tokenizer=tokenizer, language=language, normalise=True
    )
    groups = tokenise_groups(list(references.values()), tokenizer=tokenizer, language=language, normalise=True)
    return 100 * cider(candidates, groups).corpus
