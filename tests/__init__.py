"""The tests."""

import config  # noqa: F401 - it puts libs/ on the path
