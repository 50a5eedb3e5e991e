"""What every page may ask about the person looking at it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from people.permissions import manages_anything


def navigation(request: HttpRequest) -> dict[str, Any]:
    """`manages`: asked only where a template uses it, so that the annotators' busy pages spend no query on it."""
    return {"manages": lambda: manages_anything(request.user)}
