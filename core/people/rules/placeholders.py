"""What stands in braces in a project's text: names that buttons have, and what differs by project."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{([A-Z_]+)\}")


def filled(body: str, names: Mapping[str, str]) -> str:
    """Fill in the placeholders that have a name; others stay as they are written."""
    return _PLACEHOLDER.sub(lambda found: names.get(found[1]) or found[0], body)
