"""`manage.py document_frequencies REFERENCES FILE`: in how many images n-grams stand, to score other captions by."""

from __future__ import annotations

from core.people.management.library import LibraryCommand
from crosslens_metrics.commands import document_frequencies


class Command(LibraryCommand):
    library = document_frequencies
