"""Programs in place of an aligner, and the real one where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from parallel_text.align import PROGRAMS, WordAligner, find_aligner
from parallel_text.problems import CorpusError


def aligner_made_of(folder: Path, script: str, kind: str = "eflomal") -> WordAligner:
    """Write a shell script under the name of an aligner."""
    path = folder / "bin" / PROGRAMS[kind]
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return WordAligner(kind, path)


def eflomal() -> WordAligner:
    """Return the eflomal of this machine, or skip the test."""
    try:
        return find_aligner("eflomal")
    except CorpusError as error:
        pytest.skip(str(error))
