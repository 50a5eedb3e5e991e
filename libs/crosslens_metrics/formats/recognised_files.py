"""What a file is and holds, as far as that was found out before anything of it is stored."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from crosslens_metrics.formats.file_names import NUMBERED
from crosslens_metrics.formats.names import ImageNames, image_name
from crosslens_metrics.formats.parts import FilePart
from crosslens_metrics.formats.problems import FileRefusedError, LayoutError
from crosslens_metrics.messages import gettext as _

UNKNOWN_LANGUAGE = "und"
"""BCP 47's tag for a language that nobody has determined."""
UNKNOWN_KIND, MODEL_CAPTIONS, REFERENCES = "unknown", "model captions", "references"
CAPTIONS_BY_PEOPLE = "captions by people"
"""That were not made to score models with, but are a project's own."""
BY_PEOPLE, BY_MODELS, BY_BOTH = "people", "models", "both"
"""Who wrote the captions of a file whose lines have both, as tasks of Label Studio do."""


class CaptionPlace(NamedTuple):
    """Where a model has one caption: an image by its likeliest name, the tag of a language, and the model's name."""

    image: str
    language: str
    model: str


class GivenAnswers(NamedTuple):
    """What somebody said of captions that do not say it: their language, their model, and who wrote them."""

    language: str
    model: str
    kind: str


@dataclass
class RecognisedFile:
    """What a file is and holds.

    `languages` counts captions by tag, and `models` those of each model so; `problems` has by reason how many captions
    or lines it is true of, and an example. `layout` is "" and `kind` "unknown" where it was not recognised. `columns`
    are those of a table, with its `first_rows`. `inside` is the folder or archive that it is in, and `part` opens it,
    or the manifest of its images. `assumed_language` and `assumed_model` are those of captions that do not say theirs,
    and `sentences_of` the images of mere sentences. `written_by` is whose captions it stands for, where one file has
    people's and models': it is then two. `differing` are the places of which a model has several captions, so that none
    can be taken. `comparisons` has for judgements the two models, the language, and how many judgements, images and
    raters there are.
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
    def name_inside(self) -> str:
        """Its name in the folder or archive that it is in, as names of images there are spelt."""
        name = self.path.removeprefix(f"{self.inside}/")
        return image_name(name) or name

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
    """What all files are. `image_names` are the names of images that came with them, each with its key."""

    files: list[RecognisedFile]
    image_names: dict[str, str]

    @cached_property
    def images(self) -> ImageNames[str]:
        """The keys of the images that came with the files."""
        return ImageNames(self.image_names)


def note_refusal(file: RecognisedFile, refused: FileRefusedError) -> RecognisedFile:
    """Note in `file` that it cannot be used, and why."""
    file.kind = UNKNOWN_KIND
    if isinstance(refused, LayoutError):
        file.layout, file.columns, file.first_rows = refused.layout, refused.columns, refused.first_rows
    file.add_problem(str(refused), file.path)
    return file


def unreadable(error: OSError) -> FileRefusedError:
    return FileRefusedError(_("The file cannot be read: %(error)s.") % {"error": error.strerror})
