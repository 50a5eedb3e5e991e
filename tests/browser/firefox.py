"""Firefox, driven by WebDriver BiDi without a driver between: what it understands is what its version understands."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tests.browser.windows import DriverError, Profile, Window, running, strokes, wait_for

PROGRAMS = ("firefox-esr", "firefox")
PACKAGES = "Firefox (firefox-esr)"
ANSWER_S = 60
START_S = 60
SCRIPT = "async (given) => JSON.stringify((await (async function () { %s }).apply(null, JSON.parse(given))) ?? null)"


class Connection:
    """Commands over a WebSocket, each answered before the next; aiohttp's loop runs in a thread of its own."""

    def __init__(self, address: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._numbers = count(1)
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._session, self._socket = self._wait(self._connect(address))

    def ask(self, method: str, **params: object) -> Any:
        """The result of a command.

        Raises
        ------
        DriverError
        """
        return self._wait(self._ask(method, params))

    def close(self) -> None:
        self._wait(self._session.close())
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _connect(self, address: str) -> tuple[Any, Any]:
        import aiohttp

        session = aiohttp.ClientSession()
        return session, await session.ws_connect(address, max_msg_size=0)

    async def _ask(self, method: str, params: dict[str, object]) -> Any:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        while (answer := await self._socket.receive_json()).get("id") != number:
            pass
        if answer["type"] == "error":
            raise DriverError(f"{method}: {answer['error']}: {answer['message']}")
        return answer["result"]

    def _wait(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(ANSWER_S)


class Firefox(Window):
    def __init__(self, connection: Connection, process: Any) -> None:
        self.process = process
        self._ask = connection.ask
        self._context = self._ask("browsingContext.getTree")["contexts"][0]["context"]

    def open(self, address: str) -> None:
        self._ask("browsingContext.navigate", context=self._context, url=address, wait="complete")

    def run(self, script: str, *arguments: object) -> Any:
        found = self._ask(
            "script.callFunction",
            functionDeclaration=SCRIPT % script,
            arguments=[{"type": "string", "value": json.dumps(arguments)}],
            target={"context": self._context},
            awaitPromise=True,
        )
        if found["type"] == "exception":
            raise DriverError(found["exceptionDetails"]["text"])
        return json.loads(found["result"]["value"])

    def press(self, keys: str, *, holding: str = "") -> None:
        self._act("key", strokes(keys, holding))

    def resize(self, width: int, height: int) -> None:
        self._ask("browsingContext.setViewport", context=self._context, viewport={"width": width, "height": height})

    def click_at(self, x: int, y: int) -> None:
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        move = {"type": "pointerMove", "x": x, "y": y}
        self._act("pointer", [move, *press], parameters={"pointerType": "touch"})

    def _act(self, source: str, steps: list[dict[str, Any]], **more: Any) -> None:
        actions = [{"type": source, "id": source, "actions": steps} | more]
        self._ask("input.performActions", context=self._context, actions=actions)


def is_installed() -> bool:
    return _find() is not None


def _find() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def opened(profile: Profile) -> Iterator[Firefox]:
    profile.folder.mkdir(exist_ok=True)
    preferences = {"intl.accept_languages": profile.language, "browser.privatebrowsing.autostart": profile.is_private}
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in preferences.items()]
    (profile.folder / "user.js").write_text("".join(lines))
    # Written by Firefox as soon as it listens.
    told = profile.folder / "WebDriverBiDiServer.json"
    told.unlink(missing_ok=True)
    command = [str(_find()), "--headless", "--remote-debugging-port", "0", "--profile", str(profile.folder)]
    environment = os.environ | {"TZ": profile.zone, "HOME": str(profile.folder)}
    with running(command, env=environment) as process:
        where = wait_for(lambda: _address(told), "Firefox", within_s=START_S)
        connection = Connection(where)
        try:
            connection.ask("session.new", capabilities={})
            window = Firefox(connection, process)
            window.resize(*profile.size)
            yield window
        finally:
            connection.close()


def _address(told: Path) -> str | None:
    try:
        server = json.loads(told.read_text())
    except (OSError, ValueError):
        return None
    return f"ws://{server['ws_host']}:{server['ws_port']}/session"
