"""Read scores: the table of a project, a scoring with its history, and what may be compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.db.models import Max, QuerySet
from django.utils.translation import gettext as _

from charts import texts
from core.jobs.models import OPEN_STATES, JobState
from core.people.models import Project
from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.scoring import FIGURES
from crosslens_metrics.signatures import Signature, differences
from research.inference.models import Training
from research.inference.selectors.runs import images_learned
from research.scoring.models import Pass, Score, Scoring
from research.scoring.rules.packing import unpack_integers

WITHOUT_COLUMNS = ("values", "sums")
FIGURE_ORDER = {name: place for place, name in enumerate(FIGURES)}


@dataclass(frozen=True)
class ScoreCell:
    """One figure of the newest done pass of a scoring; if it is undefined, `value` is None and `why` says why.

    `notes` are sentences on what the value leaves out or cannot say.

    `value` is on the metric's own scale; `shown` is as papers print it, BLEU and the like as percentages. `interval` is
    the 95% interval of `value`, where it was asked for.
    """

    scoring_id: int
    pass_id: int
    model: str
    language: str
    reference_set_id: int
    reference_set: str
    tokenizer: str
    normalise: bool
    metric: str
    value: float | None
    why: str
    signature: str
    notes: Sequence[str]
    images: int
    left_out: int
    finished_at: datetime | None
    interval: Interval | None = None
    why_no_interval: str = ""

    @property
    def shown(self) -> float | None:
        return None if self.value is None else self.value * shown_times(self.metric)

    @property
    def shown_interval(self) -> Interval | None:
        times = shown_times(self.metric)
        return self.interval and Interval(self.interval.low * times, self.interval.high * times)

    @property
    def interval_text(self) -> str:
        return texts.interval_text(self.shown_interval) if self.shown_interval else ""

    @property
    def raw(self) -> str:
        """The value itself, with all its digits."""
        return "" if self.value is None else repr(self.value)

    @property
    def title(self) -> str:
        return title_of(self.metric)


@dataclass(frozen=True)
class ScoringRow:
    """A scoring with its open pass, the newest that ended, and the newest that is done."""

    scoring: Scoring
    open: Pass | None
    ended: Pass | None
    done: Pass | None

    @property
    def error(self) -> str:
        """The error of the newest pass; empty if it has scores."""
        return self.ended.error if self.ended is not None and self.open is None else ""

    @property
    def has_new_references(self) -> bool:
        """Whether the references have changed since the figures were computed."""
        return self.done is not None and self.done.references_digest != self.scoring.references.digest

    @property
    def percent(self) -> int:
        """The share of the open pass's metrics that are done; 100 if none is open."""
        if self.open is None:
            return 100
        return min(100, 100 * self.open.done // self.open.total) if self.open.total else 0


@dataclass(frozen=True)
class PassRow:
    """A pass of the history and its figures. `before` is the last done one before it."""

    scoring_pass: Pass
    scores: Sequence[Score]
    before: Pass | None

    @property
    def figures(self) -> list[tuple[str, float | None]]:
        """Titles, and values as papers print them."""
        return [
            (title_of(one.metric), None if one.value is None else one.value * shown_times(one.metric))
            for one in self.scores
        ]

    @property
    def changed(self) -> str:
        """Say in what it differs from the one before; an open pass does not know its captions yet."""
        before, now = self.before, self.scoring_pass
        if before is None or not (now.captions_digest or now.references_digest):
            return ""
        captions = before.captions_digest != now.captions_digest
        references = before.references_digest != now.references_digest
        if captions and references:
            return _("Captions and references changed.")
        if captions:
            return _("Captions changed.")
        return _("References changed.") if references else _("Recomputed on the same captions and references.")


@dataclass(frozen=True)
class ScoringDetails:
    row: ScoringRow
    cells: Sequence[ScoreCell]
    history: Sequence[PassRow]
    """The newest first, the current one included."""

    @property
    def notes(self) -> list[tuple[str, str]]:
        """Each note on the figures once, after the titles of those it is about."""
        return [(", ".join(title_of(name) for name in names), note) for note, names in by_note(self.cells).items()]

    @property
    def has_images(self) -> bool:
        return any(cell.value is not None for cell in self.cells)


def title_of(metric: str) -> str:
    """Return a figure's title in tables, or its name if this installation no longer knows it."""
    return FIGURES[metric].title if metric in FIGURES else metric


def shown_times(metric: str) -> float:
    return FIGURES[metric].shown_times if metric in FIGURES else 1.0


def score_cells(project: Project, *, scorings: Sequence[int] | None = None) -> list[ScoreCell]:
    """Read all current figures of a project, or of some scorings, in one query, without those of single images.

    By language, references, model, scoring, metric.
    """
    done = Pass.objects.filter(scoring__project=project, state=JobState.DONE)
    if scorings is not None:
        done = done.filter(scoring__in=scorings)
    newest = done.values("scoring").annotate(newest=Max("pk")).values("newest")
    rows = Score.objects.filter(scoring_pass__in=newest).values_list(
        "scoring_pass__scoring",
        "scoring_pass",
        "scoring_pass__scoring__model__name",
        "scoring_pass__scoring__references__language",
        "scoring_pass__scoring__references",
        "scoring_pass__scoring__references__name",
        "scoring_pass__scoring__tokenizer",
        "scoring_pass__scoring__normalise",
        "metric",
        "value",
        "why_undefined",
        "signature",
        "notes",
        "scoring_pass__images",
        "scoring_pass__left_out",
        "scoring_pass__finished_at",
    )
    cells = [ScoreCell(*row) for row in rows.order_by()]
    return sorted(
        cells,
        key=lambda cell: (cell.language, cell.reference_set, cell.model, cell.scoring_id, *metric_order(cell.metric)),
    )


def by_note(cells: Iterable[ScoreCell], *, name: str = "metric") -> dict[str, list[str]]:
    """List the metrics, or what else `name` says, that each note is about."""
    notes: dict[str, dict[str, None]] = defaultdict(dict)
    for cell in cells:
        for note in cell.notes:
            notes[note][getattr(cell, name)] = None
    return {note: list(names) for note, names in notes.items()}


def metric_order(metric: str) -> tuple[int, str]:
    return FIGURE_ORDER.get(metric, len(FIGURE_ORDER)), metric


SHOWN_WITH = ("model", "references__language", "references__collection", "vectors")


def scoring_rows(project: Project) -> list[ScoringRow]:
    """List all scorings of a project, by language, references and model, in three queries."""
    scorings = Scoring.objects.filter(project=project).select_related(*SHOWN_WITH)
    return _with_passes(scorings.order_by("references__language", "references__name", "model__name", "pk"))


def scoring_rows_of(scorings: Sequence[Scoring]) -> list[ScoringRow]:
    """List some scorings, in the order of their primary keys."""
    chosen = Scoring.objects.filter(pk__in=[one.pk for one in scorings])
    return _with_passes(chosen.select_related(*SHOWN_WITH).order_by("pk"))


def scoring_details(scoring: Scoring) -> ScoringDetails:
    (row,) = _with_passes(Scoring.objects.filter(pk=scoring.pk).select_related("model", "references__language"))
    passes = list(Pass.objects.filter(scoring=scoring).defer("image_ids").order_by("-pk"))
    scores: dict[int, list[Score]] = {one.pk: [] for one in passes}
    for score in Score.objects.filter(scoring_pass__in=passes).defer(*WITHOUT_COLUMNS).order_by("pk"):
        scores[score.scoring_pass_id].append(score)
    history: list[PassRow] = []
    before: Pass | None = None
    for one in reversed(passes):
        history.append(PassRow(one, sorted(scores[one.pk], key=lambda score: metric_order(score.metric)), before))
        before = one if one.state == JobState.DONE else before
    return ScoringDetails(row, score_cells(scoring.project, scorings=[scoring.pk]), history[::-1])


def current_pass(scoring: Scoring) -> Pass | None:
    """Find the newest done pass, the only one that counts."""
    return Pass.objects.filter(scoring=scoring, state=JobState.DONE).order_by("-pk").first()


def differences_between(one: str, other: str) -> list[str]:
    """List the differences of two signatures; only if there are none may their scores be compared."""
    return differences(Signature.parse(one), Signature.parse(other))


def _with_passes(scorings: QuerySet[Scoring]) -> list[ScoringRow]:
    rows = list(scorings)
    passes = Pass.objects.filter(scoring__in=scorings.order_by().values("pk"))

    def newest(several: QuerySet[Pass]) -> dict[int, Pass]:
        wanted = several.values("scoring").annotate(newest=Max("pk")).values("newest")
        return {one.scoring_id: one for one in Pass.objects.filter(pk__in=wanted).defer("image_ids")}

    open_ones = newest(passes.filter(state__in=OPEN_STATES))
    ended = newest(passes.exclude(state__in=OPEN_STATES))
    done = newest(passes.filter(state=JobState.DONE))
    return [ScoringRow(one, open_ones.get(one.pk), ended.get(one.pk), done.get(one.pk)) for one in rows]


def learned_counts(rows: Sequence[ScoringRow]) -> dict[int, int]:
    """Count, by scoring, the images of its current pass that its model was trained on; only where there are any."""
    if not Training.objects.exclude(model=None).exists():
        return {}
    done = {row.done.pk: row.scoring for row in rows if row.done is not None}
    by_model = {scoring.model_id: images_learned(scoring.model) for scoring in done.values()}
    counts = {}
    for pk, packed in Pass.objects.filter(pk__in=done).values_list("pk", "image_ids"):
        scoring = done[pk]
        learned = by_model[scoring.model_id]
        count = int(np.isin(unpack_integers(packed), list(learned)).sum()) if learned else 0
        if count:
            counts[scoring.pk] = count
    return counts
