"""Scores that the platform computed, as the plan of comparisons reads them."""

from __future__ import annotations

import csv
from collections import Counter
from io import StringIO

from django.utils.translation import gettext as _

from core.jobs.models import JobState
from core.people.models import Project
from crosslens_metrics.scoring import FIGURES
from research.scoring.models import Score
from research.scoring.selectors.scores import ScoreCell, metric_order, score_cells, title_of


def scored_figures(project: Project) -> list[tuple[str, str]]:
    """Return the name and title of each figure that some captions of the project are scored by."""
    scores = Score.objects.filter(scoring_pass__scoring__project=project, scoring_pass__state=JobState.DONE)
    found = set(scores.exclude(value=None).order_by().values_list("metric", flat=True).distinct())
    return [(name, title_of(name)) for name in sorted(found & FIGURES.keys(), key=metric_order)]


def plan_fields(project: Project, figure: str) -> dict[str, str]:
    """Return what the form of a plan begins with: scores by `figure`, and the two sets with most of them."""
    cells = [cell for cell in score_cells(project) if cell.metric == figure and cell.shown is not None]
    if not cells:
        return {}
    # Of several scorings against the same references, the newest counts.
    newest = {(one.language, one.model, _column(one)): one for one in sorted(cells, key=lambda one: one.pass_id)}
    sets = [name for name, _number in Counter(column for _language, _model, column in newest).most_common()]
    read = sets
    if len(sets) == 1:
        # A plan has two: then it asks only where a difference is small.
        read, sets = sets * 2, [*sets, _("%(name)s (again)") % {"name": sets[0]}]
    rows = dict.fromkeys((language, model) for language, model, _column in newest)
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["language", "model", *sets])
    for language, model in rows:
        scores = [newest.get((language, model, name)) for name in read]
        writer.writerow([language, model, *("" if one is None else f"{one.shown:.4f}" for one in scores)])
    return {"scores": text.getvalue(), "sets": ", ".join(sets[:2]) if len(sets) > 2 else "", "metric": figure}


def _column(cell: ScoreCell) -> str:
    """Name the references; a comma separates two of them in the form."""
    return cell.reference_set.replace(",", " ")
