"""Captions as numbers: read once, scored by any of the metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.text import check_captions
from crosslens_metrics.vocabulary import PIECE, Numbers, WordNumbers, to_bytes

IMAGES_AT_ONCE = 4096
SPACE, END = ord(" "), ord("\n")
# In UTF-8, where what str.split() cuts at beyond ASCII begins; E2 80 begins some other characters too.
WIDE_BLANKS = (b"\xc2\x85", b"\xc2\xa0", b"\xe1\x9a\x80", b"\xe2\x80", b"\xe2\x81\x9f", b"\xe3\x80\x80")


@dataclass(frozen=True)
class EncodedCaptions:
    """The captions of images as the numbers of their words.

    Each image's captions follow one another, its references first and its candidate last.
    """

    words: NDArray[np.int32]
    """Shape (n_words,): numbers in `vocabulary`, caption after caption."""
    word_starts: Numbers
    """Shape (n_captions + 1,): where in `words` each caption begins; the last is the end."""
    caption_starts: Numbers
    """Shape (n_images + 1,): where among the captions each image's begin; the last is the end."""
    vocabulary: WordNumbers
    uneven: Mapping[int, str]
    """The captions, by their place, that are cut differently at single spaces than at blanks of any kind and number:
    ROUGE-L's reference implementation does the former, the others the latter.
    """

    @property
    def n_images(self) -> int:
        return len(self.caption_starts) - 1

    @property
    def candidates(self) -> Numbers:
        """Places of the candidates among the captions, shape (n_images,)."""
        return self.caption_starts[1:] - 1

    @property
    def lengths(self) -> Numbers:
        """Words of each caption, shape (n_captions,)."""
        return np.diff(self.word_starts)

    def parts(self, *, words: int) -> Iterator[EncodedCaptions]:
        """The same captions in parts of whole images, of about so many words each."""
        ends = self.word_starts[self.caption_starts]
        bounds = np.searchsorted(ends, np.arange(words, ends[-1], words)).tolist()
        for first, end in pairwise(sorted({0, *bounds, self.n_images})):
            from_caption, to_caption = self.caption_starts[[first, end]].tolist()
            from_word, to_word = self.word_starts[[from_caption, to_caption]].tolist()
            yield EncodedCaptions(
                self.words[from_word:to_word],
                self.word_starts[from_caption : to_caption + 1] - from_word,
                self.caption_starts[first : end + 1] - from_caption,
                self.vocabulary,
                {c - from_caption: text for c, text in self.uneven.items() if from_caption <= c < to_caption},
            )

    def cut_at_single_spaces(self) -> EncodedCaptions:
        """The same captions as `text.split(" ")` cuts them: two spaces have an empty word between them."""
        if not self.uneven:
            return self
        pieces, lengths, done = [], self.lengths.copy(), 0
        for caption, text in sorted(self.uneven.items()):
            words = self.vocabulary.numbers_of(text.split(" "))
            pieces += [self.words[done : self.word_starts[caption]], words]
            lengths[caption], done = len(words), self.word_starts[caption + 1]
        words = np.concatenate([*pieces, self.words[done:]])
        return EncodedCaptions(words, _starts(lengths), self.caption_starts, self.vocabulary, {})


def encode(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> EncodedCaptions:
    """Read captions whose words are separated by blanks, as `str.split()` cuts them.

    - `candidates`: length n_images.
    - `references`: length n_images: one or more for each image, in the order of the candidates.

    Raises ValueError: no image; lengths that differ; an image without a reference or with a single text in the place of
    a list. Raises TypeError: a caption is not a text.
    """
    check_captions(candidates, references)
    vocabulary = WordNumbers()
    words, lengths, uneven, done = [], [], {}, 0
    for captions in _chunks(candidates, references):
        part = _cut(captions)
        words.append(vocabulary.numbers(part.data, part.starts, part.lengths))
        lengths.append(part.words)
        uneven.update({done + place: captions[place] for place in part.uneven})
        done += len(captions)
    per_image = np.fromiter(map(len, references), dtype=np.int64, count=len(references)) + 1
    word_starts = _starts(np.concatenate(lengths))
    return EncodedCaptions(np.concatenate(words), word_starts, _starts(per_image), vocabulary, uneven)


def _chunks(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """The captions of some thousand images at a time."""
    for first in range(0, len(candidates), IMAGES_AT_ONCE):
        candidates_here = candidates[first : first + IMAGES_AT_ONCE]
        references_here = references[first : first + IMAGES_AT_ONCE]
        pairs = zip(candidates_here, references_here, strict=True)
        captions = [caption for candidate, of_image in pairs for caption in (*of_image, candidate)]
        if not all(issubclass(kind, str) for kind in set(map(type, captions))):
            pairs = zip(candidates_here, references_here, strict=True)
            whole = [all(isinstance(text, str) for text in (*of_image, candidate)) for candidate, of_image in pairs]
            raise TypeError(f"Image {first + whole.index(False)} has a caption that is not a text (str).")
        yield captions


@dataclass(frozen=True)
class _CutCaptions:
    """Where the words of some captions lie in bytes, how many each caption has, and which are uneven."""

    data: bytes
    starts: Numbers
    lengths: Numbers
    words: Numbers
    uneven: Sequence[int]


def _cut(captions: list[str]) -> _CutCaptions:
    text = "\n".join(captions)
    data = to_bytes(text) + b"\n" + bytes(PIECE)
    raw = np.frombuffer(data, dtype=np.uint8)[:-PIECE]
    blanks = np.flatnonzero((raw == SPACE) | (raw == END))
    ends = np.flatnonzero(raw[blanks] == END)
    plain = len(ends) == len(captions) and np.count_nonzero(raw <= SPACE) == len(blanks)
    if not plain or (not text.isascii() and any(blank in data for blank in WIDE_BLANKS)):
        return _cut_uneven(captions)
    starts = np.concatenate(([0], blanks[:-1] + 1))
    lengths = blanks - starts
    words = np.diff(ends, prepend=-1)
    if lengths.all():
        return _CutCaptions(data, starts, lengths, words, ())
    filled = lengths > 0
    filled_words = np.diff(filled.cumsum()[ends], prepend=0)
    uneven = np.flatnonzero(filled_words != words).tolist()
    return _CutCaptions(data, starts[filled], lengths[filled], filled_words, uneven)


def _cut_uneven(captions: list[str]) -> _CutCaptions:
    """Captions with blanks other than spaces, or with control characters."""
    words = [caption.split() for caption in captions]
    encoded = [to_bytes(word) for of_caption in words for word in of_caption]
    lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    counts = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    uneven = [place for place, caption in enumerate(captions) if caption.split(" ") != words[place]]
    return _CutCaptions(b"".join([*encoded, bytes(PIECE)]), lengths.cumsum() - lengths, lengths, counts, uneven)


def _starts(lengths: Numbers) -> Numbers:
    return np.concatenate(([0], lengths.cumsum()))


Part = TypeVar("Part")
Result = TypeVar("Result")


def side_by_side(function: Callable[[Part], Result], parts: Iterable[Part], *, workers: int) -> Iterator[Result]:
    """`map` in threads: numpy leaves Python to others while it sorts and counts.

    At most `workers` parts are processed at a time, which bounds the memory.
    """
    if workers < 1:
        raise ValueError(f"{workers} workers cannot do anything: give 1 or more.")
    parts = iter(parts)
    if workers == 1:
        yield from map(function, parts)
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(function, part) for part in islice(parts, workers)]
        while waiting:
            result = waiting.pop(0).result()
            waiting += [pool.submit(function, part) for part in islice(parts, 1)]
            yield result
