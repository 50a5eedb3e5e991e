"""Caption statistics: the published table from the published captions, and what is said of a file that is none."""

from __future__ import annotations

import csv
import json
import re
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosslens_metrics.caption_stats import COLUMNS, CaptionStatistics, mean_to_one_decimal, statistics_of
from crosslens_metrics.formats.limits import MAX_LINE_BYTES
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.xm3600 import read_captions
from tests.published import published

KINDS = {"language": str, "mean_words": float, "mean_chars": float}


def line(key: str = "a", **captions: object) -> bytes:
    row = {"image/key": key, **{tag: {"caption": texts} for tag, texts in captions.items()}}
    return json.dumps(row).encode() + b"\n"


def statistics(*lines: bytes) -> dict[str, CaptionStatistics]:
    return statistics_of(read_captions(BytesIO(b"".join(lines))))


@pytest.fixture(scope="module")
def found():
    with published("xm3600/captions_6languages.jsonl").open("rb") as file:
        return statistics_of(read_captions(file))


class TestThePublishedTable:
    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize("tag", ["en", "es", "fr", "sw", "th", "zh"])
    def test_every_column_of_a_language_comes_out(self, found, tag):
        with published("tables/xm3600_table1_6languages.csv").open(newline="") as file:
            row = next(row for row in csv.DictReader(file) if row["language"] == tag)
        expected = {name: KINDS.get(name, int)(value) for name, value in row.items()}
        assert {"language": tag, **found[tag].as_columns()} == expected

    def test_there_are_no_other_languages(self, found):
        assert list(found) == ["en", "es", "fr", "sw", "th", "zh"]


class TestCounting:
    def test_images_are_told_apart_by_how_many_captions_they_have(self):
        one, two, three, four = (["x y"] * number for number in range(1, 5))
        counted = statistics(line("a", de=one), line("b", de=two), line("c", de=three), line("d", de=four))["de"]
        assert counted.as_columns() == {
            "captions": 10,
            "images_with_1": 1,
            "images_with_2": 1,
            "images_with_3_or_more": 2,
            "mean_words": 2.0,
            "mean_chars": 3.0,
        }

    def test_the_same_caption_twice_counts_twice(self):
        assert statistics(line(de=["gleich", "gleich"]))["de"].captions == 2

    def test_characters_are_code_points_as_stored(self):
        assert statistics(line(de=["u\u0308"]))["de"].characters == 2
        assert statistics(line(de=["ü"]))["de"].characters == 1
        assert statistics(line(de=["👩🏽"]))["de"].characters == 2

    def test_words_are_what_whitespace_separates(self):
        assert statistics(line(zh=["一只猫"]))["zh"].words == 1
        assert statistics(line(zh=["一只\u3000猫"]))["zh"].words == 2
        assert statistics(line(fr=["l'eau , claire"]))["fr"].words == 3

    def test_another_name_of_a_language_is_that_language(self):
        found = statistics(line("a", iw=["x"], he=["y"]), line("b", he=["z"], qu=["w"], PT=["v"]))
        assert {tag: one.captions for tag, one in found.items()} == {"he": 3, "pt": 1, "quz": 1}
        assert (found["he"].images_with_1, found["he"].images_with_2) == (1, 1)

    def test_languages_come_in_the_order_of_their_tags(self):
        assert list(statistics(line(zh=["a"], de=["a"]), line("b", fr=["a"]))) == ["de", "fr", "zh"]

    def test_a_language_without_captions_has_no_mean(self):
        columns = statistics(line(de=[]))["de"].as_columns()
        assert (columns["captions"], columns["mean_words"]) == (0, None)

    def test_the_columns_are_those_of_the_table(self):
        assert ("language", *CaptionStatistics().as_columns()) == COLUMNS

    def test_other_keys_of_the_published_layout_are_passed_over(self):
        row = {"image/key": "a", "image/locale": "de", "de": {"caption": ["ja"], "caption/tokenized": [["ja"]]}}
        assert list(statistics(json.dumps(row).encode())) == ["de"]

    @given(st.lists(st.lists(st.lists(st.sampled_from("ab "), min_size=1).map("".join), max_size=4), max_size=5))
    def test_adding_image_by_image_is_counting_all_at_once(self, images):
        added = CaptionStatistics()
        for captions in images:
            added.add(captions)
        texts = [text for captions in images for text in captions]
        assert added.captions == len(texts)
        assert added.characters == sum(map(len, texts))
        assert added.words == len(" ".join(texts).split())


class TestRounding:
    @pytest.mark.parametrize(
        ("total", "count", "mean"),
        [(1, 20, 0.1), (3, 20, 0.2), (5, 20, 0.3), (249, 1000, 0.2), (25, 100, 0.3), (69, 20, 3.5), (2, 1, 2.0)],
    )
    def test_half_a_tenth_goes_up_whatever_a_float_makes_of_it(self, total, count, mean):
        assert mean_to_one_decimal(total, count) == mean


class TestFilesThatAreNone:
    @pytest.mark.parametrize(
        ("raw", "says"),
        [
            (line() + b"{not json}\n", "line 2: Not valid JSON .* character 2"),
            (line() + line("b", de=["eins"])[:-8], "line 2: Not valid JSON"),
            (line() + b"[]\n", "line 2: an object with 'image/key' is needed, not a list"),
            (b'{"de": {"caption": ["x"]}}\n', "line 1: 'image/key' is missing"),
            (b'{"image/key": 7}\n', "line 1: 'image/key' is missing or no text"),
            (b'{"image/key": "a", "de": ["x"]}\n', "line 1: 'de' has no list of captions"),
            (b'{"image/key": "a", "de": {"caption": "x"}}\n', "line 1: 'de' has no list of captions"),
            (line(de=["x", 7]), "line 1: caption 2 of 'de' is a number, not a text"),
            (line(de=["x", None]), "line 1: caption 2 of 'de' is null, not a text"),
            (line(de=["x", " "]), "line 1: caption 2 of 'de' is empty"),
            (b'{"image/key": "a", "de": {"caption": ["\\ud800"]}}\n', "line 1: caption 1 of 'de' holds half"),
            (
                b'{"image/key": "a", "de": {"caption": []}, "de": {"caption": []}}\n',
                "line 1: Not valid JSON .* same name twice",
            ),
            (line("a") + line("b") + line("a"), "line 3: the image 'a' is in line 1 already"),
            (line("é") + line("e\u0301"), "line 2: the image .* is in line 1 already"),
            (line() + b'{"image/key": "\xff"}\n', "line 2: Holds characters that are not valid UTF-8"),
            (line() + b"[" * 200_000 + b"\n", "line 2: Not valid JSON .*nested too deeply"),
            (line() + b"1" * 10_000 + b"\n", "line 2: Not valid JSON .*too many digits"),
            (line() + b"1" * (MAX_LINE_BYTES + 1), "line 2: The line is longer than 1 MB"),
        ],
    )
    def test_the_line_and_the_reason_are_named(self, raw, says):
        with pytest.raises(LineError) as malformed:
            statistics(raw)
        assert re.match(f"captions, {says}", malformed.value.described("captions"))

    def test_an_empty_file_is_refused(self):
        with pytest.raises(FileRefusedError, match="empty"):
            statistics(b"")

    def test_a_file_without_a_last_line_break_or_with_a_byte_order_mark_is_fine(self):
        assert statistics(b"\xef\xbb\xbf" + line(de=["ja"]) + line("b", de=["ja"]).rstrip())["de"].captions == 2

    def test_only_what_was_read_is_held(self):
        images = read_captions(BytesIO(line("a", de=["ja"]) + b"broken"))
        assert next(images).captions == {"de": ["ja"]}
        with pytest.raises(LineError):
            next(images)
