"""The metrics that a scoring may request."""

from __future__ import annotations

from collections.abc import Sequence

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


def check_metrics(
    metrics: Sequence[str],
    *,
    language: str,
    vectors_language: str | None,
    has_references: bool = True,
    has_encoder: bool = False,
    has_english: bool = False,
    has_features: bool = False,
) -> None:
    """Raises MetricChoiceError where no metric is named or one is not known, or one lacks what it needs: references,
    word vectors in `language`, an encoder of the captions, English references, features of the images.
    """
    if not metrics:
        raise MetricChoiceError(_("Choose a metric."))
    unknown = [metric for metric in metrics if metric not in METRICS]
    if unknown:
        raise MetricChoiceError(
            _("There is no metric “%(name)s”. Choose from: %(known)s.")
            % {"name": unknown[0], "known": ", ".join(METRICS)}
        )
    for metric in metrics:
        if needs_references(metric) and not has_references:
            raise MetricChoiceError(_("%(metric)s needs references. Choose some.") % {"metric": metric})
        if needs_vectors(metric) and vectors_language != language:
            raise MetricChoiceError(
                _("%(metric)s needs word vectors in the language of the references. Choose some.") % {"metric": metric}
            )
        if needs_projections(metric) and not has_encoder:
            raise MetricChoiceError(
                _("%(metric)s needs an encoder that maps captions into a space of image features. Choose one.")
                % {"metric": metric}
            )
        if metric in NEED_ENGLISH and not has_english:
            raise MetricChoiceError(_("%(metric)s needs English references. Choose some.") % {"metric": metric})
        if metric in NEED_FEATURES and not has_features:
            raise MetricChoiceError(
                _("%(metric)s needs features of the images: vectors of their collection. Choose some.")
                % {"metric": metric}
            )


def figures_of(metric: str) -> list[str]:
    """List the names of a metric's figures, for example bleu-1 to bleu-4."""
    return [figure.name for figure in METRICS[metric].figures]
