"""WebKit, the engine of every iPhone's browsers, driven by the W3C's WebDriver protocol: WebKitGTK under Xvfb."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests import servers
from tests.browser.windows import DriverError, Profile, Window, running, strokes

PROGRAMS = ("WebKitWebDriver", "Xvfb", "dbus-run-session")
PACKAGES = "WebKit (webkit2gtk-driver, xvfb, dbus, python3-gi, gir1.2-webkit2-4.1)"
PYTHON = "/usr/bin/python3"
BINDING = 'import gi; gi.require_version("WebKit2", "4.1"); from gi.repository import WebKit2'
ANSWER_S = 60
SCRIPT = """
    const given = [...arguments];
    const done = given.pop();
    const fail = (error) => done({ error: `${error}` });
    (async function () { %s }).apply(null, given).then((value) => done({ value }), fail);
"""


@dataclass
class WebKit(Window):
    session: str
    process: subprocess.Popen[bytes]

    def open(self, address: str) -> None:
        ask(f"{self.session}/url", {"url": address})

    def run(self, script: str, *arguments: object) -> Any:
        found = ask(f"{self.session}/execute/async", {"script": SCRIPT % script, "args": list(arguments)})
        if "error" in found:
            raise DriverError(found["error"])
        return found.get("value")

    def press(self, keys: str, *, holding: str = "") -> None:
        self._act("key", strokes(keys, holding))

    def resize(self, width: int, height: int) -> None:
        ask(f"{self.session}/window/rect", {"width": width, "height": height})
        self.wait_for("return innerWidth === arguments[0] && innerHeight === arguments[1]", width, height)

    def click_at(self, x: int, y: int) -> None:
        press = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
        self._act("pointer", [{"type": "pointerMove", "x": x, "y": y}, *press])

    def _act(self, source: str, steps: list[dict[str, Any]]) -> None:
        ask(f"{self.session}/actions", {"actions": [{"type": source, "id": source, "actions": steps}]})


def is_installed() -> bool:
    if not all(map(shutil.which, PROGRAMS)) or not Path(PYTHON).exists():
        return False
    return subprocess.run([PYTHON, "-c", BINDING], stderr=subprocess.DEVNULL, check=False).returncode == 0


@contextmanager
def opened(profile: Profile) -> Iterator[WebKit]:
    port = servers.free_port()
    folder = "private" if profile.is_private else str(profile.folder)
    with running(
        ["Xvfb", "-displayfd", "1", "-screen", "0", "1440x1024x24", "-nolisten", "tcp"], stdout=subprocess.PIPE
    ) as screen:
        assert screen.stdout
        about = {
            "DISPLAY": f":{screen.stdout.readline().decode().strip()}",
            "GDK_BACKEND": "x11",
            "TZ": profile.zone,
        }
        with running(["dbus-run-session", "--", "WebKitWebDriver", f"--port={port}"], env=os.environ | about) as driver:
            servers.wait_for_port(port, driver)
            window = Path(__file__).with_name("webkit_window.py")
            options = {"binary": str(window), "args": [folder, *map(str, profile.size), profile.language]}
            capabilities = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
            made = ask(f"http://127.0.0.1:{port}/session", {"capabilities": capabilities})
            yield WebKit(f"http://127.0.0.1:{port}/session/{made['sessionId']}", driver)


def ask(address: str, body: dict[str, Any]) -> Any:
    """The value that the driver answers with.

    Raises
    ------
    DriverError
    """
    request = Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=ANSWER_S) as answer:
            return json.load(answer)["value"]
    except HTTPError as refused:
        raise DriverError(refused.read().decode()) from refused
