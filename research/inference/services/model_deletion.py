"""Models that were made by mistake are deleted, or merged with the one that was meant, while nothing uses them."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, ProtectedError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.people.models import User
from core.people.services import audit_log
from core.people.services.ownership import users_of
from research.inference.models import UNFINISHED_STATES, CaptioningModel, ModelCaption, Run, Stabiliser

CAPTIONS_PER_DELETION = 5000


class ModelUsedError(Exception):
    """The model cannot be deleted, because something uses it."""


def uses_of_model(model: CaptioningModel) -> dict[str, int]:
    """Count what uses a model or its variants besides their own runs, by the name of its kind."""
    uses: Counter[str] = Counter()
    for one in model.family():
        uses.update(users_of(one))
    del uses[str(Run._meta.verbose_name_plural)]
    return dict(uses)


def delete_model(*, model: CaptioningModel, by: User, now: datetime) -> None:
    """Delete a model with its variants, runs and captions.

    Raises
    ------
    ModelUsedError
        A round, comparison, score or anything else uses it, or a worker is at one of its runs.
    """
    family = [one.pk for one in model.family()]
    try:
        with transaction.atomic():
            # New uses wait for this, and then find nothing.
            list(CaptioningModel.objects.select_for_update().filter(pk__in=family).order_by("pk").values_list("pk"))
            if uses_of_model(model) or Run.objects.filter(model__in=family, state__in=UNFINISHED_STATES).exists():
                raise ModelUsedError(_("This model is in use, so it cannot be deleted."))
            _delete_captions(family)
            Stabiliser.objects.filter(model__in=family).delete()
            Run.objects.filter(model__in=family).delete()
            CaptioningModel.objects.filter(pk__in=family).exclude(variant_of=None).delete()
            CaptioningModel.objects.filter(pk__in=family).delete()
            if model.project is not None:
                about, details = f"model {model.pk}", {"name": model.name}
                audit_log.record(
                    project=model.project, action="model.deleted", about=about, by=by, now=now, details=details
                )
    except ProtectedError as error:
        raise ModelUsedError(_("This model is in use, so it cannot be deleted.")) from error


def merge_model(*, model: CaptioningModel, into: CaptioningModel, by: User, now: datetime) -> int:
    """Give the captions of an imported model to another that is the same, and delete it; return how many moved.

    Raises
    ------
    ModelUsedError
        Something uses it, or the other has different captions of the same images.
    """
    with transaction.atomic():
        theirs = ModelCaption.objects.filter(model=into, image=OuterRef("image"), language=OuterRef("language"))
        captions = ModelCaption.objects.filter(model=model)
        if differing := captions.filter(Exists(theirs.exclude(text=OuterRef("text")))).count():
            text = ngettext(
                "“%(name)s” of “%(project)s” has another caption of %(number)d image, so these are two models.",
                "“%(name)s” of “%(project)s” has other captions of %(number)d images, so these are two models.",
                differing,
            )
            raise ModelUsedError(text % {"name": into, "project": into.project or _("no project"), "number": differing})
        if uses_of_model(model):
            raise ModelUsedError(_("This model is in use, so it cannot be merged with another."))
        moved = captions.exclude(Exists(theirs)).update(model=into)
        delete_model(model=model, by=by, now=now)
        return moved


def _delete_captions(family: list[int]) -> None:
    """Some at a time: a model has hundreds of thousands, and each is looked at before it is deleted."""
    captions = ModelCaption.objects.filter(model__in=family)
    while some := list(captions.values_list("pk", flat=True)[:CAPTIONS_PER_DELETION]):
        ModelCaption.objects.filter(pk__in=some).delete()
