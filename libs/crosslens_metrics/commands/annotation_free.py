"""Options for metrics without references in the language: word vectors, projections and image features."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from crosslens_metrics.annotation_free import VectorProjections, projections_of
from crosslens_metrics.commands.running import CommandFailedError
from crosslens_metrics.formats.word_vectors import WordVectorFileError, vectors_in
from crosslens_metrics.named_vectors import MalformedVectorsError, NamedVectors, read_named_vectors
from crosslens_metrics.scoring import MetricNeed, metric_named
from crosslens_metrics.word_vectors import MalformedTableError, WordVectorSource

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

    Raises
    ------
    CommandFailedError
    """
    for name in metrics:
        if metric_named(name).reads_references and options.references is None:
            raise CommandFailedError(f"{name} needs a file of references after that of the candidates.")
        for need, option in OPTION_FOR.items():
            if need in metric_named(name).needs and getattr(options, option) is None:
                raise CommandFailedError(f"{name} needs --{option}.")


def vectors_of_file(given: str, *, language: str, copy_to: Path) -> WordVectorSource:
    """Open a file of word vectors or the folder of a table.

    Raises
    ------
    CommandFailedError
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

    Raises
    ------
    CommandFailedError
    """
    if options.vectors is None:
        return None
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="crosslens-vectors-")))
    return open_vectors(options.vectors, language=language, copy_to=folder / "vectors")


def given_projections(options: Namespace, images: Sequence[str]) -> VectorProjections | None:
    """Read the projections and features, in the order of the images.

    Raises
    ------
    CommandFailedError
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

    Raises
    ------
    CommandFailedError
    """
    try:
        return read_named_vectors(path)
    except MalformedVectorsError as error:
        raise CommandFailedError(f"{option}: {error}") from error
