"""`manage.py correlate FILE.csv --human COLUMN --metric COLUMN ...`: how far metrics stand in for people."""

from __future__ import annotations

from crosslens_metrics.commands import correlate
from people.management.library import LibraryCommand


class Command(LibraryCommand):
    library = correlate
