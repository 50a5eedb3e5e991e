"""Which characters that nobody sees go from a text, and which are part of its spelling."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosslens_metrics.hidden_characters import has_hidden, visible_text


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("\ufeff赤い\u202e車が道\u202cに", "赤い車が道に"),
        ("犬\u200bが\u2060走る", "犬が走る"),
        ("\u2067עברית\u2069 \u200fx\u061c", "עברית x"),
        ("soft\xadhyphen \x07bell", "softhyphen bell"),
        ("tag\U000e0041\U000e007f", "tag"),
        ("ca\u200cr s\u200dky", "car sky"),
        ("می\u200c\u200cخواهم کتاب\u200c ", "می\u200cخواهم کتاب "),
        ("葛\U000e0100\U000e0101\ufe0f", "葛\U000e0100"),
        (" \ufe0f", " "),
    ],
)
def test_what_nobody_sees_goes(text, visible):
    assert has_hidden(text)
    assert visible_text(text) == visible


@pytest.mark.parametrize(
    "text",
    [
        *("می\u200cخواهم", "क्\u200dष", "র\u200d্য", "ক্\u200d", "న్\u200cక", "ශ්\u200dරී", "ᠮ\u180eᠠ", "Ḿo\u0301"),
        *("👩🏽\u200d🚀", "❤\ufe0f\u200d🔥", "葛\U000e0100", "a\u0600", "two\nlines\tand\u3000blanks", ""),
    ],
)
def test_what_belongs_to_the_spelling_stays(text):
    assert not has_hidden(text)


@given(st.text())
def test_nothing_hidden_is_left_and_nothing_visible_goes(text):
    visible = visible_text(text)

    assert visible_text(visible) == visible
    shown = [one for one in text if unicodedata.category(one)[0] in "LNPSZ" and visible_text(one)]
    assert [one for one in visible if one in shown] == shown
