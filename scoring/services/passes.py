"""Computing the scores of a pass: metric by metric, each kept as it is done, so that little is lost with a worker.

No transaction is open while a metric is computed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import datetime, timedelta
from importlib.util import find_spec
from typing import TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F
from django.utils import translation
from django.utils.translation import gettext as _

from crosslens_metrics.java import ToolFailedError, ToolMissingError
from crosslens_metrics.reports.score_figures import MESSAGES
from crosslens_metrics.scoring import MissingInputError, Prepared, Scored, prepare
from crosslens_metrics.undefined import UndefinedFigureError
from crosslens_metrics.word_vectors import Vectors
from images.models import JobState
from inference.backends.captioners import BackendSettingsError
from inference.backends.encoders import ExtraMissingError
from inference.selectors.embeddings import EmbeddingsUnavailableError
from inference.selectors.word_vectors import WordVectorsUnavailableError, vectors_of
from inference.services import worker_status
from inference.services.encoders import queue_of
from scoring.models import OPEN_STATES, Pass, Score, Scoring
from scoring.rules.metrics import figures_of, needs_projections, needs_vectors
from scoring.rules.packing import pack_floats, pack_integers
from scoring.selectors.captions import Material, material_of
from scoring.services.visual import visual_of

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]
T = TypeVar("T")

LEASE = timedelta(minutes=1)
"""How long a worker may be silent before another one takes the pass up where it was."""

RENEW_EVERY_S = 15.0
"""While a metric is computed."""

SKIP_AFTER_ATTEMPTS = 3
"""After so many starts that ended without a word, the metric at hand is taken to be what ends them."""

MAX_ATTEMPTS = 6
REASON_CHARACTERS = 200
NOT_HERE = (ToolMissingError, ToolFailedError, BackendSettingsError, ExtraMissingError, EmbeddingsUnavailableError)
"""What a metric needs and this machine does not have."""


class LeaseLostError(Exception):
    """Another worker took the pass over, or it is gone."""


class ScoringFailedError(Exception):
    """The pass as a whole; the message says what is missing."""


def run_pass(*, pass_id: int, clock: Clock) -> None:
    """Compute the pass, or take it up where a worker that is gone left it."""
    found = claim(pass_id=pass_id, now=clock())
    if found is None:
        return
    by = found.scoring.created_by
    with translation.override((by.interface_language if by else "") or settings.LANGUAGE_CODE):
        try:
            _run(found, clock)
        except LeaseLostError:
            log.info("Pass %s went on elsewhere.", found.pk)


def queue_elsewhere(*, pass_id: int, now: datetime) -> str:
    """The queue of workers that have what an encoder of the pass needs, where this one lacks it; else empty."""
    if find_spec("torch") is not None:
        return ""
    found = Pass.objects.filter(pk=pass_id).select_related("scoring__encoder", "scoring__english_encoder").first()
    named = [found.scoring.encoder, found.scoring.english_encoder] if found else []
    queues = [queue for one in named if one is not None and (queue := queue_of(one)) != worker_status.DEFAULT]
    return next((queue for queue in queues if worker_status.count_listening(queue=queue, now=now)), "")


def claim(*, pass_id: int, now: datetime) -> Pass | None:
    """Take the pass, or None where it is done or in other hands."""
    with transaction.atomic():
        found = Pass.objects.select_for_update(of=("self",), no_key=True).filter(pk=pass_id)
        taken = found.select_related("scoring").first()
        if taken is None or taken.state not in OPEN_STATES:
            return None
        if taken.state == JobState.RUNNING and taken.lease_until is not None and taken.lease_until > now:
            return None
        taken.state, taken.lease_until, taken.attempts = JobState.RUNNING, now + LEASE, taken.attempts + 1
        taken.save(update_fields=["state", "lease_until", "attempts"])
        return taken


def _run(found: Pass, clock: Clock) -> None:
    if found.attempts > MAX_ATTEMPTS:
        _finish(found, now=clock(), error=_("The scoring stopped %(count)s times.") % {"count": MAX_ATTEMPTS})
        return
    scoring = _scoring_of(found)
    try:
        material = material_of(scoring)
        _begin(found, material, now=clock())
        if not material.images:
            raise ScoringFailedError(_nothing(scoring, material))
        texts = _Texts(scoring, material)
        while (scoring_now := _scoring_or_end(found, now=clock())) is not None:
            if _named_by(scoring_now) != _named_by(texts.scoring):
                texts = _Texts(scoring_now, material)
            metric = scoring_now.metrics[found.done]
            _keep(found, _scores(found, texts, metric, clock), now=clock())
    except ScoringFailedError as reason:
        _finish(found, now=clock(), error=str(reason))


class _Texts:
    """Captions as tokens, made ready for all metrics when the first asks for them."""

    def __init__(self, scoring: Scoring, material: Material) -> None:
        self.scoring, self.material = scoring, material
        self.vectors: Vectors | None = None
        self.why_no_vectors = ""
        # Here, and not beside this thread: it asks the database.
        try:
            self.vectors = vectors_of(scoring.vectors.signature) if scoring.vectors else None
        except WordVectorsUnavailableError as error:
            self.why_no_vectors = str(error)
        self.visual = visual_of(scoring, material)
        self._prepared: Prepared | None = None

    def scored(self, metric: str) -> list[Scored]:
        if self._prepared is None:
            try:
                self._prepared = prepare(
                    self.material.captions,
                    self.material.references,
                    tokenizer=self.scoring.tokenizer,
                    language=self.scoring.references.language_id,
                    normalise=self.scoring.normalise,
                    vectors=self.vectors,
                )
            except (ToolMissingError, ToolFailedError) as error:
                raise ScoringFailedError(str(error)) from error
        if needs_projections(metric) and self.visual is not None:
            # What was computed before is kept along.
            self._prepared = replace(self._prepared, projections=self.visual.projections(metric))
        return self._prepared.scored(metric)

    def keep_facts(self) -> None:
        if self.visual is not None:
            self.visual.keep_facts()


def _named_by(scoring: Scoring) -> tuple[int | None, ...]:
    """What metrics need besides captions and references."""
    return (
        scoring.vectors_id,
        scoring.encoder_id,
        scoring.english_id,
        scoring.english_encoder_id,
        scoring.features_id,
    )


def _scoring_of(found: Pass) -> Scoring:
    scorings = Scoring.objects.select_related(
        "references__language", "model", "vectors", "encoder", "english", "english_encoder", "features__encoder"
    )
    scoring = scorings.filter(pk=found.scoring_id).first()
    if scoring is None:
        raise LeaseLostError(found.pk)
    return scoring


def _scoring_or_end(found: Pass, *, now: datetime) -> Scoring | None:
    """The scoring as it is now; or None where all its metrics are computed, with which the pass is done."""
    with transaction.atomic():
        # Metrics are added under this lock: none comes between this look and the end, or nobody would compute it.
        Scoring.objects.select_for_update(no_key=True).filter(pk=found.scoring_id).first()
        scoring = _scoring_of(found)
        if found.done < len(scoring.metrics):
            return scoring
        _finish(found, now=now)
        return None


def _begin(found: Pass, material: Material, *, now: datetime) -> None:
    """Start on the captions as they are, or go on where they are what they were when the pass was begun."""
    digests = (material.captions_digest, material.references_digest)
    with transaction.atomic():
        _extend(found, now=now)
        if found.captions_digest or found.references_digest:
            if (found.captions_digest, found.references_digest) == digests:
                return
            Score.objects.filter(scoring_pass=found).delete()
        found.captions_digest, found.references_digest = digests
        found.captions_mark = material.mark
        found.image_ids = pack_integers(material.images)
        found.images, found.left_out, found.done = len(material.images), material.left_out, 0
        found.total = len(found.scoring.metrics)
        found.save(
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


def _scores(found: Pass, texts: _Texts, metric: str, clock: Clock) -> list[Score]:
    """The rows of one metric, computed beside this thread, which meanwhile renews the lease."""
    if found.attempts > SKIP_AFTER_ATTEMPTS:
        found.attempts = 0
        return _undefined(found, metric, _("Computing it stopped the program each time it was tried."), clock())
    if texts.why_no_vectors and needs_vectors(metric):
        return _undefined(found, metric, texts.why_no_vectors, clock())
    try:
        scored = _meanwhile_renewing(found, lambda: texts.scored(metric), clock)
        texts.keep_facts()
    except UndefinedFigureError as undefined:
        return _undefined(found, metric, _(MESSAGES.get(undefined.reason, str(undefined))), clock())
    except (*NOT_HERE, MissingInputError) as error:
        return _undefined(found, metric, str(error), clock())
    except (ScoringFailedError, LeaseLostError, InterfaceError, OperationalError):
        raise
    except Exception as error:
        log.exception("Pass %s: %s could not be computed.", found.pk, metric)
        said = _("It could not be computed (%(error)s).") % {"error": type(error).__name__}
        return _undefined(found, metric, said, clock())
    return [
        Score(
            scoring_pass=found,
            metric=one.metric,
            signature=str(one.signature),
            value=one.scores.corpus,
            values=pack_floats(one.scores.per_image),
            sums=b"" if one.scores.sums is None else pack_floats(one.scores.sums),
            created_at=clock(),
        )
        for one in scored
    ]


def _meanwhile_renewing(found: Pass, compute: Callable[[], T], clock: Clock) -> T:
    # Sentences that are made in there are in the language of who asked, too.
    language = translation.get_language()
    with ThreadPoolExecutor(1, initializer=translation.activate, initargs=(language,)) as beside:
        result: Future[T] = beside.submit(compute)
        while not wait([result], timeout=RENEW_EVERY_S).done:
            _extend(found, now=clock())
    return result.result()


def _undefined(found: Pass, metric: str, why: str, now: datetime) -> list[Score]:
    return [
        Score(scoring_pass=found, metric=figure, why_undefined=why[:REASON_CHARACTERS], created_at=now)
        for figure in figures_of(metric)
    ]


def _keep(found: Pass, scores: list[Score], *, now: datetime) -> None:
    with transaction.atomic():
        _extend(found, now=now, done=1)
        Score.objects.bulk_create(scores)
    found.done += 1


def _extend(found: Pass, *, now: datetime, done: int = 0) -> None:
    # A microsecond more each time: the lease is what tells one holder from the next.
    until = max(now + LEASE, (found.lease_until or now) + timedelta(microseconds=1))
    held = Pass.objects.filter(pk=found.pk, state=JobState.RUNNING, lease_until=found.lease_until)
    if not held.update(lease_until=until, done=F("done") + done, attempts=0 if done else F("attempts")):
        raise LeaseLostError(found.pk)
    found.lease_until = until


def _finish(found: Pass, *, now: datetime, error: str = "") -> None:
    held = Pass.objects.filter(pk=found.pk, state=JobState.RUNNING, lease_until=found.lease_until)
    state = JobState.FAILED if error else JobState.DONE
    held.update(state=state, error=error, lease_until=None, finished_at=now, total=F("done"))


def _nothing(scoring: Scoring, material: Material) -> str:
    about = {"model": scoring.model.name, "language": scoring.references.language.name, "images": material.left_out}
    if not material.left_out:
        return _("There is no reference caption yet. Import some.")
    return (
        _("“%(model)s” has no caption in %(language)s for any of the %(images)s images with references. Import some.")
        % about
    )
