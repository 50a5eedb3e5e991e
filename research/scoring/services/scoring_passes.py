"""Compute the scores of a pass metric by metric. Each is stored when done, so that little is lost if the worker dies.

No transaction is open while a metric is computed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F
from django.utils import translation
from django.utils.translation import gettext as _

from core.jobs.services import leases
from core.jobs.services.leases import LeaseLostError
from crosslens_metrics.java import ToolFailedError, ToolMissingError
from crosslens_metrics.reports.figures import MESSAGES
from crosslens_metrics.scoring import MissingInputError, PreparedCaptions, ScoredFigure, prepare
from crosslens_metrics.signatures import Signature
from crosslens_metrics.undefined import UndefinedFigureError
from crosslens_metrics.word_vectors import WordVectorSource
from research.inference.backends.captioners import BackendSettingsError, Decoding
from research.inference.backends.encoders import ExtraMissingError
from research.inference.selectors.embeddings import EmbeddingsUnavailableError
from research.inference.selectors.word_vectors import WordVectorsUnavailableError, vectors_of
from research.inference.services.encoders import queue_of
from research.inference.services.routing import is_for_another, needs_of
from research.scoring.models import Pass, ReferenceSet, ReferenceTranslation, Score, Scoring
from research.scoring.rules.metrics import figures_of, needs_projections, needs_vectors
from research.scoring.rules.packing import pack_floats, pack_integers
from research.scoring.selectors.setup import ScoringMaterial, material_of
from research.scoring.services.visual import visual_of

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]
T = TypeVar("T")

RENEW_EVERY_S = 15.0
"""While a metric is computed."""

SKIP_AFTER_ATTEMPTS = 3
"""After so many attempts in which the worker died, the current metric is taken to be the cause."""

MAX_ATTEMPTS = 6
REASON_CHARACTERS = 200
MISSING_HERE = (ToolMissingError, ToolFailedError, BackendSettingsError, ExtraMissingError, EmbeddingsUnavailableError)
"""Errors for what a metric needs and this machine lacks."""


class ScoringFailedError(Exception):
    """The pass as a whole cannot be computed; the message says what is missing."""


def run_pass(*, pass_id: int, clock: Clock) -> None:
    """Compute the pass, or continue it where a worker that died left it."""
    scoring_pass = claim(pass_id=pass_id, now=clock())
    if scoring_pass is None:
        return
    with leases.working_for(scoring_pass.scoring.created_by):
        _run(scoring_pass, clock)


def queue_elsewhere(*, pass_id: int, now: datetime) -> str:
    """Name the queue of a worker that has what the pass's encoders need, if this worker lacks it; else ""."""
    passes = Pass.objects.filter(pk=pass_id).select_related("scoring__encoder", "scoring__english_encoder")
    encoders = [encoder for row in passes for encoder in (row.scoring.encoder, row.scoring.english_encoder)]
    queues = ((queue_of(encoder), needs_of(encoder)) for encoder in encoders if encoder)
    return next((queue for queue, needs in queues if is_for_another(needs, queue=queue, now=now)), "")


def claim(*, pass_id: int, now: datetime) -> Pass | None:
    return leases.claim(Pass.objects.filter(pk=pass_id).select_related("scoring"), now=now)


def _run(scoring_pass: Pass, clock: Clock) -> None:
    if scoring_pass.attempts > MAX_ATTEMPTS:
        _finish(scoring_pass, now=clock(), error=_("The scoring crashed %(count)s times.") % {"count": MAX_ATTEMPTS})
        return
    scoring = _scoring_of(scoring_pass)
    try:
        material = material_of(scoring)
        _begin(scoring_pass, material, now=clock())
        if not material.images:
            raise ScoringFailedError(_nothing(scoring, material))
        inputs = _MetricInputs(scoring, material)
        while (scoring_now := _scoring_or_end(scoring_pass, now=clock())) is not None:
            if _resource_ids(scoring_now) != _resource_ids(inputs.scoring):
                inputs = _MetricInputs(scoring_now, material)
            metric = scoring_now.metrics[scoring_pass.done]
            _keep(scoring_pass, _scores(scoring_pass, inputs, metric, clock), now=clock())
    except ScoringFailedError as reason:
        _finish(scoring_pass, now=clock(), error=str(reason))


class _MetricInputs:
    """The inputs of all metrics: captions are tokenised when the first metric needs them."""

    def __init__(self, scoring: Scoring, material: ScoringMaterial) -> None:
        self.scoring, self.material = scoring, material
        self.vectors: WordVectorSource | None = None
        self.why_no_vectors = ""
        # In this thread and not in the computing one: it uses the database.
        try:
            self.vectors = vectors_of(scoring.vectors.signature) if scoring.vectors else None
        except WordVectorsUnavailableError as error:
            self.why_no_vectors = str(error)
        self.visual = visual_of(scoring, material)
        self._prepared: PreparedCaptions | None = None

    def scored(self, metric: str) -> list[ScoredFigure]:
        if self._prepared is None:
            try:
                self._prepared = prepare(
                    self.material.captions,
                    None if self.scoring.references.is_without_captions else self.material.references,
                    tokenizer=self.scoring.tokenizer,
                    language=self.scoring.references.language_id,
                    spaced=self.scoring.references.language.spaced,
                    normalise=self.scoring.normalise,
                    vectors=self.vectors,
                )
            except (ToolMissingError, ToolFailedError) as error:
                raise ScoringFailedError(str(error)) from error
        if needs_projections(metric) and self.visual is not None:
            # Results computed before are kept.
            self._prepared = replace(self._prepared, projections=self.visual.projections(metric))
        return self._prepared.scored(metric)

    def keep_facts(self) -> None:
        if self.visual is not None:
            self.visual.keep_facts()


def _resource_ids(scoring: Scoring) -> tuple[int | None, ...]:
    """Identify what metrics need besides captions and references."""
    return (
        scoring.vectors_id,
        scoring.encoder_id,
        scoring.english_id,
        scoring.english_encoder_id,
        scoring.features_id,
    )


def _scoring_of(scoring_pass: Pass) -> Scoring:
    scorings = Scoring.objects.select_related(
        "references__language", "model", "vectors", "encoder", "english", "english_encoder", "features__encoder"
    )
    scoring = scorings.filter(pk=scoring_pass.scoring_id).first()
    if scoring is None:
        raise LeaseLostError(scoring_pass.pk)
    return scoring


def _scoring_or_end(scoring_pass: Pass, *, now: datetime) -> Scoring | None:
    """Load the scoring as it is now; if all its metrics are computed, finish the pass and return None."""
    with transaction.atomic():
        # Metrics are added under this lock: one added between this check and the end would never be computed.
        Scoring.objects.select_for_update(no_key=True).filter(pk=scoring_pass.scoring_id).first()
        scoring = _scoring_of(scoring_pass)
        if scoring_pass.done < len(scoring.metrics):
            return scoring
        _finish(scoring_pass, now=now)
        return None


def _begin(scoring_pass: Pass, material: ScoringMaterial, *, now: datetime) -> None:
    """Start over with the current captions, or continue if they are the same as when the pass began."""
    digests = (material.captions_digest, material.references_digest)
    with transaction.atomic():
        _extend(scoring_pass, now=now)
        if scoring_pass.captions_digest or scoring_pass.references_digest:
            if (scoring_pass.captions_digest, scoring_pass.references_digest) == digests:
                return
            Score.objects.filter(scoring_pass=scoring_pass).delete()
        scoring_pass.captions_digest, scoring_pass.references_digest = digests
        scoring_pass.captions_mark = material.mark
        scoring_pass.image_ids = pack_integers(material.images)
        scoring_pass.images, scoring_pass.left_out, scoring_pass.done = len(material.images), material.left_out, 0
        scoring_pass.total = len(scoring_pass.scoring.metrics)
        scoring_pass.save(
            update_fields=[
                "captions_digest",
                "references_digest",
                "captions_mark",
                "image_ids",
                "images",
                "left_out",
                "done",
                "total",
            ]
        )


def _scores(scoring_pass: Pass, inputs: _MetricInputs, metric: str, clock: Clock) -> list[Score]:
    """Compute the rows of one metric in another thread, while this one renews the lease."""
    if scoring_pass.attempts > SKIP_AFTER_ATTEMPTS:
        scoring_pass.attempts = 0
        return _undefined(scoring_pass, metric, _("Computing it crashed the program every time."), clock())
    if inputs.why_no_vectors and needs_vectors(metric):
        return _undefined(scoring_pass, metric, inputs.why_no_vectors, clock())
    try:
        scored = _meanwhile_renewing(scoring_pass, lambda: inputs.scored(metric), clock)
        inputs.keep_facts()
    except UndefinedFigureError as undefined:
        return _undefined(scoring_pass, metric, _(MESSAGES.get(undefined.reason, str(undefined))), clock())
    except (*MISSING_HERE, MissingInputError) as error:
        return _undefined(scoring_pass, metric, str(error), clock())
    except (ScoringFailedError, LeaseLostError, InterfaceError, OperationalError):
        raise
    except Exception as error:
        log.exception("Pass %s: %s could not be computed.", scoring_pass.pk, metric)
        message = _("It could not be computed (%(error)s).") % {"error": type(error).__name__}
        return _undefined(scoring_pass, metric, message, clock())
    return [
        Score(
            scoring_pass=scoring_pass,
            metric=one.metric,
            signature=str(_with_translator(one.signature, inputs.scoring.references)),
            value=one.scores.corpus,
            values=pack_floats(one.scores.per_image),
            notes=list(one.notes),
            sums=b"" if one.scores.sums is None else pack_floats(one.scores.sums),
            created_at=clock(),
        )
        for one in scored
    ]


def _with_translator(signature: Signature, references: ReferenceSet) -> Signature:
    """Say who translated the references, where the platform did."""
    made = ReferenceTranslation.objects.filter(made=references).select_related("translator").first()
    if made is None or signature.get("refs") is None:
        return signature
    decoding = Decoding.from_stored(made.decoding)
    about = {
        "translator": f"{made.translator.name}, {made.translator.source}".rstrip(", "),
        "translation": f"beams-{decoding.beams}-tokens-{decoding.max_tokens}",
    }
    return Signature(signature.metric, (*signature.settings, *about.items()))


def _meanwhile_renewing(scoring_pass: Pass, compute: Callable[[], T], clock: Clock) -> T:
    # Messages made in the thread are in the language of the caller, too.
    language = translation.get_language()
    with ThreadPoolExecutor(1, initializer=translation.activate, initargs=(language,)) as thread:
        result: Future[T] = thread.submit(compute)
        while not wait([result], timeout=RENEW_EVERY_S).done:
            _extend(scoring_pass, now=clock())
    return result.result()


def _undefined(scoring_pass: Pass, metric: str, why: str, now: datetime) -> list[Score]:
    return [
        Score(scoring_pass=scoring_pass, metric=figure, why_undefined=why[:REASON_CHARACTERS], created_at=now)
        for figure in figures_of(metric)
    ]


def _keep(scoring_pass: Pass, scores: list[Score], *, now: datetime) -> None:
    with transaction.atomic():
        _extend(scoring_pass, now=now, done=1)
        Score.objects.bulk_create(scores)
    scoring_pass.done += 1


def _extend(scoring_pass: Pass, *, now: datetime, done: int = 0) -> None:
    values = {"done": F("done") + done, "attempts": 0 if done else F("attempts")}
    scoring_pass.lease_until = leases.renewed_lease(scoring_pass, now=now, **values)


def _finish(scoring_pass: Pass, *, now: datetime, error: str = "") -> None:
    leases.finish_row(scoring_pass, now=now, error=error, total=F("done"))


def _nothing(scoring: Scoring, material: ScoringMaterial) -> str:
    values = {"model": scoring.model.name, "language": scoring.references.language.name, "images": material.left_out}
    if not material.left_out:
        return _("There are no reference captions yet. Import some.")
    return (
        _("“%(model)s” has no caption in %(language)s for any of the %(images)s images with references. Import some.")
        % values
    )
