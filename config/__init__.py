"""Wiring only: settings, addresses, Celery, WSGI and ASGI entry points."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""Of the checkout."""
LIBS = str(ROOT / "libs")
"""Packages by names of their own."""

if LIBS not in sys.path:
    sys.path.insert(0, LIBS)
