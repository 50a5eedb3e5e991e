"""The installer's view of references and scores: to be looked up only. No list shows a caption's words."""

from __future__ import annotations

from core.people.admin import look_up
from research.scoring.models import Pass, ReferenceSet, ReferenceTranslation, Score, Scoring

look_up(Pass, ReferenceSet, ReferenceTranslation, Score, Scoring)
