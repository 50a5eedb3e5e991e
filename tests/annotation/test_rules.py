"""What can be a caption, and what a writer is warned of."""

from __future__ import annotations

import json
import time
import unicodedata
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from annotation.models import Rating
from annotation.rules.text_checks import (
    COPIED,
    LEVEL_GUIDANCE,
    MAX_CAPTION_CHARACTERS,
    MAX_DRAFT_CHARACTERS,
    NEAR_IDENTICAL,
    WARNINGS,
    CaptionFault,
    as_nfc,
    hard_error,
    is_copied,
    soft_warnings,
    trigram_similarity,
    unstorable,
)
from core.languages.rules.registry import LANGUAGES
from core.languages.rules.scripts import KNOWN_SCRIPTS, script_of
from tests.published import published
from tests.tiers import some

LANGUAGE = {entry.tag: entry for entry in LANGUAGES}
ENGLISH = "Three boats lie on a beach in the evening light."

# "A girl with a red umbrella walks across a bridge", freely.
SENTENCES = {
    "en": "A girl with a red umbrella walks across an old stone bridge.",
    "ar": "فتاة تحمل مظلة حمراء تعبر جسرًا حجريًا قديمًا.",
    "zh": "一个女孩撑着红色的雨伞走过一座古老的石桥。",
    "hr": "Djevojčica s crvenim kišobranom prelazi stari kameni most.",
    "cs": "Dívka s červeným deštníkem přechází přes starý kamenný most.",
    "da": "En pige med en rød paraply går over en gammel stenbro.",
    "nl": "Een meisje met een rode paraplu loopt over een oude stenen brug.",
    "fil": "Isang batang babae na may pulang payong ang tumatawid sa lumang tulay na bato.",
    "fi": "Tyttö kävelee punaisen sateenvarjon kanssa vanhan kivisillan yli.",
    "fr": "Une fille avec un parapluie rouge traverse un vieux pont de pierre.",
    "de": "Ein Mädchen mit einem roten Regenschirm geht über eine alte Steinbrücke.",
    "el": "Ένα κορίτσι με κόκκινη ομπρέλα περνά ένα παλιό πέτρινο γεφύρι.",
    "he": "ילדה עם מטרייה אדומה חוצה גשר אבן ישן.",
    "hi": "लाल छाता लिए एक लड़की पत्थर के पुराने पुल को पार कर रही है।",
    "hu": "Egy piros esernyős kislány átsétál egy régi kőhídon.",
    "id": "Seorang gadis berpayung merah berjalan melintasi jembatan batu tua.",
    "it": "Una bambina con un ombrello rosso attraversa un vecchio ponte di pietra.",
    "ja": "赤い傘をさした女の子が古い石橋を渡っている。",
    "ko": "빨간 우산을 든 소녀가 오래된 돌다리를 건너고 있다.",
    "no": "En jente med rød paraply går over en gammel steinbru.",
    "fa": "دختری با چتر قرمز از روی یک پل سنگی قدیمی می‌گذرد.",
    "pl": "Dziewczynka z czerwonym parasolem idzie przez stary kamienny most.",
    "pt": "Uma menina com um guarda-chuva vermelho atravessa uma velha ponte de pedra.",
    "ro": "O fată cu o umbrelă roșie trece peste un pod vechi de piatră.",
    "ru": "Девочка с красным зонтом идёт по старому каменному мосту.",
    "es": "Una niña con un paraguas rojo cruza un viejo puente de piedra.",
    "sv": "En flicka med rött paraply går över en gammal stenbro.",
    "th": "เด็กผู้หญิงถือร่มสีแดงกำลังเดินข้ามสะพานหินเก่า",
    "tr": "Kırmızı şemsiyeli bir kız eski bir taş köprüden geçiyor.",
    "uk": "Дівчинка з червоною парасолькою йде старим кам’яним мостом.",
    "vi": "Một cô bé cầm chiếc ô màu đỏ đi qua cây cầu đá cũ.",
    "bn": "লাল ছাতা হাতে একটি মেয়ে পুরোনো পাথরের সেতু পার হচ্ছে।",
    "quz": "Huk sipas puka paraguasniyuq ñawpa rumi chakata chimpachkan.",
    "mi": "E hīkoi ana tētahi kōtiro me tōna hamarara whero i runga i te piriti kōhatu tawhito.",
    "sw": "Msichana mwenye mwavuli mwekundu anavuka daraja la kale la mawe.",
    "te": "ఎర్ర గొడుగు పట్టుకున్న ఒక అమ్మాయి పాత రాతి వంతెనను దాటుతోంది.",
}
NOT_LATIN = [entry.tag for entry in LANGUAGES if "Latn" not in entry.scripts]


def codes(text: str, tag: str = "en", *, others: tuple[str, ...] = (), english: str = ENGLISH) -> list[str]:
    warnings = [warning.code for warning in soft_warnings(text, language=LANGUAGE[tag], others=others)]
    found = [*warnings, COPIED.code] if is_copied(text, english) else warnings
    assert set(found) <= set(WARNINGS)
    return found


def error_code(text: str) -> str | None:
    problem = hard_error(text)
    return problem.code if problem else None


def test_every_level_has_its_guidance():
    assert set(LEVEL_GUIDANCE) == set(Rating.values)


class TestHardChecks:
    @pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u3000\u00a0", "\u2028"])
    def test_nothing_but_white_space_is_empty(self, text):
        assert error_code(text) == "empty"

    @pytest.mark.parametrize(
        "text", ["\u200b", "\u200e \u200f", "\x07\x1b", "\ufeff", "\u2060 \u00ad", "\u3164", "\u2800\u2800", "\ufe0f"]
    )
    def test_what_cannot_be_seen_is_refused_although_it_is_not_empty(self, text):
        assert error_code(text) == "invisible"

    @pytest.mark.parametrize("text", ["a\x00b", "\x00", "half \ud83d a pair", "\udc00"])
    def test_a_nul_or_half_a_pair_is_refused_even_as_a_draft(self, text):
        assert error_code(text) == "broken"
        assert unstorable(text) is not None

    @pytest.mark.parametrize("text", ["a", "؟", "🐈", "می‌گذرد", "👩‍🚀", "क्ष", "\u200bcat"])
    def test_what_can_be_seen_passes(self, text):
        assert hard_error(text) is None

    def test_a_thousand_characters_pass_and_one_more_does_not(self):
        assert hard_error("x" * MAX_CAPTION_CHARACTERS) is None
        assert error_code("x" * (MAX_CAPTION_CHARACTERS + 1)) == "too-long"
        assert hard_error("  " + "x" * MAX_CAPTION_CHARACTERS + "\n") is None

    def test_characters_are_code_points_counted_after_composition(self):
        assert hard_error("e\u0301" * MAX_CAPTION_CHARACTERS) is None
        assert hard_error("\u1100\u1161\u11a8" * MAX_CAPTION_CHARACTERS) is None
        assert hard_error("\u03b1\u0314\u0300\u0345" * MAX_CAPTION_CHARACTERS) is None
        assert error_code("e\u0301" * (MAX_CAPTION_CHARACTERS + 1)) == "too-long"
        assert hard_error("🐈" * MAX_CAPTION_CHARACTERS) is None
        # The nukta letters have no composed form in NFC, so each of them counts as two.
        assert error_code("\u0921\u093c" * (MAX_CAPTION_CHARACTERS // 2 + 1)) == "too-long"

    def test_a_draft_may_be_longer_than_a_caption_and_is_composed_but_not_trimmed(self):
        assert unstorable("x" * MAX_DRAFT_CHARACTERS) is None
        assert unstorable("x" * (MAX_DRAFT_CHARACTERS + 1)) is not None
        assert as_nfc(" Cafe\u0301 ") == " Café "

    @given(st.text(max_size=60))
    def test_normal_form_is_reached_at_once(self, text):
        assert as_nfc(as_nfc(text)) == as_nfc(text)
        assert unicodedata.is_normalized("NFC", as_nfc(text))

    @pytest.mark.long(reason="at least three others run each of its lines")
    @given(st.text(alphabet=st.characters(codec=None), max_size=40))
    def test_whatever_is_typed_gets_an_answer_that_depends_on_its_composed_form_only(self, text):
        problem = hard_error(text)
        assert problem is None or (isinstance(problem, CaptionFault) and str(problem.message))
        assert error_code(as_nfc(text)) == (problem and problem.code)

    @pytest.mark.long(reason="at least three others run each of its lines")
    @given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), max_size=40))
    def test_what_passes_can_be_stored_and_seen(self, text):
        assume(hard_error(text) is None)
        assert text.encode("utf-8").decode("utf-8") == text
        assert any(unicodedata.category(character)[0] in "LMNPSC" for character in text)
        assert hard_error(f" {text} ") is None


class TestRightSentences:
    def test_there_is_a_sentence_in_each_language(self):
        assert set(SENTENCES) == set(LANGUAGE)

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize("tag", SENTENCES)
    def test_a_good_caption_warns_of_nothing_in_its_language_also_decomposed(self, tag):
        assert hard_error(SENTENCES[tag]) is None
        assert codes(SENTENCES[tag], tag, others=("something else entirely",)) == []
        assert codes(unicodedata.normalize("NFD", SENTENCES[tag]), tag) == []

    @pytest.mark.parametrize("tag", NOT_LATIN)
    def test_numbers_punctuation_emoji_and_a_brand_do_not_make_it_foreign(self, tag):
        assert codes(f"(12) {SENTENCES[tag]} Coca-Cola 2026! 🌂", tag) == []


class TestScript:
    @pytest.mark.parametrize("tag", NOT_LATIN)
    def test_an_english_sentence_is_foreign_where_latin_is_not_written(self, tag):
        assert "script" in codes(SENTENCES["en"], tag)

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize("tag", sorted(set(LANGUAGE) - set(NOT_LATIN)))
    def test_a_russian_or_chinese_sentence_is_foreign_where_latin_is_written(self, tag):
        assert "script" in codes(SENTENCES["ru"], tag)
        assert "script" in codes(SENTENCES["zh"], tag)

    @pytest.mark.parametrize(
        ("tag", "text"),
        [
            ("ja", "NIKEのTシャツを着た男性"),
            ("zh", "SONY的相机放在桌上"),
            ("ko", "아이폰과 iPad가 놓인 책상"),
            ("ja", "12時30分"),
            ("hi", "1234 !!! ..."),
            ("ja", "ﾍﾞﾝﾁに座る男の人"),
            ("uk", "Хлопчик у кепці Adidas"),
        ],
    )
    def test_names_in_latin_letters_and_texts_without_letters_pass(self, tag, text):
        assert "script" not in codes(text, tag)

    @pytest.mark.parametrize(
        ("tag", "text"),
        [("ja", "A man wearing a red NIKE Tシャツ"), ("hi", "Ek ladki lal chhata lekar jaa rahi hai"), ("ko", "石橋")],
    )
    def test_a_sentence_that_is_mostly_latin_or_romanised_is_foreign(self, tag, text):
        assert ("script" in codes(text, tag)) == (tag != "ko")

    def test_the_scripts_of_all_36_are_known_and_no_other_is_checked(self):
        assert {script for entry in LANGUAGES for script in entry.scripts} <= KNOWN_SCRIPTS
        for scripts in ([], ["Cuneiform"], ["Egyp"]):
            language: Any = SimpleNamespace(spaced=True, scripts=scripts)
            assert soft_warnings("这 是 什么", language=language, others=[]) == []

    @pytest.mark.parametrize(
        ("characters", "script"),
        [("aßÅﬁａªK", "Latn"), ("яЇ", "Cyrl"), ("ωᾳ", "Grek"), ("عﷲپ", "Arab"), ("ーアｱヶ", "Kana"), ("あゝ", "Hira"),
         ("漢々龥", "Hani"),
         ("한ㄱﾡ", "Hang"), ("ᥐ", "Tale"), ("ᱚ", "Olck"), ("ʻ1٣.🌂\u0301 ", "")],
    )  # fmt: skip
    def test_a_letter_belongs_to_its_script_in_whatever_form(self, characters, script):
        scripts = {character: script_of(character) for character in characters}
        assert set(scripts.values()) == {script}, scripts

    @given(st.characters())
    def test_any_character_has_a_script_or_none(self, character):
        assert script_of(character) in KNOWN_SCRIPTS | {""}


class TestLength:
    @pytest.mark.parametrize("text", ["boats", "two boats", "two boats !", "two - boats", "two boats 🚣"])
    def test_fewer_than_three_words_are_short(self, text):
        assert codes(text) == ["short"]

    @pytest.mark.parametrize("text", ["two old boats", "the year 1999", "boats, boats, boats"])
    def test_three_words_are_not(self, text):
        assert codes(text) == []

    @pytest.mark.parametrize(
        ("tag", "short", "sentence"),
        [("zh", "一只猫", "一只小黑猫"), ("ja", "猫だ。", "猫が寝ている"), ("th", "แมว", "แมวดำนอนอยู่")],
    )
    def test_a_few_characters_are_short_where_words_are_not_spaced_and_a_sentence_is_not(self, tag, short, sentence):
        assert codes(short, tag) == ["short"]
        assert codes(sentence, tag) == []


class TestRepetition:
    @pytest.mark.parametrize("other", ["Two old boats.", "two  OLD boats", "\u2003Two\nold boats!"])
    def test_the_same_words_for_another_image_are_noticed_whatever_case_and_spacing(self, other):
        assert codes("Two old boats.", others=("A tree in a field.", other)) == ["repeated"]

    def test_composed_and_decomposed_are_the_same_and_other_words_or_mere_marks_are_not(self):
        assert codes("Ein schöner Fluß im Nebel", "de", others=("EIN SCHO\u0308NER FLUSS IM NEBEL",)) == ["repeated"]
        assert codes("Two old boats.", others=("Two old boots.", "", "...")) == []
        assert "repeated" not in codes("!!!", others=("???",))

    @given(st.sampled_from(sorted(SENTENCES)), st.sampled_from([" ", "\n", "\t ", "\u3000"]))
    def test_every_sentence_repeats_itself(self, tag, space):
        again = space + SENTENCES[tag].replace(" ", space) + space
        assert codes(again, tag, others=(SENTENCES[tag],)) == ["repeated"]


class TestCopying:
    @pytest.mark.parametrize(
        "text",
        [
            ENGLISH,
            ENGLISH.upper().rstrip("."),
            "Three boats lie on the beach in the evening light",
            "Three small boats lie on a beach in the evening light.",
            "In the evening light three boats lie on a beach.",
            "Three boats lei on a beach in the evening light.",
        ],
    )
    def test_the_caption_of_screen_1_is_recognised_with_small_changes(self, text):
        assert codes(text) == ["copied"]

    @pytest.mark.parametrize(
        "text",
        [
            "Fishing boats pulled up on the sand at dusk.",
            "Three boats at sea.",
            "Evening on a beach, with some boats and gulls above them.",
        ],
    )
    def test_ones_own_words_are_not(self, text):
        assert codes(text) == []

    def test_english_pasted_into_another_language_is_both_foreign_and_copied(self):
        assert codes(ENGLISH, "hi") == ["script", "copied"]
        assert codes(ENGLISH, "de") == ["copied"]

    def test_the_warning_does_not_say_what_it_was_and_an_empty_caption_is_like_nothing(self):
        said = str(COPIED.message).lower()
        assert not {"boats", "three", "beach", "evening", "light"} & set(said.replace(".", " ").split())
        assert trigram_similarity("", "") == trigram_similarity("boats", "") == 0
        assert codes("two old boats", english="") == []

    @pytest.mark.long(reason="at least three others run each of its lines")
    @given(st.text(min_size=1, max_size=80), st.text(max_size=80))
    def test_likeness_is_symmetric_within_0_and_1_and_1_for_the_same(self, one, other):
        assert trigram_similarity(one, other) == trigram_similarity(other, one)
        assert 0 <= trigram_similarity(one, other) <= 1
        if any(map(str.isalnum, one)):
            assert trigram_similarity(one, one) == 1


def published_captions(tag: str) -> Iterator[list[str]]:
    with published("xm3600/captions_6languages.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line).get(tag, {}).get("caption", [])


MOST_SHORT = [("zh", 0.02), ("en", 0.004), ("es", 0.002), ("fr", 0.001), ("sw", 0.02), ("th", 0.001)]


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(("tag", "most_short"), some(MOST_SHORT, short=2, reason="more languages, by the same rule"))
def test_published_captions_hardly_ever_warn(tag, most_short, record_property):
    """Crossmodal-3600, six languages: none refused, at most 1 in 1,000 in the wrong script, few short."""
    captions = [caption for per_image in published_captions(tag) for caption in per_image]
    warnings = [codes(caption, tag, english="") for caption in captions]

    assert not [caption for caption in captions if hard_error(caption)]
    foreign = [caption for caption, warned in zip(captions, warnings, strict=True) if "script" in warned]
    share_short = sum("short" in warned for warned in warnings) / len(captions)
    record_property("foreign", f"{len(foreign)} of {len(captions)}")
    record_property("short", f"{share_short:.4f}")
    assert len(foreign) <= len(captions) / 1000, foreign
    assert share_short <= most_short


@pytest.mark.long(reason="at least three others run each of its lines")
def test_two_people_describing_one_image_are_rarely_taken_for_copying():
    pairs = [per_image for per_image in published_captions("en") if len(per_image) == 2]
    alike = sum(trigram_similarity(*pair) >= NEAR_IDENTICAL for pair in pairs)
    assert alike / len(pairs) < 0.01


@pytest.mark.long(reason="at least three others run each of its lines")
def test_checking_a_caption_takes_less_than_a_third_of_a_millisecond():
    others = tuple(SENTENCES.values())[:14]
    # Each time a text not seen before, as it is while somebody types.
    texts = [(f"{sentence} {number}", tag) for number in range(20) for tag, sentence in SENTENCES.items()]
    fastest_s = min(_time_s(texts, others) for _ in range(3))
    assert fastest_s / len(texts) < 0.3e-3


def _time_s(texts: list[tuple[str, str]], others: tuple[str, ...]) -> float:
    _folded_cache_cleared()
    began = time.process_time()
    for text, tag in texts:
        hard_error(text)
        soft_warnings(text, language=LANGUAGE[tag], others=others)
        is_copied(text, ENGLISH)
    return time.process_time() - began


def _folded_cache_cleared() -> None:
    from annotation.rules import text_checks

    text_checks._folded.cache_clear()
    text_checks._runs_of_three.cache_clear()
