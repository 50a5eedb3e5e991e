"""Read a file of judgements to store them: docs/side-by-side-files.md has its columns, and our export all of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from sys import intern
from typing import IO, NamedTuple

from django.utils.translation import gettext as _

from crosslens_metrics.formats.judgements import GatheredJudgements, JudgementLine
from crosslens_metrics.formats.layouts import layout_of
from crosslens_metrics.formats.lines import LineFields, LineReader
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag
from crosslens_metrics.reports.evaluation_points import ANY_METRIC
from crosslens_metrics.scoring import FIGURES

MAX_NUMBER, MAX_REPLICATION = 2**63 - 1, 2**15 - 1
WHY_NOT = ("", "late", "paused", "excluded", "image", "gold")


class StoredLine(NamedTuple):
    """A line, with what the figures need nothing of. Texts are empty, and the others None, where they are not said."""

    judgement: JudgementLine
    language: str
    base_caption: str
    test_caption: str
    comment: str
    why_not: str
    taken_at: datetime | None
    judged_at: datetime | None
    replication: int | None
    seed: int | None
    chosen_by: str
    """The metric by whose scores the comparison was planned; `ANY_METRIC` stands for one that is not known here."""

    @property
    def key(self) -> tuple[str, str]:
        """Which comparison of the file it is of."""
        return self.judgement.comparison, self.language


def stored_lines(
    file: IO[bytes], *, otherwise: str = "", said: Mapping[str, str] | None = None, now: datetime
) -> list[StoredLine]:
    """The lines of a file of any layout; those without a language have the tag `otherwise`.

    `said` are names of columns by what they hold.

    Raises FileProblemsError where any of it cannot be read or contradicts something else in it.
    """
    lines = []
    with LineReader() as reader:
        layout = layout_of(file, said=said)
        if layout.records is None:
            raise FileRefusedError(_("The file has no judgements."))
        gathered = GatheredJudgements(reader)
        for record in reader.whole(layout.records(file)):
            judgement = gathered.take(record)
            if judgement is not None:
                with reader.line(record):
                    lines.append(_line(judgement, LineFields(record.value), otherwise, now))
        gathered.close()
    return lines


def _line(judgement: JudgementLine, fields: LineFields, otherwise: str, now: datetime) -> StoredLine:
    judged_at = fields.moment("judged_at")
    if judged_at is not None and judged_at > now:
        raise LineError(_("judged_at is later than now. Correct it, or leave it empty."))
    chosen_by = fields.text("chosen_by")
    texts = {name: intern(fields.text(name)) for name in ("base_caption", "test_caption")}
    return StoredLine(
        judgement,
        _tag(fields.text("language")) or otherwise,
        comment=fields.text("comment"),
        why_not=fields.one_of("why_not", WHY_NOT),
        taken_at=fields.moment("batch_taken_at"),
        judged_at=judged_at,
        replication=_number(fields, "replication", 1, MAX_REPLICATION),
        seed=_number(fields, "seed", -MAX_NUMBER, MAX_NUMBER),
        chosen_by=chosen_by if not chosen_by or chosen_by in FIGURES else ANY_METRIC,
        **texts,
    )


def _tag(text: str) -> str:
    try:
        return intern(canonical_tag(text)) if text else ""
    except MalformedTagError as error:
        raise LineError(str(error)) from error


def _number(fields: LineFields, name: str, least: int, most: int) -> int | None:
    text = fields.text(name, numbers=True)
    try:
        number = int(text) if text else None
    except ValueError:
        number = most + 1
    if number is not None and not least <= number <= most:
        message = _("%(column)s is “%(cell)s”. Give a whole number from %(least)s to %(most)s, or leave it empty.")
        raise LineError(message % {"column": name, "cell": text[:40], "least": least, "most": most})
    return number
