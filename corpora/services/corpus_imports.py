"""Put the files and settings of a configuration into a corpus on the platform."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from django.utils.translation import gettext as _

from corpora.models import CorpusBuild, CorpusExclusion, ExclusionKind, FileRole, Side
from corpora.services.corpus_builds import CorpusRefusedError, configure, create_build, slug_of
from corpora.services.corpus_files import About, add_file, remove_file
from parallel_text.config import MOSES, Config
from people.models import Project, User


def put_config(
    *, config: Config, base: Path, project: Project, name: str = "", by: User | None, now: datetime
) -> CorpusBuild:
    """Make a corpus as a configuration says, or bring the one of this name up to date with it.

    Parameters
    ----------
    config : Config
    base : Path
        The folder that its files are relative to.
    project : Project
    name : str
        In place of that in the configuration.
    by : User, optional
    now : datetime

    Raises
    ------
    CorpusRefusedError
        Names the first file that cannot be used. Those before it were added.
    """
    if any(len(text.files) == len(MOSES) for text in config.texts):
        message = _(
            "On the platform, ids of sentences come in one ZIP, as OPUS packs them: NAME.en-es.en, NAME.en-es.es and "
            "NAME.en-es.ids. Name the ZIP as file, in place of english, other and ids."
        )
        raise CorpusRefusedError(message)
    name = name or config.name
    build = CorpusBuild.objects.filter(project=project, slug=slug_of(name)).first()
    if build is None:
        build = create_build(project=project, name=name, by=by, now=now)
    stored = config.as_json()
    settings = {key: stored[key] for key in ("seed", "memory", "chunk_sentences", "align", "dictionary")}
    thresholds = {key: stored["candidates"][key] for key in ("threshold", "occurrences")}
    configure(build=build, configuration=settings | {"candidates": thresholds}, by=by, now=now)
    files = dict(_files(config))
    for file in build.files.exclude(name__in=files):
        remove_file(file=file, by=by, now=now)
    for file_name, about in files.items():
        _add(build, base / file_name, file_name, about, by=by, now=now)
    _exclude(build, config, by=by, now=now)
    return build


def _files(config: Config) -> Iterator[tuple[str, About]]:
    for text in config.texts:
        sides = [Side.ENGLISH, Side.OTHER] if text.format == "moses" else [""]
        for file, side in zip(text.files, sides, strict=True):
            yield file, About(FileRole.TEXT, text.language, side, text.format)
    for inventory in config.inventories:
        yield inventory.file, About(FileRole.INVENTORY, inventory.language, "", inventory.format)
    one_each = {
        FileRole.RATINGS: config.candidates.ratings,
        FileRole.VECTORS: config.candidates.vectors,
        FileRole.MANIFEST: config.images.manifest,
        FileRole.IMAGES: config.images.folder,
        FileRole.FEATURES: config.images.features,
    }
    for role, file in one_each.items():
        if file:
            yield file, About(role)


def _add(build: CorpusBuild, path: Path, name: str, about: About, *, by: User | None, now: datetime) -> None:
    if not path.exists():
        raise CorpusRefusedError(_("There is no file %(file)s.") % {"file": path})
    if not path.is_dir():
        add_file(build=build, path=path, name=name, about=about, by=by, now=now)
    elif about.role == FileRole.IMAGES:
        with tempfile.TemporaryDirectory() as place:
            packed = Path(place) / "images.zip"
            _pack(path, packed)
            add_file(build=build, path=packed, name=name, about=about, by=by, now=now)
    else:
        raise CorpusRefusedError(_("%(file)s is a folder. On the platform, name a file.") % {"file": path})


def _pack(folder: Path, packed: Path) -> None:
    """Pack a folder of images, always into the same bytes."""
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(folder).as_posix())
                archive.writestr(entry, path.read_bytes())


def _exclude(build: CorpusBuild, config: Config, *, by: User | None, now: datetime) -> None:
    """Add what the configuration excludes to what was struck out on the platform."""
    abouts = [{"kind": ExclusionKind.WORD, "word": word} for word in config.exclude.words]
    abouts += [{"kind": ExclusionKind.SENSE, "word": word, "synset": synset} for word, synset in config.exclude.senses]
    abouts += [{"kind": ExclusionKind.IMAGE, "image": image} for image in config.exclude.images]
    for about in abouts:
        CorpusExclusion.objects.get_or_create(
            build=build, **{"word": "", "synset": "", "image": ""} | about, defaults={"at": now, "by": by}
        )
