"""From screen 1 to screen 2 in WebKit, every browser of an iPhone, and in Firefox: WebKit once stayed on screen 1."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.elsewhere import go_on_to_writing, sit_down
from tests.browser.windows import Window

pytestmark = pytest.mark.django_db(transaction=True)

ENGLISH = "english caption"


def test_going_on_to_writing_leads_there_and_screen_1_is_gone(window: Window, live_server: Any) -> None:
    batch = sit_down(window, live_server.url, images=1)
    window.open(f"{live_server.url}/work/")
    window.open(f"{live_server.url}/batches/{batch.pk}/rate/")
    assert ENGLISH in window.content()
    # The first press brings the caption into view where it is not.
    window.press("2" * (1 + len(window.out_of_view("#item-1 [data-english]"))))
    window.wait_for_text("#item-1 [data-state]", "Saved")
    go_on_to_writing(window)
    window.wait_for_path("/write/1/")
    assert ENGLISH not in window.content()
    window.run("history.back()")
    window.wait_for_path("/work/")
    assert ENGLISH not in window.content()
