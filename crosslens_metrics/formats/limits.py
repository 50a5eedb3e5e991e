"""How long a line of a file may be. docs/importing.md tells them."""

from __future__ import annotations

MAX_ROW_CHARACTERS = 100_000
"""Of one row of a CSV file, over as many lines as its quotation marks span."""

MAX_LINE_BYTES = 10**6
"""Of one line of a manifest or of a file of captions."""
