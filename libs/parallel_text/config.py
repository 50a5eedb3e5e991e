"""The configuration of a corpus: which files it is made from, and with which thresholds."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crosslens_metrics.formats.lines import LineFields, LineReader
from crosslens_metrics.formats.problems import FileProblemsError, LineError
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag
from crosslens_metrics.messages import gettext as _
from parallel_text.problems import CorpusError

SUFFIXES = (".csv", ".jsonl")
EXAMPLE = '{"word": "seal", "synset": "04159545-n", "reason": "…"}'


@dataclass(frozen=True)
class Exclusions:
    """English lemmas, pairs of English lemma and synset, and files of images. `file` is where more of them are."""

    words: tuple[str, ...] = ()
    senses: tuple[tuple[str, str], ...] = ()
    images: tuple[str, ...] = ()
    file: str = ""

    def with_those_of(self, path: Path) -> Exclusions:
        """Add the lines of a file, which have a word, a word and a synset, or an image.

        Raises CorpusError: names every line that is wrong.
        """
        words, senses, images = set(self.words), set(self.senses), set(self.images)
        try:
            with LineReader(path, suffixes=SUFFIXES) as reader:
                for record in reader.records(column="word"):
                    with reader.line(record):
                        fields = LineFields(record.value, example=EXAMPLE, is_csv=reader.is_csv)
                        word, synset, image = (fields.text(name) for name in ("word", "synset", "image"))
                        if image and not word and not synset:
                            images.add(image)
                        elif word and synset and not image:
                            senses.add((word, synset))
                        elif word and not image:
                            words.add(word)
                        else:
                            raise LineError(_("Give a word, a word and its synset, or an image."))
        except FileProblemsError as error:
            raise CorpusError(str(error)) from error
        return Exclusions(tuple(sorted(words)), tuple(sorted(senses)), tuple(sorted(images)), self.file)


ENGLISH = "en"
TEXT_FORMATS = ("tsv", "tmx", "opus", "moses")
MOSES = ("english", "other", "ids")
"""Keys of the files of Moses' format; the last one may be left out."""
INVENTORY_FORMATS = ("tsv", "omw", "wordnet", "lmf", "babelnet")
MEMORY = re.compile(r"[1-9][0-9]{0,5} ?(MB|GB|MiB|GiB)")
MAX_SEED = 2**63 - 1
MAX_WORKERS = 256
MIN_IN_A_CHUNK = 100


class ConfigError(CorpusError):
    """The configuration has problems; the message lists all of them."""


@dataclass(frozen=True)
class Text:
    """Parallel text of English and `language`.

    `files` are two for Moses, English first, and perhaps a third with ids; one for other formats.
    """

    language: str
    format: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class CandidateSettings:
    """`ratings` are of imageability from 100 to 700, as `threshold` is; a word must occur `occurrences` times."""

    ratings: str = ""
    vectors: str = ""
    threshold: float = 500.0
    occurrences: int = 2


@dataclass(frozen=True)
class Inventory:
    """Senses of the words of a language. An empty format is recognised from the file."""

    language: str
    file: str
    format: str = ""


@dataclass(frozen=True)
class ImageSettings:
    manifest: str = ""
    folder: str = ""
    features: str = ""


@dataclass(frozen=True)
class CorpusConfig:
    """Everything that a corpus depends on, besides the contents of its files."""

    name: str
    texts: tuple[Text, ...]
    inventories: tuple[Inventory, ...]
    seed: int = 0
    workers: int = 2
    memory: str = "1GB"
    chunk_sentences: int = 100_000
    candidates: CandidateSettings = field(default_factory=CandidateSettings)
    aligner: str = ""
    """Its name or path; empty for the first that is found."""
    translation_share: float = 0.01
    """Of an English noun's alignments, what a translation needs, from 0 to 1."""
    images: ImageSettings = field(default_factory=ImageSettings)
    exclude: Exclusions = field(default_factory=Exclusions)

    @property
    def languages(self) -> tuple[str, ...]:
        """The tags of the languages besides English, sorted."""
        return tuple(sorted({text.language for text in self.texts}))


def read_config(path: Path) -> CorpusConfig:
    """Read a TOML file, and the file of exclusions that it names.

    Raises CorpusError.
    """
    try:
        with path.open("rb") as file:
            config = config_from(tomllib.load(file))
    except OSError as error:
        raise ConfigError(_("%(file)s cannot be read: %(error)s.") % {"file": path, "error": error.strerror}) from error
    except RecursionError as error:
        raise ConfigError(_("%(file)s is not TOML: it is nested too deeply.") % {"file": path}) from error
    except UnicodeDecodeError as error:
        raise ConfigError(_("%(file)s is not in UTF-8.") % {"file": path}) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_("%(file)s is not TOML: %(error)s.") % {"file": path, "error": error}) from error
    if not config.exclude.file:
        return config
    return replace(config, exclude=config.exclude.with_those_of(path.parent / config.exclude.file))


def config_from(data: Mapping[str, Any]) -> CorpusConfig:
    """Check a configuration that was read from TOML.

    Raises ConfigError: names every key that is wrong, unknown or missing.
    """
    top = _ConfigTable(data, "", [])
    config = CorpusConfig(
        name=top.text("name", needed=True),
        seed=top.number("seed", 0, least=0, most=MAX_SEED, whole=True),
        workers=top.number("workers", 2, least=1, most=MAX_WORKERS, whole=True),
        memory=top.text("memory") or "1GB",
        chunk_sentences=top.number("chunk_sentences", 100_000, least=MIN_IN_A_CHUNK, most=10_000_000, whole=True),
        texts=tuple(_text(table) for table in top.tables("texts")),
        candidates=_candidates(top.table("candidates")),
        aligner=top.table("align").text("program"),
        translation_share=top.table("dictionary").number("share", CorpusConfig.translation_share, least=0, most=1),
        inventories=tuple(_inventory(table) for table in top.tables("inventories")),
        images=_images(top.table("images")),
        exclude=_exclusions(top.table("exclude")),
    )
    top.finish()
    if not MEMORY.fullmatch(config.memory):
        top.problem("memory", _("Write a number and MB or GB, such as 1GB."))
    languages = [inventory.language for inventory in config.inventories]
    if ENGLISH not in languages:
        top.problem("inventories", _('There is no sense inventory of English (language = "en").'))
    if missing := [tag for tag in config.languages if tag and tag not in languages]:
        top.problem("inventories", _("There is no sense inventory of %(tags)s.") % {"tags": ", ".join(missing)})
    if config.candidates.vectors and not config.candidates.ratings:
        top.problem("candidates.vectors", _("Word vectors only extend ratings. Give the file of the ratings too."))
    if (config.images.folder or config.images.features) and not config.images.manifest:
        top.problem("images.manifest", _("Give the manifest, which has the licence of each image."))
    if top.problems:
        raise ConfigError("\n".join(top.problems))
    return config


class _ConfigTable:
    """Reads the keys of one table, and gathers what is wrong with them and which nobody asked for."""

    def __init__(self, data: Any, place: str, problems: list[str]) -> None:
        self.place, self.problems = place, problems
        self.data: dict[str, Any] = dict(data) if isinstance(data, Mapping) else {}
        self.children: list[_ConfigTable] = []
        if not isinstance(data, Mapping):
            self.problem("", _("This must be a table."))

    def problem(self, key: str, message: str) -> None:
        name = ".".join(part for part in (self.place, key) if part)
        self.problems.append(f"{name}: {message}" if name else message)

    def text(self, key: str, *, needed: bool = False) -> str:
        value = self.data.pop(key, "")
        if not isinstance(value, str) or "\0" in value:
            self.problem(key, _("This must be a text."))
            return ""
        if needed and not value.strip():
            self.problem(key, _("This is missing."))
        return value.strip()

    def number(self, key: str, default: Any, *, least: float, most: float, whole: bool = False) -> Any:
        value = self.data.pop(key, default)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or (whole and not isinstance(value, int)) or not least <= value <= most:
            kind = _("a whole number") if whole else _("a number")
            limits = {"kind": kind, "least": least, "most": most}
            self.problem(key, _("This must be %(kind)s from %(least)s to %(most)s.") % limits)
            return default
        return value if whole else float(value)

    def language(self, key: str) -> str:
        tag = self.text(key, needed=True)
        try:
            return canonical_tag(tag) if tag else ""
        except MalformedTagError:
            self.problem(key, _("%(tag)s is not a language tag such as es or pt-BR.") % {"tag": tag})
            return ""

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        value = self.text(key)
        if value and value not in choices:
            self.problem(key, _("This must be one of %(choices)s.") % {"choices": ", ".join(choices)})
            return ""
        return value

    def table(self, key: str) -> _ConfigTable:
        return self._child(self.data.pop(key, {}), key)

    def tables(self, key: str) -> list[_ConfigTable]:
        value = self.data.pop(key, [])
        if not isinstance(value, list) or not value:
            self.problem(key, _("There must be at least one [[%(key)s]].") % {"key": key})
            return []
        return [self._child(entry, f"{key}[{number}]") for number, entry in enumerate(value, start=1)]

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.data.pop(key, [])
        if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
            self.problem(key, _("This must be a list of texts."))
            return ()
        return tuple(value)

    def pairs(self, key: str) -> tuple[tuple[str, str], ...]:
        value = self.data.pop(key, [])
        if not isinstance(value, list | tuple) or not all(_is_pair(each) for each in value):
            self.problem(key, _("This must be a list of pairs of word and synset."))
            return ()
        return tuple((word, synset) for word, synset in value)

    def finish(self) -> None:
        for key in self.data:
            self.problem(key, _("This key is unknown."))
        for child in self.children:
            child.finish()

    def _child(self, data: Any, key: str) -> _ConfigTable:
        child = _ConfigTable(data, ".".join(part for part in (self.place, key) if part), self.problems)
        self.children.append(child)
        return child


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(each, str) for each in value)


def _text(table: _ConfigTable) -> Text:
    language = table.language("language")
    if language == ENGLISH:
        table.problem("language", _("Give the other language; English is always one of the two."))
    form = table.choice("format", TEXT_FORMATS)
    file, (english, other, ids) = table.text("file"), map(table.text, MOSES)
    if english or other or ids or form == "moses":
        if file or not (english and other) or form not in ("", "moses"):
            table.problem(
                "", _("Moses' format has two files. Give them as “english” and “other”, and leave out “file”.")
            )
        return Text(language, "moses", (english, other, ids) if ids else (english, other))
    if not file:
        table.problem("file", _("This is missing."))
    return Text(language, form or _format_of(file, table), (file,))


def _format_of(file: str, table: _ConfigTable) -> str:
    name = file.lower().removesuffix(".gz")
    for ending, form in ((".tsv", "tsv"), (".txt", "tsv"), (".tmx", "tmx"), (".zip", "opus")):
        if name.endswith(ending):
            return form
    if file:
        table.problem("format", _("The name of the file does not tell its format: add one of tsv, tmx and opus."))
    return ""


def _candidates(table: _ConfigTable) -> CandidateSettings:
    defaults = CandidateSettings()
    return CandidateSettings(
        ratings=table.text("ratings", needed=True),
        vectors=table.text("vectors"),
        threshold=table.number("threshold", defaults.threshold, least=100, most=700),
        occurrences=table.number("occurrences", defaults.occurrences, least=1, most=1_000_000, whole=True),
    )


def _inventory(table: _ConfigTable) -> Inventory:
    return Inventory(
        language=table.language("language"),
        file=table.text("file", needed=True),
        format=table.choice("format", INVENTORY_FORMATS),
    )


def _images(table: _ConfigTable) -> ImageSettings:
    return ImageSettings(manifest=table.text("manifest"), folder=table.text("folder"), features=table.text("features"))


def _exclusions(table: _ConfigTable) -> Exclusions:
    return Exclusions(
        words=tuple(sorted(set(table.texts("words")))),
        senses=tuple(sorted(set(table.pairs("senses")))),
        images=tuple(sorted(set(table.texts("images")))),
        file=table.text("file"),
    )
