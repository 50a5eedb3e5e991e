"""One sentence of a corpus in all its languages, and which words of its translations are aligned with which."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parallel_text.config import ENGLISH
from parallel_text.folder import Folder
from parallel_text.looking import Instance, ask, instances_in

LARGEST_NUMBER = 2**63 - 1
UNALIGNED: Mapping[str, Any] = {"words": [], "english_positions": [], "positions": []}


@dataclass(frozen=True)
class Piece:
    """A word, or what stands between two words.

    `key` names a word within the page, `partners` are the keys of the words it is aligned with, and `noun` is the
    number, from 1, of the noun of the corpus that it is or translates; 0 for other words.
    """

    text: str
    key: str = ""
    partners: Sequence[str] = ()
    noun: int = 0


@dataclass(frozen=True)
class AlignedText:
    language: str
    pair: int | None
    pieces: Sequence[Piece]


@dataclass(frozen=True)
class AlignedSentence:
    """An English sentence and its translations, by language, and the nouns of the corpus in it."""

    number: int
    text: str
    english: AlignedText
    translations: Sequence[AlignedText]
    nouns: Sequence[Instance]


def aligned_sentence(folder: Folder, number: int) -> AlignedSentence | None:
    """Return a sentence by its number, or None if the corpus has no such sentence.

    Raises
    ------
    NotBuiltError
    """
    chunk = _chunk_of(folder, number)
    tokens = f"candidates/tokens/{chunk}.parquet"
    if not 0 <= number <= LARGEST_NUMBER or not folder.names(tokens):
        return None
    rows = _rows(folder, tokens, number)
    if not rows:
        return None
    [row] = rows
    [text] = [one["text"] for one in _rows(folder, f"ingest/english/{chunk}.parquet", number)]
    nouns = instances_in(folder, number, row["lemmas"])
    pairs = [pair for language in _languages(folder) for pair in _pairs(folder, language, chunk, number)]
    partners: dict[str, list[str]] = defaultdict(list)
    for pair in pairs:
        for source, target in pair.links:
            partners[f"{ENGLISH}-{source}"].append(pair.key(target))
            partners[pair.key(target)].append(f"{ENGLISH}-{source}")
    numbers = _numbers(nouns)
    words = enumerate(zip(row["starts"], row["words"], strict=True))
    english = [(start, word, f"{ENGLISH}-{position}") for position, (start, word) in words]
    return AlignedSentence(
        number=number,
        text=text,
        english=AlignedText(ENGLISH, None, _pieces(text, english, partners, numbers)),
        translations=[
            AlignedText(pair.language, pair.number, _pieces(pair.text, pair.tokens(), partners, numbers))
            for pair in pairs
        ],
        nouns=nouns,
    )


@dataclass(frozen=True)
class _Pair:
    language: str
    number: int
    text: str
    words: Sequence[str]
    links: Sequence[tuple[int, int]]

    def key(self, position: int) -> str:
        return f"{self.language}-{self.number}-{position}"

    def tokens(self) -> list[tuple[int, str, str]]:
        """Return start, text and key of each word; a word that the text does not have as it is spelt is left out."""
        found, end = [], 0
        for position, word in enumerate(self.words):
            start = self.text.find(word, end)
            if start >= 0:
                found.append((start, word, self.key(position)))
                end = start + len(word)
        return found


def _chunk_of(folder: Folder, number: int) -> str:
    """Return the name of the chunk that has a sentence: all but the last have as many as the first."""
    query = "SELECT count(*) AS count FROM read_parquet($path)"
    [row] = ask(folder, query, path="ingest/english/00000.parquet")
    return f"{number // max(1, row['count']):05d}"


def _languages(folder: Folder) -> list[str]:
    return sorted({name.split("/")[1] for name in folder.names("align/") if name.endswith(".parquet")})


def _rows(folder: Folder, name: str, number: int) -> list[dict[str, Any]]:
    return ask(folder, "SELECT * FROM read_parquet($path) WHERE sentence = $number", path=name, number=number)


def _pairs(folder: Folder, language: str, chunk: str, number: int) -> list[_Pair]:
    names = [f"ingest/pairs.{language}/{chunk}.parquet", f"align/{language}/{chunk}.parquet"]
    if not all(folder.names(name) for name in names):
        return []
    texts, links = (_rows(folder, name, number) for name in names)
    aligned = {row["pair"]: row for row in links}
    pairs = []
    for row in sorted(texts, key=lambda row: row["pair"]):
        found = aligned.get(row["pair"], UNALIGNED)
        positions = zip(found["english_positions"], found["positions"], strict=True)
        pairs.append(_Pair(language, row["pair"], row["text"], found["words"], list(positions)))
    return pairs


def _numbers(nouns: Sequence[Instance]) -> dict[str, int]:
    """Number the nouns of a sentence, and the words that translate each, by their keys."""
    numbers = {}
    for number, noun in enumerate(nouns, start=1):
        numbers[f"{ENGLISH}-{noun.position}"] = number
        for one in noun.translations:
            numbers[f"{one['language']}-{one['pair']}-{one['target']}"] = number
    return numbers


def _pieces(
    text: str, tokens: Sequence[tuple[int, str, str]], partners: Mapping[str, Sequence[str]], numbers: Mapping[str, int]
) -> list[Piece]:
    pieces, end = [], 0
    for start, word, key in tokens:
        if text[end:start]:
            pieces.append(Piece(text[end:start]))
        pieces.append(Piece(word, key, partners.get(key, ()), numbers.get(key, 0)))
        end = start + len(word)
    return [*pieces, Piece(text[end:])] if text[end:] else pieces
