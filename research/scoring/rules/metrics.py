"""The metrics that a scoring may request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from crosslens_metrics.scoring import METRICS, MetricNeed

NEED_ENGLISH = frozenset({"clinrel", "wcc"})
NEED_FEATURES = frozenset({"cmedrel", "wcc"})


class MetricChoiceError(ValueError):
    """The metrics cannot be chosen; the message says why, and what to do."""


def needs_vectors(metric: str) -> bool:
    return MetricNeed.VECTORS in METRICS[metric].needs


def needs_references(metric: str) -> bool:
    return METRICS[metric].reads_references


def needs_projections(metric: str) -> bool:
    return MetricNeed.PROJECTIONS in METRICS[metric].needs


def inputs_of(metrics: Sequence[str]) -> set[str]:
    """Name what `metrics` use besides captions and references, as scorings name it."""
    used = {"vectors"} if any(map(needs_vectors, metrics)) else set()
    if any(map(needs_projections, metrics)):
        used |= {"encoder"}
    if NEED_ENGLISH & set(metrics):
        used |= {"english", "english_encoder"}
    return used | ({"features"} if NEED_FEATURES & set(metrics) else set())


@dataclass(frozen=True)
class MetricInputs:
    """What there is to score captions of a language with."""

    language: str
    vectors_language: str | None
    has_references: bool = True
    has_encoder: bool = False
    has_english: bool = False
    has_features: bool = False

    def lacks(self, metric: str) -> str:
        """Say what `metric` needs that is not there; empty if it has all."""
        if needs_references(metric) and not self.has_references:
            text = _("%(metric)s needs references. Choose some.")
        elif needs_vectors(metric) and self.vectors_language != self.language:
            text = _("%(metric)s needs word vectors in the language of the references. Choose some.")
        elif needs_projections(metric) and not self.has_encoder:
            text = _("%(metric)s needs an encoder that maps captions into a space of image features. Choose one.")
        elif metric in NEED_ENGLISH and not self.has_english:
            text = _("%(metric)s needs English references. Choose some.")
        elif metric in NEED_FEATURES and not self.has_features:
            text = _(
                "%(metric)s needs features of the images: vectors of their collection in the space of the encoder. "
                "Choose some."
            )
        else:
            return ""
        return text % {"metric": metric}


def check_known(metrics: Sequence[str]) -> None:
    """Raises MetricChoiceError: no metric is named, or one is not known."""
    if not metrics:
        raise MetricChoiceError(_("Choose a metric."))
    unknown = [metric for metric in metrics if metric not in METRICS]
    if unknown:
        raise MetricChoiceError(
            _("There is no metric “%(name)s”. Choose from: %(known)s.")
            % {"name": unknown[0], "known": ", ".join(METRICS)}
        )


def figures_of(metric: str) -> list[str]:
    """List the names of a metric's figures, for example bleu-1 to bleu-4."""
    return [figure.name for figure in METRICS[metric].figures]
