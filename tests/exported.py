"""Files of the one export, as tests ask for them."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from core.people.models import Project
from office.exports.selectors.tables import ExportWish
from office.exports.services.exports import EmptyExportError, export
from tests.factories import NOW

LATER = NOW + timedelta(days=30)


def exported_text(project: Project, what: str, format: str = "jsonl", *, until: datetime = LATER, **chosen: Any) -> str:
    """The file, or "" where there is no row and so none."""
    with suppress(EmptyExportError):
        return b"".join(export(ExportWish(project, what, format, until, **chosen))).decode()
    return ""


def export_address(slug: str, what: str, format: str = "csv", **chosen: Any) -> str:
    return f"{reverse('exports:export-show', args=[slug])}?{urlencode({'what': what, 'format': format, **chosen})}"
