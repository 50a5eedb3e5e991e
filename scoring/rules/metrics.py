"""Which metrics a scoring may ask for."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from metrics.scoring import METRICS

VECTORS = "vectors"


class MetricsRefused(ValueError):
    """The message says why, and what to do."""


def needs_vectors(metric: str) -> bool:
    return VECTORS in METRICS[metric].needs


def check_metrics(metrics: Sequence[str], *, language: str, vectors_language: str | None) -> None:
    """
    Raises
    ------
    MetricsRefused
        Where no metric is named or one is not known, or word vectors are needed and not given in `language`.
    """
    if not metrics:
        raise MetricsRefused(_("Choose a metric."))
    unknown = [metric for metric in metrics if metric not in METRICS]
    if unknown:
        raise MetricsRefused(
            _("There is no metric “%(name)s”. Those there are: %(known)s.")
            % {"name": unknown[0], "known": ", ".join(METRICS)}
        )
    needing = [metric for metric in metrics if needs_vectors(metric)]
    if needing and vectors_language != language:
        raise MetricsRefused(
            _("%(metric)s needs word vectors in the language of the references. Choose some.") % {"metric": needing[0]}
        )


def figures_of(metric: str) -> list[str]:
    """The names of the figures that a metric gives, such as bleu-1 to bleu-4."""
    return [figure.name for figure in METRICS[metric].figures]
