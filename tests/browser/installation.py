"""A real server with several people in it, and questions to its database."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from tests import database, servers
from tests.browser.real_server import ROOT, RealServer


class Installation(RealServer):
    def fill(self) -> None:
        """Copy tables, make images, rounds and people, and collect the static files."""
        database.copy_file(self.var / "crosslens.sqlite3")
        command = [sys.executable, "-m", "tests.browser.seed"]
        subprocess.run(command, check=True, cwd=ROOT, env=servers.embedded_environment(self.var))

    def sign_everybody_out(self) -> None:
        self.ask("DELETE FROM people_session")

    def drafts_of(self, name: str) -> list[str]:
        return self._of("SELECT i.text FROM annotation_captionitem i WHERE i.person_id = ? ORDER BY i.position", name)

    def ratings_of(self, name: str) -> list[str]:
        return self._of("SELECT i.rating FROM annotation_captionitem i WHERE i.person_id = ? ORDER BY i.position", name)

    def captions_of(self, name: str) -> list[str]:
        """As typed, in the order of the batch."""
        return self._of(
            "SELECT c.text_as_typed FROM annotation_caption c JOIN annotation_captionitem i "
            "ON i.assignment_id = c.item_id WHERE c.author_id = ? ORDER BY i.position",
            name,
        )

    def _of(self, query: str, name: str) -> list[Any]:
        [(person,)] = self.ask("SELECT id FROM people_user WHERE username = ?", name)
        return [row[0] for row in self.ask(query, person)]


def processes_of(folder: Path) -> list[int]:
    """The processes that were started with `folder` among their arguments."""
    processes = []
    for entry in Path("/proc").iterdir():
        try:
            arguments = (entry / "cmdline").read_bytes() if entry.name.isdecimal() else b""
        except OSError:
            continue
        if str(folder).encode() in arguments:
            processes.append(int(entry.name))
    return processes
