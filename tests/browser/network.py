"""A network between a browser and the server that can be down or slow, also for service workers."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from urllib.parse import urlsplit

CHUNK = 65_536


class Network:
    """Passes bytes on from a port of its own to the server at `address`, while it is up.

    `latency_s` is for there and back, `bytes_per_s` for each direction.
    """

    latency_s = 0.0
    bytes_per_s = float("inf")

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._server = (parts.hostname or "localhost", parts.port or 80)
        self._open: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self._port = 0
        self.up()

    @property
    def address(self) -> str:
        return f"http://localhost:{self._port}"

    def up(self) -> None:
        listener = socket.create_server(("localhost", self._port))
        self._port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def down(self) -> None:
        """Cut every connection, and refuse new ones."""
        assert self._listener is not None
        self._close(self._listener)
        for one in [*self._open]:
            self._close(one)

    def slow_down(self) -> None:
        self.latency_s, self.bytes_per_s = 0.8, 6000.0

    def speed_up(self) -> None:
        self.latency_s = 0.0

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _address = listener.accept()
                far = socket.create_connection(self._server)
                self._open |= {near, far}
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while part := source.recv(CHUNK):
                if self.latency_s:
                    time.sleep(self.latency_s / 2 + len(part) / self.bytes_per_s)
                sink.sendall(part)
        for one in (source, sink):
            self._close(one)
            self._open.discard(one)

    @staticmethod
    def _close(one: socket.socket) -> None:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
