"""Files of the demo: reads its photographs, captions, sentences and people, and writes what imports read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).with_name("data")


class _TupleLoader(yaml.CSafeLoader):
    """Reads lists as tuples, as everybody shares what is read."""


def _as_tuple(loader: _TupleLoader, node: yaml.SequenceNode) -> tuple[Any, ...]:
    return tuple(loader.construct_sequence(node, deep=True))


_TupleLoader.add_constructor("tag:yaml.org,2002:seq", _as_tuple)


def read(name: str) -> dict[str, Any]:
    """Read a file of `tools/demo/data` that maps keys to what belongs to them, in the file's order."""
    read: dict[str, Any] = yaml.load((FOLDER / name).read_text(encoding="utf-8"), _TupleLoader)  # noqa: S506 - a safe loader
    return read


def write_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write JSON Lines, as imports read them."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
