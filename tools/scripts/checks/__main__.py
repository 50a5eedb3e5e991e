"""Check texts of the checkout: `make lint`, or `python -m tools.scripts.checks vocabulary documents` for some alone.

Each check is a module beside this one, whose `check` yields what it finds. Nothing of var/ or of a database is touched.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from pathlib import Path

import django

from config.variables import OPTIONAL, REQUIRED
from research.inference.rules.endpoints import KEY_VARIABLE

HELPERS = {"__init__", "__main__", "sources"}
CHECKS = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in HELPERS)


def main(names: list[str]) -> int:
    if unknown := set(names) - set(CHECKS):
        sys.stderr.write(f"No checks: {', '.join(sorted(unknown))}. There are: {', '.join(CHECKS)}.\n")
        return 2
    # The embedded installation, whatever is set around it.
    for name in [*REQUIRED, *OPTIONAL, *(name for name in os.environ if name.startswith(KEY_VARIABLE))]:
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory(prefix="crosslens_checks_") as var:
        os.environ |= {"CROSSLENS_VAR": var, "DJANGO_SETTINGS_MODULE": "config.settings"}
        django.setup()
        chosen = names or CHECKS
        found = [one for name in chosen for one in importlib.import_module(f"tools.scripts.checks.{name}").check()]
    for one in sorted(found):
        sys.stdout.write(f"{one}\n")
    if not found:
        sys.stdout.write(f"{len(chosen)} {'check' if len(chosen) == 1 else 'checks'} of texts: nothing found.\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
