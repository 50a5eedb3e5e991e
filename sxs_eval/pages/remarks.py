"""What stands beside the figures of a comparison, in sentences: its stopping point, and what counts or does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crosslens_metrics.reports.comparison_figures import ReportedFigures
from sxs_eval.models import RaterState
from sxs_eval.selectors.evidence import ComparisonEvidence
from sxs_eval.selectors.results import ReportedRater


def stopping_point(report: ReportedFigures, evidence: ComparisonEvidence, looks: int) -> Iterator[str]:
    """Say when judging was to stop, and how often somebody looked before."""
    planned, complete = evidence.pairs, report.outcome.images.denominator
    yield ngettext(
        "Planned: %(number)s image. Complete: %(complete)s.",
        "Planned: %(number)s images. Complete: %(complete)s.",
        planned,
    ) % {"number": planned, "complete": complete}
    yield (
        ngettext(
            "Before all planned images were complete, results were looked at once.",
            "Before all planned images were complete, results were looked at %(number)s times, each time with another "
            "number of complete images.",
            looks,
        )
        % {"number": looks}
        if looks
        else _("Before all planned images were complete, nobody looked at results.")
    )


def remarks_on(report: ReportedFigures, evidence: ComparisonEvidence) -> Iterator[str]:
    """Describe in sentences what the headline leaves out, and always the pairs with equal captions."""
    images, apart = report.outcome.images, evidence.set_aside
    yield ngettext(
        "The figures are based on %(number)s image that has all its judgements.",
        "The figures are based on %(number)s images that have all their judgements.",
        images.complete,
    ) % {"number": images.complete}
    if images.incomplete:
        yield ngettext(
            "%(number)s image lacks judgements and is not part of any percentage (%(none)s without any).",
            "%(number)s images lack judgements and are not part of any percentage (%(none)s without any).",
            images.incomplete,
        ) % {"number": images.incomplete, "none": images.incomplete_by_judgements.get(0, 0)}
    if images.counted_similar:
        yield ngettext(
            "%(number)s pair with equal captions counts as SIMILAR without being shown.",
            "%(number)s pairs with equal captions count as SIMILAR without being shown.",
            images.counted_similar,
        ) % {"number": images.counted_similar}
        if images.incomplete and images.complete:
            yield _(
                "Until every pair is judged, the gain is biased towards zero, because all pairs with equal "
                "captions already count."
            )
    if images.beyond_replication:
        yield ngettext(
            "%(number)s image has more judgements than required. All of them count.",
            "%(number)s images have more judgements than required. All of them count.",
            images.beyond_replication,
        ) % {"number": images.beyond_replication}
    if apart.total:
        yield ngettext(
            "%(number)s judgement is set aside: %(late)s late, %(paused)s by paused raters, %(excluded)s by "
            "excluded raters.",
            "%(number)s judgements are set aside: %(late)s late, %(paused)s by paused raters, %(excluded)s by "
            "excluded raters.",
            apart.total,
        ) % {"number": apart.total, "late": apart.late, "paused": apart.paused, "excluded": apart.excluded}
    if apart.of_images:
        yield ngettext(
            "%(number)s of these judgements is of an image that is left out of results.",
            "%(number)s of these judgements are of images that are left out of results.",
            apart.of_images,
        ) % {"number": apart.of_images}


def scripted_answers(raters: Sequence[ReportedRater]) -> Iterator[str]:
    if number := sum(row.is_scripted and row.state in ("", RaterState.RESTORED) for row in raters):
        yield ngettext(
            "The answers of %(number)s rater look scripted. They count until a manager pauses this rater.",
            "The answers of %(number)s raters look scripted. They count until a manager pauses these raters.",
            number,
        ) % {"number": number}
