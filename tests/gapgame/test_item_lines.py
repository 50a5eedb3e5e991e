"""What a line of a file of items says, in many scripts, and why one is not taken."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.text import occurrences, stands_in
from gapgame.rules.item_sources import looks_like_it
from gapgame.rules.items import MAX_IMAGES, MAX_SENTENCE_CHARACTERS, ItemLine, is_named_in, item_line, stem_in


class Traits(NamedTuple):
    spaced: bool = True
    scripts: tuple[str, ...] = ()


LANGUAGES = {
    **{tag: Traits() for tag in ("en", "de", "ar", "hi", "he", "fa", "ko", "tr")},
    **{tag: Traits(spaced=False) for tag in ("ja", "zh", "th")},
}
CAT = {
    "language": "en",
    "sentence": "A ____ sleeps on the sofa.",
    "word": "cat",
    "split": "intersect_3",
    "sense": ["bn:00016606n"],
    "images": ["a.jpg", "b.jpg"],
}


def read(**changes: Any) -> ItemLine:
    value = {name: given for name, given in (CAT | changes).items() if given is not ...}
    return item_line(value, languages=LANGUAGES)


def test_a_sentence_with_a_blank_is_cut_there():
    line = read(representative="b.jpg")
    assert (line.before, line.after, line.word) == ("A ", " sleeps on the sofa.", "cat")
    assert (line.language, line.split, line.sense, line.representative) == ("en", 3, ("bn:00016606n",), 1)
    assert [image.name for image in line.images] == ["a.jpg", "b.jpg"]
    assert line.warnings == ()


@pytest.mark.parametrize(
    ("language", "sentence", "word", "before", "after"),
    [
        ("en", "A cat sleeps.", "cat", "A ", " sleeps."),
        ("en", "Cat hairs are everywhere.", "cat", "", " hairs are everywhere."),
        ("en", "The category: one cat.", "cat", "The category: one ", "."),
        ("de", "Die Straße ist nass.", "Straße", "Die ", " ist nass."),
        ("ar", "تنام قطة على الأريكة.", "قطة", "تنام ", " على الأريكة."),
        ("ar", "هذا الكتاب قديم وفيه كتاب آخر", "كتاب", "هذا الكتاب قديم وفيه ", " آخر"),
        ("he", "חתול ישן על הספה.", "חתול", "", " ישן על הספה."),
        ("hi", "सोफ़े पर एक बिल्ली सो रही है।", "बिल्ली", "सोफ़े पर एक ", " सो रही है।"),
        ("fa", "این کتاب\u200cخانه است و کتاب دارد.", "کتاب", "این کتاب\u200cخانه است و ", " دارد."),
        ("ja", "ソファの上で猫が寝ている。", "猫", "ソファの上で", "が寝ている。"),
        ("zh", "沙发上睡着一只猫。", "猫", "沙发上睡着一只", "。"),
        ("th", "แมวนอนอยู่บนโซฟา", "แมว", "", "นอนอยู่บนโซฟา"),
    ],
)
def test_the_word_is_found_as_a_word_of_its_language(language, sentence, word, before, after):
    line = read(language=language, sentence=sentence, word=word)
    assert (line.before, line.after) == (before, after)


def test_a_vowel_sign_makes_another_word_in_hindi():
    with pytest.raises(LineError, match="only inside other words"):
        read(language="hi", sentence="यह कमरा बड़ा है।", word="कमर")


def test_what_is_decomposed_is_the_same_word_line_breaks_are_spaces_and_a_start_can_be_said():
    line = read(language="de", sentence="Die Ku\u0308che ist klein.", word="K\u00fcche")
    assert (line.before, line.after, line.word) == ("Die ", " ist klein.", "Küche")
    assert read(sentence="Two cats sleep.", start=4).after == "s sleep."
    assert read(sentence="A ____ sleeps.", start=2).before == "A "
    assert read(sentence="A ____\nsleeps\ton it.").after == " sleeps on it."


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sentence": "A dog sleeps."}, "There is no gap"),
        ({"sentence": "Cats sleep."}, "only inside other words"),
        ({"sentence": "A cat and a Cat."}, "occurs 2 times"),
        ({"sentence": "A ____ and a cat."}, "also occurs outside the gap"),
        ({"sentence": "A cat and a cat.", "start": 2}, "also occurs outside the gap"),
        ({"sentence": "A ____ and a ____."}, "2 blanks"),
        ({"sentence": "A ____ sleeps.", "start": 1}, "where the blank starts"),
        ({"sentence": "A cat sleeps.", "start": 3}, "The word is not at “start”"),
        ({"sentence": "A cat sleeps.", "start": "2"}, "whole number"),
        ({"sentence": "A cat sleeps.", "start": True}, "whole number"),
        ({"sentence": "cat!"}, "no words besides the gap"),
        ({"sentence": "A ____ " + "x" * MAX_SENTENCE_CHARACTERS}, "at most 500"),
        ({"sentence": ...}, "no “sentence”"),
        ({"sentence": 5}, "no “sentence”"),
        ({"sentence": "A ____ \u202egnirts."}, "change its direction"),
        ({"language": "tr", "sentence": "____ yandı, IŞIK söndü.", "word": "ışık"}, "also occurs outside the gap"),
        ({"sentence": "A ____ \x1b[0m."}, "control characters"),
        ({"word": ...}, "word is empty"),
        ({"word": "!?"}, "no letter or digit"),
        ({"word": "c" * 101}, "at most 100"),
        ({"word": "c\x07t"}, "control characters"),
        ({"split": "intersect_5"}, "Unknown split"),
        ({"split": ...}, "Unknown split"),
        ({"split": True}, "Unknown split"),
        ({"language": "xx"}, "not in the table"),
        ({"language": "not a tag"}, "not in the table"),
        ({"language": ...}, "There is no language"),
        ({"sense": "bn:1"}, "not a list"),
        ({"sense": [1]}, "must be a list of"),
        ({"images": ...}, "no images"),
        ({"images": []}, "no images"),
        ({"images": "a.jpg"}, "images is not a list"),
        ({"images": [5]}, "Image 1 must be a text"),
        ({"images": [f"{number}.jpg" for number in range(MAX_IMAGES + 1)]}, "at most 100"),
        ({"images": ["a.jpg", {"file": "b.jpg", "licence_url": "ftp://x"}]}, "Image 2: licence_url"),
        ({"representative": "c.jpg"}, "not one of the images"),
        ({"key": 5}, "key is not text"),
        ({"key": "x" * 201}, "at most 200"),
        ({"language": "ja", "sentence": "猫と子猫がいる。", "word": "猫"}, "occurs 2 times"),
        ({"language": "ar", "sentence": "قِطَّة وقطة و ____", "word": "قطة"}, "also occurs outside the gap"),
        ({"language": "hi", "sentence": "बिल्ली और ____", "word": "बिल्ली"}, "also occurs outside the gap"),
    ],
)
def test_a_line_that_cannot_be_used_says_why(changes, says):
    with pytest.raises(LineError, match=says) as refused:
        read(**changes)
    assert "cat" not in str(refused.value).lower()


def test_what_is_no_object_says_so():
    with pytest.raises(LineError, match=r"Not an object\. Write each line as"):
        item_line(["A ____"], languages=LANGUAGES)


@pytest.mark.parametrize(("split", "number"), [(0, 0), ("2", 2), ("intersect_4", 4)])
def test_a_split_may_be_a_number_or_a_name(split, number):
    assert read(split=split).split == number


def test_a_form_of_the_word_elsewhere_is_a_warning():
    for sentence, word in (
        ("A ____ among cats.", "cat"),
        ("The painter was ____ a wall.", "painting"),
        ("تنام ____ قرب القطة", "قطة"),
    ):
        language = "ar" if word == "قطة" else "en"
        line = read(language=language, sentence=sentence, word=word)
        assert len(line.warnings) == 1, sentence
    assert read(sentence="A ____ at a castle? No.", word="dog").warnings == ()


def test_an_image_named_twice_is_taken_once_with_what_the_first_said():
    line = read(images=[{"file": "a.jpg", "license": "CC0"}, "a.jpg", "b.jpg"], representative="b.jpg")
    assert [(image.name, image.attribution.licence) for image in line.images] == [("a.jpg", "CC0"), ("b.jpg", "")]
    assert line.representative == 1
    assert len(line.warnings) == 1


def test_a_key_is_made_where_none_is_given_and_is_the_same_each_time():
    assert read().key == read(split=0).key
    assert len({read().key, read(word="dog").key, read(sentence="The ____ sleeps.").key}) == 3
    assert read(key=" own ").key == "own"


def test_words_are_found_between_what_is_no_letter():
    assert occurrences("cat's Cat-like cats", "cat", spaced=True) == [(0, 3), (6, 9)]
    assert stands_in("ﬁsh", "fish", spaced=True)
    assert not stem_in("人々", "人", spaced=False)
    assert stem_in("the children", "child", spaced=True)


@pytest.mark.parametrize(
    ("text", "word", "is_there"),
    [
        ("IMG_blackCat01.jpg", "cat", True),
        ("ice_cream-2.png", "ice cream", True),
        ("Oxford street", "ox", False),
        ("ox_1.jpg", "ox", True),
        ("photo of a KÜCHE", "Küche", True),
        ("子猫.jpg", "猫", True),
        ("dog.jpg", "cat", False),
    ],
)
def test_names_hold_a_word_also_inside_others(text, word, is_there):
    assert is_named_in(text, word) is is_there


@pytest.mark.parametrize(
    ("value", "is_theirs"),
    [
        ({"sentence": "A ___.", "word": "cat", "synset": "bn:1n", "intersect": 4, "images": ["a"]}, True),
        ({"text": "A ___.", "word": "cat", "images": ["a"]}, True),
        ({"language": "en", "sentence": "A ___.", "word": "cat", "split": 4, "images": ["a"], "synsets": ["b"]}, False),
        ({"sentence": "A ___.", "word": "cat", "split": 4, "images": ["a"], "note": "b"}, False),
        (["text"], False),
    ],
)
def test_an_object_is_of_multisubs_by_its_names(value, is_theirs):
    assert looks_like_it(value) is is_theirs
