"""Take the captions that a model is trained on from references."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from core.people.models import Project, User
from research.inference.models import CaptioningModel, Encoder, Training
from research.inference.services import trainings
from research.inference.services.steering import WorkRefusedError
from research.inference.training.examples import TrainingExample, split_by_image
from research.inference.training.options import TrainingError, TrainingOptions
from research.scoring.models import Reference, ReferenceSet
from research.scoring.services.reference_translations import is_being_translated


@transaction.atomic
def start_training(
    *,
    name: str,
    base: CaptioningModel | None,
    features: Encoder | None = None,
    references: Sequence[ReferenceSet],
    validation: Sequence[ReferenceSet],
    validation_share: float,
    leaves_out_evaluated: bool,
    options: TrainingOptions,
    project: Project,
    by: User | None,
    now: datetime,
) -> Training:
    """Request a training on references. Then call `research.inference.tasks.ask_for_training`.

    - `validation`: of other images. If there are none, the share `validation_share` of the images of `references` is
      kept.
    - `leaves_out_evaluated`: whether images of the project's evaluation sets are left out. Otherwise they are refused.

    Raises research.inference.services.steering.WorkRefusedError.
    """
    references, validation = _locked(references, validation)
    if being := is_being_translated([*references, *validation]).first():
        raise WorkRefusedError(
            _("“%(name)s” is still being translated. Start the training when it is done.") % {"name": being.made.name}
        )
    evaluated = evaluated_images(project)
    learned, validated = _examples(references), _examples(validation)
    if leaves_out_evaluated:
        learned = [one for one in learned if one.image not in evaluated]
        validated = [one for one in validated if one.image not in evaluated]
    if not validation and learned:
        try:
            learned, validated = split_by_image(learned, share=validation_share, seed=options.seed)
        except TrainingError as refused:
            raise WorkRefusedError(str(refused)) from refused
    return trainings.start(
        name=name,
        base=base,
        features=features,
        training=learned,
        validation=validated,
        evaluated=evaluated,
        sources=[
            {"split": split, "set": one.pk, "name": one.name, "language": one.language_id, "digest": one.digest}
            for split, sets in (("training", references), ("validation", validation))
            for one in sets
        ],
        options=options,
        project=project,
        by=by,
        now=now,
    )


def _locked(*several: Sequence[ReferenceSet]) -> list[list[ReferenceSet]]:
    """Lock references, as the undoing of an import does, and read them again: a training names them without a key.

    Raises WorkRefusedError: some are gone.
    """
    wanted = {one.pk for sets in several for one in sets}
    rows = ReferenceSet.objects.filter(pk__in=wanted).order_by("pk").select_for_update(no_key=True)
    found = {one.pk: one for one in rows}
    if wanted - found.keys():
        raise WorkRefusedError(_("These references no longer exist. Choose others."))
    return [[found[one.pk] for one in sets] for sets in several]


def evaluated_images(project: Project) -> set[str]:
    """Find the images of the project's evaluation sets, by the SHA-256 of their files."""
    of_sets = Reference.objects.filter(reference_set__project=project, reference_set__is_evaluation=True)
    return set(of_sets.order_by().values_list("image__sha256", flat=True).distinct())


def _examples(sets: Sequence[ReferenceSet]) -> list[TrainingExample]:
    rows = Reference.objects.filter(reference_set__in=list(sets)).order_by("reference_set", "image", "position")
    return [TrainingExample(*row) for row in rows.values_list("image__sha256", "reference_set__language_id", "text")]
