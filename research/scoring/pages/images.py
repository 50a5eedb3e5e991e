"""Show the images behind a figure: best and worst captions, and disagreements of a metric with people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from django.core.paginator import Page, Paginator
from django.db.models import TextChoices
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from numpy.typing import NDArray

from charts import texts
from charts.plots import DrawnPlot, bar_plot
from core.images.models import CollectionImage
from core.images.selectors import served_image
from core.people.models import User
from research.scoring.models import Pass, Reference, ReferenceSet, Score, Scoring
from research.scoring.pages.scores import value_text
from research.scoring.rules.packing import unpack_floats, unpack_integers
from research.scoring.selectors.human_judgements import HumanJudgements, human_judgements_on
from research.scoring.selectors.images import (
    ImageDisagreement,
    ImageTexts,
    PerImage,
    disagreements,
    gains_by_image,
    per_image,
    texts_of,
)
from research.scoring.selectors.scores import current_pass, differences_between, metric_order, shown_times, title_of

PER_PAGE = 10
SETS_PER_PAGE = 20
BINS = 10


Ranked = tuple[int, float] | ImageDisagreement
"""An image (primary key) with its value, or with what people say beside it."""


class ScoredImagesShown(TextChoices):
    BEST = "best", _("Best")
    WORST = "worst", _("Worst")
    DISAGREEMENT = "disagreement", _("Metric against people")


def images_page(
    scoring: Scoring, viewer: User, *, metric: str, show: str, against: str, number: str
) -> dict[str, Any] | None:
    """Prepare the page; None if nothing is computed yet. Unknown choices fall back to the first one.

    `warning` says why the metric cannot be put beside people; empty where it can. `unlike` says in what the scores of
    the two models differ that should be the same.
    """
    scoring_pass = current_pass(scoring)
    titles = _metrics_of(scoring_pass) if scoring_pass is not None else []
    if scoring_pass is None or not titles:
        return None
    metric = metric if metric in titles else titles[0]
    values = per_image(scoring_pass, metric)
    assert values is not None
    wanted = ScoredImagesShown(show) if show in ScoredImagesShown.values else ScoredImagesShown.WORST
    others = (
        human_judgements_on(scoring.project, scoring.model_id, scoring.references.language_id)
        if wanted is ScoredImagesShown.DISAGREEMENT
        else []
    )
    chosen = next((one for one in others if str(one.other_id) == against), others[0] if others else None)
    rows, warning, unlike = _rows(scoring, values, metric, wanted, chosen)
    page: Page[Ranked] = Paginator(rows, PER_PAGE).get_page(number)
    return {
        "metric": metric,
        "title": title_of(metric),
        "metrics": [(name, title_of(name)) for name in titles],
        "show": wanted,
        "page": page,
        "images": _shown(scoring, scoring_pass, metric, list(page), chosen, viewer),
        "distribution": _distribution(values.values * shown_times(metric), title_of(metric)),
        "others": others,
        "against": chosen,
        "warning": warning,
        "unlike": unlike,
    }


def references_page(
    reference_set: ReferenceSet, *, number: str
) -> tuple[Page[CollectionImage], list[tuple[CollectionImage, list[str]]]]:
    """List images in the order of their collection, with their references."""
    of_set = Reference.objects.filter(reference_set=reference_set)
    entries = CollectionImage.objects.filter(collection=reference_set.collection_id, image__in=of_set.values("image"))
    page = Paginator(entries.select_related("image").order_by("position", "pk"), SETS_PER_PAGE).get_page(number)
    texts: dict[int, list[str]] = defaultdict(list)
    rows = of_set.filter(image__in=[entry.image_id for entry in page]).order_by("image", "position")
    for image, text in rows.values_list("image_id", "text"):
        texts[image].append(text)
    return page, [(entry, texts[entry.image_id]) for entry in page]


def image_with_texts(scoring: Scoring, images: Iterable[int], viewer: User) -> dict[int, dict[str, Any]]:
    """Prepare an image with its texts, without figures."""
    return {image: _with_texts(texts, viewer) for image, texts in texts_of(scoring, images).items()}


def _metrics_of(scoring_pass: Pass) -> list[str]:
    names = (
        Score.objects.filter(scoring_pass=scoring_pass, value__isnull=False).order_by().values_list("metric", flat=True)
    )
    return sorted(names, key=metric_order)


def _rows(
    scoring: Scoring, values: PerImage, metric: str, show: ScoredImagesShown, chosen: HumanJudgements | None
) -> tuple[Sequence[Ranked], str, Sequence[str]]:
    if show is not ScoredImagesShown.DISAGREEMENT:
        everything = len(values)
        return (values.best(everything) if show is ScoredImagesShown.BEST else values.worst(everything)), "", ()
    if chosen is None:
        return [], gettext("Nobody has compared captions of this model in this language yet."), ()
    other = _scoring_of(scoring, chosen.other_id)
    other_pass = current_pass(other) if other else None
    theirs = per_image(other_pass, metric) if other_pass else None
    if theirs is None:
        message = gettext("“%(model)s” has no %(metric)s with the same references and tokenisation. Score it first.")
        return [], message % {"model": chosen.other, "metric": title_of(metric)}, ()
    return disagreements(gains_by_image(values, theirs), chosen.by_image), "", _unlike(scoring, other_pass, metric)


def _scoring_of(scoring: Scoring, model_id: int) -> Scoring | None:
    return Scoring.objects.filter(
        references=scoring.references_id,
        tokenizer=scoring.tokenizer,
        normalise=scoring.normalise,
        model=model_id,
    ).first()


def _unlike(scoring: Scoring, other: Pass | None, metric: str) -> Sequence[str]:
    ours = current_pass(scoring)
    signatures = [
        Score.objects.filter(scoring_pass=one, metric=metric).values_list("signature", flat=True).get()
        for one in (ours, other)
    ]
    return differences_between(*signatures)


def _shown(
    scoring: Scoring,
    scoring_pass: Pass,
    metric: str,
    rows: Sequence[Ranked],
    chosen: HumanJudgements | None,
    viewer: User,
) -> list[dict[str, Any]]:
    ids = [row.image_id if isinstance(row, ImageDisagreement) else row[0] for row in rows]
    texts = texts_of(scoring, ids)
    figures = _figures_of(scoring_pass, ids, metric)
    is_judged = any(isinstance(row, ImageDisagreement) for row in rows)
    other = _scoring_of(scoring, chosen.other_id) if chosen and is_judged else None
    captions = {image: text.caption for image, text in texts_of(other, ids).items()} if other else {}
    disagreement_of = {
        row.image_id: _judgement_of(row, metric, chosen.other, captions.get(row.image_id, ""))
        for row in rows
        if isinstance(row, ImageDisagreement) and chosen
    }
    return [
        _with_texts(texts[image], viewer) | {"figures": figures[image], "judgement": disagreement_of.get(image)}
        for image in ids
        if image in texts
    ]


def _with_texts(texts: ImageTexts, viewer: User) -> dict[str, Any]:
    image = served_image(texts.image, viewer)
    return {"image": image, "key": texts.key, "caption": texts.caption, "references": texts.references}


def _judgement_of(row: ImageDisagreement, metric: str, other: str, caption: str) -> dict[str, Any]:
    """Say what people judged of an image against another model's caption, and what the metric does."""
    return {
        "other": other,
        "caption": caption,
        "verdict": texts.signed_number(row.verdict, 1),
        "gain": texts.signed_number(row.value * shown_times(metric), 1),
        "is_metric_higher": row.gap > 0,
    }


def _figures_of(scoring_pass: Pass, images: Sequence[int], metric: str) -> dict[int, list[tuple[str, str, bool]]]:
    """Format all metrics of some images, in the order of tables: title, value, and whether the page is about it."""
    place = {image: index for index, image in enumerate(unpack_integers(scoring_pass.image_ids).tolist())}
    scores = Score.objects.filter(scoring_pass=scoring_pass, value__isnull=False).only("metric", "values")
    lines: dict[int, list[tuple[str, str, bool]]] = {image: [] for image in images}
    for score in sorted(scores, key=lambda score: metric_order(score.metric)):
        values = unpack_floats(score.values) * shown_times(score.metric)
        for image in images:
            text = value_text(float(values[place[image]]))
            lines[image].append((title_of(score.metric), text, score.metric == metric))
    return lines


def _distribution(values: NDArray[np.float64], title: str) -> DrawnPlot:
    """Count the images in ten steps from the lowest to the highest value."""
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-9:
        return bar_plot(title, [(value_text(low), len(values), "images")])
    counts, edges = np.histogram(values, bins=BINS, range=(low, high))
    labels = [
        gettext("%(low)s to %(high)s") % {"low": value_text(float(start)), "high": value_text(float(end))}
        for start, end in pairwise(edges)
    ]
    return bar_plot(title, [(label, int(count), "images") for label, count in zip(labels, counts, strict=True)])
