"""The folder of a machine task: written as a whole or not at all, and read back for its checks."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from crosslens_metrics.formats.lines import LineFields, LineReader
from crosslens_metrics.formats.problems import FileProblemsError, LineError
from crosslens_metrics.reports.figures import random_stream
from gapgame.rules.task import (
    HELD_OUT,
    PARTS,
    TRAIN,
    DrawnParts,
    GapTaskError,
    TooFewInstancesError,
    one_of,
    verify_parts,
)

MANIFEST = "manifest.json"
README = "README.md"

Object = dict[str, Any]


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder to write in, which takes the name `folder` at the end; nothing is left after an error.

    Raises FileProblemsError where `folder` exists and is not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise refused(folder, _("The folder already exists and is not empty. Choose another one."))
    folder.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield making
        making.chmod(0o755)
        if folder.exists():
            folder.rmdir()
        making.rename(folder)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise


def write_parts(
    folder: Path, drawn: DrawnParts, instances: Iterable[tuple[Object, Object, tuple[str, ...]]], *, seed: int
) -> set[str]:
    """Write questions and answers of each part, and return the images that were drawn, one for each instance.

    - `instances`: one for each instance, in the order in which `drawn` numbers them.
    """
    part_of = {place: part for part, places in drawn.places.items() for place in places}
    numbers = dict.fromkeys(PARTS, 0)
    files = {part: (folder / f"{part}.jsonl").open("wb") for part in PARTS}
    gold = {part: (folder / f"{part}.gold.jsonl").open("wb") for part in HELD_OUT}
    rng, used = random_stream(seed, "image of an instance"), set()
    try:
        for place, (question, answer, all_images) in enumerate(instances):
            if (part := part_of.get(place)) is None:
                continue
            numbers[part] += 1
            images = drawn.images_in(part, all_images)
            name = {"id": f"{part}-{numbers[part]:06}"}
            asked = {**name, **question, "image": one_of(images, rng), "images": list(images)}
            gold_line = {**name, **answer, "place": place}
            used.add(asked["image"])
            if part == TRAIN:
                files[part].write(json_line({**asked, **gold_line}))
            else:
                files[part].write(json_line(asked))
                gold[part].write(json_line(gold_line))
    finally:
        for file in (*files.values(), *gold.values()):
            file.close()
    return used


def verified_folder(folder: Path, drawn: DrawnParts, whole: Callable[[Object, Object], str]) -> dict[str, int]:
    """Read back what was written and check it: the parts have their sizes and share no instance, sentence or image.

    Raises GapTaskError where they do not.
    """
    counts = dict.fromkeys(PARTS, 0)

    def members(part: str) -> Iterator[tuple[str, int, tuple[str, ...]]]:
        answers = objects_of(folder / f"{part}.jsonl" if part == TRAIN else folder / f"{part}.gold.jsonl")
        for question, answer in zip(objects_of(folder / f"{part}.jsonl"), answers, strict=True):
            counts[part] += 1
            if question["id"] != answer["id"]:
                raise GapTaskError(f"The question {question['id']} has the answer of {answer['id']}.")
            if question["image"] not in question["images"]:
                raise GapTaskError(f"The image of {question['id']} is none of its images.")
            yield whole(question, answer), answer["place"], tuple(question["images"])

    found = verify_parts({part: members(part) for part in PARTS})
    if counts != drawn.counts:
        raise GapTaskError(f"The parts have {counts} instances.")
    return found


def manifest_of(folder: Path, drawn: DrawnParts, **more: Any) -> Object:
    """What the manifests of all tasks say, with `more` of this one, and the SHA-256 of every file in `folder`."""
    return {
        "counts": drawn.counts,
        "reserved_images": {part: list(drawn.reserved.values()).count(part) for part in HELD_OUT},
        "dropped_from_training": {
            "below_split": drawn.dropped_for_split,
            "sentence_held_out": drawn.dropped_for_sentence,
            "images_reserved": drawn.dropped_for_images,
        },
        "sha256": {
            path.relative_to(folder).as_posix(): sha256_of(path) for path in sorted(folder.rglob("*")) if path.is_file()
        },
        **more,
    }


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def json_line(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, sort_keys=True) + "\n").encode()


def objects_of(file: Path) -> Iterator[Object]:
    """Yield the objects of a file of a task.

    Raises FileProblemsError where it is not one.
    """
    with LineReader(file) as reader:
        for record in reader.records():
            with reader.line(record):
                LineFields(record.value, example='{"id": …}').text("id", needed=True)
                if not reader.problems:
                    yield record.value


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, or of all files of a folder after each other."""
    digest = hashlib.sha256()
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        if file.is_dir():
            continue
        with file.open("rb") as opened:
            while chunk := opened.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


def refused(file: Path, message: str) -> FileProblemsError:
    """A file or folder that cannot be used as a whole."""
    return FileProblemsError([LineError(message)], file)


def refusal(error: FileProblemsError | TooFewInstancesError) -> str:
    """Say why a task cannot be built, and what to do."""
    if isinstance(error, FileProblemsError):
        return str(error)
    return _(
        "%(part)s should have %(wanted)s instances, but only %(found)s could be drawn. "
        "%(of_split)s of the corpus are in %(split)s, and %(eligible)s of these have images for "
        "both parts (a sense needs at least three). A sentence can be in only one part. Ask for "
        "fewer."
    ) % {**vars(error), "found": error.drawn}
