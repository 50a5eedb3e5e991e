"""What says how lines look before there are settings: the web server's own."""

from __future__ import annotations

import logging

from config import ROOT
from config.environment import from_process
from office.operations.logs import formatter


def as_set() -> logging.Formatter:
    """For tools/deploy/granian-logs.json."""
    return formatter(from_process(ROOT).log_format())
