"""Words of many scripts."""

from __future__ import annotations

import pytest

from parallel_text.words import is_word, lemma_of, lower, noun_lemma, tokens_of


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        (
            "fr",
            "L’homme d'Aujourd'hui, quelqu'un a dit-il «non» 3,5 km...",
            "L’ homme d' Aujourd'hui , quelqu'un a dit-il « non » 3,5 km . . .",
        ),
        ("it", "dell'acqua, un po' di", "dell' acqua , un po ' di"),
        ("pt-BR", "um copo d'água", "um copo d' água"),
        ("es", "'quoted' -- well-known", "' quoted ' - - well-known"),
        ("nl", "z'n auto's 's", "z'n auto's ' s"),
        ("ca", "col·legi", "col·legi"),
        ("fa", "می‌خواهم", "می‌خواهم"),
        ("he", "צה״ל בָּא", "צה״ל בָּא"),
        ("hi", "हिन्दी में किताबें।", "हिन्दी में किताबें ।"),
        ("zh", "我喜欢海豹。", "我 喜欢 海豹"),
        ("th", "สุนัขวิ่งในสวน", "สุนัข วิ่ง ใน สวน"),
        ("de", "H2O 3a 10:30 ||| x\u00a0y\u2028z\u0085", "H2O 3a 10:30 | | | x y z"),
        ("de", " \u3000", ""),
    ],
)
def test_words_are_found(language, text, tokens):
    assert tokens_of([text], language) == [tokens.split()]


@pytest.mark.long(reason="the tables of HanTa take two seconds to load")
def test_lemmas_are_those_of_nouns():
    words = [
        ("de", "Siegel"),
        ("de", "häuser"),
        ("es", "Focas"),
        ("pt-BR", "selos"),
        ("ko", "개"),
    ]
    assert [lemma_of(word, language) for language, word in words] == [
        "siegel",
        "haus",
        "foca",
        "selo",
        "개",
    ]


def test_words_compare_in_lower_case_and_composed():
    assert lower("CAFE\u0301", "fr") == "caf\u00e9"
    assert lower("IŞIK İZ", "tr") == "ışık iz"
    assert [is_word(token) for token in ("4x4", "ş", "海", "1.000", "…", "€", "'")] == [True] * 3 + [False] * 4


@pytest.mark.parametrize(
    ("form", "nouns", "lemma"),
    [
        ("flores", {"flor"}, "flor"),  # simplemma takes it for a verb
        ("sellos", {"sello", "sell"}, "sello"),
        ("gafas", {"gafas"}, "gafas"),
        ("flores", set(), "florar"),
        ("osos", {"o", "os"}, "oso"),  # no noun is known: as simplemma says
    ],
)
def test_the_lemma_of_a_translation_is_a_noun_where_one_is_known(form, nouns, lemma):
    assert noun_lemma(form, "es", nouns) == lemma
