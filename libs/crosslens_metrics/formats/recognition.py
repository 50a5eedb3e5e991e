"""Tell what is in files before anything of them is stored: which captions, in which languages, of which images."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from crosslens_metrics.formats import limits
from crosslens_metrics.formats.caption_rows import (
    KNOWN_LANGUAGES,
    CaptionRow,
    GivenCaptions,
    caption_texts,
    given_texts,
    image_named,
    language_tag,
)
from crosslens_metrics.formats.layouts import FileLayout, layout_of
from crosslens_metrics.formats.manifests import METADATA, chosen_manifest, files_beside, images_named, is_manifest
from crosslens_metrics.formats.names import ImageNames
from crosslens_metrics.formats.object_rows import Rows
from crosslens_metrics.formats.parts import TAR_SUFFIXES, FilePart, FilesBeside, container_of, parts_of
from crosslens_metrics.formats.problems import FileRefusedError, LayoutError, LineError
from crosslens_metrics.formats.records import is_text, limited_lines
from crosslens_metrics.formats.table_parts import FileKind
from crosslens_metrics.language_tags import canonical_tag
from crosslens_metrics.messages import gettext as _

UNKNOWN_LANGUAGE = "und"
"""BCP 47's tag for a language that nobody has determined."""
UNKNOWN_KIND, MODEL_CAPTIONS, REFERENCES = "unknown", "model captions", "references"
CAPTIONS_BY_PEOPLE = "captions by people"
"""That were not made to score models with, but are a project's own."""
BY_PEOPLE, BY_MODELS, BY_BOTH = "people", "models", "both"
"""Who wrote the captions of a file whose lines have both, as tasks of Label Studio do."""
WITH_REFERENCES = ("COCO", "Karpathy", "Flickr30k", "Crossmodal-3600", "Multi30k")
"""Layouts of data sets whose captions are people's."""

SUFFIX = re.compile(r"\.(?:jsonl?|ndjson|csv|tsv|txt|parquet|xlsx|gz|zip|tar|tgz)$", re.IGNORECASE)
LANGUAGE_AT_END = re.compile(r"(?:^|[._-])(?P<tag>[A-Za-z]{2,3}(?:[-_][A-Z]{2})?)$")
ALSO_WORDS = frozenset({"id", "no", "it"})
"""Tags that may be other words at the end of a name, unless a point parts them."""
NUMBERED = re.compile(r"(?P<name>.+)\.[0-9]\.(?P<language>[A-Za-z]{2,3})(?:\.(?:gz|txt))*")
RESULTS_NAME = re.compile(r"captions_[^_]+_(?P<model>.+)_results")


class CaptionPlace(NamedTuple):
    """Where a model has one caption: an image by its likeliest name, the tag of a language, and the model's name."""

    image: str
    language: str
    model: str


class _GivenAnswers(NamedTuple):
    """What somebody said of captions that do not say it: their language, their model, and who wrote them."""

    language: str
    model: str
    kind: str


@dataclass
class RecognisedFile:
    """What a file is and holds.

    `languages` counts captions by tag, and `models` those of each model so; `problems` has by reason how many captions
    or lines it is true of, and an example. `layout` is "" and `kind` "unknown" where it was not recognised. `columns`
    are those of a table, with its `first_rows`. `inside` is the folder or archive that it is in, and `part` opens it.
    `assumed_language` and `assumed_model` are those of captions that do not say theirs, and `sentences_of` the images
    of mere sentences. `written_by` is whose captions it stands for, where one file has people's and models': it is
    then two. `differing` are the places of which a model has several captions, so that none can be taken.
    `comparisons` has for judgements the two models, the language, and how many judgements, images and raters there are.
    """

    path: str
    kind: str = UNKNOWN_KIND
    layout: str = ""
    models: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    languages: Counter[str] = field(default_factory=Counter)
    images: dict[tuple[str, ...], None] = field(default_factory=dict)
    problems: dict[str, tuple[int, str]] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    first_rows: Sequence[Sequence[str]] = ()
    inside: str = ""
    part: FilePart | None = None
    assumed_language: str = ""
    assumed_model: str = ""
    sentences_of: Sequence[str] = ()
    written_by: str = ""
    differing: frozenset[CaptionPlace] = frozenset()
    comparisons: list[dict[str, Any]] = field(default_factory=list)

    @property
    def series(self) -> str:
        """What the files of sentences of one image each share: `val.de` of `val.1.de` to `val.5.de`."""
        match = NUMBERED.fullmatch(self.path) if self.sentences_of else None
        return f"{match['name']}.{match['language']}" if match else ""

    @property
    def captions(self) -> int:
        return self.languages.total()

    def add_problem(self, reason: str, example: str, count: int = 1) -> None:
        before, first = self.problems.get(reason, (0, example))
        self.problems[reason] = (before + count, first)


@dataclass(frozen=True)
class RecognisedFiles:
    """What all files are. `image_names` are the names of images that came with them."""

    files: list[RecognisedFile]
    image_names: list[str]

    @cached_property
    def images(self) -> ImageNames[str]:
        """The images that came with the files, each by its name there."""
        return ImageNames({name: name for name in self.image_names})

    def matched(self, file: RecognisedFile) -> int:
        """How many of the images that a file names came with the files."""
        return sum(self.images.first(*names) is not None for names in file.images)


def recognise(
    paths: Sequence[Path],
    *,
    said: Mapping[str, str] | None = None,
    language: str = "",
    model: str = "",
    kind: str = "",
    after_each: Callable[[], None] = lambda: None,
) -> RecognisedFiles:
    """Look through files, folders and archives, and store nothing.

    - `said`: names of columns with the parts of a line, as `layout_of` takes them.
    - `language` and `model`: of captions that do not say theirs.
    - `kind`: what somebody said that captions are; those of people are nobody's model, whatever the lines name.
    - `after_each`: called after each file.
    """
    answers = _GivenAnswers(language, model, kind)
    image_names: list[str] = []
    files: list[RecognisedFile] = []
    sentences: list[tuple[RecognisedFile, FilePart]] = []
    lists: list[list[str]] = []
    for path in paths:
        beside, found = FilesBeside(), list[RecognisedFile]()
        try:
            for part in parts_of(path, beside):
                inside = "" if part.path == str(path) else str(path)
                found.append(file := RecognisedFile(part.path, inside=inside, part=part))
                layout = _look_into(file, part, said, answers)
                if file.written_by == BY_BOTH:
                    found[-1:] = _apart(part, inside, said, answers)
                if layout and layout.kind == FileKind.SENTENCES:
                    sentences.append((file, part))
                if layout and layout.kind == FileKind.NAMES:
                    lists.append(list(_names_in(part)))
                after_each()
        except FileRefusedError as refused:
            found.append(_refused(RecognisedFile(str(path)), refused))
        except OSError as error:
            found.append(_refused(RecognisedFile(str(path)), _unreadable(error)))
        _put_beside(path, beside, found, said)
        image_names += beside.image_names
        files += found or [_refused(RecognisedFile(str(path)), FileRefusedError(_("It has no files.")))]
    for file, part in sentences:
        _put_names_to(file, part, lists, answers)
    return RecognisedFiles(files, image_names)


def _apart(part: FilePart, inside: str, said: Mapping[str, str] | None, answers: _GivenAnswers) -> list[RecognisedFile]:
    """Look at people's captions and models' of one file as if these were two files."""
    files = [RecognisedFile(part.path, inside=inside, part=part, written_by=who) for who in (BY_PEOPLE, BY_MODELS)]
    for file in files:
        _look_into(file, part, said, answers)
    return files


def _put_beside(path: Path, beside: FilesBeside, found: list[RecognisedFile], said: Mapping[str, str] | None) -> None:
    """Put the images of a folder or archive first, and name what is left out of it.

    A manifest among them is about them, so that it is no file of its own, unless it has captions too.
    """
    if beside.image_names:
        within = {file.path.removeprefix(f"{path}/"): file for file in found}
        images = RecognisedFile(str(path), FileKind.IMAGES, container_of(path))
        images.images = dict.fromkeys((name,) for name in beside.image_names)
        found[:] = [images, *(file for file in found if file.kind != FileKind.IMAGES)]
        _put_manifest(within, found, beside, said)
    elif beside.left_out and not found:
        found.append(RecognisedFile(str(path)))
    for reason, names in beside.left_out.items():
        found[0].add_problem(reason, names[0], len(names))


def _put_manifest(
    within: Mapping[str, RecognisedFile],
    found: list[RecognisedFile],
    beside: FilesBeside,
    said: Mapping[str, str] | None,
) -> None:
    """Name the images, first of those found, by the manifest among the files `within`; leave out tables that are none.

    What is called a manifest and cannot be read as one keeps the images out, in the import too.
    """
    among = {*beside.image_names, *within, *(name for names in beside.left_out.values() for name in names)}
    try:
        chosen = chosen_manifest(within, among=among, is_one=lambda name: _is_about_images(within[name], said))
    except FileRefusedError as refused:
        _refused(found[0], refused)
        return
    # Beside a manifest, JSON about an image is not read.
    known = {chosen} if chosen is not None else set(files_beside(among).values())
    for name, file in within.items():
        is_shard = file.inside.lower().endswith(TAR_SUFFIXES)
        is_reported = name not in known and name.rpartition("/")[2].lower() not in METADATA and not is_shard
        if file.kind == FileKind.IMAGES and is_reported:
            beside.put(name)
    if chosen is not None:
        manifest = within[chosen]
        found[:] = [file for file in found if file is not manifest or file.kind != UNKNOWN_KIND]
        try:
            _name_by(manifest, found[0], beside, said)
        except FileRefusedError as refused:
            _refused(found[0], FileRefusedError(f"{chosen}: {refused}"))


def _is_about_images(file: RecognisedFile, said: Mapping[str, str] | None) -> bool:
    """Whether a file is a manifest, also where its columns were named as those of captions."""
    if file.kind != FileKind.IMAGES and file.part is not None:
        with suppress(FileRefusedError, OSError), file.part.opened() as opened:
            return is_manifest(opened) or is_manifest(opened, said)
    return file.kind == FileKind.IMAGES


def _name_by(
    manifest: RecognisedFile, images: RecognisedFile, beside: FilesBeside, said: Mapping[str, str] | None
) -> None:
    """Name images by the keys of a manifest, and say which are only in one of the two.

    Raises FileRefusedError.
    """
    assert manifest.part is not None
    folder = manifest.part.folder
    try:
        with manifest.part.opened() as opened:
            listed = images_named(opened, said)
    except OSError as error:
        raise _unreadable(error) from error
    there = {*beside.image_names}
    left = {*there}
    images.images, beside.image_names = {}, []
    for names in listed:
        name = f"{folder}/{names[-1]}" if folder else names[-1]
        if name in left:
            left.remove(name)
            images.images[names] = None
            beside.image_names += names[:-1] or names
        elif name in there:
            images.add_problem(_("The manifest names this file more than once."), names[-1])
        else:
            images.add_problem(_("There is no such file next to the manifest."), names[-1])
    reason = _("The manifest does not name this file. Add a line for it, or import without the manifest.")
    for name in sorted(left):
        images.add_problem(reason, name)


def _unreadable(error: OSError) -> FileRefusedError:
    return FileRefusedError(_("The file cannot be read: %(error)s.") % {"error": error.strerror})


def captions_of(
    file: IO[bytes], *, said: Mapping[str, str] | None = None, folder: str = "", written_by: str = ""
) -> Rows:
    """The captions of a file of any layout, line by line; names of images are looked for in its `folder` first.

    With `written_by` those by people alone, or by models.
    Raises LayoutError where it holds none; says what it is, as far as that shows.
    """
    return _of_writers(_in_folder(layout_of(file, said=said).captions(file), folder), written_by)


def _of_writers(rows: Rows, written_by: str) -> Rows:
    """What is wrong with a line is reported once, beside the captions by people."""
    if not written_by:
        yield from rows
        return
    for row in rows:
        if isinstance(row, LineError):
            if written_by == BY_PEOPLE:
                yield row
        elif captions := [given for given in row.captions if bool(given.model) == (written_by == BY_MODELS)]:
            yield row._replace(captions=captions)


def _in_folder(rows: Rows, folder: str) -> Rows:
    for row in rows:
        if folder and isinstance(row, CaptionRow):
            yield row._replace(names=(f"{folder}/{row.name}", *row.names))
        else:
            yield row


def _look_into(
    file: RecognisedFile, part: FilePart, said: Mapping[str, str] | None, answers: _GivenAnswers
) -> FileLayout | None:
    try:
        with part.opened() as opened:
            layout = layout_of(opened, said=said)
            file.kind, file.layout = layout.kind, layout.name
            file.columns, file.first_rows = layout.columns, layout.first_rows
            if layout.rows is not None:
                rows = _of_writers(_in_folder(layout.rows(opened), part.folder), file.written_by)
                _count(file, layout, rows, answers)
    except FileRefusedError as refused:
        _refused(file, refused)
        return None
    except OSError as error:
        _refused(file, _unreadable(error))
        return None
    return layout


def _refused(file: RecognisedFile, refused: FileRefusedError) -> RecognisedFile:
    file.kind = UNKNOWN_KIND
    if isinstance(refused, LayoutError):
        file.layout, file.columns, file.first_rows = refused.layout, refused.columns, refused.first_rows
    file.add_problem(str(refused), file.path)
    return file


def _count(file: RecognisedFile, layout: FileLayout, rows: Rows, answers: _GivenAnswers) -> None:
    counted = _CountedCaptions(file, layout, answers)
    for row in rows:
        counted.add(row)
    if file.kind == FileKind.CAPTIONS:
        counted.close()


class _CountedCaptions:
    """Counts the captions of a file, and finds out who wrote them.

    A model has one caption of an image in a language: an equal one counts once, and different ones are a problem.
    """

    def __init__(self, file: RecognisedFile, layout: FileLayout, answers: _GivenAnswers) -> None:
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
        if self.others and not self.names_model and not RESULTS_NAME.fullmatch(_stem(file.path)):
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


# Names of files


def _stem(path: str) -> str:
    name = PurePosixPath(path.replace("\\", "/")).name
    while (shorter := SUFFIX.sub("", name)) != name and shorter:
        name = shorter
    return name


def language_in_name(path: str) -> str:
    """The language that a name such as `train.de.gz` or `captions_pt-BR.json` ends in; "" if it ends in none."""
    stem = _stem(path)
    match = LANGUAGE_AT_END.search(stem)
    if match is None:
        return ""
    tag = canonical_tag(match["tag"])
    is_clear = stem[: match.start() + 1].endswith(".") or match["tag"].lower() not in ALSO_WORDS
    return tag if tag.split("-")[0] in KNOWN_LANGUAGES and is_clear else ""


def model_in_name(path: str) -> str:
    """What a file of results is called, without its language and what COCO's names have around the model."""
    stem = _stem(path)
    if language_in_name(path) and (match := LANGUAGE_AT_END.search(stem)):
        stem = stem[: match.start()] or stem
    results = RESULTS_NAME.fullmatch(stem)
    return results["model"] if results else stem


# Sentences line by line, as Multi30k has them


def _names_in(part: FilePart) -> Iterator[str]:
    with part.opened() as file:
        yield from _lines(file)


def _lines(file: IO[bytes]) -> Iterator[str]:
    file.seek(0)
    for _number, line in limited_lines(file, limits.MAX_LINE_BYTES):
        yield (line or b"").decode("utf-8-sig", "surrogateescape").strip()


def sentence_rows(names: Sequence[str], file: IO[bytes]) -> Rows:
    """Captions from lines beside the names of their images."""
    for number, (name, text) in enumerate(zip(names, _lines(file), strict=True), start=1):
        yield CaptionRow(number, (image_named("image", name),), [GivenCaptions(text if is_text(text) else None)])


def _put_names_to(file: RecognisedFile, part: FilePart, lists: Sequence[Sequence[str]], answers: _GivenAnswers) -> None:
    lines = sum(1 for _line in _names_in(part))
    names = next((one for one in lists if len(one) == lines), None)
    if names is None:
        file.kind = UNKNOWN_KIND
        there = ", ".join(f"{len(one):,}" for one in lists)
        reason = (
            _("It has %(lines)s sentences, and the lists of images have %(there)s names.")
            if lists
            else _("It has %(lines)s sentences without names of images. Give the list of their images with it.")
        )
        file.add_problem(reason % {"lines": f"{lines:,}", "there": there}, file.path)
        return
    with part.opened() as opened:
        file.kind, file.layout, file.sentences_of = FileKind.CAPTIONS, "Multi30k", names
        layout = FileLayout(FileKind.CAPTIONS, file.layout)
        _count(file, layout, sentence_rows(names, opened), answers)
