"""The tokens that are scored, and what should be known of them: of the texts as metrics see them, not as written.

A note is one sentence in a tuple, or none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from crosslens_metrics.cider import cider_of
from crosslens_metrics.document_frequencies import DocumentFrequencies
from crosslens_metrics.encoding import EncodedCaptions, encode
from crosslens_metrics.hidden_characters import has_hidden
from crosslens_metrics.language_tags import spaces_separate_words
from crosslens_metrics.scores import MetricScores
from crosslens_metrics.signatures import references_digest
from crosslens_metrics.text import Tokenizer, check_captions, text_version, tokenise_groups

CUT_AT_SPACES = frozenset({Tokenizer.WHITESPACE, Tokenizer.PTB})
MIN_WORDS, MAX_WORD_CHARACTERS = 3, 8
"""(ours) On average: fewer tokens in a text, or more characters in a token, are phrases and not words."""
UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese."""
LOOKED_AT = 1_000
"""Texts, to find out their script."""


@dataclass(frozen=True)
class EmptyTexts:
    """How many texts have no token, and how many images have both such a candidate and such a reference."""

    candidates: int
    references: int
    images_with_both: int


@dataclass(frozen=True)
class ScoredTokens:
    """Captions and references as tokens, encoded once for all metrics.

    `text` names how they were made, `digest` the references as they were given; `notes` say what should be known.
    """

    encoded: EncodedCaptions
    candidates: Sequence[str]
    references: Sequence[Sequence[str]]
    text: str
    digest: str
    notes: tuple[str, ...]

    @property
    def empty(self) -> EmptyTexts:
        return empty_texts(self.encoded)


def scored_tokens(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenizer: str,
    language: str,
    spaced: bool | None,
    normalise: bool | None,
) -> ScoredTokens:
    """Captions as tokens. It takes and raises what `crosslens_metrics.scoring.prepare` does."""
    check_captions(candidates, references)
    tokenised, *grouped = tokenise_groups(
        [candidates, *references], tokenizer=tokenizer, language=language, normalise=normalise
    )
    text = text_version(tokenizer, normalise, language=language)
    written = list(chain(*references))
    return ScoredTokens(
        encoded=encode(tokenised, grouped),
        candidates=tokenised,
        references=grouped,
        text=text,
        digest=references_digest(references),
        notes=(
            *note_on_texts_without_tokens([candidates, written], [tokenised, list(chain(*grouped))], text=text),
            *note_on_hidden_characters(candidates, written),
            *note_on_spaces(chain(tokenised, *grouped), tokenizer=tokenizer, language=language, spaced=spaced),
        ),
    )


def empty_texts(captions: EncodedCaptions) -> EmptyTexts:
    empty = captions.lengths == 0
    candidates = empty[captions.candidates]
    in_image = np.add.reduceat(empty, captions.caption_starts[:-1], dtype=np.int64)
    return EmptyTexts(
        candidates=int(candidates.sum()),
        references=int(empty.sum() - candidates.sum()),
        images_with_both=int((candidates & (in_image > 1)).sum()),
    )


def note_on_texts_without_tokens(
    written: Sequence[Sequence[str]], tokens: Sequence[Sequence[str]], *, text: str
) -> tuple[str, ...]:
    """For all metrics of these tokens: how many texts are not blank and yet have none.

    - `written`: candidates and all references, as they were given.
    - `tokens`: the same as tokens.
    - `text`: how they were made (`crosslens_metrics.text.text_version`).
    """
    lost = [
        sum(bool(one.strip()) and not its_tokens.split() for one, its_tokens in zip(*texts, strict=True))
        for texts in zip(written, tokens, strict=True)
    ]
    if not any(lost):
        return ()
    how_many = f"{lost[0]:,} of {len(written[0]):,} candidates and {lost[1]:,} of {len(written[1]):,} references"
    return (f"{how_many} are not blank, but have no token by {text}. They are scored as empty captions.",)


def note_on_spaces(
    texts: Iterable[str], *, tokenizer: str, language: str, spaced: bool | None = None
) -> tuple[str, ...]:
    """For all metrics of tokens that were cut at spaces, in a language or a script whose words no spaces separate.

    - `texts`: tokens. Where they are as many and as short as words are, somebody cut the texts into words before.
    - `spaced`: whether spaces separate the words of the language; without it, as `spaces_separate_words` says.
    """
    if Tokenizer(tokenizer) not in CUT_AT_SPACES:
        return ()
    texts = list(texts)
    if spaced is None:
        spaced = spaces_separate_words(language)
    if (spaced and not _are_mostly_unspaced(texts[:LOOKED_AT])) or _are_words([text.split() for text in texts]):
        return ()
    where = f"the script of most texts, which are not in {language}" if spaced else language
    what = "give their language, and choose" if spaced else "choose"
    why = f"The tokens were cut at spaces, which do not separate words in {where}"
    return (f"{why}: {what} the tokeniser icu or characters.",)


def note_on_hidden_characters(candidates: Sequence[str], references: Sequence[str]) -> tuple[str, ...]:
    """For all metrics: how many texts, as they were given, have hidden characters."""
    hidden = [sum(map(has_hidden, texts)) for texts in (candidates, references)]
    if not any(hidden):
        return ()
    how_many = f"{hidden[0]:,} of {len(candidates):,} candidates and {hidden[1]:,} of {len(references):,} references"
    return (f"{how_many} have characters that nobody sees. A word with one does not match the same word without it.",)


def _are_mostly_unspaced(texts: Sequence[str]) -> bool:
    return 2 * sum(bool(UNSPACED.search(text)) for text in texts) > len(texts)


def _are_words(texts: Sequence[Sequence[str]]) -> bool:
    tokens = sum(map(len, texts))
    characters = sum(len(token) for tokens_of_text in texts for token in tokens_of_text)
    return tokens >= MIN_WORDS * sum(map(bool, texts)) and characters <= MAX_WORD_CHARACTERS * tokens


def note_on_empty_matches(captions: EncodedCaptions) -> tuple[str, ...]:
    """For ROUGE-L, whose empty texts match each other."""
    images = empty_texts(captions).images_with_both
    if not images:
        return ()
    why = f"ROUGE-L is 1 for an empty candidate with an empty reference: {images:,} of {captions.n_images:,} images"
    return (f"{why}, as in the reference implementation.",)


def note_on_weights(
    scores: MetricScores, references: Sequence[Sequence[str]], frequencies: DocumentFrequencies | None
) -> tuple[str, ...]:
    """For CIDEr: whether its figures can only be 0 with these references, which are tokens, and what empty ones do."""
    if not scores.per_image.any() and not _can_be_above_zero(references, frequencies):
        if frequencies is not None:
            why = "the document frequencies have every n-gram of the references in all images"
        elif len(references) == 1:
            why = "there is only one image, and what is in every image weighs nothing"
        else:
            why = "the references of all images have the same n-grams, and what is in every image weighs nothing"
        return (f"CIDEr is 0 by definition, whatever the captions are: {why}.",)
    if not all(text.split() for texts in references for text in texts):
        return ("CIDEr is the mean over all references of an image. Those without a token count as 0.",)
    return ()


def _can_be_above_zero(references: Sequence[Sequence[str]], frequencies: DocumentFrequencies | None) -> bool:
    """Whether a candidate with every n-gram of an image's references has a CIDEr above 0 for any image."""
    everything = encode([" ".join(texts) for texts in references], references)
    return bool(cider_of(everything, frequencies=frequencies).per_image.any())
