"""The English captions of images: on an image's page, and as a filter of a collection."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext

from core.images.models import Collection, CollectionImage
from core.images.selectors.filters import Choices, FilterError
from core.images.selectors.image_pages import PageSection
from core.people.models import User
from research.inference.models import CaptioningModel, ModelCaption
from research.inference.permissions import captions_to_switch, models_for, models_in
from research.inference.selectors.gallery import hidden_from

ENGLISH = "en"
MISSING, OFF, BY = "missing", "off", ":"
"""Values of the filter; `MISSING` may be followed by `BY` and a model."""


def caption_choices(collection: Collection, viewer: User, asked: str) -> Choices:
    """Offer images without an English caption, of any model or of one, and those with one that is switched off."""
    models = [(f"{MISSING}{BY}{model.pk}", model.name) for model in _models(collection, viewer).order_by("name")]
    return [
        (MISSING, gettext("missing, by any model")),
        (OFF, gettext("switched off")),
        *([(gettext("Missing, by"), models)] if models else []),
    ]


def caption_condition(collection: Collection, viewer: User, asked: str) -> Q:
    """
    Raises
    ------
    FilterError
    """
    english = ModelCaption.objects.filter(language=ENGLISH, image=OuterRef("image"))
    kind, _by, number = asked.partition(BY)
    models = _models(collection, viewer)
    if kind == OFF:
        return Q(Exists(english.switched_off().filter(model__in=models.values("pk"))))
    if number:
        models = models.filter(pk=int(number)) if number.isdecimal() and len(number) < 19 else models.none()
        if not models.exists():
            raise FilterError(gettext("There is no such model. Choose one of the list."))
    # Looked up first, so that the database can go through an index of captions by model.
    return ~Q(Exists(english.in_use().filter(model__in=list(models.values_list("pk", flat=True)))))


def captions_section(entry: CollectionImage, viewer: User) -> PageSection | None:
    """Show the English captions of an image by models that `viewer` may see."""
    hidden = bool(hidden_from(viewer, [entry.image_id]))
    captions = ModelCaption.objects.filter(image=entry.image_id, language=ENGLISH, model__in=models_for(viewer))
    captions = captions.select_related("model", "switched_off_by").order_by("model__name", "pk")
    shown = [] if hidden else list(captions)
    switchable = set(captions_to_switch(viewer).filter(pk__in=[one.pk for one in shown]).values_list("pk", flat=True))
    context = {"captions": [(one, one.pk in switchable) for one in shown], "is_hidden": hidden}
    return PageSection("inference/_image_captions.html", context)


def _models(collection: Collection, viewer: User) -> QuerySet[CaptioningModel]:
    """Models that `viewer` sees and the collection's project may use."""
    usable = models_in(collection.project_id) if collection.project_id else CaptioningModel.objects.all()
    return usable.filter(pk__in=models_for(viewer).values("pk"))
