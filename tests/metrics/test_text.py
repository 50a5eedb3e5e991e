"""Normal forms and tokenisers: what they do to text of many scripts, and what they are called."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosslens_metrics.hidden_characters import has_hidden, visible_text
from crosslens_metrics.java import ToolMissingError
from crosslens_metrics.text import Tokenizer, normalised, text_version, tokenise
from tests.published import published


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A Dog, running!", "a dog running"),
        ("Don't", "dont"),
        ("a well-known black–and—white (cat)", "a wellknown blackandwhite cat"),
        (" - a  \t b\u3000c\u00a0d\n", "a b c d"),
        ("Äpfel A\u0308pfel", "äpfel äpfel"),
        ("İstanbul ISPARTA", "i\u0307stanbul isparta"),
        ("ΟΔΟΣ. Straße", "οδος straße"),
        ("机舱门，排队。「下」飞机！", "机舱门排队下飞机"),
        ("कुत्ता दौड़ता है।", "कुत्ता दौड़ता है"),
        ("هل هذا كلب؟ نعم، كلب.", "هل هذا كلب نعم كلب"),
        ("¿Qué? «oui» „ja“ ‹x› ՞", "qué oui ja x"),
        ("5 $ + 3 € = 100% <b> 😀", "5 $ + 3 € = 100 <b> 😀"),
        ("snake_case @me #tag a/b\\c", "snakecase me tag abc"),
        ("...", ""),
        ("", ""),
    ],
)
def test_normalised_text_is_small_and_without_punctuation(text, expected):
    assert normalised(text) == unicodedata.normalize("NFC", expected)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("tr", "IŞIK İki I\u0307ki", "ışık iki iki"),
        ("tr-TR", "i\u0307ki", "iki"),
        ("az-Latn", "İT IŞIQ", "it ışıq"),
        ("lt", "Ì J\u0303 i\u0307\u0301", "ì j\u0303 í"),
        ("de", "IŞIK", "işik"),
        ("trv", "IS", "is"),
    ],
)
def test_lower_case_is_that_of_the_language_and_the_name_of_the_text_says_so(language, text, expected):
    own = "" if language in ("de", "trv") else f".{language[:2]}"

    assert normalised(text, language=language) == unicodedata.normalize("NFC", expected)
    assert text_version("whitespace", True, language=language) == f"whitespace-1+norm-1{own}"
    assert text_version("whitespace", False, language=language) == "whitespace-1"


@given(st.text())
def test_normalised_text_holds_no_punctuation_and_normalising_it_again_changes_nothing(text):
    plain = normalised(text)

    assert not any(unicodedata.category(character).startswith("P") for character in plain)
    assert plain == " ".join(plain.split())
    assert unicodedata.is_normalized("NFC", plain)
    assert normalised(plain) == plain


@given(st.text())
def test_how_a_text_was_composed_makes_no_difference(text):
    assert normalised(unicodedata.normalize("NFD", text)) == normalised(text)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_every_punctuation_character_of_unicode_goes():
    punctuation = [chr(code) for code in range(sys.maxunicode) if unicodedata.category(chr(code))[0] == "P"]

    assert len(punctuation) > 800
    assert normalised("a" + "".join(punctuation) + "b") == "ab"


def test_whitespace_takes_the_text_as_it_stands_unless_it_is_to_be_normalised():
    texts = ["A Dog,  runs !", "", " x\ty "]

    assert tokenise(texts) == texts
    assert tokenise(texts, normalise=True) == ["a dog runs", "", "x y"]


def test_characters_are_code_points_without_blanks_and_without_punctuation_by_default():
    texts = ["机舱 门，A!", "", "กำ"]

    assert tokenise(texts, tokenizer="characters") == ["机 舱 门 a", "", "ก ำ"]
    assert tokenise(texts, tokenizer="characters", normalise=False) == ["机 舱 门 ， A !", "", "ก ำ"]


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("zh", "机舱门排队下飞机的人们。", "机 舱门 排队 下 飞机 的 人们"),
        ("ja", "犬が公園で走っている。", "犬 が 公園 で 走 って いる"),
        ("th", "ด้านหลังของผู้ชาย", "ด้าน หลัง ของ ผู้ชาย"),
        ("ko", "개가 달린다.", "개가 달린다"),
        ("hi", "कुत्ता दौड़ता है।", "कुत्ता दौड़ता है"),
        ("ar", "هل هذا كلب؟", "هل هذا كلب"),
        ("en", "Don't stop: a well-known Dog (2) 😀 …", "dont stop a well known dog 2"),
        ("quz", "Allqu phawachkan.", "allqu phawachkan"),
        ("en", "", ""),
    ],
)
def test_icu_finds_the_words_and_drops_what_is_none(language, text, words):
    assert tokenise([text], tokenizer="icu", language=language) == [unicodedata.normalize("NFC", words)]


def test_icu_finds_words_in_the_text_with_its_punctuation():
    # Without the comma the last word of one clause and the first of the next would be looked at as one.
    text = "人,们"

    assert tokenise([text], tokenizer="icu", language="zh") == ["人 们"]
    assert tokenise(["A Dog."], tokenizer="icu", normalise=False) == ["A Dog"]


@pytest.mark.long(reason="a whole published data set")
def test_words_of_thousands_of_captions_are_found_in_seconds():
    with published("xm3600/captions_6languages.jsonl").open(encoding="utf-8") as lines:
        captions = [caption for line in lines for caption in json.loads(line)["th"]["caption"]]

    tokenised = tokenise(captions, tokenizer="icu", language="th")

    assert len(tokenised) == len(captions) > 7000
    # Thai puts spaces between phrases only: there are several words to a phrase.
    assert sum(map(len, map(str.split, tokenised))) > 4 * sum(map(len, map(str.split, captions)))


def test_what_became_of_the_text_has_a_name_with_versions(monkeypatch):
    assert text_version("whitespace") == "whitespace-1"
    assert text_version("whitespace", True) == "whitespace-1+norm-1"
    assert text_version("ptb") == "ptb-3.4.1"
    assert text_version("characters") == "characters-1+norm-1"
    assert text_version("characters", False) == "characters-1"
    monkeypatch.setattr("icu4py.icu_version", "99.1", raising=False)
    assert text_version("icu") == "icu-99.1+norm-1"


def test_a_tokeniser_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="words"):
        tokenise(["a"], tokenizer="words")
    with pytest.raises(ValueError, match="words"):
        text_version("words")


def test_without_icu_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "icu4py", None)
    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)

    for asked in (lambda: tokenise(["a"], tokenizer=Tokenizer.ICU), lambda: text_version("icu")):
        with pytest.raises(ToolMissingError, match="pip install icu4py=="):
            asked()


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
