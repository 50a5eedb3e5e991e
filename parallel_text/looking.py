"""What pages show of a corpus: its words, senses, sentences, images and candidates, from the tables of step `index`.

A question reads a few groups of rows, takes little memory and writes nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from crosslens_metrics.messages import gettext as _
from parallel_text.folder import Folder

T = TypeVar("T")

SMALL: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": "256MB",
    "threads": 1,
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""Settings of the database that answers a question. Rows without ORDER BY come in the order of the file."""

SORTS = {
    "occurrences": "occurrences DESC, lemma",
    "word": "lemma",
    "imageability": "imageability DESC NULLS LAST, lemma",
    "instances": "instances DESC, lemma",
    "senses": "senses DESC, lemma",
}
LEFT_OUT_SHOWN = 20
"""Translations below the threshold of which most come from single errors of the aligner."""

KEPT = "kept"
"""Among the reasons: the fragment was not rejected."""


class NotBuiltError(Exception):
    """The corpus, or the part of it that was asked for, has not been built yet."""


@dataclass(frozen=True)
class Word:
    """An English noun of a corpus.

    `instances` are its occurrences with a sense, `by_n` how many of these share one across exactly n languages, and
    `translations` how many different ones are in the dictionary, by language.
    """

    lemma: str
    occurrences: int
    imageability: float | None
    source: str
    instances: int
    illustrated: int
    by_n: Mapping[int, int]
    translations: Mapping[str, int]
    senses: int
    images: int


@dataclass(frozen=True)
class Translation:
    """A translation and its share of a noun's alignments, from 0 to 1; `forms` by spelling, the most aligned first."""

    lemma: str
    share: float
    alignments: int
    forms: Mapping[str, int]

    @property
    def percent(self) -> float:
        return 100 * self.share


@dataclass(frozen=True)
class Translations:
    """A noun's translations into a language, the most aligned first. `more` is how many others were left out."""

    language: str
    total: int
    kept: Sequence[Translation]
    left_out: Sequence[Translation]
    more: int


@dataclass(frozen=True)
class Sense:
    """A synset that an English noun can mean; `lemmas` are the words of all languages in it, by tag."""

    synset: str
    instances: int
    shared: int
    images: int
    lemmas: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Instance:
    """An occurrence of a noun with at least one sense. `translations` have language, lemma, word, pair and target."""

    lemma: str
    sentence: int
    position: int
    start: int
    text: str
    word: str
    n: int
    synsets: Sequence[str]
    translations: Sequence[Mapping[str, Any]]
    images: int

    @property
    def before(self) -> str:
        return self.text[: self.start]

    @property
    def after(self) -> str:
        return self.text[self.start + len(self.word) :]


@dataclass(frozen=True)
class CorpusImage:
    """An image of a synset. `file` is its name in the manifest."""

    synset: str
    file: str
    licence: str
    author: str
    source: str
    is_representative: bool

    @property
    def link(self) -> str:
        """The address it came from, where that is one a browser can open."""
        return self.source if self.source.startswith(("https://", "http://")) else ""


@dataclass(frozen=True)
class Candidate:
    """A fragment of English text, and why it was rejected; `reason` is empty if it was kept."""

    fragment: str
    kind: str
    occurrences: int
    imageability: float | None
    source: str
    reason: str


class Rows(Sequence[T]):
    """Rows that are counted and read only when a page of them is asked for."""

    def __init__(self, count: Callable[[], int], read: Callable[[int, int], list[T]]) -> None:
        self._count, self._read = count, read

    def __len__(self) -> int:
        return self._count()

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, int):
            return self._read(index, 1)[0]
        start = index.start or 0
        return self._read(start, max(0, (index.stop if index.stop is not None else len(self)) - start))


def words(folder: Folder, *, search: str = "", is_prefix: bool = False, sort: str = "occurrences") -> Rows[Word]:
    """List nouns.

    Parameters
    ----------
    search : str
        What a word contains or, if `is_prefix`, how it begins.
    sort : str
        One of `SORTS`.
    """
    where = ("starts_with(lemma, $search)" if is_prefix else "contains(lemma, $search)") if search else "true"
    query = f"SELECT * FROM read_parquet($words) WHERE {where} ORDER BY {SORTS[sort]}"
    return _rows(folder, query, _word, search=search)


def word(folder: Folder, lemma: str) -> Word | None:
    """Return a noun, or None if the corpus has no such noun."""
    rows = ask(folder, "SELECT * FROM read_parquet($words) WHERE lemma = $lemma", lemma=lemma)
    return _word(rows[0]) if rows else None


def translations(folder: Folder, lemma: str) -> list[Translations]:
    """Return a noun's translations by language: those in the dictionary, grouped by lemma, and those left out."""
    rows = ask(folder, "SELECT * FROM read_parquet($dictionary) WHERE english = $lemma", lemma=lemma)
    languages: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        languages[row["language"]].append(row)
    return [_translations(language, of_language) for language, of_language in sorted(languages.items())]


def senses(folder: Folder, lemma: str) -> list[Sense]:
    """Return the senses of a noun, those with the most instances first."""
    rows = ask(folder, "SELECT * FROM read_parquet($senses) WHERE lemma = $lemma", lemma=lemma)
    lemmas = lemmas_of(folder, [row["synset"] for row in rows])
    found = (
        Sense(**_only(row, "synset", "instances", "shared", "images"), lemmas=lemmas[row["synset"]]) for row in rows
    )
    return sorted(found, key=lambda sense: (-sense.instances, sense.synset))


def lemmas_of(folder: Folder, synsets: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """Return the words of synsets by synset and language."""
    found: dict[str, dict[str, list[str]]] = {synset: {} for synset in synsets}
    query = "SELECT * FROM read_parquet($inventory) WHERE list_contains($synsets, synset)"
    if len(synsets) == 1:
        query = "SELECT * FROM read_parquet($inventory) WHERE synset = $synsets[1]"
    for row in ask(folder, query, synsets=list(synsets)) if synsets else ():
        found[row["synset"]].setdefault(row["language"], []).append(row["lemma"])
    return {synset: {tag: sorted(of[tag]) for tag in sorted(of)} for synset, of in found.items()}


def instances(folder: Folder, lemma: str, *, synset: str = "", least_n: int = 0) -> Rows[Instance]:
    """List sentences with a noun: with `synset`, in that sense; with `least_n`, those of intersect_N."""
    where = "lemma = $lemma AND n >= $least_n" + (" AND list_contains(synsets, $synset)" if synset else "")
    # The file is in the order wanted, here and below: sorting again would hold all rows in memory.
    query = f"SELECT * FROM read_parquet($instances) WHERE {where}"
    return _rows(folder, query, _instance, lemma=lemma, synset=synset, least_n=least_n)


def instances_in(folder: Folder, sentence: int, lemmas: Sequence[str]) -> list[Instance]:
    """Return the nouns of a sentence, which has these lemmas, in their order."""
    # Each by itself: which groups of rows are read depends on their first and last lemma.
    named = {f"lemma_{number}": lemma for number, lemma in enumerate(sorted(set(lemmas)))}
    among = ", ".join(f"${name}" for name in named)
    query = f"SELECT * FROM read_parquet($instances) WHERE lemma IN ({among}) AND sentence = $sentence"
    rows = ask(folder, f"{query} ORDER BY position", sentence=sentence, **named) if named else []
    return [_instance(row) for row in rows]


def images(folder: Folder, synset: str) -> Rows[CorpusImage]:
    """List the images of a synset, the representative one first."""
    query = "SELECT * FROM read_parquet($images) WHERE synset = $synset"
    return _rows(folder, query, _image, synset=synset)


def image_named(folder: Folder, synset: str, file: str) -> CorpusImage | None:
    """Return an image of a synset by its file, or None if the synset has no such image."""
    query = "SELECT * FROM read_parquet($images) WHERE synset = $synset AND file = $file LIMIT 1"
    rows = ask(folder, query, synset=synset, file=file)
    return _image(rows[0]) if rows else None


def candidates(folder: Folder, *, search: str = "", kind: str = "", reason: str = "") -> Rows[Candidate]:
    """List fragments.

    Those that occur most stand first; with `search`, those that begin with it, by alphabet. `reason` is why they were
    rejected, or `KEPT`.
    """
    wanted = ["starts_with(fragment, $search)", "fragment >= $search"] if search else []
    wanted += ["kind = $kind"] if kind else []
    wanted += ["kept"] if reason == KEPT else ["reason = $reason"] if reason else []
    where = " AND ".join(wanted) or "true"
    query = f"SELECT * FROM read_parquet(${'fragments' if search else 'frequent'}) WHERE {where}"
    if search:
        return _rows(folder, query, _candidate, search=search, kind=kind, reason=reason)
    counted = [row for row in reasons(folder) if kind in ("", row[0]) and reason in ("", row[1])]
    return Rows(
        lambda: sum(count for _kind, _reason, count in counted),
        lambda start, size: _read(folder, query, _candidate, start, size, kind=kind, reason=reason),
    )


def reasons(folder: Folder) -> list[tuple[str, str, int]]:
    """Return kind, reason (or `KEPT`) and count of all fragments."""
    rows = ask(folder, "SELECT * FROM read_parquet($reasons)")
    return [(row["kind"], KEPT if row["kept"] else row["reason"] or "", row["count"]) for row in rows]


def ask(folder: Folder, query: str, **values: Any) -> list[dict[str, Any]]:
    """Ask for rows by column. `read_parquet($NAME)` reads index/NAME.parquet; `$path`, the file that `values` names.

    Raises
    ------
    NotBuiltError
    """
    import duckdb  # 65 MB, which pages without a corpus do without

    names = set(re.findall(r"\$([a-z0-9_]+)", query))
    try:
        files = re.findall(r"read_parquet\(\$([a-z_]+)", query)
        paths = {name: str(folder.read(values.get(name, f"index/{name}.parquet"))) for name in files}
        with duckdb.connect(":memory:", config=SMALL) as database:
            found = database.execute(query, {name: value for name, value in values.items() if name in names} | paths)
            columns = [column[0] for column in found.description or ()]
            return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
    except (FileNotFoundError, duckdb.IOException) as error:
        # The step may just be deleting its files, to make them anew.
        raise NotBuiltError(_("This part of the corpus has not been built yet.")) from error


def _rows(folder: Folder, query: str, made: Callable[[dict[str, Any]], T], **values: Any) -> Rows[T]:
    def count() -> int:
        [row] = ask(
            folder, re.sub(r"^SELECT \* (.*?)( ORDER BY .*)?$", r"SELECT count(*) AS count \1", query), **values
        )
        return int(row["count"])

    return Rows(count, lambda start, size: _read(folder, query, made, start, size, **values))


def _read(
    folder: Folder, query: str, made: Callable[[dict[str, Any]], T], start: int, size: int, **values: Any
) -> list[T]:
    rows = ask(folder, f"{query} LIMIT $size OFFSET $start", start=start, size=size, **values)
    return [made(row) for row in rows]


def _only(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: row[name] for name in names}


def _word(row: dict[str, Any]) -> Word:
    by_n = {one["n"]: one["instances"] for one in row["by_n"] or ()}
    counts = {one["language"]: one["words"] for one in row["translations"] or ()}
    return Word(**row | {"by_n": by_n, "translations": counts})


def _translations(language: str, rows: Sequence[dict[str, Any]]) -> Translations:
    kept = _by_lemma([row for row in rows if row["kept"]])
    left_out = _by_lemma([row for row in rows if not row["kept"]])
    shown = left_out[:LEFT_OUT_SHOWN]
    return Translations(language, rows[0]["total"], kept, shown, len(left_out) - len(shown))


def _by_lemma(rows: Sequence[dict[str, Any]]) -> list[Translation]:
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (-row["alignments"], row["word"])):
        groups[row["lemma"]].append(row)
    found = [
        Translation(
            lemma,
            share=sum(row["share"] for row in group),
            alignments=sum(row["alignments"] for row in group),
            forms={row["word"]: row["alignments"] for row in group},
        )
        for lemma, group in groups.items()
    ]
    return sorted(found, key=lambda one: (-one.alignments, one.lemma))


def _instance(row: dict[str, Any]) -> Instance:
    return Instance(**row)


def _image(row: dict[str, Any]) -> CorpusImage:
    texts = {name: row[name] or "" for name in ("synset", "file", "licence", "author", "source")}
    return CorpusImage(**texts, is_representative=row["representative"])


def _candidate(row: dict[str, Any]) -> Candidate:
    reason = "" if row["kept"] else row["reason"] or ""
    return Candidate(**_only(row, "fragment", "kind", "occurrences", "imageability", "source"), reason=reason)
