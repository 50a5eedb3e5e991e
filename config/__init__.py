"""Wiring only: settings, addresses, Celery, WSGI and ASGI entry points."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""Of the checkout."""
