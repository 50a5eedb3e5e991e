"""The configuration of a corpus that is built on the platform, from its settings and files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from corpora.models import CorpusBuild, CorpusFile, ExclusionKind, FileRole, Side
from parallel_text.building import fingerprint_of, step_named
from parallel_text.config import Config, ConfigError, config_from
from parallel_text.step_names import STEP_NAMES

IMAGE_KEYS = {FileRole.MANIFEST: "manifest", FileRole.IMAGES: "folder", FileRole.FEATURES: "features"}
CANDIDATE_KEYS = {FileRole.RATINGS: "ratings", FileRole.VECTORS: "vectors"}


def config_of(build: CorpusBuild) -> Config:
    """Return the configuration of a corpus as it is now, with what was struck out.

    Raises
    ------
    ConfigError
        Says which files are missing.
    """
    files = list(build.files.order_by("name"))
    if missing := missing_files(files):
        raise ConfigError("\n".join(missing))
    stored: dict[str, Any] = build.configuration
    data = {key: stored[key] for key in ("seed", "memory", "chunk_sentences") if key in stored}
    one_each = {FileRole(file.role): file.name for file in files}
    return config_from(
        data
        | {
            "name": build.name,
            "workers": 1,
            "texts": _texts(files),
            "candidates": {
                **stored.get("candidates", {}),
                **{key: one_each[role] for role, key in CANDIDATE_KEYS.items() if role in one_each},
            },
            "align": stored.get("align", {}),
            "dictionary": stored.get("dictionary", {}),
            "inventories": [
                {"language": file.language, "file": file.name, "format": file.format}
                for file in files
                if file.role == FileRole.INVENTORY
            ],
            "images": {key: one_each[role] for role, key in IMAGE_KEYS.items() if role in one_each},
            "exclude": exclusions_of(build),
        }
    )


def missing_files(files: list[CorpusFile]) -> list[str]:
    """Say which files a corpus lacks, one message each; none where it can be built."""
    texts = {file.language for file in files if file.role == FileRole.TEXT}
    inventories = {file.language for file in files if file.role == FileRole.INVENTORY}
    roles = {file.role for file in files}
    problems = []
    if not texts:
        problems.append(_("Add parallel text of English and at least one other language."))
    if FileRole.RATINGS not in roles:
        problems.append(_("Add ratings of imageability."))
    problems += [
        _("Add a sense inventory of “%(tag)s”.") % {"tag": tag}
        for tag in ["en", *sorted(texts)]
        if tag not in inventories
    ]
    if roles & {FileRole.IMAGES, FileRole.FEATURES} and FileRole.MANIFEST not in roles:
        problems.append(_("Add the manifest of the images, which has the licence of each."))
    for file in files:
        if file.side and not _partner(file, files):
            problems.append(
                _("“%(file)s” is one side of parallel text. Add the other side: the same name with another ending.")
                % {"file": file.name}
            )
    return problems


def exclusions_of(build: CorpusBuild) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {"words": [], "senses": [], "images": []}
    for one in build.exclusions.all():
        if one.kind == ExclusionKind.WORD:
            found["words"].append(one.word)
        elif one.kind == ExclusionKind.SENSE:
            found["senses"].append([one.word, one.synset])
        else:
            found["images"].append(one.image)
    return found


def fingerprints_of(build: CorpusBuild, config: Config, *, last: str = STEP_NAMES[-1]) -> dict[str, str]:
    """Return what the result of each step would be identified by, up to `last`. No file is read: hashes are stored."""
    hashes: Mapping[str, str] = dict(build.files.values_list("name", "sha256"))
    prints: dict[str, str] = {}
    for name in STEP_NAMES[: STEP_NAMES.index(last) + 1]:
        prints[name] = fingerprint_of(step_named(name), config, files=hashes, needs=prints)
    return prints


def _texts(files: list[CorpusFile]) -> list[dict[str, str]]:
    texts = [file for file in files if file.role == FileRole.TEXT]
    found = []
    for file in texts:
        if file.side == Side.ENGLISH and (other := _partner(file, texts)):
            found.append({"language": file.language, "english": file.name, "other": other.name})
        elif not file.side:
            found.append({"language": file.language, "format": file.format, "file": file.name})
    return found


def _partner(file: CorpusFile, files: list[CorpusFile]) -> CorpusFile | None:
    """Find the other side of a Moses file: of the same name but its ending, or the only one of the language."""
    sides: dict[str, list[CorpusFile]] = defaultdict(list)
    for one in files:
        if one.role == FileRole.TEXT and one.side and one.language == file.language:
            sides[one.side].append(one)
    others = sides[Side.OTHER if file.side == Side.ENGLISH else Side.ENGLISH]
    if len(others) == len(sides[file.side]) == 1:
        return others[0]
    return next((one for one in others if stem_of(one.name) == stem_of(file.name)), None)


def stem_of(name: str) -> str:
    """Return a name without its ending, and without .gz."""
    return name.removesuffix(".gz").rpartition(".")[0]
