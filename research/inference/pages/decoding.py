"""Say how a run or a model decodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from research.inference.backends.captioners import Decoding


def decoding_lines(stored: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List names and values of the settings, in the order of the form; none if nothing is decoded yet."""
    if not stored:
        return []
    decoding = Decoding.from_stored(stored)
    lines = [(_("Beams"), str(decoding.beams))]
    lines += [(_("Tokens"), _("%(low)s to %(high)s") % {"low": decoding.min_tokens, "high": decoding.max_tokens})]
    if decoding.beams > 1:
        lines.append((_("Length penalty"), f"{decoding.length_penalty:g}"))
    if decoding.temperature:
        lines.append((_("Temperature"), f"{decoding.temperature:g}"))
        lines.append((_("Top-p"), f"{decoding.top_p:g}"))
        lines.append((_("Seed"), str(decoding.seed)))
    lines.append((_("Precision"), decoding.precision))
    if decoding.is_consistent:
        lines.append((_("Stabiliser"), _("the same for all languages")))
    return lines
