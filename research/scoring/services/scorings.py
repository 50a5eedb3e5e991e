"""Create scorings of several models at once, score them again, also where captions have changed, and delete them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Max, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.images.models import ImportJob, ImportKind
from core.jobs.models import OPEN_STATES
from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from core.people.models import Project, User
from research.inference.models import CaptioningModel, EmbeddingSet, Encoder, WordVectorSet
from research.scoring.models import Pass, ReferenceSet, Scoring
from research.scoring.rules.metrics import MetricChoiceError, MetricInputs, check_known, inputs_of
from research.scoring.selectors.setup import marks_of, material_of
from research.scoring.services.reference_translations import is_being_translated

INPUT_NAMES = {
    "vectors": gettext_lazy("word vectors"),
    "encoder": gettext_lazy("encoders"),
    "english": gettext_lazy("English references"),
    "english_encoder": gettext_lazy("encoders"),
    "features": gettext_lazy("features"),
}


def create_scorings(
    *,
    project: Project,
    models: Iterable[CaptioningModel],
    references: ReferenceSet,
    metrics: Sequence[str],
    tokenizer: str,
    normalise: bool,
    vectors: WordVectorSet | None = None,
    encoder: Encoder | None = None,
    english: ReferenceSet | None = None,
    english_encoder: Encoder | None = None,
    features: EmbeddingSet | None = None,
    by: User | None,
    now: datetime,
) -> list[Scoring]:
    """Create a scoring against `references` for each model, with an open pass.

    Where a model is scored against them with the same text version already, the metrics it lacks are added.

    Raises MetricChoiceError where a metric is not known, or needs something that is not given, or of another language.
    """
    for one in (references, english):
        if one is not None and one.project_id != project.pk:
            raise ValueError(f"References {one.pk} are not of project {project.pk}.")
    needed = {
        "vectors": vectors,
        "encoder": encoder,
        "english": english,
        "english_encoder": english_encoder,
        "features": features,
    }
    check_known(metrics)
    if why := next(filter(None, map(_inputs(references, needed).lacks, metrics)), ""):
        raise MetricChoiceError(why)
    scorings = []
    with transaction.atomic():
        # Always in the same order, so that two who ask at once never wait for each other.
        for model in sorted(models, key=lambda model: model.pk):
            values = {"model": model, "references": references, "tokenizer": tokenizer, "normalise": normalise}
            scoring = _locked(values, defaults={"project": project, "created_by": by})
            _check_same(scoring, needed)
            scoring.metrics = list(dict.fromkeys([*scoring.metrics, *metrics]))
            for name, value in needed.items():
                setattr(scoring, name, value or getattr(scoring, name))
            scoring.save(update_fields=["metrics", *needed])
            _ask(scoring, now=now)
            scorings.append(scoring)
    return scorings


class ScoringPart(NamedTuple):
    """Models to score against `references`, and what metrics may use for that, by the names of `create_scorings`."""

    references: ReferenceSet
    models: Sequence[CaptioningModel]
    usable: Mapping[str, Any] = {}


class ManyScorings(NamedTuple):
    """Scorings, and by metric the languages where it was left out, because something that it needs is not there."""

    made: list[Scoring]
    left_out: dict[str, list[Language]]


def create_many_scorings(
    *,
    project: Project,
    chosen: Iterable[ScoringPart],
    metrics: Sequence[str],
    normalise: bool,
    by: User | None,
    now: datetime,
) -> ManyScorings:
    """Create scorings of models against each of several sets of references, or none; tokens are those of each language.

    A metric is left out where what it needs is not there.

    Raises MetricChoiceError as `create_scorings`, and where no metric is left.
    """
    check_known(metrics)
    about: dict[str, Any] = {"project": project, "normalise": normalise, "by": by, "now": now}
    made: list[Scoring] = []
    left_out: dict[str, list[Language]] = defaultdict(list)
    lacking = ""
    with transaction.atomic():
        for references, models, usable in sorted(chosen, key=lambda part: part.references.pk):
            if not models:
                continue
            lacks = {metric: _inputs(references, usable).lacks(metric) for metric in metrics}
            possible = [metric for metric in metrics if not lacks[metric]]
            for metric, why in lacks.items():
                if why:
                    left_out[metric].append(references.language)
                    lacking = why
            if possible:
                given: dict[str, Any] = {name: usable.get(name) for name in inputs_of(possible)}
                given |= {"metrics": possible, "tokenizer": references.usual_tokenizer}
                made += create_scorings(references=references, models=models, **given, **about)
    if lacking and not made:
        raise MetricChoiceError(lacking)
    return ManyScorings(made, left_out)


def _inputs(references: ReferenceSet, usable: Mapping[str, Any]) -> MetricInputs:
    vectors, english = usable.get("vectors"), usable.get("english")
    is_english = not references.is_without_captions and references.language_id == ENGLISH
    return MetricInputs(
        language=references.language_id,
        vectors_language=vectors.language_id if vectors else None,
        has_references=not references.is_without_captions,
        has_encoder=usable.get("encoder") is not None,
        has_english=is_english or (english is not None and english.language_id == ENGLISH),
        has_features=usable.get("features") is not None,
    )


def ask_again(*, scoring: Scoring, now: datetime) -> Pass | None:
    """Create a new pass of `scoring`, unless one is open already.

    None where the scoring was removed meanwhile.
    """
    with transaction.atomic():
        # Concurrent requests wait here.
        locked = Scoring.objects.select_for_update(no_key=True).filter(pk=scoring.pk).first()
        return None if locked is None else _ask(locked, now=now)


def delete_scoring(*, scoring: Scoring) -> None:
    """Delete a scoring with its history; a pass that is being computed ends silently."""
    with transaction.atomic():
        # Nobody adds a pass or scores while they are looked for, or the last of them would stay behind. Only the passes
        # are locked in full before that: their writers refer to the scoring afterwards.
        locked = Scoring.objects.select_for_update(no_key=True).filter(pk=scoring.pk).first()
        if locked is not None:
            list(Pass.objects.select_for_update().filter(scoring=locked).order_by("pk").values_list("pk"))
            locked.delete()


def _locked(values: Mapping[str, Any], *, defaults: Mapping[str, Any]) -> Scoring:
    """Get or create the scoring with these values and lock it, even if it is deleted at this moment."""
    while True:
        scoring, _is_new = Scoring.objects.get_or_create(**values, defaults=defaults)
        locked = Scoring.objects.select_for_update(no_key=True).filter(pk=scoring.pk).first()
        if locked is not None:
            return locked


def _ask(scoring: Scoring, *, now: datetime) -> Pass:
    open_pass = Pass.objects.filter(scoring=scoring, state__in=OPEN_STATES).first()
    # A running pass includes metrics that are added meanwhile.
    return open_pass or Pass.objects.create(scoring=scoring, total=len(scoring.metrics), asked_at=now)


def _check_same(scoring: Scoring, needed: Mapping[str, Any]) -> None:
    """Check that the resources are those of the scoring. Features of more images may replace earlier ones."""
    for name, value in needed.items():
        before = getattr(scoring, name)
        if value is None or before in (None, value):
            continue
        if name == "features" and value.encoder_id == before.encoder_id and value.precision == before.precision:
            continue
        raise MetricChoiceError(
            _(
                "The captions of “%(model)s” are already scored against these references with other "
                "%(what)s. Remove that scoring first."
            )
            % {"model": scoring.model.name, "what": INPUT_NAMES[name]}
        )


def ask_where_changed(*, now: datetime) -> list[int]:
    """Create new passes for all scorings that need one; returns them. Earlier passes stay as history.

    While captions are being imported or translated it waits for the end: not every part of a file is worth a pass.
    """
    asked = [ask_again(scoring=scoring, now=now) for scoring in _changed()]
    return [new_pass.pk for new_pass in asked if new_pass is not None]


def _changed() -> Iterator[Scoring]:
    newest = Pass.objects.values("scoring").annotate(newest=Max("pk")).values("newest")
    ended = Pass.objects.filter(pk__in=newest).exclude(state__in=OPEN_STATES)
    # Without a mark it ended before anything was read, and would again.
    passes = list(
        ended.exclude(captions_mark="").select_related("scoring__references", "scoring__model").defer("image_ids")
    )
    marks = marks_of(done.scoring for done in passes)
    for done in passes:
        scoring, references = done.scoring, done.scoring.references
        has_new_references = done.references_digest != references.digest
        has_new_mark = done.captions_mark != marks[scoring.pk]
        if not (has_new_references or has_new_mark) or _is_importing(scoring):
            continue
        if has_new_references or _has_new_captions(done):
            yield scoring


def _has_new_captions(done: Pass) -> bool:
    """Whether other captions are scored now than then; if not, their mark is stored, to avoid another check."""
    material = material_of(done.scoring)
    if material.captions_digest != done.captions_digest:
        return True
    Pass.objects.filter(pk=done.pk).update(captions_mark=material.mark)
    return False


def _is_importing(scoring: Scoring) -> bool:
    of_captions = Q(kind=ImportKind.CAPTIONS, options__language=scoring.references.language_id)
    of_captions &= Q(options__model=scoring.model.name)
    of_references = Q(kind=ImportKind.REFERENCES, options__project=scoring.project_id)
    imports = ImportJob.objects.filter(of_captions | of_references, state__in=OPEN_STATES)
    return imports.exists() or is_being_translated([scoring.references]).exists()
