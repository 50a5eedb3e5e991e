"""What tests ask of a window in WebKit or Firefox, each driven by a protocol of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

ENTER = "\ue007"
ARROW_DOWN, ARROW_UP = "\ue015", "\ue013"
ESCAPE = "\ue00c"
ALT = "\ue00a"
WITHIN_S = 20.0
# Where a person would click, or nothing while that is not in view, still moves, or something else lies over it. Firefox
# tells a script of a page without its style sheets, which it shows to nobody.
POINT = """
    const element = document.querySelector(arguments[0]);
    if (!element || document.readyState !== "complete") return null;
    element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const middle = () => {
        const box = element.getClientRects()[0];
        return box ? { x: Math.floor(box.x + box.width / 2), y: Math.floor(box.y + box.height / 2) } : null;
    };
    const before = middle();
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    const point = middle();
    if (!point || point.x !== before?.x || point.y !== before.y) return null;
    const met = document.elementFromPoint(point.x, point.y);
    return element.contains(met) || met?.closest("label")?.contains(element) ? point : null;
"""
OUT_OF_VIEW = """
    return arguments[0].filter((selector) => {
        const { width, top, left, bottom, right } = document.querySelector(selector).getBoundingClientRect();
        return width === 0 || top < -1 || left < -1 || bottom > innerHeight + 1 || right > innerWidth + 1;
    });
"""

Found = TypeVar("Found")


@dataclass(frozen=True)
class Profile:
    """Whose browser it is, and how large its window. Without a folder it is a private window."""

    folder: Path
    size: tuple[int, int] = (390, 664)
    language: str = "en-GB"
    zone: str = "Asia/Kolkata"
    is_private: bool = False


class DriverError(Exception):
    """The browser could not do what it was asked."""


class Window(ABC):
    """A window with one page. Selectors are CSS; of several elements the first is meant."""

    process: subprocess.Popen[bytes]

    @abstractmethod
    def open(self, address: str) -> None:
        """Go to `address`, and return when the page is there."""

    @abstractmethod
    def run(self, script: str, *arguments: object) -> Any:
        """What the body of an async function with these `arguments` returns.

        Raises
        ------
        DriverError
        """

    @abstractmethod
    def press(self, keys: str, *, holding: str = "") -> None:
        """Type at whatever has the focus, with the keys `holding` held down."""

    @abstractmethod
    def resize(self, width: int, height: int) -> None: ...

    @abstractmethod
    def click_at(self, x: int, y: int) -> None: ...

    def kill(self) -> None:
        """Kill every process of the browser."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    @property
    def path(self) -> str:
        return str(self.run("return location.pathname"))

    def add_cookie(self, address: str, name: str, value: str) -> None:
        """Keep a cookie for the server at `address`. Private windows have cookies of their own, so the page sets it."""
        self.open(f"{address}/accounts/login/")
        self.run("document.cookie = `${arguments[0]}=${arguments[1]};path=/`", name, value)

    def click(self, selector: str) -> None:
        point = wait_for(lambda: self.run(POINT, selector), f"{selector} where it can be clicked")
        self.click_at(point["x"], point["y"])

    def fill(self, selector: str, text: str) -> None:
        """Type `text` in the place of what is there."""
        self.click(selector)
        self.run("document.querySelector(arguments[0]).select()", selector)
        self.press(text)

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def value(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).value", selector))

    def count(self, selector: str) -> int:
        return int(self.run("return document.querySelectorAll(arguments[0]).length", selector))

    def content(self) -> str:
        return str(self.run("return document.documentElement.outerHTML"))

    def out_of_view(self, *selectors: str) -> list[str]:
        """Those of `selectors` that are not in view as a whole."""
        found: list[str] = self.run(OUT_OF_VIEW, selectors)
        return found

    def wait_for_view(self, *selectors: str) -> None:
        """Wait until all of `selectors` are in view together: a page may still be scrolling."""
        wait_for(lambda: self.out_of_view(*selectors), "nothing out of view", until=lambda hidden: not hidden)

    def wait_for(self, script: str, *arguments: object) -> Any:
        return wait_for(lambda: self.run(script, *arguments), f"{script} {arguments}")

    def wait_for_path(self, end: str) -> None:
        wait_for(lambda: self.path, f"a path ending in {end}", until=lambda path: path.endswith(end))

    def wait_for_text(self, selector: str, part: str) -> None:
        wait_for(lambda: self.text(selector), f"“{part}” in {selector}", until=lambda text: part in text)

    def wait_for_element(self, selector: str) -> None:
        wait_for(lambda: self.count(selector), selector)


def wait_for(
    look: Callable[[], Found], what: str, *, until: Callable[[Found], object] = bool, within_s: float = WITHIN_S
) -> Found:
    """What `look` gives as soon as it is what is waited for; a page that is just being left makes it wait, too.

    Raises
    ------
    AssertionError
    """
    seen = None
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        with suppress(DriverError):
            seen = look()
            if until(seen):
                return seen
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}; last seen: {seen!r}")


def strokes(keys: str, holding: str) -> list[dict[str, str]]:
    """The actions of a keyboard, of which both protocols think alike."""
    typed = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
    down, up = ([{"type": kind, "value": key} for key in holding] for kind in ("keyDown", "keyUp"))
    return [*down, *typed, *up]


@contextmanager
def running(command: list[str], **about: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A silent process in a group of its own, which is killed in the end."""
    silent: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process: subprocess.Popen[bytes] = subprocess.Popen(command, start_new_session=True, **(silent | about))
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
