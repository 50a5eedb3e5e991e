"""`manage.py rank_metrics FILE.csv --proposed COLUMN ... --standard COLUMN ...`: metrics by their ranks."""

from __future__ import annotations

from crosslens_metrics.commands import rank_metrics
from people.management.library import LibraryCommand


class Command(LibraryCommand):
    library = rank_metrics
