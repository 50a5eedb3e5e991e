"""Models that a page of a project cannot offer, with the way to change that."""

from __future__ import annotations

from typing import Any

from django import template
from django.db.models import Exists, OuterRef, Q
from django.urls import reverse

from core.images.models import Collection, CollectionImage
from core.people.models import Project
from core.people.requests import user_of
from core.people.selectors.projects import unusable_things
from research.inference.models import CaptioningModel, ModelCaption

register = template.Library()


@register.inclusion_tag("people/_unusable_things.html", takes_context=True)
def unusable_models(context: dict[str, Any], project: Project | None, collection: Collection) -> dict[str, Any]:
    """List the viewer's own models with captions of `collection` that `project`, or a new one, cannot use yet."""
    request = context["request"]
    images = CollectionImage.objects.filter(collection=collection).values("image")
    of_family = Q(model=OuterRef("pk")) | Q(model__variant_of=OuterRef("pk"))
    captions = ModelCaption.objects.in_use().filter(of_family, image__in=images)
    things = unusable_things(
        CaptioningModel.objects.filter(Exists(captions), is_shared=False, variant_of=None),
        project or None,
        by=user_of(request),
        url_of=lambda one: reverse("inference:model-owner", args=[one.pk]),
    )
    return {"things": things, "project": project, "next": request.get_full_path()}
