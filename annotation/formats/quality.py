"""The quality table as files and as text: a row for each round whose captions were rated."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.db.models import TextChoices

from annotation.models import Round
from annotation.selectors.quality import (
    APPENDIX_COUNTS,
    JUDGED_SHARES,
    SHARES,
    QualityRow,
    QualityTable,
    ShareOfCaptions,
    quality_table,
    rounds_of_verification,
)
from annotation.selectors.verification_figures import figures_of
from core.people.models import Project
from crosslens_metrics.quality import LEVELS
from crosslens_metrics.reports.figures import percent_text
from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.undefined import UndefinedReason
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter
from research.selection.selectors.subsets import images_of
from tabular.downloads import CSV_TYPE, csv_line

ALL_SHARES = (*SHARES, *JUDGED_SHARES)
COLUMNS = (
    *("language", "round", "number", "state", "raters_per_caption"),
    *("images", "sampled", "verified", "ratings"),
    *(f"{share}{part}" for share in SHARES for part in ("", "_percent", "_low", "_high")),
    *("alpha", "authors"),
    *(f"{share}_authors_{end}" for share in SHARES for end in ("low", "high")),
    *(f"{share}{part}" for share in JUDGED_SHARES for part in ("", "_percent", "_low", "_high")),
    *(f"{share}_authors_{end}" for share in JUDGED_SHARES for end in ("low", "high")),
    *APPENDIX_COUNTS,
    *("alpha_low", "alpha_high"),
)
DIGITS = 6
NameOf = Callable[[int], str]


class QualityLayout(TextChoices):
    CSV = "csv", "CSV"
    JSON = "json", "JSON"

    @property
    def content_type(self) -> str:
        return CSV_TYPE if self is QualityLayout.CSV else "application/json"


def fresh_table(project: Project, images: ImageFilter = ALL_IMAGES) -> QualityTable:
    """Compute the table now, from the answers themselves.

    Raises ImageFilterError if `images` cannot be applied to a language.
    """
    figures = {
        round.pk: figures_of(round, images_of(images, project=project, language=round.language))
        for round in rounds_of_verification(project)
    }
    return quality_table(project, figures)


def write(table: QualityTable, layout: QualityLayout, *, name_of: NameOf) -> Iterator[str]:
    """Yield the lines of the file; `name_of` gives the name of a reviewer in it."""
    if layout is QualityLayout.JSON:
        yield json.dumps(as_json(table, name_of=name_of), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        return
    yield csv_line(COLUMNS)
    for row in table.rows:
        shares = [*_cells(row, SHARES), rounded(row.alpha), row.authors, *_cells_over_authors(row, SHARES)]
        judged = [*_cells(row, JUDGED_SHARES), *_cells_over_authors(row, JUDGED_SHARES)]
        appendix = [row.counts.get(name) for name in APPENDIX_COUNTS]
        alpha = _ends(row.alpha_interval).values()
        yield csv_line([*_about(row.round).values(), *_counts(row).values(), *shares, *judged, *appendix, *alpha])


def as_json(table: QualityTable, *, name_of: NameOf) -> list[dict[str, Any]]:
    """Return a row for each round, with each rater's confusion: `said` by rows, the others' levels by columns."""
    return [
        {
            **_about(row.round),
            "sample_size": row.round.sample_size,
            "seed": row.round.seed,
            **_counts(row),
            "levels": row.levels,
            **{name: _share(row.share(name)) for name in ALL_SHARES},
            "appendix": row.counts,
            "authors": row.authors,
            "designs": {name: design.as_json() for name, design in row.designs.items()},
            "alpha": rounded(row.alpha),
            "alpha_undefined": row.alpha_undefined,
            **{f"alpha_{end}": value for end, value in _ends(row.alpha_interval).items()},
            "raters": sorted(
                (
                    {
                        "rater": name_of(reviewer["person"]),
                        "ratings": reviewer["verdicts"],
                        "compared": reviewer["compared"],
                        "agreed": reviewer["agreed"],
                        "confusion": {
                            level: dict(zip(LEVELS, cells, strict=True))
                            for level, cells in zip(LEVELS, reviewer["confusion"], strict=True)
                        },
                    }
                    for reviewer in row.reviewers
                ),
                key=lambda one: str(one["rater"]),
            ),
        }
        for row in table.rows
    ]


def as_text(table: QualityTable) -> Iterator[str]:
    """Format the table for a terminal: shares in percent, with their 95% intervals over captions and over authors."""
    heads = ("language", "round", "verified", "%Good+", "%Med+", "%Bad", "%no info", "alpha")
    lines: list[Sequence[str]] = [heads]
    for row in table.rows:
        about = _about(row.round)
        lines.append(
            (
                str(about["language"]),
                f"{about['round']} {about['number']}",
                f"{row.verified} of {row.sampled}",
                *(_percent(row.share(name)) for name in SHARES),
                "–" if row.alpha is None else " ".join([f"{row.alpha:.3f}", _in_brackets(row.alpha_interval, 3)]),
            )
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    yield "In brackets 95% intervals: over captions, with these authors (Wilson);"
    yield "then over other authors like these (jackknife with Student’s t), – where it cannot be computed."
    yield "That of alpha is over other captions and other reviewers like these, with these authors."


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def _about(round: Round) -> dict[str, object]:
    verified = round.verifies
    assert verified is not None  # a constraint guarantees it
    return {
        "language": round.language_id,
        "round": verified.kind,
        "number": verified.number,
        "state": round.state,
        "raters_per_caption": round.replication,
    }


def _counts(row: QualityRow) -> dict[str, int | None]:
    return {"images": row.images, "sampled": row.sampled, "verified": row.verified, "ratings": row.verdicts}


def _cells(row: QualityRow, shares: Sequence[str]) -> Iterator[object]:
    for share in map(row.share, shares):
        bounds = (share.interval.low, share.interval.high) if share.interval else (None, None)
        yield share.count
        yield from (None if value is None else rounded(100 * value) for value in (share.value, *bounds))


def _cells_over_authors(row: QualityRow, shares: Sequence[str]) -> Iterator[float | None]:
    for share in map(row.share, shares):
        interval = share.over_authors
        yield from _ends(interval.times(100) if isinstance(interval, Interval) else None).values()


def _share(share: ShareOfCaptions) -> dict[str, Any]:
    low, high = (share.interval.low, share.interval.high) if share.interval else (None, None)
    return {
        "count": share.count,
        "share": rounded(share.value),
        "low": rounded(low),
        "high": rounded(high),
        **{f"authors_{end}": value for end, value in _ends(share.over_authors).items()},
        "authors_undefined": str(share.over_authors) if isinstance(share.over_authors, UndefinedReason) else "",
    }


def _ends(interval: Interval | UndefinedReason | None) -> dict[str, float | None]:
    return {end: rounded(getattr(interval, end)) if isinstance(interval, Interval) else None for end in ("low", "high")}


def _percent(share: ShareOfCaptions) -> str:
    if share.value is None or share.interval is None:
        return "–"
    intervals = [
        _in_brackets(one.times(100) if isinstance(one, Interval) else None, 1)
        for one in (share.interval, share.over_authors)
    ]
    return " ".join([percent_text(100 * share.value), *intervals])


def _in_brackets(interval: Interval | None, digits: int) -> str:
    return f"[{interval.low:.{digits}f}, {interval.high:.{digits}f}]" if interval else "[–]"
