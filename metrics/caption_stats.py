"""How long captions are and how many each image has, per language: the columns of the published table.

Words are what whitespace separates, characters are code points as stored, spaces included; nothing is normalised.
"""

from __future__ import annotations


def words_and_characters(text: str) -> tuple[int, int]:
    return len(text.split()), len(text)
