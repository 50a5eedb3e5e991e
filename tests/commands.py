"""Commands of manage.py, and what they print."""

from __future__ import annotations

from io import StringIO
from typing import Any

from django.core.management import call_command


def output_of(name: str, *arguments: object, **options: Any) -> str:
    out = StringIO()
    call_command(name, *map(str, arguments), stdout=out, **options)
    return out.getvalue()
