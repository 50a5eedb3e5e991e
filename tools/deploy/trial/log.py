"""What a trial did, in a file; what it found, on the screen too."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock


class FailedError(Exception):
    """Something is not as it has to be; the message says what was found instead."""


def require(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise FailedError(otherwise)


class TrialLog:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.findings: list[tuple[bool, str, float]] = []
        self._began = time.monotonic()
        self._lock = Lock()
        path.write_text("")

    def say(self, text: str) -> None:
        line = f"{time.monotonic() - self._began:7.1f} s  {text}"
        with self._lock, self.path.open("a") as file:
            file.write(line + "\n")

    def show(self, text: str) -> None:
        self.say(text)
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def found(self, is_right: bool, what: str, seconds: float) -> None:
        self.findings.append((is_right, what, seconds))
        self.show(f"{'PASS' if is_right else 'FAIL'}  {seconds:6.1f} s  {what}")

    def summary(self) -> str:
        failed = sum(not is_right for is_right, _what, _seconds in self.findings)
        lines = [
            f"{'PASS' if is_right else 'FAIL'}  {seconds:6.1f} s  {what}" for is_right, what, seconds in self.findings
        ]
        passed, took = len(self.findings) - failed, time.monotonic() - self._began
        return "\n".join([*lines, f"{passed} passed, {failed} failed in {took:.0f} s"])

    def run(
        self,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str] | None = None,
        given: str | None = None,
        folder: Path | None = None,
        may_fail: bool = False,
        timeout_s: float = 900,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; what it writes goes into the log.

        Raises FailedError where it fails, unless it may.
        """
        self.say("$ " + " ".join(map(str, command)))
        try:
            done = subprocess.run(
                command,
                env=environment,
                input=given,
                cwd=folder,
                stdin=subprocess.DEVNULL if given is None else None,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=timeout_s,
            )
        except subprocess.TimeoutExpired as error:
            raise FailedError(f"{' '.join(map(str, command[:6]))} … takes longer than {timeout_s:.0f} s") from error
        for stream in (done.stdout, done.stderr):
            if stream.strip():
                self.say(stream.rstrip()[-20_000:])
        if done.returncode and not may_fail:
            last = (done.stderr.strip() or done.stdout.strip() or "nothing is said").splitlines()[-1]
            raise FailedError(f"{' '.join(map(str, command[:6]))} … ended with {done.returncode}: {last[:300]}")
        return done
