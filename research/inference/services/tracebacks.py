"""Make tracebacks of models fit for the page of a run."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings

from crosslens_metrics.formats.records import printable
from research.inference.rules.tracebacks import without_secrets

SECRET_VARIABLES = ("AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
FOLDERS = ("BASE_DIR", "VAR", "MODELS_FOLDER", "TRAININGS_FOLDER", "VECTORS")


def shown_traceback(traceback: str) -> str:
    folders = [str(getattr(settings, name)) for name in FOLDERS]
    secrets = [settings.SECRET_KEY, settings.DATABASES["default"].get("PASSWORD") or "", settings.METRICS_TOKEN]
    secrets += [settings.EMAIL_HOST_PASSWORD or "", *settings.CAPTION_ENDPOINT_KEYS.values()]
    secrets += [os.environ.get(name, "") for name in SECRET_VARIABLES]
    return printable(without_secrets(traceback, folders=[*folders, str(Path.home())], secrets=secrets))
