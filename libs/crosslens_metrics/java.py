"""Java programs as other tools have them: where they are, and talking to one without waiting for ever.

METEOR 1.5 and the Penn Treebank tokeniser exist as Java programs only. Their files come with the package
`pycocoevalcap`, of which nothing is imported, or are named by environment variables.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO

PACKAGE = "pycocoevalcap"
PATIENCE_S = 300.0
"""How long a program may say nothing before it is given up. METEOR reads a table for seconds before it begins."""
LOCALE = ("-Dfile.encoding=UTF-8", "-Dsun.jnu.encoding=UTF-8", "-Duser.language=en", "-Duser.country=US")
"""Numbers with a point and text as UTF-8, whatever the computer is set to."""
MAX_COMPLAINT_CHARACTERS = 500


class ToolMissingError(RuntimeError):
    """A program is not there; the message says which, and how to get it."""


class ToolFailedError(RuntimeError):
    """A program ended, fell silent or said what cannot be read."""


def java() -> str:
    """The command that runs Java: the environment variable JAVA, or `java` on the path.

    Raises ToolMissingError.
    """
    wanted = os.environ.get("JAVA") or "java"
    path = shutil.which(wanted)
    if path is None:
        raise ToolMissingError(
            f"METEOR and the PTB tokeniser need Java, and there is no {wanted} on the path. Install it (on Debian and "
            "Ubuntu: apt-get install default-jre-headless), or name its command in the variable JAVA."
        )
    return path


def jar(variable: str, inside: str, what: str) -> Path:
    """Where a Java archive lies.

    - `variable`: the environment variable that may name the file.
    - `inside`: where it is in the package `pycocoevalcap`.
    - `what`: what it is, for the message.

    Raises ToolMissingError.
    """
    named = os.environ.get(variable)
    if named:
        if Path(named).is_file():
            return Path(named).resolve()
        raise ToolMissingError(
            f"The environment variable {variable} names {named}, which is no file. It should be {what}."
        )
    # Finding a package that lies on the path does not run any of it.
    package = importlib.util.find_spec(PACKAGE)
    for folder in (package.submodule_search_locations or ()) if package else ():
        if (Path(folder) / inside).is_file():
            return (Path(folder) / inside).resolve()
    raise ToolMissingError(
        f"There is no {what} here. Install its package (pip install pycocoevalcap==1.2), or name the file in the "
        f"environment variable {variable}."
    )


class JavaDialogue:
    """A Java program that is sent lines and answers with lines; ended when the `with` block is left, however it is.

    Lines are sent from a thread of their own, so that neither side waits for the other to read. What the program
    complains of goes to a file for the same reason.
    """

    def __init__(self, arguments: Iterable[str], *, folder: Path, patience_s: float = PATIENCE_S) -> None:
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed in __exit__
        self._patience_s = patience_s
        self._heard_at = time.monotonic()
        self._is_over = threading.Event()
        self._is_silent = False
        self._sender: threading.Thread | None = None
        try:
            self._process = subprocess.Popen(  # noqa: S603
                [java(), *LOCALE, *arguments],
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
            )
        except OSError as error:
            self._complaints.close()
            raise ToolFailedError(f"Java cannot be started: {error.strerror}.") from error
        except ToolMissingError:
            self._complaints.close()
            raise
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def __enter__(self) -> JavaDialogue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._process.kill()
        self._process.wait()
        if self._sender is not None:
            self._sender.join()
        self._watcher.join()
        for pipe in (self._process.stdin, self._process.stdout, self._complaints):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:
                pass  # what was not sent has nobody to read it

    def send(self, lines: Iterable[str], *, is_last: bool = False) -> None:
        """Send lines in the background, after those sent before; `is_last` tells the program that no more follow."""
        if self._sender is not None:
            self._sender.join()
        self._heard_at = time.monotonic()
        self._sender = threading.Thread(target=self._send, args=(lines, is_last), daemon=True)
        self._sender.start()

    def answer(self) -> str:
        """The next line, without its end.

        Raises ToolFailedError if there is none.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        self._heard_at = time.monotonic()
        if not line.endswith(b"\n"):
            raise ToolFailedError(self._what_went_wrong())
        return line.decode("utf-8", "replace").rstrip("\r\n")

    def is_at_end(self) -> bool:
        """Whether the program says no more."""
        assert self._process.stdout is not None
        return not self._process.stdout.readline()

    def _send(self, lines: Iterable[str], is_last: bool) -> None:
        assert self._process.stdin is not None
        try:
            for line in lines:
                self._process.stdin.write(line.encode("utf-8", "replace") + b"\n")
                self._heard_at = time.monotonic()
            self._process.stdin.flush()
            if is_last:
                self._process.stdin.close()
        except (OSError, ValueError):
            return  # the program has ended, and the call that waits for its answer raises the reason

    def _watch(self) -> None:
        while not self._is_over.wait(min(1.0, self._patience_s / 4)):
            if time.monotonic() - self._heard_at > self._patience_s:
                self._is_silent = True
                self._process.kill()
                return

    def _what_went_wrong(self) -> str:
        if self._is_silent:
            return f"The Java program said nothing for {self._patience_s:.0f} seconds and was ended."
        code = self._process.wait()
        self._complaints.seek(0)
        said = " ".join(self._complaints.read(1 << 16).decode("utf-8", "replace").split())[:MAX_COMPLAINT_CHARACTERS]
        return f"The Java program ended before it had answered (code {code}): {said or 'it did not say why'}"
