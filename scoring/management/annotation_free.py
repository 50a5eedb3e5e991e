"""Options for metrics without references in the language: word vectors, projections and image features."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.core.management.base import CommandError

from crosslens_metrics.annotation_free import projections_of
from crosslens_metrics.named_vectors import MalformedVectorsError
from crosslens_metrics.scoring import Need, Projections, metric_named
from crosslens_metrics.word_vectors import Vectors
from inference.management.arguments import VECTORS_HELP, named_vectors, word_vectors

OPTION_FOR = {Need.VECTORS: "vectors", Need.PROJECTIONS: "projections"}


def add_annotation_free_arguments(parser: ArgumentParser) -> None:
    group = parser.add_argument_group(
        "wmdrel, clinrel, cmedrel, wcc", "The references are then English ones, translated into the language."
    )
    group.add_argument("--vectors", metavar="VECTORS", help=f"for wmdrel and wcc: {VECTORS_HELP}")
    group.add_argument("--projections", type=Path, metavar="NPZ", help="the candidates', by project_captions")
    group.add_argument("--english", type=Path, metavar="NPZ", help="for clinrel and wcc: the English references'")
    group.add_argument("--features", type=Path, metavar="NPZ", help="for cmedrel and wcc: by image_features")


def check_given(metrics: Sequence[str], options: dict[str, Any]) -> None:
    """
    Raises
    ------
    CommandError
        Where a metric needs an option that is missing.
    """
    for name in metrics:
        for need, option in OPTION_FOR.items():
            if need in metric_named(name).needs and options[option] is None:
                raise CommandError(f"{name} needs --{option}.")


def given_vectors(options: dict[str, Any], *, language: str, stack: ExitStack) -> Vectors | None:
    """The word vectors; a file of them is read into a folder that is there as long as `stack` is open.

    Raises
    ------
    CommandError
    """
    if options["vectors"] is None:
        return None
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="crosslens-vectors-")))
    return word_vectors(options["vectors"], language=language, copy_to=folder / "vectors")


def given_projections(options: dict[str, Any], images: Sequence[str]) -> Projections | None:
    """The projections and features, in the order of the images.

    Raises
    ------
    CommandError
    """
    files = {option: options[option] for option in ("projections", "english", "features") if options[option]}
    if "projections" not in files:
        return None
    found = {option: named_vectors(path, option=f"--{option}") for option, path in files.items()}
    try:
        return projections_of(
            images,
            candidates=found["projections"],
            references=found.get("english"),
            features=found.get("features"),
        )
    except MalformedVectorsError as error:
        raise CommandError(str(error)) from error
