"""Starting projects."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction
from django.db.models import Model
from django.utils.text import slugify

from core.people import defaults
from core.people.models import ConsentText, Membership, Project, Role, User

SLUG_LENGTH = 40


def create_project(
    *, name: str, manager: User, description: str = "", consent_body: str = "", slug: str = ""
) -> Project:
    """Make a project with its first manager and the first version of its consent text; the caller logs it.

    Without a `slug`, it is made from `name`, with a number if it is taken.
    """
    wanted = (slug or slugify(name))[:SLUG_LENGTH].strip("-") or "project"
    with transaction.atomic():
        project = Project.objects.create(
            slug=free_slug(Project, wanted), name=name, description=description, created_by=manager
        )
        Membership.objects.create(project=project, user=manager, role=Role.MANAGER)
        ConsentText.objects.create(project=project, version=1, body=consent_body or defaults.consent_text())
    return project


def free_slug(model: type[Model], wanted: str, *, reserved: Collection[str] = ()) -> str:
    """Return a slug that no row of `model` has: `wanted`, with a number if it is taken."""
    taken = {*reserved, *model._default_manager.filter(slug__startswith=wanted).values_list("slug", flat=True)}
    slug, number = wanted, 1
    while slug in taken:
        number += 1
        slug = f"{wanted}-{number}"
    return slug
