"""The notebooks of the client, from their first cell to their last, against the demo as anybody starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import ROOT, embedded_environment
from tests.test_demo_launcher import Demo

pytestmark = [
    pytest.mark.sqlite,
    pytest.mark.process,
    pytest.mark.long(reason="the whole demo is loaded; each method of the client has a test of its own"),
]

NOTEBOOKS = sorted((ROOT / "client" / "notebooks").glob("*.ipynb"))
MAKE_TOKEN = """
from django.utils import timezone
from core.people.models import User
from core.people.services.tokens import MAX_LIFETIME, make_token
now = timezone.now()
mara = User.objects.get(username="mara")
print(make_token(user=mara, name="notebooks", may_write=True, expires_at=now + MAX_LIFETIME, now=now).token)
"""


@pytest.fixture(scope="module")
def _demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """With its address and a token in the environment, as docs/client.md has it."""
    demo = Demo(tmp_path_factory.mktemp("demo") / "var")
    demo.start()
    command = [sys.executable, "manage.py", "shell", "--no-imports", "--command", MAKE_TOKEN]
    made = subprocess.run(
        command, cwd=ROOT, env=embedded_environment(demo.var), capture_output=True, check=True, text=True
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CROSSLENS_URL", f"http://127.0.0.1:{demo.port}")
        patch.setenv("CROSSLENS_TOKEN", made.stdout.strip().splitlines()[-1])
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "client"), os.environ.get("PYTHONPATH", "")]))
        patch.setenv("HF_HOME", str(demo.var / "huggingface"))
        yield
    demo.process.terminate()
    demo.ends()


def test_there_are_five() -> None:
    assert len(NOTEBOOKS) == 5


@pytest.mark.usefixtures("_demo")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(path: Path, tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.read(path, as_version=4)
    client = NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    assert all(cell.outputs for cell in book.cells if cell.cell_type == "code" and not is_assignment(cell.source))


def is_assignment(source: str) -> bool:
    """Whether the last line shows nothing."""
    return "=" in source.splitlines()[-1].partition("[")[0] or source.splitlines()[-1].startswith((" ", "from"))
