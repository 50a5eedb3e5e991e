"""Lines of a file of gold pairs: an image, and two captions, the better one marked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from crosslens_metrics.formats.problems import LineError
from research.inference.rules.captions import CaptionLine, caption_line
from sxs_eval.rules.judging import are_equal


@dataclass(frozen=True)
class GoldLine:
    """`reference` names the image by key, file name or SHA-256; `had_hidden` counts captions with hidden characters."""

    reference: str
    better: str
    worse: str
    had_hidden: int = 0


def gold_line(value: Any, *, language: str = "") -> GoldLine:
    """Read a line of gold pairs in one `language`, where it is given; a line need not name it.

    Raises
    ------
    LineError
        With the reason, for the author of the file.
    """
    if not isinstance(value, dict):
        raise LineError(_("This line is not a JSON object with “image”, “better” and “worse”."))
    better, worse = (_caption(value, name, language) for name in ("better", "worse"))
    if are_equal(better.text, worse.text):
        raise LineError(_("Both captions are the same, so neither can be the better one."))
    return GoldLine(better.reference, better.text, worse.text, better.had_hidden + worse.had_hidden)


def _caption(value: dict[str, Any], name: str, language: str) -> CaptionLine:
    line = {key: value[key] for key in value if key != "caption"} | {"caption": value.get(name)}
    try:
        return caption_line(line, language=language)
    except LineError as refused:
        raise LineError(f"{name}: {refused}" if refused.name else str(refused)) from refused
