"""Export what a person had models do, without the models' names, which writers and raters must not learn."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _

from inference.models import CaptioningModel, Run, Translator, Trial
from people.models import User
from people.personal_data import Part


def data_export(person: User) -> Iterator[Part]:
    for name, about, kind in (
        ("models", _("Models that you registered, by number."), CaptioningModel),
        ("translators", _("Translators that you registered, by number."), Translator),
    ):
        registered = kind.objects.filter(created_by=person).order_by("created_at", "pk")
        yield Part(name, about, registered.values("id", "created_at"))
    for name, about, started in (
        ("runs", _("Runs of models that you started, by number."), Run),
        ("trials", _("Models that you tried on single images, by number, without their captions."), Trial),
    ):
        rows = started.objects.filter(created_by=person).order_by("created_at", "pk")
        yield Part(name, about, rows.values("id", "created_at", "state"))
