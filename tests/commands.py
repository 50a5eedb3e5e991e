"""Commands of manage.py and programs in Python, and what they print."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import call_command

from tests.servers import ROOT


def output_of(name: str, *arguments: object, **options: Any) -> str:
    out = StringIO()
    call_command(name, *map(str, arguments), stdout=out, **options)
    return out.getvalue()


def make_program(path: Path, code: str) -> Path:
    """Write a program in Python to `path` that also starts where Python's own path has a space in it."""
    start = f"""#!/bin/sh\n'''exec' "{sys.executable}" "$0" "$@"\n' '''\n"""
    path.write_text(f"{start}{code}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def run_python(*arguments: str, cwd: Path = ROOT, env: Mapping[str, str] | None = None, sent: str = "") -> str:
    """Return what Python prints in a process of its own, which has to end well."""
    command = [sys.executable, *arguments]
    about: dict[str, Any] = {"cwd": cwd, "env": env, "input": sent, "timeout": 60}
    done = subprocess.run(command, capture_output=True, text=True, check=False, **about)
    assert done.returncode == 0, done.stderr
    return done.stdout
