"""WebKit, the engine of every iPhone's browsers, driven by the W3C's WebDriver protocol: WebKitGTK under Xvfb."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests import servers

PROGRAMS = ("WebKitWebDriver", "Xvfb", "dbus-run-session")
BROWSERS = Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
ENTER = "\ue007"
ANSWER_S = 60
WITHIN_S = 15.0

Found = TypeVar("Found")


@dataclass(frozen=True)
class WebKit:
    """A window of the browser."""

    session: str

    def open(self, address: str) -> None:
        ask(f"{self.session}/url", {"url": address})

    @property
    def address(self) -> str:
        return str(ask(f"{self.session}/url"))

    def add_cookie(self, name: str, value: str) -> None:
        ask(f"{self.session}/cookie", {"cookie": {"name": name, "value": value}})

    def run(self, script: str, *arguments: object) -> Any:
        return ask(f"{self.session}/execute/sync", {"script": script, "args": list(arguments)})

    def click(self, selector: str) -> None:
        ask(f"{self.session}/element/{self._find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        ask(f"{self.session}/element/{self._find(selector)}/value", {"text": text})

    def press(self, keys: str) -> None:
        """Type at whatever has the focus."""
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        ask(f"{self.session}/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]})

    def text(self, selector: str) -> str:
        return str(ask(f"{self.session}/element/{self._find(selector)}/text"))

    def wait_for_address(self, end: str) -> None:
        wait_for(lambda: self.address.endswith(end), f"an address ending in {end}; it is {self.address}")

    def wait_for_text(self, selector: str, part: str) -> None:
        wait_for(lambda: part in self.text(selector), f"“{part}” in {selector}")

    def _find(self, selector: str) -> str:
        elements = wait_for(lambda: self._look_for(selector), selector)
        return elements[0][ELEMENT]

    def _look_for(self, selector: str) -> list[dict[str, str]]:
        elements: list[dict[str, str]] = ask(f"{self.session}/elements", {"using": "css selector", "value": selector})
        return elements


def find_webkit() -> Path | None:
    return next(BROWSERS, None) if all(map(shutil.which, PROGRAMS)) else None


@contextmanager
def started(browser: Path) -> Iterator[WebKit]:
    port = servers.free_port()
    with running(
        ["Xvfb", "-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"], stdout=subprocess.PIPE
    ) as screen:
        assert screen.stdout
        about = {"DISPLAY": f":{screen.stdout.readline().decode().strip()}", "GDK_BACKEND": "x11"}
        with running(["dbus-run-session", "--", "WebKitWebDriver", f"--port={port}"], env=os.environ | about) as driver:
            servers.wait_for_port(port, driver)
            options = {"binary": str(browser), "args": ["--automation"]}
            capabilities = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
            made = ask(f"http://127.0.0.1:{port}/session", {"capabilities": capabilities})
            session = f"http://127.0.0.1:{port}/session/{made['sessionId']}"
            try:
                yield WebKit(session)
            finally:
                with suppress(OSError):
                    ask(session, method="DELETE")


@contextmanager
def running(command: list[str], **about: Any) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL, **about)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def ask(address: str, body: dict[str, Any] | None = None, *, method: str | None = None) -> Any:
    """The value that the driver answers with.

    Raises
    ------
    DriverError
    """
    data = None if body is None else json.dumps(body).encode()
    request = Request(address, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urlopen(request, timeout=ANSWER_S) as answer:
            return json.load(answer)["value"]
    except HTTPError as refused:
        raise DriverError(refused.read().decode()) from refused


class DriverError(Exception):
    """The driver could not do what it was asked."""


def wait_for(look: Callable[[], Found], what: str, within_s: float = WITHIN_S) -> Found:
    """What `look` gives as soon as it is something; a page that is just being left makes it wait, too.

    Raises
    ------
    AssertionError
    """
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        with suppress(DriverError):
            if seen := look():
                return seen
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")
