"""The platform as it is served: its own process, settings and database, to be killed and started again.

`python -m tests.browser.real_server` fills the database of the environment it runs in: its own process, because it runs
with the settings of the platform, not with those of the tests.
"""

from __future__ import annotations

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
IMAGES = 15
PASSWORD = "look-then-write"
PEOPLE = {"amal": ("ar", "ar"), "aki": ("ja", ""), "bahar": ("ar", ""), "dalia": ("ar", "ar")}
"""The language that each writes, and of the pages ("": the browser's)."""


@dataclass
class RealServer:
    var: Path
    port: int = field(default_factory=servers.free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def fill(self) -> None:
        """Copy tables, make images, rounds and people, and collect the static files."""
        database.copy_file(self.var / "crosslens.sqlite3")
        command = [sys.executable, "-m", "tests.browser.real_server"]
        subprocess.run(command, check=True, cwd=ROOT, env=servers.embedded_environment(self.var))

    def start(self) -> None:
        command = [sys.executable, "-m", "config.serve", "--interface", "asginl", "--host", "127.0.0.1", "--no-ws"]
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

    def sign_everybody_out(self) -> None:
        self.ask("DELETE FROM people_session")

    def drafts_of(self, name: str) -> list[str]:
        return self._of("SELECT i.text FROM annotation_captionitem i WHERE i.person_id = ? ORDER BY i.position", name)

    def ratings_of(self, name: str) -> list[str]:
        return self._of("SELECT i.rating FROM annotation_captionitem i WHERE i.person_id = ? ORDER BY i.position", name)

    def captions_of(self, name: str) -> list[str]:
        """Those that count, as typed, in the order of the batch."""
        return self._of(
            "SELECT c.text_as_typed FROM annotation_caption c JOIN annotation_captionitem i "
            "ON i.assignment_id = c.item_id WHERE c.author_id = ? AND c.state = 'counted' ORDER BY i.position",
            name,
        )

    def _of(self, query: str, name: str) -> list[Any]:
        [(person,)] = self.ask("SELECT id FROM people_user WHERE username = ?", name)
        return [row[0] for row in self.ask(query, person)]

    def ask(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.var / "crosslens.sqlite3", timeout=20)) as database, database:
            return database.execute(query, values).fetchall()


def main() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("collectstatic", verbosity=0, interactive=False)

    from tests.browser.annotator import make_images
    from tests.factories import make_annotator, make_captioner, make_collection, make_project, make_round

    collection = make_collection(IMAGES)
    make_images(collection)
    captioner, project = make_captioner(collection), make_project("postcards")
    about: dict[str, Any] = {
        "project": project,
        "collection": collection,
        "captioners": [captioner],
        "replication": len(PEOPLE),
    }
    rounds = {tag: make_round(language=tag, batch_size=IMAGES, **about) for tag in ("ar", "ja")}
    for name, (tag, interface_language) in PEOPLE.items():
        person = make_annotator(rounds[tag], name)
        person.interface_language = interface_language
        person.set_password(PASSWORD)
        person.save()


if __name__ == "__main__":
    main()
