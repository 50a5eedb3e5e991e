"""Captions drawn by hypothesis: empty, of one word, repeating, very long, in many scripts, with odd blanks."""

from __future__ import annotations

from hypothesis import strategies as st

WORDS = [
    *("a", "a", "cat", "dog", "on", "the", "the", "mat", "eightlet", "nineletrs", "a" * 16, "a" * 17, "x" * 300),
    *("قطة", "على", "السجادة", "बिल्ली", "चटाई", "पर", "แมว", "เสื่อ", "猫", "👩‍👩‍👧", "e\u0301", "é", "İ", "ß"),
    *("‘cat’", "\0", "\0\0", "a\0", "\x01", "\ud800", "\ufeffa"),
]
BLANKS = [*([" "] * 12), "  ", "\t", "\n", "\x0b", "\x1c", "\x85", "\xa0", "\u2003", "\u2028", "\u3000", " \n "]


@st.composite
def caption(draw, *, blanks=BLANKS):
    longest = draw(st.sampled_from([0, 1, 4, 9, 9, 9, 20, 70, 300]))
    # Drawn by a seed: drawing three hundred words one by one would be most of the time.
    random = draw(st.randoms(use_true_random=True))
    few = random.sample(WORDS, random.choice([1, 3, len(WORDS)]))
    parts = [random.choice(few) + random.choice(blanks) for _ in range(random.randint(0, longest))]
    text = random.choice(["", "", "", " "]) + "".join(parts)
    return text if random.random() < 0.1 else text.strip(" ")


@st.composite
def corpus(draw, *, blanks=BLANKS, most=6):
    """Candidates, and references of each image."""
    images = draw(st.integers(1, most))
    references = [draw(st.lists(caption(blanks=blanks), min_size=1, max_size=3)) for _ in range(images)]
    return [draw(caption(blanks=blanks)) for _ in range(images)], references
