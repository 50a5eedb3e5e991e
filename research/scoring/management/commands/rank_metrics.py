"""`manage.py rank_metrics FILE.csv --proposed COLUMN ... --standard COLUMN ...`: metrics by their ranks."""

from __future__ import annotations

from core.people.management.library import LibraryCommand
from crosslens_metrics.commands import rank_metrics


class Command(LibraryCommand):
    library = rank_metrics
