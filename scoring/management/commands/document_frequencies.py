"""`manage.py document_frequencies REFERENCES FILE`: in how many images n-grams stand, to score other captions by."""

from __future__ import annotations

from crosslens_metrics.commands import document_frequencies
from people.management.library import LibraryCommand


class Command(LibraryCommand):
    library = document_frequencies
