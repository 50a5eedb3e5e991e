"""What the server does in the background: imports, releases, scores."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from crosslens.connection import Connection
from crosslens.rows import Rows
from crosslens.sending import OnProgress, form_fields, opened_files

POLL_S = 1.0
ENDED = ("done", "failed", "cancelled")


class ServerJob:
    """Something that the server does in the background; `values` is what it last said of it."""

    def __init__(self, connection: Connection, address: str, values: dict[str, Any]) -> None:
        self._connection, self._address, self.values = connection, address, values

    @classmethod
    def started(cls, connection: Connection, address: str, sent: object) -> Self:
        """Start it, by sending JSON to an address."""
        job = connection.start(address, json=sent)
        return cls(connection, job, connection.json("GET", job))

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
            If it failed or was cancelled, with the reason.
        """
        while self.state not in ENDED:
            self._connection.pause(POLL_S)
            self.refresh()
        if self.state != "done":
            raise RuntimeError(self.values["error"] or self.state)
        return self


class FileImports:
    """The imports of a project: first a preview, then the import, and undo."""

    def __init__(self, connection: Connection, root: str) -> None:
        self._connection, self._root = connection, root

    def __iter__(self) -> Iterator[FileImport]:
        for values in Rows(self._connection, self._root):
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
            and map, as in `FileImport.answer`; languages and places, to begin the languages of a project; least,
            per_word, most and seed, to draw sentences from a corpus.
        """
        if not paths:
            raise ValueError("Name the files and folders to send.")
        said = form_fields(answers)
        with opened_files([Path(path) for path in paths], on_progress) as files:
            values = self._connection.json("POST", self._root, files=[("files", file) for file in files], data=said)
        return FileImport(self._connection, f"{self._root}{values['id']}/", values).wait()


class FileImport(ServerJob):
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
        for values in Rows(self._connection, self._root):
            yield self._found(values)

    def __getitem__(self, number: int) -> Release:
        return self._found(self._connection.json("GET", f"{self._root}{number}/"))

    def make(self, *, title: str, licence: str, authors: str | Sequence[str], **more: Any) -> Release:
        """Make the next release, and wait until it is done.

        Parameters
        ----------
        title, licence : str
            To cite, and the licence of the captions by its SPDX identifier.
        authors : str, or sequence of str for several
            Family name, given names; or an institution without a comma.
        **more
            description, changes, include_images and publish_coordinates.
        """
        lines = authors if isinstance(authors, str) else "\n".join(authors)
        sent = {"title": title, "licence": licence, "authors": lines, **more}
        return self._found(self._connection.json("POST", self._root, json=sent)).wait()

    def _found(self, values: dict[str, Any]) -> Release:
        return Release(self._connection, f"{self._root}{values['number']}/", values)


class Release(ServerJob):
    """A release; `values` has its title, counts and checksum."""

    @property
    def number(self) -> int:
        return int(self.values["number"])

    def download(self, path: str | Path) -> Path:
        """Write it as one .tar.gz archive."""
        return self._connection.download(f"{self._address}archive/", Path(path))
