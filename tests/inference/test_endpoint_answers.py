"""Whatever JSON an endpoint answers with: it is a text, or it is said that there is none, without repeating it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from research.inference.backends.endpoint_answers import NoAnswerError, content_of
from tests.inference.fake_endpoint import completion

NAMES = st.sampled_from(["choices", "message", "content", "refusal", "finish_reason", "type", "text", "error"])
WORD = "xqzv"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([WORD, "", "text", "stop", "length"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


def read(answer: Any, *, keep_cut: bool = False) -> tuple[str | None, str]:
    """The text, if there is one, and otherwise why there is none."""
    try:
        return content_of(answer, keep_cut=keep_cut, max_tokens=40), ""
    except NoAnswerError as unanswered:
        return None, unanswered.reason


@given(VALUES)
def test_no_answer_breaks_the_reader(answer: Any):
    text, reason = read(answer)

    assert isinstance(text, str) != bool(reason)
    assert WORD not in reason


@given(VALUES, st.booleans())
def test_no_content_of_a_message_breaks_the_reader(content: Any, keep_cut: bool):
    text, reason = read(json.loads(completion(content, finish="length")), keep_cut=keep_cut)

    assert isinstance(text, str) != bool(reason)
    assert WORD not in reason
    assert text is None or keep_cut
    if isinstance(content, str) and keep_cut:
        assert text == content
