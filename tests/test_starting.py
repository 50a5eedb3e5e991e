"""A process that starts imports heavy packages only where it uses them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import manage
from tests.servers import ROOT, embedded_environment

pytestmark = pytest.mark.process

HEAVY = {
    "boto3", "duckdb", "fontTools", "lingua", "markdown_it", "matplotlib", "pandas", "pyarrow", "scipy.stats",
    "shapely", "storages", "torch", "transformers",
}  # fmt: skip
OF_VIEWS = {
    "PIL", "celery", "drf_spectacular.generators", "numpy", "scipy",
    "annotation.refusals", "annotation.services.releases", "annotation.tasks", "annotation.views.work", "config.celery",
    "research.inference.backends.registry", "core.people.tasks", "sxs_eval.refusals",
}  # fmt: skip
"""What views import, and commands and workers do without until they use it."""

STARTED = f"""
import json, sys
heavy = {sorted(HEAVY | OF_VIEWS)}
import django
django.setup()
after_setup = [name for name in heavy if name in sys.modules]
import config.asgi
from django.urls import reverse
reverse("people:home-show")
print(json.dumps([after_setup, [name for name in heavy if name in sys.modules]]))
"""


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    env = embedded_environment(tmp_path_factory.mktemp("var"))
    done = subprocess.run(
        [sys.executable, "-c", STARTED], cwd=ROOT, env=env, capture_output=True, check=True, text=True
    )
    imported: list[list[str]] = json.loads(done.stdout)
    return imported


def test_a_command_starts_without_heavy_packages(started):
    assert started[0] == []


def test_a_web_process_knows_all_addresses_without_the_heaviest_packages(started):
    assert HEAVY.isdisjoint(started[1])


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["x" * 300, "made-\udcff.jsonl"])
def test_a_name_that_no_file_has_is_told_without_a_traceback(monkeypatch, name):
    monkeypatch.setattr(sys, "argv", ["manage.py", "caption_stats", name])
    with pytest.raises(SystemExit) as ended:
        manage.main()
    assert str(ended.value).startswith(f"CommandError: {name!a}: ")


def test_a_command_that_is_stopped_says_so_without_a_traceback(monkeypatch, capsys):
    def stop(argv: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("django.core.management.execute_from_command_line", stop)
    monkeypatch.setattr(sys, "argv", ["manage.py", "import", "folder"])
    with pytest.raises(SystemExit) as ended:
        manage.main()
    assert (ended.value.code, capsys.readouterr().err) == (manage.INTERRUPTED, "Stopped before the end.\n")
    monkeypatch.setattr(sys, "argv", ["manage.py", "import", "folder", "--traceback"])
    with pytest.raises(KeyboardInterrupt):
        manage.main()
