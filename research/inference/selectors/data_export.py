"""Export what a person had models do, without the models' names, which writers and raters must not learn."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _

from core.people.models import User
from core.people.personal_data import ExportPart
from research.inference.models import CaptioningModel, ModelCaption, Run, Translator


def data_export(person: User) -> Iterator[ExportPart]:
    off = ModelCaption.objects.filter(switched_off_by=person).order_by("switched_off_at", "pk")
    about = _("Captions of models that you switched off, by number.")
    yield ExportPart("captions_switched_off", about, off.values("id", "switched_off_at", "switched_off_reason"))
    for name, about, kind in (
        ("models", _("Models that you registered, by number."), CaptioningModel),
        ("translators", _("Translators that you registered, by number."), Translator),
    ):
        registered = kind.objects.filter(created_by=person).order_by("created_at", "pk")
        yield ExportPart(name, about, registered.values("id", "created_at"))
    runs = Run.objects.filter(created_by=person).order_by("created_at", "pk")
    about = _("Runs of models that you started, by number.")
    yield ExportPart("runs", about, runs.values("id", "created_at", "state"))
