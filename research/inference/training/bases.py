"""What a training begins with: a model that is there, or a new small one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from research.inference.backends.language_codes import ENGLISH_ONLY, codes
from research.inference.training.examples import TrainingExample
from research.inference.training.options import TrainingTargets
from research.inference.training.small import new_captioner, new_feature_decoder

SMALL = "a new small model"
"""What cards name the base where there is none."""


def model_options(
    given: Mapping[str, Any],
    examples: Sequence[TrainingExample],
    targets: TrainingTargets,
    *,
    names_languages: bool = False,
) -> dict[str, Any]:
    """Return the options of the model that is made: those of its base, with the languages of the captions.

    Where captions of several languages follow no stabiliser, each language gets a prompt that names it, unless the
    base has prompts or names languages by itself: without one the model could not know which to write.
    """
    tags = sorted({example.language for example in examples})
    known = dict(codes(given, ENGLISH_ONLY)) if given.get("languages") else {}
    chosen = {**given, "languages": known | {tag: known.get(tag, tag) for tag in tags}}
    if len(tags) > 1 and targets == TrainingTargets.PLAIN and not names_languages:
        chosen["prompts"] = {tag: f"{tag}:" for tag in tags} | dict(given.get("prompts") or {})
    return chosen


def small_base(
    folder: Path, examples: Sequence[TrainingExample], *, seed: int, features: Mapping[str, Any] | None = None
) -> Path:
    """Return the folder of a small model with random weights, which is made where it is not there.

    Parameters
    ----------
    features : mapping or None
        The encoder whose features it captions; None: it sees the images.
    """
    if not (folder / "config.json").exists():
        texts = [text for one in examples for text in (one.stabiliser, one.caption)]
        if features:
            new_feature_decoder(folder, texts, features=features, seed=seed)
        else:
            new_captioner(folder, texts, seed=seed)
    return folder


def small_name(features: Mapping[str, Any] | None) -> str:
    """Name the base in a card."""
    return f"a small decoder over features by {features['backend']}" if features else SMALL
