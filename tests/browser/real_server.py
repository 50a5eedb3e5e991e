"""The platform as it is served: its own process, settings and database, to be killed and started again.

`python -m tests.browser.real_server LANGUAGE` fills the migrated database of the environment it runs in and prints what
it made, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import database, servers

ROOT = Path(__file__).resolve().parent.parent.parent
PASSWORD = "a quiet place to write"
IMAGES = 15
ENGLISH = "a curious english sentence"


@dataclass
class RealServer:
    var: Path
    port: int = field(default_factory=servers.free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def prepare(self, language: str) -> dict[str, Any]:
        database.copy_file(self.var / "crosslens.sqlite3")
        command = [sys.executable, "-m", "tests.browser.real_server", language]
        done = subprocess.run(
            command, cwd=ROOT, env=servers.embedded_environment(self.var), stdout=subprocess.PIPE, check=True
        )
        made: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return made

    def start(self) -> None:
        command = [sys.executable, "-m", "granian", "--interface", "asginl", "--host", "127.0.0.1", "--no-ws"]
        command += ["--port", str(self.port), "--workers", "2", "--log-level", "warning", "config.asgi:application"]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=servers.embedded_environment(self.var), start_new_session=True
        )
        servers.wait_for_port(self.port, self.process)

    def kill(self) -> None:
        """As the kernel or a power cut would: no process of it gets to say or save anything."""
        if self.process:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def ask(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.var / "crosslens.sqlite3", timeout=20)) as database, database:
            return database.execute(query, values).fetchall()


def main() -> None:
    import django

    django.setup()

    from django.core.management import call_command

    from tests.browser.annotator import make_images
    from tests.factories import make_annotator, make_captioner, make_collection, make_round

    call_command("collectstatic", interactive=False, verbosity=0)
    collection = make_collection(IMAGES)
    captioner = make_captioner(collection, "a model nobody may know", text=ENGLISH)
    make_images(collection)
    round = make_round(collection=collection, captioners=[captioner], language=sys.argv[1])
    person = make_annotator(round, "writer")
    person.set_password(PASSWORD)
    person.save()
    sys.stdout.write(json.dumps({"round": round.pk, "name": person.username}) + "\n")


if __name__ == "__main__":
    main()
