"""What players found when they guessed words of a corpus, by sense. Games are above corpora, so each registers here.

An app registers `corpora.rules.played.register("name", function)` when it is ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class PlayedSense:
    """How often players guessed a word in one sense, and at which attempt they found it.

    `synset` is empty where the sentence leaves several senses. `mean_similarity` is that of the best guess of a turn,
    from 0 to 1, or None where it is not known.
    """

    synset: str
    turns: int
    found_1: int
    found_2: int
    found_3: int
    failed: int
    mean_similarity: float | None = None


Played = Callable[[int, str], Iterable[PlayedSense]]
"""Takes the primary key of a CorpusBuild and an English lemma; gives a row per sense that was played."""

_games: dict[str, Played] = {}


def register(game: str, function: Played) -> None:
    """Register what gives the turns of a game; call it when the app is ready."""
    _games[game] = function


def played(build_id: int, word: str) -> list[PlayedSense]:
    """Return what players found of an English lemma in all games, a row per sense and game, sorted by synset."""
    rows = [row for function in _games.values() for row in function(build_id, word)]
    return sorted(rows, key=lambda row: row.synset)
