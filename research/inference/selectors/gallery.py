"""Read the captions of images by models: in the gallery, on an image's page, and as a filter of a collection.

In the gallery nothing is counted, and a page starts where the last one ended, so that the hundred-thousandth image
comes as fast as the first. Of images that are assigned to the viewer, neither image nor captions are read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef, Q, QuerySet, TextChoices
from django.http import Http404
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection, CollectionImage, Image
from core.images.selectors import ServedImage, served_image
from core.images.selectors.filters import Choices, FilterError
from core.images.selectors.image_pages import PageSection
from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from core.people.models import User
from research.inference.models import CaptioningModel, ModelCaption
from research.inference.permissions import captions_to_switch, models_for, models_in, models_in_charge
from research.inference.selectors.assigned_work import is_assigned

MAX_IMAGES, MIN_IMAGES = 24, 4
CAPTIONS_AT_ONCE = 480
MAX_MODELS = 10
LOOK_UPS = 1_000_000
"""Of captions, for one page: where few images have any, it is offered to look on rather than looked through all."""
USUAL_MODELS, USUAL_LANGUAGES = 3, 3
CURSOR = re.compile(r"(\d{1,10})\.(\d{1,18})", re.ASCII)
Captions = dict[tuple[int, str], ModelCaption]
"""By model and language."""
MISSING, OFF, BY = "missing", "off", ":"
"""Values of the filter; `MISSING` may be followed by `BY` and a model."""


class GalleryImagesShown(TextChoices):
    """Which images to show, by the models that have captioned them in at least one of the languages."""

    EVERYTHING = "", _("all images")
    ANY = "any", _("described by at least one of the models")
    ALL = "all", _("described by all of the models")
    OFF = "off", _("with a caption that is switched off")


@dataclass(frozen=True)
class GalleryQuery:
    collection: Collection
    models: Sequence[CaptioningModel]
    languages: Sequence[Language]
    show: GalleryImagesShown = GalleryImagesShown.EVERYTHING
    key: str = ""

    @property
    def query(self) -> str:
        """Return the same as a query string."""
        pairs = [("collection", self.collection.slug), ("show", self.show.value), ("key", self.key)]
        pairs += [("model", str(model.pk)) for model in self.models]
        pairs += [("language", language.tag) for language in self.languages]
        return urlencode([(name, value) for name, value in pairs if value])

    @property
    def images_at_once(self) -> int:
        captions = len(self.models) * len(self.languages)
        return max(MIN_IMAGES, min(MAX_IMAGES, CAPTIONS_AT_ONCE // max(1, captions)))


@dataclass(frozen=True)
class GalleryImage:
    """An image, with a row of cells for each language, as `_rows` makes them.

    It has no `image` if it is assigned to the viewer.
    """

    key: str
    title: str
    image: ServedImage | None
    rows: Sequence[tuple[Language, Sequence[dict[str, Any]]]]


def gallery_page(asked: GalleryQuery, viewer: User, *, after: str = "", before: str = "") -> dict[str, Any]:
    """Read the images after or before one that an earlier page named, or else the first ones.

    `after` and `before` lead on and back; empty where nothing is known to be there. `looked_at` is how many images were
    looked through where the page is not full but others follow, else 0.
    """
    is_backwards = CURSOR.fullmatch(before) is not None
    start = before if is_backwards else after if CURSOR.fullmatch(after) else ""
    looked = _looked_through(asked, start, is_backwards=is_backwards)
    entries = looked.entries[: asked.images_at_once]
    has_more = len(looked.entries) > len(entries)
    ahead = _name(entries[-1]) if has_more else looked.stopped_at
    behind = (_name(entries[0]) if entries else start) if start else ""
    return {
        "images": _shown(asked, entries[::-1] if is_backwards else entries, viewer),
        "after": behind if is_backwards else ahead,
        "before": ahead if is_backwards else behind,
        "looked_at": 0 if has_more or not looked.stopped_at else looked.reach,
    }


def hidden_from(viewer: User, images: Iterable[int]) -> set[int]:
    """Find those of `images` that are assigned to `viewer`."""
    assigned = Image.objects.filter(is_assigned(viewer, "pk"), pk__in=list(images))
    return set(assigned.values_list("pk", flat=True))


def check_not_hidden(viewer: User, image: int) -> None:
    """Raises Http404: the image is assigned to `viewer`."""
    if hidden_from(viewer, [image]):
        raise Http404(gettext("This image is in a batch that is assigned to you. Submit that batch first."))


def captions_by(
    model: CaptioningModel, viewer: User, collections: QuerySet[Collection], *, key: str = ""
) -> QuerySet[ModelCaption]:
    """Captions by a model of images of `collections`, without those of images that are assigned to `viewer`.

    `key` is a part of the images' keys.
    """
    entries = CollectionImage.objects.filter(collection__in=collections)
    seen = (entries.filter(key__icontains=key) if key else entries).values("image")
    captions = ModelCaption.objects.filter(model=model, image__in=seen).select_related("image")
    return captions.exclude(is_assigned(viewer, "image"))


def usual_choice(
    collection: Collection, among: QuerySet[CaptioningModel]
) -> tuple[list[CaptioningModel], list[Language]]:
    """Choose models of `among`, and languages, with captions of the first images of `collection`."""
    first = CollectionImage.objects.filter(collection=collection).order_by("position", "pk")[:MAX_IMAGES]
    captions = ModelCaption.objects.filter(image__in=[entry.image_id for entry in first], model__in=among.values("pk"))
    pairs = set(captions.values_list("model_id", "language_id"))
    models = CaptioningModel.objects.filter(pk__in={model for model, _language in pairs})[:USUAL_MODELS]
    chosen = {model.pk for model in models}
    languages = Language.objects.filter(pk__in={language for model, language in pairs if model in chosen})
    return list(models), list(languages[:USUAL_LANGUAGES])


def usual_collection(among: QuerySet[Collection], models: QuerySet[CaptioningModel]) -> Collection | None:
    """Choose the collection of the newest caption by one of `models`, or the newest collection of `among`."""
    captions = ModelCaption.objects.filter(model__in=models.values("pk"))
    newest = captions.order_by("-pk").select_related("run").first()
    if newest is not None and newest.run is not None and (of_run := among.filter(pk=newest.run.collection_id).first()):
        return of_run
    # An image may be in several: in those that were made of others it is later.
    described = among.filter(entries__image=newest.image_id).order_by("pk").first() if newest else None
    return described or among.order_by("-pk").first()


@dataclass(frozen=True)
class _ScannedPage:
    """`entries`: up to one more than a page holds. `stopped_at`: where the search was broken off, if it was."""

    entries: Sequence[CollectionImage]
    stopped_at: str
    reach: int


def _looked_through(asked: GalleryQuery, start: str, *, is_backwards: bool) -> _ScannedPage:
    order = ("-position", "-pk") if is_backwards else ("position", "pk")
    entries = CollectionImage.objects.filter(collection=asked.collection).order_by(*order)
    if start:
        entries = entries.filter(_beyond(start, is_backwards=is_backwards))
    if asked.key:
        entries = entries.filter(key__icontains=asked.key)
    reach, stopped_at = 0, ""
    if asked.show:
        reach = max(asked.images_at_once, LOOK_UPS // (len(asked.models) * len(asked.languages)))
        last = entries.only("position", "pk")[reach - 1 : reach + 1]
        if len(last) == 2:
            stopped_at = _name(last[0])
            entries = entries.filter(~_beyond(stopped_at, is_backwards=is_backwards))
    described = _described(asked, entries).select_related("image")
    return _ScannedPage(list(described[: asked.images_at_once + 1]), stopped_at, reach)


def _described(asked: GalleryQuery, entries: QuerySet[CollectionImage]) -> QuerySet[CollectionImage]:
    captions = ModelCaption.objects.filter(image=OuterRef("image"), language__in=[one.pk for one in asked.languages])
    by_any = captions.filter(model__in=[model.pk for model in asked.models])
    if asked.show is GalleryImagesShown.ANY:
        return entries.filter(Exists(by_any))
    if asked.show is GalleryImagesShown.OFF:
        return entries.filter(Exists(by_any.switched_off()))
    for model in asked.models if asked.show is GalleryImagesShown.ALL else ():
        entries = entries.filter(Exists(captions.filter(model=model.pk)))
    return entries


def _name(entry: CollectionImage) -> str:
    return f"{entry.position}.{entry.pk}"


def _beyond(name: str, *, is_backwards: bool) -> Q:
    position, pk = (int(part) for part in name.split("."))
    way = "lt" if is_backwards else "gt"
    # The first condition says nothing new, but lets the database begin in the middle of its index.
    return Q(**{f"position__{way}e": position}) & (
        Q(**{f"position__{way}": position}) | Q(**{"position": position, f"pk__{way}": pk})
    )


def _shown(asked: GalleryQuery, entries: Sequence[CollectionImage], viewer: User) -> list[GalleryImage]:
    hidden = hidden_from(viewer, (entry.image_id for entry in entries))
    captions = _captions_of(asked, [entry.image_id for entry in entries if entry.image_id not in hidden])
    managed = models_in_charge(viewer).filter(pk__in=[one.pk for one in asked.models])
    in_charge = set(managed.values_list("pk", flat=True))
    return [
        GalleryImage("", "", None, [])
        if entry.image_id in hidden
        else GalleryImage(
            entry.key,
            entry.image.title,
            served_image(entry.image, viewer),
            _rows(asked, captions[entry.image_id], in_charge),
        )
        for entry in entries
    ]


def _captions_of(asked: GalleryQuery, images: Sequence[int]) -> dict[int, Captions]:
    captions = ModelCaption.objects.filter(
        model__in=[model.pk for model in asked.models],
        language__in=[language.pk for language in asked.languages],
        image__in=images,
    )
    found: dict[int, Captions] = defaultdict(dict)
    for caption in captions:
        found[caption.image_id][caption.model_id, caption.language_id] = caption
    return found


def _rows(asked: GalleryQuery, captions: Captions, in_charge: set[int]) -> list[tuple[Language, list[dict[str, Any]]]]:
    """List the captions of each language, None where a model has none; `may_switch`: the viewer may switch it off."""

    def cell(model: CaptioningModel, language: Language) -> dict[str, Any]:
        caption = captions.get((model.pk, language.pk))
        return {"model": model, "language": language, "caption": caption, "may_switch": model.pk in in_charge}

    return [(language, [cell(model, language) for model in asked.models]) for language in asked.languages]


def caption_choices(collection: Collection, viewer: User, asked: str) -> Choices:
    """Offer images without an English caption, of any model or of one, and those with one that is switched off."""
    models = [(f"{MISSING}{BY}{model.pk}", model.name) for model in _models(collection, viewer).order_by("name")]
    return [
        (MISSING, gettext("missing, by any model")),
        (OFF, gettext("switched off")),
        *([(gettext("Missing, by"), models)] if models else []),
    ]


def caption_condition(collection: Collection, viewer: User, asked: str) -> Q:
    """Raises FilterError."""
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
