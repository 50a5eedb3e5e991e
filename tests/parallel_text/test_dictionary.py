"""What a noun is aligned with at least once in a hundred times is a translation of it."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest

from parallel_text.dictionary import ENTRIES, STEP
from tests.parallel_text.made import INTEGERS, rows, run, work_with, write
from tests.tiers import runs

Pair = tuple[int, list[str], list[tuple[int, int]]]
"""Sentence, words and links."""


def dictionary_of(work, nouns, aligned):
    """Run the step on nouns (sentence, position, lemma) and on `aligned`: {file: [(sentence, words, links)]}."""
    sentences, positions, lemmas = zip(*sorted(nouns), strict=True)
    columns = {"sentence": sentences, "position": pa.array(positions, pa.int32()), "lemma": lemmas}
    write(work, "candidates/nouns.parquet", columns)
    for name, found in aligned.items():
        columns = {
            "pair": range(len(found)),
            "sentence": [sentence for sentence, _words, _links in found],
            "words": pa.array([words for _sentence, words, _links in found], pa.list_(pa.string())),
            "english_positions": pa.array([[one for one, _other in links] for *_first, links in found], INTEGERS),
            "positions": pa.array([[other for _one, other in links] for *_first, links in found], INTEGERS),
        }
        write(work, f"align/{name}.parquet", {key: pa.array(column) for key, column in columns.items()})
    report = run(STEP, work)
    return rows(work, ENTRIES), report


def counted(*words):
    """Return nouns and links of one noun, aligned with each of these words as often as is said."""
    targets = [word for word, count in words for _time in range(count)]
    nouns = [(sentence, 2, "seal") for sentence in range(len(targets))]
    return nouns, [(sentence, ["x", word], [(0, 0), (2, 1)]) for sentence, word in enumerate(targets)]


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    ("rare", "total", "share", "is_kept"),
    [
        # 0.01 * 700 is a little more than 7 in binary numbers.
        (7, 700, 0.01, True),
        (7, 701, 0.01, False),
        (29, 100, 0.29, True),
        (1, 1000, 0, True),
        (1, 2, 1, False),
    ],
)
def test_exactly_the_share_is_kept_and_one_alignment_less_is_not(tmp_path, rare, total, share, is_kept):
    nouns, aligned = counted(("foca", total - rare), ("sello", rare))
    entries, _report = dictionary_of(work_with(tmp_path, "es", translation_share=share), nouns, {"es/00000": aligned})

    (found,) = (entry for entry in entries if entry["word"] == "sello")
    assert (found["alignments"], found["total"], found["kept"]) == (rare, total, is_kept)
    assert found["share"] == rare / total


def test_numbers_and_punctuation_are_neither_translations_nor_in_the_total(tmp_path):
    nouns, aligned = counted(("foca", 99), ("sello", 1), (".", 500), ("1.000", 40), ("€", 3))
    entries, report = dictionary_of(work_with(tmp_path, "es"), nouns, {"es/00000": aligned})

    assert [(entry["word"], entry["total"], entry["kept"]) for entry in entries] == [
        ("foca", 100, True),
        ("sello", 100, True),
    ]
    assert report.counts["languages"]["es"] == {
        "nouns": 1,
        "alignments": 100,
        "words": 2,
        "kept": 2,
        "alignments_kept": 100,
        "lemmas": 2,
    }


def test_spellings_are_one_word_in_lower_case_and_words_have_the_lemma_of_a_noun(tmp_path):
    nouns, spanish = counted(("Sello", 5), ("sello", 5), ("Focas", 4), ("foca", 1))
    entries, report = dictionary_of(work_with(tmp_path, "es"), nouns, {"es/00000": spanish})

    found = {(entry["word"], entry["lemma"], entry["alignments"]) for entry in entries}
    assert found == {("sello", "sello", 10), ("focas", "foca", 4), ("foca", "foca", 1)}
    assert report.counts["languages"]["es"]["lemmas"] == 2
    assert report.tools["simplemma"] == "2.0.0"
    assert "lemmas" not in report.tools


def test_languages_unknown_to_simplemma_keep_their_words_and_the_report_says_so(tmp_path):
    nouns, aligned = counted(("海豹", 3))
    entries, report = dictionary_of(work_with(tmp_path, "zh"), nouns, {"zh/00000": aligned})
    assert (entries[0]["word"], entries[0]["lemma"]) == ("海豹", "海豹")
    assert report.tools["lemmas"] == "the word itself: zh"


@pytest.mark.parametrize("seed", runs(6, short=2))
def test_counts_are_those_of_counting_link_by_link(tmp_path, seed):
    random_ = random.Random(seed)
    share = random_.choice([0.01, 0.1, 0.25])
    lemmas, targets = ["seal", "letter", "bank"], ["foca", "Foca", "sello", "carta", "7", "…", "banco"]
    nouns: dict[tuple[int, int], str] = {}
    aligned: dict[str, list[Pair]] = {"es/00000": [], "es/00001": [], "zh/00001": []}
    for name, found in aligned.items():
        for _pair in range(random_.randint(1, 40)):
            sentence = int(name[-1]) * 100 + random_.randrange(12)
            for position in random_.sample(range(6), random_.randint(0, 3)):
                nouns.setdefault((sentence, position), random_.choice(lemmas))
            words = random_.choices(targets, k=random_.randint(1, 6))
            places = random_.sample(range(len(words)), random_.randint(0, len(words)))
            found.append((sentence, words, list(zip(random_.sample(range(6), len(places)), places, strict=True))))
    expected = Counter(
        (name[:2], nouns[sentence, english], words[place].lower())
        for name, found in aligned.items()
        for sentence, words, links in found
        for english, place in links
        if (sentence, english) in nouns and words[place].isalpha()
    )
    totals: Counter[tuple[str, str]] = Counter()
    for (language, english, _word), count in expected.items():
        totals[language, english] += count

    rows_of_nouns = [(*place, lemma) for place, lemma in nouns.items()]
    entries, _report = dictionary_of(work_with(tmp_path, "es", "zh", translation_share=share), rows_of_nouns, aligned)

    assert {
        (entry["language"], entry["english"], entry["word"]): (entry["alignments"], entry["total"], entry["kept"])
        for entry in entries
    } == {key: (count, totals[key[:2]], count / totals[key[:2]] >= share) for key, count in expected.items()}
