"""`manage.py sxs_report JUDGEMENTS.(jsonl|csv)`: all figures of side-by-side judgements, without a database."""

from __future__ import annotations

from core.people.management.library import LibraryCommand
from crosslens_metrics.commands import sxs_report


class Command(LibraryCommand):
    library = sxs_report
