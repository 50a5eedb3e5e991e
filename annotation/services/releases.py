"""The life of a release: requested under the project's lock, built in the background, stored whole or not at all.

Beside its files is their index; a release that has none yet is given it.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import tempfile
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from annotation.formats.archives import write_archive
from annotation.formats.release_index import write_index
from annotation.models import Release
from annotation.rules.releases import LICENCES
from annotation.selectors.releases import images_left_out, missing_for_release
from annotation.services.release_contents import FORMAT, ReleaseNotPossibleError
from core.images.services import file_storage
from core.jobs.rules.missing_packages import how_to_install
from core.jobs.services import leases
from core.jobs.services.leases import LEASE, NUDGE_AFTER, LeaseLostError
from core.people.models import Project, User, WebhookEvent
from core.people.services import audit_log, webhooks

if TYPE_CHECKING:
    from annotation.services.release_files import WrittenFiles

NEEDED = ("images.jsonl", "captions.jsonl")
COPIES_BYTES = 1_000_000_000
"""On one computer: about 20 releases of the size of Crossmodal-3600."""

IN_USE_S = 60.0
"""How long a copy that was asked for is kept, so that it can be opened."""

UNFINISHED, UNFINISHED_S = ".part", 3600.0
"""What copies that are being made end with, and after how long nobody makes them any more."""


def store_index(release: Release, folder: Path) -> None:
    """Make the index from the files in `folder` and store it."""
    with tempfile.TemporaryDirectory(prefix="crosslens-index-") as place:
        path = Path(place, "index.sqlite3")
        write_index(folder, path)
        with path.open("rb") as file:
            file_storage.put(_name(release), file)


def index_path(release: Release) -> Path:
    """Return the path of the index of a finished release on this computer.

    Raises FileNotFoundError if the files of the release are no longer in storage.
    """
    if not default_storage.exists(_name(release)):
        with tempfile.TemporaryDirectory(prefix="crosslens-index-") as place:
            for name in NEEDED:
                _copy(f"{release.folder}/{name}", Path(place, name))
            store_index(release, Path(place))
    try:
        return Path(default_storage.path(_name(release)))
    except NotImplementedError:  # object storage
        return _local_copy(release)


def _local_copy(release: Release) -> Path:
    path = Path(tempfile.gettempdir(), f"crosslens-{os.getuid()}", f"{release.checksum}.sqlite3")
    with suppress(FileNotFoundError):
        os.utime(path)
        return path
    path.parent.mkdir(mode=0o700, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=path.parent, suffix=UNFINISHED)
    os.close(handle)
    try:
        _copy(_name(release), Path(unfinished))
        Path(unfinished).replace(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
    _delete_oldest_copies(path)
    return path


def _delete_oldest_copies(newest: Path) -> None:
    """Keep the copies that were used last, as far as they fit, and no copy that a killed process began.

    A process that has the file open can still read it after it is deleted.
    """
    left_bytes = COPIES_BYTES - newest.stat().st_size
    for used_at, size_bytes, path in sorted(_files_beside(newest), reverse=True):
        if path.suffix == UNFINISHED:
            is_kept = used_at > time.time() - UNFINISHED_S
        else:
            left_bytes -= size_bytes
            is_kept = left_bytes >= 0 or used_at > time.time() - IN_USE_S
        if not is_kept:
            path.unlink(missing_ok=True)


def _files_beside(newest: Path) -> Iterator[tuple[float, int, Path]]:
    for path in newest.parent.iterdir():
        # Another process may delete the same ones.
        with suppress(FileNotFoundError):
            about = path.stat()
            if path != newest:
                yield about.st_mtime, about.st_size, path


def _copy(name: str, path: Path) -> None:
    with default_storage.open(name) as source, path.open("wb") as target:
        shutil.copyfileobj(source, target)


def _name(release: Release) -> str:
    return f"{release.folder}.sqlite3"


log = logging.getLogger(__name__)

Clock = Callable[[], datetime]

RENEW_AFTER = timedelta(seconds=10)
MAX_ATTEMPTS = 3
SALT_BYTES = 32
MAX_TITLE_CHARACTERS = Release._meta.get_field("title").max_length or 0
MAX_SALT_CHARACTERS = Release._meta.get_field("salt").max_length or 0


class ReleaseSettingsError(Exception):
    """`problems` are all reasons, each with what to do."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


def start_release(
    *,
    project: Project,
    title: str,
    licence: str,
    authors: str,
    description: str = "",
    changes: str = "",
    by: User,
    now: datetime,
    salt: str = "",
    until: datetime | None = None,
    publish_coordinates: bool = False,
    include_images: bool = False,
) -> Release:
    """Request the next release of a project; `build` makes its files.

    - `licence`: of the captions: one of `annotation.rules.releases.LICENCES`.
    - `authors`: one a line: family name, given names; or a name without a comma, of an institution.
    - `salt`: secret for the pseudonyms; random by default.
    - `until`: only captions submitted up to this time are included; `now` by default. With the same `salt` and `until`,
      copies of one database give the same bytes.
    - `publish_coordinates`: whether the release says to a few metres where its images were taken. Nothing else
      publishes that.
    - `include_images`: whether the files of images are in it whose licences let everybody pass them on.

    Raises ReleaseSettingsError with everything that is lacking.
    """
    title = " ".join(title.split())
    # Without duplicates: the format of citations requires that.
    lines = dict.fromkeys(" ".join(line.split()) for line in authors.splitlines())
    authors = "\n".join(line for line in lines if any(map(str.isalnum, line)))
    with transaction.atomic():
        audit_log.lock(project, by)
        problems = missing_for_release(project)
        if licence not in LICENCES:
            known = {"licence": licence, "known": ", ".join(LICENCES)}
            problems.append(_("There is no licence “%(licence)s”. Choose one of: %(known)s.") % known)
        if not authors:
            problems.append(_("Enter at least one author."))
        if not title:
            problems.append(_("Enter a title."))
        if until is not None and until > now:
            problems.append(_("The end of a release, --until, cannot be in the future."))
        if len(salt) > MAX_SALT_CHARACTERS:
            problems.append(_("The salt can have at most %(limit)d characters.") % {"limit": MAX_SALT_CHARACTERS})
        if len(title) > MAX_TITLE_CHARACTERS:
            said = _("The title has %(length)d characters. Enter at most %(limit)d.")
            problems.append(said % {"length": len(title), "limit": MAX_TITLE_CHARACTERS})
        if any(map(_has_control_characters, (title, authors.replace("\n", " ")))):
            problems.append(_("Remove the control characters from the title and authors."))
        if problems:
            raise ReleaseSettingsError(problems)
        last = Release.objects.filter(project=project).aggregate(last=Max("number"))["last"] or 0
        release = Release.objects.create(
            project=project,
            number=last + 1,
            title=title,
            licence=licence,
            authors=authors,
            description=description.strip(),
            changes=changes.strip(),
            salt=salt or secrets.token_hex(SALT_BYTES),
            until=until or now,
            format=FORMAT,
            has_coordinates=publish_coordinates,
            has_images=include_images,
            images_left_out=images_left_out(project),
            created_at=now,
            created_by=by,
            lease_until=now + NUDGE_AFTER,
        )
        audit_log.record(
            project=project,
            action="release.started",
            about=f"release {release.number}",
            by=by,
            now=now,
            details={
                "title": release.title,
                "licence": licence,
                "publish_coordinates": publish_coordinates,
                "include_images": include_images,
            },
        )
    return release


def build(*, release_id: int, clock: Clock) -> Release | None:
    """Build the files of a release, or start again after a worker died; return None if another worker has it."""
    release = claim(release_id=release_id, now=clock())
    if release is None:
        return None
    with leases.working_for(release.created_by):
        if release.attempts > MAX_ATTEMPTS:
            _finish(
                release,
                now=clock(),
                error=_("The release could not be made: it stopped %(count)s times.") % {"count": MAX_ATTEMPTS},
            )
            return release
        try:
            _build(release, clock)
        except ReleaseNotPossibleError as reason:
            _finish(release, now=clock(), error=str(reason))
        except ModuleNotFoundError as error:
            # Workers may lack a package that the web server has.
            if not (how := how_to_install(error)):
                raise
            _finish(release, now=clock(), error=how)
        except OSError as error:
            log.exception("Release %s could not be stored.", release.pk)
            said = _("The files could not be written (%(error)s). Ask the administrator of this site.")
            _finish(release, now=clock(), error=said % {"error": error.strerror or type(error).__name__})
        return release
    return None


def rebuild(*, release: Release, folder: Path) -> WrittenFiles:
    """Build the bytes of a release again, into an empty folder."""
    return _write(release, folder, lambda: None)


def _write(release: Release, folder: Path, beat: Callable[[], None]) -> WrittenFiles:
    # Imported here: pyarrow's 50 MB are for workers, not for every process that serves pages.
    from annotation.services.release_files import write_release

    return write_release(release, folder, beat=beat)


def _has_control_characters(text: str) -> bool:
    return any(unicodedata.category(character) in ("Cc", "Cs") for character in text)


def claim(*, release_id: int, now: datetime) -> Release | None:
    return leases.claim(Release.objects.filter(pk=release_id).select_related("project", "created_by"), now=now)


def name_of(release: Release) -> str:
    """The name of its archive, without the ending, and of the folder in it."""
    return f"{release.project.slug}-{release.number}"


def _build(release: Release, clock: Clock) -> None:
    with TemporaryDirectory(prefix="crosslens-release-") as place:
        folder, archive = Path(place, "files"), Path(place, "archive.tar.gz")
        folder.mkdir()

        def beat() -> None:
            _extend(release, now=clock())

        written = _write(release, folder, beat)
        names = [file.name for file in written.files]
        write_archive(archive, folder, names, within=name_of(release))
        # Named by its content, so that a second worker writes the same files over those of the first.
        release.folder = f"releases/{name_of(release)}-{written.checksum[:16]}"
        release.archive = f"{release.folder}.tar.gz"
        release.archive_bytes = archive.stat().st_size
        release.checksum, release.counts = written.checksum, written.counts
        for name in names:
            beat()
            with (folder / name).open("rb") as file:
                file_storage.put(f"{release.folder}/{name}", file)
        beat()
        with archive.open("rb") as file:
            file_storage.put(release.archive, file)
        beat()
        store_index(release, folder)
    _finish(release, now=clock())


def _extend(release: Release, *, now: datetime) -> None:
    """Renew the lease, though not with every piece of work."""
    if release.lease_until is not None and release.lease_until - now > LEASE - RENEW_AFTER:
        return
    release.lease_until = leases.renewed_lease(release, now=now)


def _finish(release: Release, *, now: datetime, error: str = "") -> None:
    """Finish it: only now can anybody see its files."""
    made = ("folder", "archive", "archive_bytes", "checksum", "counts", "places") if not error else ()
    with transaction.atomic():
        # Before the row of the release: as in `start_release`.
        audit_log.lock(release.project)
        values = {name: getattr(release, name) for name in made}
        if not leases.finish_row(release, now=now, error=error, **values):
            raise LeaseLostError(release.pk)
        about = {"number": release.number, "title": release.title}
        what = {"reason": error} if error else {"checksum": release.checksum, "captions": release.counts["captions"]}
        audit_log.record(
            project=release.project,
            action="release.failed" if error else "release.done",
            about=f"release {release.number}",
            by=None,
            now=now,
            details=what,
        )
        event = WebhookEvent.RELEASE_FAILED if error else WebhookEvent.RELEASE_DONE
        webhooks.queue_event(project=release.project, event=event, payload=about | what, now=now)
    release.refresh_from_db(fields=["state", "error", "finished_at", "lease_until"])
