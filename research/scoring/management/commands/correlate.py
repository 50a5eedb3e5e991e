"""`manage.py correlate FILE.csv --human COLUMN --metric COLUMN ...`: how far metrics stand in for people."""

from __future__ import annotations

from core.people.management.library import LibraryCommand
from crosslens_metrics.commands import correlate


class Command(LibraryCommand):
    library = correlate
