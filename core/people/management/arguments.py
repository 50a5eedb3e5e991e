"""Options of commands: what is looked up in the database, and where an export is written."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet

from core.languages.models import Language
from core.people.models import Owned, Project, User
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag
from tabular.downloads import write_whole

Thing = TypeVar("Thing", bound=Owned)
PROJECT_HELP = "project that owns the result; without it, the result is shared with all"


def language_of(tag: str) -> Language:
    """Return the language that `tag` names, whatever its case, aliases included."""
    try:
        language = Language.objects.filter(pk=canonical_tag(tag)).first()
    except MalformedTagError as error:
        raise CommandError(str(error)) from error
    if language is None:
        raise CommandError(f"There is no language {tag}. Add it with add_language first.")
    return language


def project_of(slug: str | None) -> Project | None:
    """Return the project that `--project` names; None if it was not given."""
    if slug is None:
        return None
    return project_named(slug)


def project_named(slug: str) -> Project:
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        raise CommandError(f"There is no project {slug!r}. Available projects: {known_projects()}.")
    return project


def known_projects() -> str:
    return ", ".join(Project.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"


def user_named(name: str) -> User:
    user = User.objects.filter(username__iexact=name).first()
    if user is None:
        raise CommandError(f"There is no user {name!r}.")
    return user


def checked_text(text: str, *, option: str, longest: int | None) -> str:
    """Check the text of an option for a field of at most `longest` characters; returns it without outer blanks."""
    text = text.strip()
    if not 1 <= len(text) <= (longest or 0) or not text.isprintable():
        raise CommandError(f"{option} needs 1 to {longest} characters and no control characters.")
    return text


def checked_file(file: Path) -> Path:
    if not file.is_file():
        raise CommandError(f"There is no file {file}.")
    return file


def named_object(
    rows: QuerySet[Thing], name: str, *, kind: str, project: Project | None = None, option: str = "--project"
) -> Thing:
    """Return the object of `there` with this name, or slug if it has slugs; the project's own first."""
    if kind == "collection" and (match := rows.filter(slug=name).first()):
        return match
    same = list(rows.filter(name=name).order_by("pk"))
    match = next((one for one in same if project is not None and one.project_id == project.pk), None)
    if match is not None or len(same) == 1:
        return match or same[0]
    if same:
        owners = ", ".join(one.project.slug if one.project else "shared" for one in same)
        raise CommandError(f"Several are named {name} (owners: {owners}). Say which with {option}.")
    raise CommandError(f"There is no {kind} {name}.")


def add_output(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="output file, written completely or not at all (default: standard output)",
    )


def write_export(command: BaseCommand, pieces: Iterable[bytes], output: Path | None) -> None:
    if output is None:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    try:
        write_whole(output, pieces)
    except OSError as error:
        raise CommandError(f"The file {output} cannot be written: {error.strerror}.") from error
    command.stderr.write(f"Written to {output}.")
