"""How long until something, in words."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gapgame.templatetags.times import time_left
from tests.factories import NOW


@pytest.mark.parametrize(
    ("seconds", "said"), [(59, "less than a minute"), (60, "1 minute"), (119, "1 minute"), (7200, "2 hours")]
)
def test_the_last_minute_is_not_called_none(seconds: int, said: str) -> None:
    assert time_left(NOW + timedelta(seconds=seconds), NOW).replace("\xa0", " ") == said
