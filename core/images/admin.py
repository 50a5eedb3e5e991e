"""Admin pages for operators, to look things up. What is stored by content cannot be edited here."""

from __future__ import annotations

from core.images.models import Collection, Image, ImportJob
from core.people.admin import look_up

look_up(Collection, ImportJob)
look_up(
    Image, search_fields=("=public_id", "=sha256", "title", "author"),
    list_display=("public_id", "title", "author", "licence", "format", "width", "height", "state"),
)  # fmt: skip
