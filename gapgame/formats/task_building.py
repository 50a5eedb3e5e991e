"""Building the folder of a machine task: its parts are drawn, written and checked, with images, README and manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gapgame.formats.task_folders import (
    Object,
    manifest_of,
    new_folder,
    verified_folder,
    write_manifest,
    write_parts,
)
from gapgame.formats.task_images import Credits, add_images
from gapgame.formats.task_readme import write_readme
from gapgame.rules.task import SplitChoice, WordInstance, draw_parts


@dataclass(frozen=True)
class TaskDrawing:
    """How the parts of a task are drawn, and what goes into its folder besides them."""

    sizes: Mapping[str, int]
    reserve_percent: int
    seed: int
    splits: SplitChoice
    images: Path | None
    """A folder whose images are copied."""
    features: Path | None


def write_task(
    folder: Path,
    drawing: TaskDrawing,
    *,
    instances: Callable[[], Sequence[WordInstance]],
    questions: Iterable[tuple[Object, Object, tuple[str, ...]]],
    whole: Callable[[Object, Object], str],
    credits: Credits,
    facts: Callable[[], Object],
    readme: Mapping[str, Any],
) -> Object:
    """Draw the parts and write them, all or none, and return the manifest.

    The same instances, questions and drawing give the same bytes.

    Parameters
    ----------
    instances : callable
        Called first; it says what is drawn from.
    questions : iterable of (question, answer, images)
        Of the same instances, in the same order. Reading them may add to `credits`.
    whole : callable
        The whole sentence of a question and its answer: no two parts share one.
    facts : callable
        Called once the instances are read; what the manifest says besides, with something about `corpus`.
    readme : dict
        Arguments of `write_readme`.

    Raises
    ------
    FileProblemsError
        Where lines of the corpus are not as they must be, or images or features are missing.
    TooFewInstancesError
        Where validation or test cannot get its size.
    GapTaskError
        Where what was written is not disjoint.
    """
    with new_folder(folder) as making:
        known, about = instances(), facts()
        drawn = draw_parts(
            known,
            sizes=drawing.sizes,
            reserve_percent=drawing.reserve_percent,
            seed=drawing.seed,
            splits=drawing.splits,
        )
        used = write_parts(making, drawn, questions, seed=drawing.seed)
        verified = verified_folder(making, drawn, whole)
        licences = add_images(making, used, credits, copied_from=drawing.images, features=drawing.features)
        write_readme(making, counts=drawn.counts, licences=licences, **readme)
        about["corpus"] |= {"instances": len(known), "eligible": drawn.eligible}
        manifest = manifest_of(
            making,
            drawn,
            **about,
            **drawing.splits._asdict(),
            seed=drawing.seed,
            reserve_percent=drawing.reserve_percent,
            verified=verified,
        )
        write_manifest(making, manifest)
    return manifest
