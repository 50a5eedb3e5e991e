"""Tests of Java programs are skipped where somebody has none; where everything is to be tested, they fail."""

from __future__ import annotations

import os

import pytest

from crosslens_metrics import meteor, ptb
from crosslens_metrics.java import ToolMissingError, jar, java


def needs_java() -> None:
    """Skip the test where Java, METEOR or the PTB tokeniser is not there."""
    try:
        java()
        jar(meteor.JAR_VARIABLE, meteor.INSIDE_PACKAGE, "meteor-1.5.jar")
        jar(ptb.JAR_VARIABLE, ptb.INSIDE_PACKAGE, "stanford-corenlp-3.4.1.jar")
    except ToolMissingError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
