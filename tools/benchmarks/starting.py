"""How much processor time the platform takes to start, beside Django alone.

Each start is a process of its own: `setup` is what every command does first, `command` a whole `manage.py check`,
`web` a web process until it knows all addresses, and `tests` a test run until one small file is collected. `django` is
`django.setup()` with Django's own apps. They run in turns; the least of each counts.

    .venv/bin/python -m tools.benchmarks.starting
    .venv/bin/python -m tools.benchmarks.starting --turns 9
"""

from __future__ import annotations

import os
import subprocess
import sys

from config import ROOT
from tools.benchmarks.harness import arguments, environment, print_result, sqlite_environment

BASELINE = "django"
APPS = ("admin", "auth", "contenttypes", "sessions", "messages", "staticfiles")
_BARE = f"""
from django.conf import settings
settings.configure(INSTALLED_APPS={[f"django.contrib.{app}" for app in APPS]})
import django
django.setup()
"""
_WEB = "import config.asgi; from django.urls import reverse; reverse('people:home-show')"
STARTS = {
    BASELINE: ("-c", _BARE),
    "setup": ("-c", "import django; django.setup()"),
    "command": ("manage.py", "check"),
    "web": ("-c", _WEB),
    "tests": ("-m", "pytest", "--collect-only", "-q", "tests/test_languages.py"),
}


def cpu_s(start: tuple[str, ...], env: dict[str, str]) -> float:
    """Start once and return the seconds of processor, of its own processes too."""
    before = os.times()
    subprocess.run([sys.executable, *start], cwd=ROOT, env=env, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    options = arguments(__doc__, turns=5)
    times: dict[str, list[float]] = {name: [] for name in STARTS}
    with sqlite_environment() as installation:
        env = environment(installation)
        # Otherwise each start compiles everything.
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        env["PYTHONWARNINGS"] = "ignore"
        for turn in range(options.turns + 1):
            for name, start in STARTS.items():
                seconds = cpu_s(start, env)
                # The first one compiles what has changed.
                if turn:
                    times[name].append(seconds)
    least = {name: min(seconds) for name, seconds in times.items()}
    result = {
        name: {"cpu_ms": round(1000 * seconds), "ratio": round(seconds / least[BASELINE], 2)}
        for name, seconds in least.items()
    }
    lines = [f"{name:8} {one['cpu_ms']:6.0f} ms {one['ratio']:6.2f}" for name, one in result.items()]
    print_result(result, "\n".join(["start    processor  ratio", *lines]))


if __name__ == "__main__":
    main()
