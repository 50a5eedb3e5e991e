"""A telephone: Chromium with a profile on the disk, a small screen, touch, and a network that can be down."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import psutil
from playwright.sync_api import BrowserContext, Error, Page, Playwright

from tests.browser.network import Network

WITHIN_MS = 15_000


class Phone:
    """A browser with a profile on the disk, which outlives the browser."""

    def __init__(
        self, playwright: Playwright, folder: Path, executable: str, network: Network, *, locale: str = "en-GB"
    ) -> None:
        self.playwright, self.folder, self.executable, self.network = playwright, folder, executable, network
        self.locale = locale
        self.context = self._start()

    def _start(self) -> BrowserContext:
        return self.playwright.chromium.launch_persistent_context(
            self.folder,
            executable_path=self.executable,
            args=["--no-sandbox", "--disable-background-networking"],
            viewport={"width": 390, "height": 664},
            has_touch=True,
            reduced_motion="reduce",
            locale=self.locale,
        )

    @property
    def page(self) -> Page:
        page = self.context.pages[0]
        page.set_default_timeout(WITHIN_MS)
        return page

    @property
    def address(self) -> str:
        return self.network.address

    def kill(self) -> None:
        """Kill every process of the browser, and open it again."""
        kill_browser(self.folder)
        with suppress(Error):
            self.context.close()
        self.context = self._start()


def kill_browser(folder: Path) -> None:
    """Kill every process of the browser whose profile is in `folder`."""
    for process in psutil.process_iter(["cmdline"]):
        if f"--user-data-dir={folder}" in (process.info["cmdline"] or []):
            process.kill()


def until(page: Page, expression: str) -> None:
    """Wait for a promise or value to be true. `wait_for_function` needs what the pages' policy forbids."""
    for _attempt in range(WITHIN_MS // 100):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"never true: {expression}")
