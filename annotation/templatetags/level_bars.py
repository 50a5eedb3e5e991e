"""A bar of levels, as small as a line of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django import template

from annotation.models import Caption, Rating
from charts.columns import BarShares, stacked_plot

register = template.Library()


@register.inclusion_tag("annotation/_level_bar.html")
def level_bar(name: str, counts: Mapping[str, int]) -> dict[str, Any]:
    """Draw the shares of each level; nothing where there are none."""
    total = sum(counts.values())
    if not total:
        return {}
    kinds = [(level.value.lower(), str(level.label)) for level in Rating]
    shares = BarShares(name, str(total), [100 * counts.get(level.value, 0) / total for level in Rating])
    return {"name": name, "total": total, "plot": stacked_plot(name, kinds, [shares])}


@register.filter
def levels_got(caption: Caption) -> Mapping[str, int]:
    """Count the levels that others gave to a caption, whose verdicts were fetched."""
    return Counter(verdict.rating for verdict in caption.verdicts.all())
