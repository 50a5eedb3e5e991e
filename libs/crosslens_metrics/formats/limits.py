"""How long a line of a file may be, and to how much a file may unpack. docs/importing.md tells them."""

from __future__ import annotations

MAX_ROW_CHARACTERS = 100_000
"""Of one row of a CSV file, over as many lines as its quotation marks span."""

MAX_LINE_BYTES = 10**6
"""Of one line of a manifest or of a file of captions."""

MAX_TEXT_RATIO, MAX_ARRAYS_RATIO = 200, 50
"""How many times its size a packed file may unpack to. Text unpacks to 3 to 20 times its size, features to less."""

UNPACKED_WORTH_A_LOOK_BYTES = 100 * 10**6
"""A file that unpacks to less may do so from any size."""


def most_unpacked_bytes(packed_bytes: int) -> int:
    """Return to how much a packed text of this size may unpack."""
    return max(UNPACKED_WORTH_A_LOOK_BYTES, MAX_TEXT_RATIO * packed_bytes)
