"""What tests of the plan page share: scores of three models, and the form as a browser sends it."""

from __future__ import annotations

import re
from typing import Any

from django.test import Client
from django.urls import reverse

from core.images.models import Collection
from core.people.models import Project
from research.inference.models import CaptioningModel, ModelCaption

SCORES = """language,model,xm3600,coco
de,Alpha,50,60
de,Beta,52,55
de,Gamma,70,80
zh,Alpha,10,10
zh,Beta,20,20
"""


def describe(collection: Collection, name: str, *tags: str, images: int = 4) -> CaptioningModel:
    model, _made = CaptioningModel.objects.get_or_create(name=name, defaults={"is_shared": True})
    ModelCaption.objects.bulk_create(
        ModelCaption(model=model, image_id=entry.image_id, language_id=tag, text=f"{name} on {entry.key}")
        for tag in tags
        for entry in collection.entries.all()[:images]
    )
    return model


def page_of(project: Project) -> str:
    return reverse("sxs_eval:plan-show", args=[project.slug])


def form_of(images: Collection, /, **changed: Any) -> dict[str, Any]:
    return {
        "scores": SCORES,
        "core": "zh, en, hi, es",
        "small": "1",
        "collection": images.slug,
        "subset": "3",
        "seed": "7",
        "replication": "3",
        "gold_percent": "10",
        "repeat_percent": "5",
        "scale": "7",
    } | changed


def seen_of(response) -> str:
    return re.search(r'name="seen" value="(\w+)"', response.content.decode())[1]


def rows_of(response) -> dict[tuple[str, str, str], Any]:
    return {
        (row.session.language, row.session.base, row.session.test): (row, is_ticked)
        for verdict, rows in response.context["parts"]
        for row, is_ticked in rows
    }


def keys_of(response) -> list[str]:
    return [row.key for row, is_ticked in rows_of(response).values() if is_ticked]


def create(client: Client, project: Project, form: dict[str, Any], *keys: str, **changed: Any):
    """Look at the proposal, then create what is ticked there, or `keys`."""
    proposal = client.post(page_of(project), form)
    ticks = {"session": list(keys) or keys_of(proposal), "seen": seen_of(proposal), "create": ""}
    return client.post(page_of(project), form | ticks | changed)
