"""An OpenAI-compatible endpoint on loopback that behaves as badly as it is told to, and counts what it is asked."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image

from research.inference.backends.captioners import ModelSpec

KEY = "sk-Lab0123456789secret"
HANGS_S = 20.0
"""Longer than any test waits; the thread ends with the server."""


@dataclass
class Answer:
    """What is returned. `text` makes a chat completion; `body` is sent as it stands instead."""

    text: str | None = None
    body: bytes | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    takes_s: float = 0
    drops: bool = False
    """Whether the connection is broken instead of an answer."""
    cuts: bool = False
    """Whether it is broken in the midst of the answer."""
    trickles: bool = False
    """Whether a byte comes now and then, for ever."""


@dataclass(frozen=True)
class Asked:
    """One question as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: Any

    @property
    def prompt(self) -> str:
        content = self.body["messages"][0]["content"]
        return content if isinstance(content, str) else content[0]["text"]

    @property
    def image(self) -> Image.Image:
        kind, _comma, data = self.body["messages"][0]["content"][1]["image_url"]["url"].partition(",")
        assert kind == "data:image/jpeg;base64"
        return Image.open(io.BytesIO(base64.b64decode(data, validate=True)))


def completion(text: Any, *, finish: str = "stop", **message: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    return json.dumps({"object": "chat.completion", "model": "tiny-1", "choices": [choice]}).encode()


class FakeEndpoint:
    """`answers` are given in turn, then `always`, which may look at the question. Any other key than `KEY` gets 401."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.always: Callable[[Asked], Answer] = lambda asked: Answer("A red door.")
        self.models = Answer(body=b'{"object": "list", "data": []}')
        self.asked: list[Asked] = []
        self.most_at_once = 0
        self.errors: list[str] = []
        self._at_once = 0
        self._lock = threading.Lock()
        self.ended = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def prompts(self) -> Counter[str]:
        return Counter(asked.prompt for asked in self.asked)

    def close(self) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer_to(self, asked: Asked) -> Answer:
        if asked.headers.get("Authorization") != f"Bearer {KEY}":
            return Answer(body=b'{"error": {"message": "Incorrect API key provided"}}', status=401)
        if asked.path != "/v1/chat/completions":
            return Answer(body=b"{}", status=404)
        with self._lock:
            if self.answers:
                return self.answers.pop(0)
        return self.always(asked)

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        yield
        with self._lock:
            self._at_once -= 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self._send(endpoint.models if self.path == "/v1/models" else Answer(body=b"{}", status=404))

            def do_POST(self) -> None:
                with endpoint.counted():
                    content = self.rfile.read(int(self.headers["Content-Length"]))
                    asked = Asked(self.path, dict(self.headers), json.loads(content))
                    endpoint.asked.append(asked)
                    answer = endpoint.answer_to(asked)
                    if answer.takes_s:
                        endpoint.ended.wait(answer.takes_s)
                with contextlib.suppress(OSError):
                    self._send(answer)

            def _send(self, answer: Answer) -> None:
                body = completion(answer.text) if answer.body is None else answer.body
                if answer.drops:
                    # Zero seconds to linger: the connection is reset, and not ended in peace.
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if answer.trickles:
                    while not endpoint.ended.wait(0.05):
                        self.wfile.write(b" ")
                if answer.cuts:
                    body, self.close_connection = body[: len(body) // 2], True
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: Any) -> None:
                """Tests are silent."""

        return Handler


def spec(source: str = "lab", **options: Any) -> ModelSpec:
    return ModelSpec("Tiny", source, {"model": "tiny-1", "connect_s": 5, "read_s": 10, **options})


def free_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return int(chosen.getsockname()[1])


class FakeTime:
    """A clock that moves only when somebody waits, by all threads together."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []
        self._lock = threading.Lock()

    def clock(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        with self._lock:
            self.waits.append(seconds)
            self.now += seconds
        # Others go on, as they would meanwhile.
        time.sleep(0)
