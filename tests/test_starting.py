"""A process that starts imports heavy packages only where it uses them, and addresses lead to views that exist."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern, get_resolver

import manage
from people.rules.lazy import LazyCall, LazyModule, LazyPattern, path
from tests.servers import ROOT, embedded_environment

pytestmark = pytest.mark.process

HEAVY = {
    "PIL", "boto3", "celery", "drf_spectacular.generators", "duckdb", "fontTools", "kombu", "lingua", "markdown_it",
    "matplotlib", "numpy", "pandas", "pyarrow", "scipy", "shapely", "storages", "torch", "transformers",
}  # fmt: skip
OURS = {
    "annotation.refusals", "annotation.services.releases", "annotation.tasks", "annotation.views.work", "config.celery",
    "inference.backends.registry", "parallel_text.building", "people.tasks", "sxs_eval.refusals",
}  # fmt: skip
"""Modules of the platform that import them, or much else."""

STARTED = f"""
import json, sys
heavy = {sorted(HEAVY | OURS)}
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


def test_a_web_process_knows_all_addresses_without_heavy_packages(started):
    assert started[1] == []


def patterns(of: list[Any]) -> Iterator[URLPattern]:
    for pattern in of:
        if isinstance(pattern, URLPattern):
            yield pattern
        else:
            yield from patterns(pattern.url_patterns)


def test_every_address_has_a_view_that_can_be_imported():
    """Commands do not check it, as they import no views."""
    views = [one.callback for one in patterns(get_resolver().url_patterns) if isinstance(one, LazyPattern)]
    assert len(views) > 200
    assert all(callable(view.load() if isinstance(view, LazyCall) else view) for view in views)


def test_an_address_gives_middleware_the_view_itself():
    pattern = path("work/", LazyModule("annotation.views.work").work_show, name="work-show")
    assert pattern.lookup_str == "annotation.views.work.work_show"
    match = pattern.resolve("work/")
    assert match is not None
    assert match.func.__module__ == "annotation.views.work"
    assert pattern.resolve("elsewhere/") is None


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["x" * 300, "made-\udcff.jsonl"])
def test_a_name_that_no_file_has_is_told_without_a_traceback(monkeypatch, name):
    monkeypatch.setattr(sys, "argv", ["manage.py", "caption_stats", name])
    with pytest.raises(SystemExit) as ended:
        manage.main()
    assert str(ended.value).startswith(f"CommandError: {name!a}: ")
