"""`manage.py set_owner KIND NAME --project SLUG`: to whom a collection, a model or a run belongs."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.images.models import Collection
from core.images.services.collections import give_collection
from core.people.management.arguments import named_object, project_of
from core.people.models import Project
from core.people.services.ownership import OwnerRefusedError, change_owner
from research.inference.models import CaptioningModel, Encoder, Run, Translator
from research.inference.services import models, runs

KINDS = {
    "collection": Collection,
    "model": CaptioningModel,
    "translator": Translator,
    "encoder": Encoder,
    "run": Run,
}


class Command(BaseCommand):
    help = "Give a collection, model, translator, encoder or run to a project, or share it with all."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("kind", choices=list(KINDS))
        parser.add_argument("name", help="name, slug of a collection, or number of a run")
        parser.add_argument(
            "--of", metavar="SLUG", help="the project that owns it now, if several own one of that name"
        )
        parser.add_argument("--project", metavar="SLUG", help="project that will own it; without it, no project")
        parser.add_argument("--shared", action="store_true", help="managers and researchers of all projects can use it")

    def handle(self, *, kind: str, name: str, **options: Any) -> None:
        project = project_of(options["project"])
        if project is None and not options["shared"]:
            raise CommandError("Give --project, --shared or both.")
        thing = _thing_named(kind, name, project_of(options["of"]))
        owner: dict[str, Any] = {"project": project, "is_shared": options["shared"], "by": None, "now": timezone.now()}
        try:
            _give(thing, owner)
        except OwnerRefusedError as refused:
            raise CommandError(str(refused)) from refused
        shared = "shared with all" if options["shared"] else "not shared"
        self.stdout.write(f"{thing} belongs to {project.slug if project else 'no project'}, {shared}.")


def _thing_named(kind: str, name: str, owner: Project | None) -> Any:
    if kind == "run":
        run = Run.objects.filter(pk=int(name), trial_image=None).first() if name.isdecimal() else None
        if run is None:
            raise CommandError(f"There is no run {name}.")
        return run
    rows = KINDS[kind].objects.all()  # type: ignore[attr-defined]
    return named_object(
        rows if owner is None else rows.filter(project=owner), name, kind=kind, project=owner, option="--of"
    )


def _give(thing: Any, owner: dict[str, Any]) -> None:
    if isinstance(thing, Collection):
        give_collection(collection=thing, **owner)
    elif isinstance(thing, CaptioningModel):
        if thing.variant_of is not None:
            raise CommandError(f"{thing} is a variant of {thing.variant_of}. Change the owner of that model instead.")
        models.give_model(model=thing, **owner)
    elif isinstance(thing, Run):
        runs.change_owner_of_run(run=thing, **owner)
    else:
        change_owner(things=[thing], **owner)
