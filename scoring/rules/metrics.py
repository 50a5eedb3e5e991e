"""Which metrics a scoring may ask for."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from metrics.scoring import METRICS, Need

GIVEN_HERE = frozenset({Need.JAVA, Need.VECTORS})
"""What metrics may need besides captions and references. Projections are given to commands only."""


class MetricsRefused(ValueError):
    """The message says why, and what to do."""


def needs_vectors(metric: str) -> bool:
    return Need.VECTORS in METRICS[metric].needs


def check_metrics(metrics: Sequence[str], *, language: str, vectors_language: str | None) -> None:
    """
    Raises
    ------
    MetricsRefused
        Where no metric is named or one is not known or cannot be computed here, or word vectors are needed and not
        given in `language`.
    """
    if not metrics:
        raise MetricsRefused(_("Choose a metric."))
    unknown = [metric for metric in metrics if metric not in METRICS]
    if unknown:
        raise MetricsRefused(
            _("There is no metric “%(name)s”. Those there are: %(known)s.")
            % {"name": unknown[0], "known": ", ".join(METRICS)}
        )
    elsewhere = [metric for metric in metrics if not METRICS[metric].needs <= GIVEN_HERE]
    if elsewhere:
        raise MetricsRefused(
            _("%(metric)s needs projections of captions, which only the command has.") % {"metric": elsewhere[0]}
        )
    needing = [metric for metric in metrics if needs_vectors(metric)]
    if needing and vectors_language != language:
        raise MetricsRefused(
            _("%(metric)s needs word vectors in the language of the references. Choose some.") % {"metric": needing[0]}
        )


def figures_of(metric: str) -> list[str]:
    """The names of the figures that a metric gives, such as bleu-1 to bleu-4."""
    return [figure.name for figure in METRICS[metric].figures]
