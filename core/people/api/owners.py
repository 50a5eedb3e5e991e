"""Owners of things as operations take and change them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from core.people.api.forms import filled_form
from core.people.api.problems import explain, refused_as
from core.people.api.requested import valid_values
from core.people.forms.owners import OWNER_FIELDS, ChangeOwnerForm
from core.people.models import Owned, Role, User
from core.people.services.ownership import OwnerRefusedError, projects_to_own

explain({"owner-refused": "It cannot belong to that project, or not to it alone; detail says why."})


def owner_fields() -> dict[str, Any]:
    """Make the fields of a shape that can give something to another project, or share it."""
    return {
        "project": serializers.SlugField(
            required=False, allow_null=True, help_text="The slug of a project that you manage."
        ),
        "is_shared": serializers.BooleanField(required=False, help_text="Whether all projects can use it."),
    }


def change_owner_as_sent(sent: dict[str, Any], *, thing: Owned, give: Callable[..., None], by: User) -> None:
    """Take the fields of owners out of `sent`, and change with `give` what they say.

    Raises ApiError or rest_framework.serializers.ValidationError.
    """
    asked = {name: sent.pop(name) for name in OWNER_FIELDS if name in sent}
    if not asked:
        return
    if asked.get("project"):
        projects = projects_to_own(by, Role.MANAGER)
        owner = projects.filter(slug=asked["project"]).first()
        if owner is None:
            slugs = projects.order_by("slug").values_list("slug", flat=True)
            raise serializers.ValidationError({"project": [valid_values(slugs)]})
        asked["project"] = owner.pk
    elif "project" in asked:
        asked["project"] = ""
    form = filled_form(partial(ChangeOwnerForm, thing=thing, by=by), asked)
    with refused_as("owner-refused", OwnerRefusedError):
        give(**form.cleaned_data, by=by, now=timezone.now())
