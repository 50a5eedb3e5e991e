"""Tracebacks as researchers see them on the page of a run: without an operator's folders and secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings

from crosslens_metrics.formats.records import printable

FIRST, LAST = 15, 45
"""Lines that are kept of a longer one: how the model was asked, and where it failed."""
MAX_LINE_CHARACTERS = 400
"""Characters of a line."""
HIDDEN = "…"
PACKAGES = re.compile(r"/[^\s\"']*?/(?:site|dist)-packages/")
PYTHON = re.compile(r"/[^\s\"']*?/lib/python3\.\d+/")
KEY = re.compile(
    r"(?P<name>\bBearer\s+|\b(?:api[_-]?key|token|password|secret)[\"']?\s*[=:]\s*[\"']?)[^\s\"',)]+"
    r"|\b(?:sk|hf|ghp)[-_][\w-]{12,}"
    r"|(?<=://)[^\s/@\"']+@",
    re.IGNORECASE,
)
"""What looks like an API key of any provider."""
MIN_SECRET_CHARACTERS = 6
"""What is shorter would be found in words."""
SECRET_VARIABLES = ("AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
FOLDERS = ("BASE_DIR", "VAR", "MODELS_FOLDER", "TRAININGS_FOLDER", "VECTORS")


def without_secrets(traceback: str, *, folders: Iterable[str], secrets: Iterable[str]) -> str:
    """Hide `secrets` wherever they stand, and leave out `folders`, those of the installation, before names of files."""
    for secret in sorted((one for one in secrets if len(one) >= MIN_SECRET_CHARACTERS), key=len, reverse=True):
        traceback = traceback.replace(secret, HIDDEN)
    traceback = KEY.sub(lambda found: (found["name"] or "") + HIDDEN, traceback)
    traceback = PYTHON.sub("", PACKAGES.sub("", traceback))
    for folder in sorted({one.rstrip("/") for one in folders} - {""}, key=len, reverse=True):
        traceback = traceback.replace(f"{folder}/", "")
    lines = [
        line if len(line) <= MAX_LINE_CHARACTERS else line[:MAX_LINE_CHARACTERS] + HIDDEN
        for line in traceback.splitlines()
    ]
    if len(lines) > FIRST + LAST + 1:
        lines = [*lines[:FIRST], f"  {HIDDEN}", *lines[-LAST:]]
    return "\n".join(lines)


def shown_traceback(traceback: str) -> str:
    folders = [str(getattr(settings, name)) for name in FOLDERS]
    secrets = [settings.SECRET_KEY, settings.DATABASES["default"].get("PASSWORD") or "", settings.METRICS_TOKEN]
    secrets += [settings.EMAIL_HOST_PASSWORD or "", *settings.CAPTION_ENDPOINT_KEYS.values()]
    secrets += [os.environ.get(name, "") for name in SECRET_VARIABLES]
    return printable(without_secrets(traceback, folders=[*folders, str(Path.home())], secrets=secrets))
