"""The images of a folder or archive, and the manifest among its files that names them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from crosslens_metrics.formats.manifests import METADATA, chosen_manifest, files_beside, images_named, is_manifest
from crosslens_metrics.formats.names import closest
from crosslens_metrics.formats.parts import TAR_SUFFIXES, FilesBeside, container_of
from crosslens_metrics.formats.problems import FileRefusedError
from crosslens_metrics.formats.recognised_files import UNKNOWN_KIND, RecognisedFile, note_refusal, unreadable
from crosslens_metrics.formats.table_parts import FileKind
from crosslens_metrics.messages import gettext as _


def put_beside(path: Path, beside: FilesBeside, found: list[RecognisedFile], said: Mapping[str, str] | None) -> None:
    """Put the images of a folder or archive first, and name what is left out of it.

    A manifest among them is about them, so that it is no file of its own, unless it has captions too.
    """
    if beside.image_names:
        within = {file.name_inside: file for file in found}
        images = RecognisedFile(str(path), FileKind.IMAGES, container_of(path))
        images.images = dict.fromkeys((name,) for name in beside.image_names)
        found[:] = [images, *(file for file in found if file.kind != FileKind.IMAGES)]
        _put_manifest(within, found, beside, said)
    elif beside.left_out and not found:
        found.append(RecognisedFile(str(path)))
    for reason, names in beside.left_out.items():
        found[0].add_problem(reason, names[0], len(names))


def _put_manifest(
    within: Mapping[str, RecognisedFile],
    found: list[RecognisedFile],
    beside: FilesBeside,
    said: Mapping[str, str] | None,
) -> None:
    """Name the images, first of those found, by the manifest among the files `within`; leave out tables that are none.

    What is called a manifest and cannot be read as one keeps the images out, in the import too.
    """
    among = {*beside.image_names, *within, *(name for names in beside.left_out.values() for name in names)}
    try:
        chosen = chosen_manifest(within, among=among, is_one=lambda name: _is_about_images(within[name], said))
    except FileRefusedError as refused:
        note_refusal(found[0], refused)
        return
    # Beside a manifest, JSON about an image is not read.
    known = {chosen} if chosen is not None else set(files_beside(among).values())
    for name, file in within.items():
        is_shard = file.inside.lower().endswith(TAR_SUFFIXES)
        is_reported = name not in known and name.rpartition("/")[2].lower() not in METADATA and not is_shard
        if file.kind == FileKind.IMAGES and is_reported:
            beside.put(name)
    if chosen is not None:
        manifest = within[chosen]
        found[:] = [file for file in found if file is not manifest or file.kind != UNKNOWN_KIND]
        try:
            _name_by(manifest, found[0], beside, said)
        except FileRefusedError as refused:
            note_refusal(found[0], FileRefusedError(f"{chosen}: {refused}"))


def _is_about_images(file: RecognisedFile, said: Mapping[str, str] | None) -> bool:
    """Whether a file is a manifest, also where its columns were named as those of captions."""
    if file.kind != FileKind.IMAGES and file.part is not None:
        with suppress(FileRefusedError, OSError), file.part.opened() as opened:
            return is_manifest(opened) or is_manifest(opened, said)
    return file.kind == FileKind.IMAGES


def _name_by(
    manifest: RecognisedFile, images: RecognisedFile, beside: FilesBeside, said: Mapping[str, str] | None
) -> None:
    """Name images by the keys of a manifest and by their files, and say which are only in one of the two.

    Raises FileRefusedError.
    """
    assert manifest.part is not None
    folder = manifest.part.folder
    try:
        with manifest.part.opened() as opened:
            listed = images_named(opened, said)
    except OSError as error:
        raise unreadable(error) from error
    there, images.part = {*beside.image_names}, manifest.part
    left = {*there}
    images.images = {}
    keys: dict[str, str] = {}
    files: dict[str, str] = {}
    for names in listed:
        name = f"{folder}/{names[-1]}" if folder else names[-1]
        if name in left:
            left.remove(name)
            images.images[names] = None
            key = names[0]
            keys[key] = key
            files |= {} if closest(name, [(key, key)]) else {name: key}
        elif name in there:
            images.add_problem(_("The manifest names this file more than once."), names[-1])
        else:
            images.add_problem(_("There is no such file next to the manifest."), names[-1])
    # What is the key of one image is not another's, whose file is called so.
    beside.image_names = files | keys
    reason = _("The manifest does not name this file. Add a line for it, or import without the manifest.")
    for name in sorted(left):
        images.add_problem(reason, name)
