"""An installation, its projects, and what is done in them."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Self

import httpx

from crosslens.connection import TIMEOUT_S, Connection
from crosslens.rows import Rows

POLL_S = 1.0
ENDED = ("done", "failed")
OnProgress = Callable[[int, int], None]
"""Called with the bytes sent so far, and all."""


class Crosslens:
    """An installation, as the person whose token it is.

    Parameters
    ----------
    url : str
        Of the installation, such as https://crosslens.example.org.
    token : str
        From *Profile*, *Tokens for programs*.
    timeout_s : float
        How long one request may take, in seconds.
    transport : httpx.BaseTransport, optional
        How requests travel, such as through a proxy.
    """

    def __init__(
        self, url: str, token: str, *, timeout_s: float = TIMEOUT_S, transport: httpx.BaseTransport | None = None
    ) -> None:
        self._connection = Connection(url, token, timeout_s=timeout_s, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def me(self) -> dict[str, Any]:
        """Return the person's name and languages."""
        me: dict[str, Any] = self._connection.json("GET", "me/")
        return me

    def projects(self) -> Rows:
        """List the person's projects."""
        return Rows(self._connection, "projects/", {})

    def project(self, slug: str) -> Project:
        """Return a project by the last part of its address; the server is asked only when you use it."""
        return Project(self._connection, slug)

    def create_project(self, slug: str, campaign: str | Path) -> Project:
        """Make a project from a campaign file, or bring it to what the file says.

        Raises
        ------
        CrosslensError
            With each line of the file that is not right.
        """
        project = self.project(slug)
        project.apply_campaign(campaign)
        return project


class Project:
    """A project, by its `slug`."""

    def __init__(self, connection: Connection, slug: str) -> None:
        self.slug, self._connection, self._root = slug, connection, f"projects/{slug}/"

    def __repr__(self) -> str:
        return f"Project({self.slug!r})"

    @property
    def about(self) -> dict[str, Any]:
        """Name, description and the person's roles."""
        return self._get("")

    @property
    def imports(self) -> FileImports:
        """Files that bring images, captions and references."""
        return FileImports(self._connection, f"{self._root}imports/")

    @property
    def releases(self) -> Releases:
        """Numbered datasets that others can cite."""
        return Releases(self._connection, f"{self._root}releases/")

    def campaign(self) -> str:
        """Return the settings, texts and invitations of the project as TOML."""
        return self._connection.text(f"{self._root}campaign/")

    def plan_campaign(self, campaign: str | Path) -> list[dict[str, str]]:
        """Return what a campaign file would change, and store nothing."""
        return self._send_campaign(campaign, {"plan": "1"})

    def apply_campaign(self, campaign: str | Path) -> list[dict[str, str]]:
        """Bring the project to what a campaign file says, and return what was changed."""
        return self._send_campaign(campaign, {})

    def languages(self) -> Rows:
        """List the languages."""
        return self._rows("languages/")

    def rounds(self, *, language: str | None = None) -> Rows:
        """List the rounds with their states."""
        return self._rows("rounds/", language=language)

    def images(self) -> Rows:
        """List the images of all collections that rounds use."""
        return self._rows("images/")

    def captions(self, *, language: str | None = None, round: int | None = None) -> Rows:
        """List what people wrote; `state` of each says whether it counts."""
        return self._rows("captions/", language=language, round=round)

    def ratings(self, *, language: str | None = None, round: int | None = None) -> Rows:
        """List annotators' ratings of English captions."""
        return self._rows("ratings/", language=language, round=round)

    def verdicts(self, *, language: str | None = None, round: int | None = None) -> Rows:
        """List reviewers' ratings of what people wrote."""
        return self._rows("verdicts/", language=language, round=round)

    def feedback(self) -> Rows:
        """List what managers said to annotators."""
        return self._rows("feedback/")

    def progress(self) -> dict[str, Any]:
        """Return how far each round is."""
        return self._get("progress/")

    def statistics(self, *, images: str | None = None) -> Rows:
        """List captions, words and characters by language, of all images or those of a filter."""
        return self._rows("statistics/", images=images)

    def quality(self, *, images: str | None = None) -> Rows:
        """List the quality of verified captions by round."""
        return self._rows("quality/", images=images)

    def download_captions(self, path: str | Path, *, layout: str = "jsonl") -> Path:
        """Write the captions that count to a file: `layout` is jsonl, csv or xm3600."""
        return self._connection.download(f"{self._root}export/?what=captions&format={layout}", Path(path))

    def _rows(self, part: str, **parameters: object) -> Rows:
        return Rows(self._connection, self._root + part, parameters)

    def _get(self, part: str) -> dict[str, Any]:
        found: dict[str, Any] = self._connection.json("GET", self._root + part)
        return found

    def _send_campaign(self, campaign: str | Path, parameters: dict[str, str]) -> list[dict[str, str]]:
        text = campaign.read_text("utf-8") if isinstance(campaign, Path) else campaign
        headers = {"Content-Type": "application/toml"}
        address = f"{self._root}campaign/"
        answer = self._connection.json("PUT", address, params=parameters, content=text.encode(), headers=headers)
        steps: list[dict[str, str]] = answer["steps"]
        return steps


class BackgroundJob:
    """Something that the server does in the background; `values` is what it last said of it."""

    def __init__(self, connection: Connection, address: str, values: dict[str, Any]) -> None:
        self._connection, self._address, self.values = connection, address, values

    @property
    def state(self) -> str:
        """One of queued, running, done, failed and cancelled."""
        return str(self.values["state"])

    def refresh(self) -> Self:
        """Ask the server how far it is."""
        self.values = self._connection.json("GET", self._address)
        return self

    def wait(self) -> Self:
        """Wait until it has ended.

        Raises
        ------
        RuntimeError
            If it failed, with the reason.
        """
        while self.state not in ENDED:
            self._connection.pause(POLL_S)
            self.refresh()
        if self.state == "failed":
            raise RuntimeError(self.values["error"])
        return self


class FileImports:
    """The imports of a project: first a preview, then the import, and undo."""

    def __init__(self, connection: Connection, root: str) -> None:
        self._connection, self._root = connection, root

    def __iter__(self) -> Iterator[FileImport]:
        for values in Rows(self._connection, self._root, {}):
            yield FileImport(self._connection, f"{self._root}{values['id']}/", values)

    def preview(self, *paths: str | Path, on_progress: OnProgress | None = None, **answers: Any) -> FileImport:
        """Send files and folders, and return once the server has looked through them. Nothing is imported yet.

        Parameters
        ----------
        *paths : str or Path
            Of any kind that docs/importing.md lists. A folder is sent as a zip file.
        on_progress : callable, optional
            Called with the bytes sent so far, and all.
        **answers
            What the files do not say: kind, model, language, collection, new_collection, name, is_translated, source
            and map, as in `FileImport.answer`.
        """
        said = {name: _form_value(value) for name, value in answers.items()}
        with _opened([Path(path) for path in paths], on_progress) as files:
            values = self._connection.json("POST", self._root, files=[("files", file) for file in files], data=said)
        return FileImport(self._connection, f"{self._root}{values['id']}/", values).wait()


class FileImport(BackgroundJob):
    """Files that were sent. `preview` says what they are, and `missing` what must be said before `confirm`."""

    @property
    def preview(self) -> list[dict[str, Any]]:
        """What each file is: its kind, format, models, languages, images and problems."""
        files: list[dict[str, Any]] = self.values["preview"]["files"]
        return files

    @property
    def missing(self) -> list[dict[str, str]]:
        """What has to be answered first; an empty `answer` means that no answer helps."""
        missing: list[dict[str, str]] = self.values["missing"]
        return missing

    @property
    def parts(self) -> list[dict[str, Any]]:
        """What was made of each file: how many were added, there already and rejected."""
        parts: list[dict[str, Any]] = self.values["parts"]
        return parts

    def answer(self, **answers: Any) -> Self:
        """Say what the files do not, in place of all earlier answers, and wait for the new preview."""
        self.values = self._connection.json("PUT", self._address, json=answers)
        return self.wait()

    def confirm(self) -> Self:
        """Import what the preview shows, and wait until that is done."""
        return self._step("confirm")

    def undo(self) -> Self:
        """Take out what it brought, and wait until that is done."""
        return self._step("undo")

    def discard(self) -> None:
        """Delete the files and the preview."""
        self._connection.json("DELETE", self._address)

    def report(self) -> list[dict[str, str]]:
        """Return what became of each line or image."""
        return list(csv.DictReader(io.StringIO(self._connection.text(f"{self._address}report/"))))

    def _step(self, name: str) -> Self:
        self.values = self._connection.json("POST", f"{self._address}{name}/")
        return self.wait()


class Releases:
    """The releases of a project, by their numbers."""

    def __init__(self, connection: Connection, root: str) -> None:
        self._connection, self._root = connection, root

    def __iter__(self) -> Iterator[Release]:
        for values in Rows(self._connection, self._root, {}):
            yield self._found(values)

    def __getitem__(self, number: int) -> Release:
        return self._found(self._connection.json("GET", f"{self._root}{number}/"))

    def make(self, *, title: str, licence: str, authors: Sequence[str], **more: Any) -> Release:
        """Make the next release, and wait until it is done.

        Parameters
        ----------
        title, licence : str
            To cite, and the licence of the captions by its SPDX identifier.
        authors : sequence of str
            Family name, given names; or an institution without a comma.
        **more
            description, changes, include_images and publish_coordinates.
        """
        sent = {"title": title, "licence": licence, "authors": "\n".join(authors), **more}
        return self._found(self._connection.json("POST", self._root, json=sent)).wait()

    def _found(self, values: dict[str, Any]) -> Release:
        return Release(self._connection, f"{self._root}{values['number']}/", values)


class Release(BackgroundJob):
    """A release; `values` has its title, counts and checksum."""

    @property
    def number(self) -> int:
        return int(self.values["number"])

    def download(self, path: str | Path) -> Path:
        """Write it as one .tar.gz archive."""
        return self._connection.download(f"{self._address}archive/", Path(path))


def _form_value(value: object) -> str:
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


@contextmanager
def _opened(paths: Sequence[Path], on_progress: OnProgress | None) -> Iterator[list[tuple[str, IO[bytes]]]]:
    """Open files, and folders as zip files, to be sent."""
    with ExitStack() as stack:
        opened: list[tuple[str, IO[bytes]]] = []
        for path in paths:
            if path.is_dir():
                opened.append((f"{path.resolve().name}.zip", stack.enter_context(_zipped(path))))
            else:
                opened.append((path.name, stack.enter_context(path.open("rb"))))
        if on_progress is not None:
            total = sum(file.seek(0, io.SEEK_END) for _name, file in opened)
            sent = _SentBytes(total, on_progress)
            opened = [(name, sent.counted(file)) for name, file in opened]
        yield opened


@contextmanager
def _zipped(folder: Path) -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as file:
        # Images do not get smaller, and texts in folders are few.
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    archive.write(path, path.relative_to(folder).as_posix())
        file.seek(0)
        yield file


class _SentBytes:
    """How much of some files has been read, and so sent."""

    def __init__(self, total: int, on_progress: OnProgress) -> None:
        self.done, self.total, self.on_progress = 0, total, on_progress

    def counted(self, file: IO[bytes]) -> IO[bytes]:
        file.seek(0)
        read = file.read

        def counting(size: int = -1) -> bytes:
            piece = read(size)
            self.done += len(piece)
            self.on_progress(self.done, self.total)
            return piece

        return _CountingFile(file, counting)  # type: ignore[return-value]


class _CountingFile:
    def __init__(self, file: IO[bytes], read: Callable[[int], bytes]) -> None:
        self._file, self.read = file, read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
