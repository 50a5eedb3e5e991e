"""`score_captions CANDIDATES REFERENCES`: automatic metrics of captions in files."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from crosslens_metrics.annotation_free import VectorProjections, projections_of
from crosslens_metrics.commands.running import (
    DEFAULT_LANGUAGE,
    CommandFailedError,
    Write,
    add_text_arguments,
    as_json,
    language_tag,
    whole_number,
)
from crosslens_metrics.document_frequencies import DocumentFrequencies
from crosslens_metrics.formats.captions import candidates_in, references_in
from crosslens_metrics.formats.names import ImagesDifferError, paired
from crosslens_metrics.formats.problems import FileProblemsError
from crosslens_metrics.formats.word_vectors import WordVectorFileError, vectors_in
from crosslens_metrics.java import ToolFailedError, ToolMissingError
from crosslens_metrics.meteor import ELSEWHERE, UnknownLanguageError, program_language
from crosslens_metrics.named_vectors import MalformedVectorsError, NamedVectors, read_named_vectors
from crosslens_metrics.scored_tokens import EmptyTexts
from crosslens_metrics.scoring import (
    FIGURES,
    METRICS,
    MetricNeed,
    MissingInputError,
    PreparedCaptions,
    ScoredFigure,
    UnknownMetricError,
    metric_named,
    prepare,
)
from crosslens_metrics.undefined import UndefinedFigureError
from crosslens_metrics.word_movers import SolverMissingError
from crosslens_metrics.word_vectors import MalformedTableError, WordVectorSource


@dataclass(frozen=True)
class FileScores:
    """The images of files, their captions as they were scored, and the figures."""

    images: Sequence[str]
    prepared: PreparedCaptions
    scored: Sequence[ScoredFigure]

    @property
    def notes(self) -> list[str]:
        """What should be known of the figures, each once."""
        return list(dict.fromkeys(note for scored in self.scored for note in scored.notes))

    @property
    def n_references(self) -> int:
        against = self.prepared.against
        return sum(len(texts) for texts in against.references) if against else 0

    def lines(self) -> Iterator[str]:
        """A table: each figure on the reference implementation's scale, as papers print it, and its signature."""
        yield f"{len(self.images):,} images, {self.n_references:,} references."
        against = self.prepared.against
        if against and (against.empty.candidates or against.empty.references):
            yield f"Without a token: candidates {against.empty.candidates:,}, references {against.empty.references:,}."
        yield ""
        yield f"{'metric':<10} {'value':>11} {'as printed':>11}  signature"
        for scored in self.scored:
            figure, value = FIGURES[scored.metric], scored.scores.corpus
            printed = value * figure.shown_times
            yield f"{figure.title:<10} {value:>11.6f} {printed:>11.2f}  {scored.signature}"
        yield ""
        if any(scored.metric == "cider-d" for scored in self.scored):
            yield "What the public COCO tool calls CIDEr is CIDEr-D."
        yield "“as printed” is the value times 100, as papers have it; BMRC and WCC are sums on that scale."

    def image_lines(self) -> Iterator[str]:
        """The value of each image, in columns parted by tabs."""
        yield "\t".join(["image", *(scored.metric for scored in self.scored)])
        values = [scored.scores.per_image.tolist() for scored in self.scored]
        for image, *of_image in zip(self.images, *values, strict=True):
            yield "\t".join([image, *(f"{value:.6f}" for value in of_image)])

    def as_json(self, *, per_image: bool) -> dict[str, Any]:
        """Values as they are, unrounded; per image where it is asked for."""
        empty = self.prepared.against.empty if self.prepared.against else EmptyTexts(0, 0, 0)
        report: dict[str, Any] = {
            "images": len(self.images),
            "references": self.n_references,
            "empty_candidates": empty.candidates,
            "empty_references": empty.references,
            "corpus": {scored.metric: scored.scores.corpus for scored in self.scored},
            "signatures": {scored.metric: str(scored.signature) for scored in self.scored},
            "notes": self.notes,
        }
        if per_image:
            names = [scored.metric for scored in self.scored]
            values = [scored.scores.per_image.tolist() for scored in self.scored]
            rows = zip(self.images, *values, strict=True)
            report["per_image"] = {image: dict(zip(names, row, strict=True)) for image, *row in rows}
        return report


OPTION_FOR = {MetricNeed.VECTORS: "vectors", MetricNeed.PROJECTIONS: "projections"}
VECTORS_HELP = "a word2vec or GloVe file (.gz too), or the folder of a table"


class OpenVectors(Protocol):
    """Opens the word vectors that an option names; a file is first copied to a table in the folder `copy_to`."""

    def __call__(self, given: str, *, language: str, copy_to: Path) -> WordVectorSource | None: ...


def add_annotation_free_arguments(parser: ArgumentParser, *, vectors_help: str) -> None:
    """Add `--vectors`, `--projections`, `--english` and `--features`."""
    group = parser.add_argument_group(
        "wmdrel, clinrel, cmedrel, wcc", "The references are then English ones, translated into the language."
    )
    group.add_argument("--vectors", metavar="VECTORS", help=f"for wmdrel and wcc: {vectors_help}")
    group.add_argument("--projections", type=Path, metavar="NPZ", help="the candidates', by project_captions")
    group.add_argument("--english", type=Path, metavar="NPZ", help="for clinrel and wcc: the English references'")
    group.add_argument("--features", type=Path, metavar="NPZ", help="for cmedrel and wcc: by image_features")


def check_given(metrics: Sequence[str], options: Namespace) -> None:
    """Check that the options that metrics need are there.

    Raises CommandFailedError.
    """
    for name in metrics:
        if metric_named(name).reads_references and options.references is None:
            raise CommandFailedError(f"{name} needs a file of references after that of the candidates.")
        for need, option in OPTION_FOR.items():
            if need in metric_named(name).needs and getattr(options, option) is None:
                raise CommandFailedError(f"{name} needs --{option}.")


def vectors_of_file(given: str, *, language: str, copy_to: Path) -> WordVectorSource:
    """Open a file of word vectors or the folder of a table.

    Raises CommandFailedError.
    """
    try:
        vectors = vectors_in(Path(given), language=language, copy_to=copy_to)
    except (WordVectorFileError, MalformedTableError) as error:
        raise CommandFailedError(str(error)) from error
    if vectors is None:
        raise CommandFailedError(f"There is no file {given}, nor the folder of a table.")
    return vectors


def given_vectors(
    options: Namespace, *, language: str, stack: ExitStack, open_vectors: OpenVectors
) -> WordVectorSource | None:
    """Open the word vectors; a file of them is read into a folder that is there as long as `stack` is open.

    Raises CommandFailedError.
    """
    if options.vectors is None:
        return None
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="crosslens-vectors-")))
    return open_vectors(options.vectors, language=language, copy_to=folder / "vectors")


def given_projections(options: Namespace, images: Sequence[str]) -> VectorProjections | None:
    """Read the projections and features, in the order of the images.

    Raises CommandFailedError.
    """
    if options.projections is None:
        return None
    try:
        return projections_of(
            images,
            candidates=named_vectors(options.projections, option="--projections"),
            references=options.english and named_vectors(options.english, option="--english"),
            features=options.features and named_vectors(options.features, option="--features"),
        )
    except MalformedVectorsError as error:
        raise CommandFailedError(str(error)) from error


def named_vectors(path: Path, *, option: str) -> NamedVectors:
    """Read the file of vectors that an option names.

    Raises CommandFailedError.
    """
    try:
        return read_named_vectors(path)
    except MalformedVectorsError as error:
        raise CommandFailedError(f"{option}: {error}") from error


HELP = "Score captions in files against references: CIDEr, BLEU, ROUGE-L, METEOR, WMDRel and others."
DEFAULT_METRICS = ["cider", "cider-d", "bleu", "rouge-l"]


def metric_names(text: str) -> list[str]:
    """Names parted by commas."""
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    for name in names:
        try:
            metric_named(name)
        except UnknownMetricError as error:
            raise ArgumentTypeError(f"{name!r} is none of {', '.join(METRICS)}") from error
    if not names:
        raise ArgumentTypeError("names no metric")
    return names


def meteor_language(text: str) -> str:
    """The tag of a language that METEOR has parameters for."""
    tag = language_tag(text)
    try:
        program_language(tag)
    except UnknownLanguageError as error:
        raise ArgumentTypeError(str(error)) from error
    return tag


def add_arguments(parser: ArgumentParser, *, vectors_help: str = VECTORS_HELP) -> None:
    known = ", ".join(METRICS)
    parser.add_argument("candidates", type=Path, help="one caption for each image: COCO, JSON Lines or xm3600")
    parser.add_argument(
        "references",
        type=Path,
        nargs="?",
        help="one or more captions for each image, in any of these; clinrel and cmedrel need none",
    )
    parser.add_argument("--metrics", type=metric_names, default=DEFAULT_METRICS, help=f"of {known}, parted by commas")
    add_text_arguments(parser)
    parser.add_argument("--frequencies", type=Path, metavar="FILE", help="for CIDEr, by document_frequencies")
    parser.add_argument(
        "--meteor-language",
        type=meteor_language,
        metavar="TAG",
        help=f"whose parameters METEOR uses (default: the captions' own, or {ELSEWHERE} where it has none)",
    )
    add_annotation_free_arguments(parser, vectors_help=vectors_help)
    parser.add_argument("--per-image", action="store_true", help="the values of each image too")
    parser.add_argument("--json", action="store_true", dest="for_programs", help="print JSON")
    parser.add_argument("--workers", type=whole_number(1, 64), default=1, help="processor cores (default 1)")


def run(options: Namespace, *, write: Write, note: Write, open_vectors: OpenVectors = vectors_of_file) -> None:
    """Write the figures of the captions, and to `note` what should be known of them.

    Raises CommandFailedError.
    """
    language: str | None = options.language
    check_given(options.metrics, options)
    try:
        ours = candidates_in(options.candidates, language=language)
        theirs = None if options.references is None else references_in(options.references, language=language)
        language = _one_language(language, ours.language, None if theirs is None else theirs.language)
        other_names = {} if theirs is None else theirs.other_names
        pairs = paired(ours.captions, None if theirs is None else theirs.captions, other_names=other_names)
        with ExitStack() as stack:
            prepared = prepare(
                pairs.candidates,
                pairs.references,
                tokenizer=options.tokenizer,
                language=language,
                normalise=options.normalise,
                frequencies=_frequencies(options.frequencies),
                workers=options.workers,
                vectors=given_vectors(options, language=language, stack=stack, open_vectors=open_vectors),
                projections=given_projections(options, pairs.images),
                meteor_language=options.meteor_language,
            )
            scored = prepared.figures(options.metrics)
    except (FileProblemsError, ImagesDifferError, ToolMissingError, ToolFailedError) as error:
        raise CommandFailedError(str(error)) from error
    except (MissingInputError, SolverMissingError, UndefinedFigureError) as error:
        raise CommandFailedError(str(error)) from error
    scores = FileScores(pairs.images, prepared, scored)
    for said in scores.notes:
        note(said)
    if options.for_programs:
        write(as_json(scores.as_json(per_image=options.per_image)))
        return
    for line in [*scores.lines(), *(["", *scores.image_lines()] if options.per_image else [])]:
        write(line)


def _one_language(asked: str | None, of_candidates: str | None, of_references: str | None) -> str:
    if not asked and of_candidates and of_references and of_candidates != of_references:
        raise CommandFailedError(f"The candidates are in {of_candidates}, the references in {of_references}.")
    return asked or of_references or of_candidates or DEFAULT_LANGUAGE


def _frequencies(path: Path | None) -> DocumentFrequencies | None:
    if path is None:
        return None
    try:
        return DocumentFrequencies.load(path)
    except OSError as error:
        raise CommandFailedError(f"The file {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise CommandFailedError(f"{path} holds no document frequencies that can be used: {error}") from error
