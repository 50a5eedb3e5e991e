"""Count the captions of a file, by model and language, and find out who wrote them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from crosslens_metrics.formats.caption_rows import CaptionRow, GivenCaptions, caption_texts, given_texts, language_tag
from crosslens_metrics.formats.file_names import RESULTS_NAME, language_in_name, model_in_name, stem_of
from crosslens_metrics.formats.layouts import FileLayout
from crosslens_metrics.formats.object_rows import Rows
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.recognised_files import (
    BY_BOTH,
    BY_MODELS,
    BY_PEOPLE,
    CAPTIONS_BY_PEOPLE,
    MODEL_CAPTIONS,
    REFERENCES,
    UNKNOWN_KIND,
    UNKNOWN_LANGUAGE,
    CaptionPlace,
    GivenAnswers,
    RecognisedFile,
)
from crosslens_metrics.formats.table_parts import FileKind
from crosslens_metrics.messages import gettext as _

WITH_REFERENCES = ("COCO", "Karpathy", "Flickr30k", "Crossmodal-3600", "Multi30k")
"""Layouts of data sets whose captions are people's."""


def count_captions(file: RecognisedFile, layout: FileLayout, rows: Rows, answers: GivenAnswers) -> None:
    """Note in `file` what its rows hold; those of captions say what the file is, too."""
    counted = _CountedCaptions(file, layout, answers)
    for row in rows:
        counted.add(row)
    if file.kind == FileKind.CAPTIONS:
        counted.close()


class _CountedCaptions:
    """Counts the captions of a file, and finds out who wrote them.

    A model has one caption of an image in a language: an equal one counts once, and different ones are a problem.
    """

    def __init__(self, file: RecognisedFile, layout: FileLayout, answers: GivenAnswers) -> None:
        self.file, self.layout, self.model = file, layout, answers.model
        self.are_by_people = answers.kind in (REFERENCES, CAPTIONS_BY_PEOPLE) and file.written_by != BY_MODELS
        self.writers: set[bool] = set()
        self.otherwise = answers.language or language_in_name(file.path) or UNKNOWN_LANGUAGE
        self.assumed = model_in_name(file.path) if layout.is_of_model and not layout.says_models else ""
        self.names_model = bool(answers.model)
        self.tags: dict[str, str] = {}
        self.of_people: Counter[tuple[str, str]] = Counter()
        self.of_models: dict[CaptionPlace, int] = {}
        """The hash of the first caption."""
        self.others: dict[CaptionPlace, set[int]] = {}
        """The hashes of those that differ from it."""
        self.example = ""

    def add(self, row: CaptionRow | LineError) -> None:
        file = self.file
        if isinstance(row, LineError):
            file.add_problem(row.reason, _example(row.number, row.name), row.captions)
            return
        if not any(given_texts(given.value) for given in row.captions) and file.kind == FileKind.CAPTIONS:
            file.add_problem(_("There is no caption."), _example(row.number, row.name))
        for given in row.captions:
            self._add(row, given)
        file.images[row.names] = None

    def _add(self, row: CaptionRow, given: GivenCaptions) -> None:
        file = self.file
        by = "" if self.are_by_people else self.model or given.model or self.assumed
        self.names_model |= bool(given.model)
        if self.layout.says_models and not by and not self.are_by_people:
            file.add_problem(_("The line names no model."), _example(row.number, row.name))
        try:
            tag = self.otherwise if given.language is None else _tag(given.language, row.name, self.tags)
            texts, refused = caption_texts(given.value, row.name)
        except LineError as error:
            texts, refused = [], [error]
        for problem in refused:
            file.add_problem(problem.reason, _example(row.number, row.name))
        if not texts:
            return
        self.writers.add(bool(given.model))
        file.assumed_language = tag if given.language is None and tag != UNKNOWN_LANGUAGE else file.assumed_language
        count = len(texts)
        if by:
            count = sum(self._is_new(text, CaptionPlace(row.name, tag, by), row.number) for text in texts)
            file.assumed_model = by if by != given.model else file.assumed_model
            file.models[by][tag] += count
        else:
            self.of_people[row.name, tag] += count
        file.languages[tag] += count

    def _is_new(self, text: str, place: CaptionPlace, number: int) -> bool:
        """Whether the file did not have the same caption by the model before."""
        digest = hash(text)
        if place not in self.of_models:
            self.of_models[place] = digest
            return True
        others = self.others.get(place, set())
        if digest == self.of_models[place] or digest in others:
            return False
        self.others[place] = others | {digest}
        self.example = self.example or _example(number, place.image)
        return True

    def close(self) -> None:
        """Say what the file is, and what is wrong with it as a whole."""
        file, most = self.file, max(self.of_people.values(), default=0)
        if len(self.writers) > 1 and not self.layout.says_models and not self.model:
            file.written_by = BY_BOTH
            return
        if self.others and not self.names_model and not RESULTS_NAME.fullmatch(stem_of(file.path)):
            # Only the layout is a model's, and several captions of an image are rather people's: somebody has to say.
            file.models.clear()
            file.assumed_model = ""
        elif file.models:
            file.kind = MODEL_CAPTIONS
            file.differing = frozenset(self.others)
        elif most > 1 or file.written_by == BY_PEOPLE or file.layout.startswith(WITH_REFERENCES):
            file.kind = REFERENCES
        if file.differing:
            count = len(self.others) + sum(map(len, self.others.values()))
            file.add_problem(differing_captions(), self.example, count)
        if not file.languages:
            # Of several people's files, that of somebody who wrote nothing is left out.
            file.kind = file.kind if file.problems else UNKNOWN_KIND
            file.add_problem(_("The file has no captions."), file.path)
        elif file.languages[UNKNOWN_LANGUAGE]:
            reason = _("The file does not say which language its captions are in. Say which it is.")
            file.add_problem(reason, file.path, file.languages[UNKNOWN_LANGUAGE])


def differing_captions() -> str:
    """Say why none of a model's captions of an image is taken."""
    return _(
        "The file has different captions of this image by one model, and none of them is taken. Keep one in the file, "
        "or give each its own model name."
    )


def _tag(written: Any, image: str, known: dict[str, str]) -> str:
    if not isinstance(written, str) or written not in known:
        tag = language_tag(written, image)
        known[written] = tag
    return known[written]


def _example(number: int, name: str) -> str:
    line = _("line %(number)s") % {"number": number}
    return f"{line}: {name}" if name else line
