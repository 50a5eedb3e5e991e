"""Add and remove the files that a corpus is made from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from django.core.files.storage import default_storage
from django.db import transaction
from django.utils.text import get_valid_filename
from django.utils.translation import gettext as _

from corpora.formats.corpus_checks import check_file
from corpora.models import WITH_LANGUAGE, CorpusBuild, CorpusFile, FileRole, Side
from corpora.rules.corpus_files import ENGLISH, guess
from corpora.services.corpus_builds import CorpusRefusedError, locked, record
from crosslens_metrics.formats.problems import FileRefusedError
from crosslens_metrics.formats.records import printable
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag
from images.services import file_storage
from languages.models import Language
from parallel_text.building import sha256_of
from parallel_text.config import INVENTORY_FORMATS, TEXT_FORMATS
from parallel_text.problems import CorpusError
from people.models import User

FORMATS = {FileRole.TEXT: TEXT_FORMATS, FileRole.INVENTORY: ("", *INVENTORY_FORMATS)}
NAME_CHARACTERS = 255
STORED_CHARACTERS = 80


@dataclass(frozen=True)
class About:
    """What a file is. An empty role is guessed from the file's name."""

    role: str = ""
    language: str = ""
    side: str = ""
    format: str = ""


def add_file(
    *, build: CorpusBuild, path: Path, name: str, about: About | None = None, by: User | None, now: datetime
) -> CorpusFile:
    """Check a local file and store it; it takes the place of a file with its name, or of the only one of its role.

    Raises
    ------
    CorpusRefusedError
        Names the file and, where it is one, the line. Nothing is stored then.
    """
    name = printable(name)
    if not 0 < len(name) <= NAME_CHARACTERS:
        raise CorpusRefusedError(_("A name of a file has 1 to %(limit)s characters.") % {"limit": NAME_CHARACTERS})
    what = _settled(name, about or About())
    _check(path, name, what)
    sha256 = sha256_of(path)
    stored = f"{build.folder}/input/{sha256[:32]}/{get_valid_filename(name)[-STORED_CHARACTERS:]}"
    with path.open("rb") as content:
        file_storage.put(stored, content)
    with transaction.atomic():
        build = locked(build, by)
        earlier = build.files.filter(name=name)
        if what.role not in WITH_LANGUAGE:
            earlier |= build.files.filter(role=what.role)
        _delete(list(earlier), but=stored)
        file = CorpusFile.objects.create(
            build=build,
            role=what.role,
            language=what.language,
            side=what.side,
            format=what.format,
            name=name,
            stored=stored,
            sha256=sha256,
            bytes=path.stat().st_size,
            added_at=now,
            added_by=by,
        )
        record(build, "file-added", by=by, now=now, file=name, sha256=sha256, role=what.role)
    return file


def change_file(*, file: CorpusFile, path: Path, about: About, by: User | None, now: datetime) -> None:
    """Say what a file is; `path` is that of the same file on this machine.

    Raises
    ------
    CorpusRefusedError
    """
    what = _settled(file.name, about)
    _check(path, file.name, what)
    with transaction.atomic():
        build = locked(file.build, by)
        others = build.files.filter(role=what.role).exclude(pk=file.pk)
        if what.role not in WITH_LANGUAGE and (other := others.first()):
            raise CorpusRefusedError(
                _("“%(file)s” is the %(role)s. Delete it first.")
                % {"file": other.name, "role": FileRole(what.role).label}
            )
        values = {"role": what.role, "language": what.language, "side": what.side, "format": what.format}
        if build.files.filter(pk=file.pk).update(**values):
            record(build, "file-changed", by=by, now=now, file=file.name, **values)


def remove_file(*, file: CorpusFile, by: User | None, now: datetime) -> None:
    """Delete a file of a corpus. What was built from it stays until the next start."""
    with transaction.atomic():
        build = locked(file.build, by)
        _delete(list(build.files.filter(pk=file.pk)))
        record(build, "file-removed", by=by, now=now, file=file.name)


def _delete(files: list[CorpusFile], *, but: str = "") -> None:
    for file in files:
        file.delete()
        if file.stored != but:
            transaction.on_commit(partial(default_storage.delete, file.stored))


def _settled(name: str, about: About) -> About:
    """Fill in what was not said from the name of the file, and check it."""
    known = set(Language.objects.values_list("tag", flat=True))
    guessed = guess(name, known | {ENGLISH})
    role = about.role or guessed.role
    if role not in FileRole.values:
        raise CorpusRefusedError(
            _("“%(file)s”: its name does not tell what it is. Choose what it is, and add it again.") % {"file": name}
        )
    is_as_guessed = role == guessed.role
    language = side = form = ""
    if role in WITH_LANGUAGE:
        language = _language(name, about.language or (guessed.language if is_as_guessed else ""), known)
        form = about.format or (guessed.format if is_as_guessed else "")
        if form not in FORMATS[FileRole(role)]:
            formats = ", ".join(each for each in FORMATS[FileRole(role)] if each)
            raise CorpusRefusedError(
                _("“%(file)s”: choose a format: %(formats)s.") % {"file": name, "formats": formats}
            )
    if role == FileRole.TEXT and language == ENGLISH:
        raise CorpusRefusedError(
            _("“%(file)s”: choose the other language. English is always one of the two.") % {"file": name}
        )
    if form == "moses":
        side = about.side or guessed.side
        if side not in Side.values:
            raise CorpusRefusedError(_("“%(file)s”: choose which side it is.") % {"file": name})
    return About(role, language, side, form)


def _language(name: str, tag: str, known: set[str]) -> str:
    try:
        language = canonical_tag(tag)
    except MalformedTagError as error:
        raise CorpusRefusedError(_("“%(file)s”: choose its language.") % {"file": name}) from error
    if language not in known | {ENGLISH}:
        raise CorpusRefusedError(
            _("“%(file)s”: the language “%(tag)s” is not known here. An administrator can add it.")
            % {"file": name, "tag": language}
        )
    return language


def _check(path: Path, name: str, what: About) -> None:
    try:
        check_file(path, name, role=FileRole(what.role), language=what.language, form=what.format)
    except (CorpusError, FileRefusedError) as error:
        message = str(error)
        raise CorpusRefusedError(message if name in message else f"“{name}”: {message}") from error
