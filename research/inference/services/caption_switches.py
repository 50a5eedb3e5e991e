"""Switch captions of models off and on again. What was rated, compared or scored keeps them.

Apart from imports, which read images: apps register here when they start.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.db import transaction

from core.people.models import User
from core.people.services import audit_log
from research.inference.models import ModelCaption

_when_off: list[Callable[[ModelCaption], None]] = []


def register(when_off: Callable[[ModelCaption], None]) -> None:
    """Register what follows, in the same transaction, when a caption is switched off; call it when the app is ready."""
    _when_off.append(when_off)


def switch_off(*, caption_id: int, reason: str, by: User | None, now: datetime) -> ModelCaption:
    """Keep a caption out of new work. One that is off already stays as it is, with its first reason."""
    with transaction.atomic():
        caption = _locked(caption_id)
        if caption.switched_off_at is None:
            caption.switched_off_at, caption.switched_off_by, caption.switched_off_reason = now, by, reason
            _save(caption)
            for follow in _when_off:
                follow(caption)
            _record(caption, "model-caption.switched-off", reason, by, now)
    return caption


def switch_on(*, caption_id: int, by: User | None, now: datetime) -> ModelCaption:
    """Use a caption again. Tasks that got another one meanwhile keep that."""
    with transaction.atomic():
        caption = _locked(caption_id)
        if caption.switched_off_at is not None:
            caption.switched_off_at, caption.switched_off_by, caption.switched_off_reason = None, None, ""
            _save(caption)
            _record(caption, "model-caption.switched-on", "", by, now)
    return caption


def _locked(caption_id: int) -> ModelCaption:
    captions = ModelCaption.objects.select_for_update(no_key=True, of=("self",))
    return captions.select_related("model__project", "image").get(pk=caption_id)


def _save(caption: ModelCaption) -> None:
    caption.save(update_fields=["switched_off_at", "switched_off_by", "switched_off_reason"])


def _record(caption: ModelCaption, action: str, reason: str, by: User | None, now: datetime) -> None:
    """Record it in the log of the project that the model belongs to, if it belongs to one."""
    project = caption.model.project
    if project is not None:
        about = f"{caption.model.name}, {caption.language_id}, image {caption.image.sha256[:12]}"
        details = {"reason": reason} if reason else {}
        audit_log.record(project=project, action=action, about=about, by=by, now=now, details=details)
