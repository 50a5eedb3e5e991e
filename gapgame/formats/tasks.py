"""A corpus of illustrated words, and the folder of a task made from it: docs/game-files.md."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from crosslens_metrics.formats.fields import Fields
from crosslens_metrics.formats.lines import LineReader
from crosslens_metrics.formats.problems import MOST_SHOWN, FileProblemsError, LineError
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag
from gapgame.formats.multisubs import is_layout, records_of
from gapgame.rules.items import BLANK, EXAMPLE, key_of, split_of
from gapgame.rules.multisubs import as_item, looks_like_it
from gapgame.rules.play import normalised
from gapgame.rules.task import HELD_OUT, PARTS, TRAIN, Drawn, GapTaskError, Instance, draw_parts, verify_parts
from gapgame.rules.words import occurrences
from languages.rules.registry import LANGUAGES

VERSION = 1
GAP = "____"
MANIFEST = "manifest.json"
_UNSPACED = {language.tag for language in LANGUAGES if not language.spaced}


class CorpusLine(NamedTuple):
    item: str
    language: str
    before: str
    after: str
    word: str
    split: str
    sense: tuple[str, ...]
    images: tuple[str, ...]


@dataclass(frozen=True)
class Built:
    folder: Path
    manifest: Mapping[str, Any]


def corpus_lines(path: Path, reader: LineReader) -> Iterator[CorpusLine]:
    """Read the illustrated words of a file of items, of MultiSubs' sents.json, or of a folder in its layout."""
    for record in reader.whole(records_of(path)) if is_layout(path) else reader.records():
        with reader.line(record):
            line = _corpus_line(record.value)
            yield line


def _corpus_line(value: Any) -> CorpusLine:
    if looks_like_it(value):
        value = as_item(value)
    fields = Fields(value, example=EXAMPLE)
    language, word, sentence = (
        unicodedata.normalize("NFC", fields.text(name, needed=True)) for name in ("language", "word", "sentence")
    )
    try:
        language = canonical_tag(language)
    except MalformedTagError as error:
        raise LineError(str(error)) from error
    before, after = _parts(sentence, word, value.get("start"), is_spaced=language.split("-")[0] not in _UNSPACED)
    return CorpusLine(
        item=value.get("key") or key_of(language, before, after, word),
        language=language,
        before=before,
        after=after,
        word=word,
        split=f"intersect_{split_of(value.get('split'))}",
        sense=tuple(sorted(set(_texts(value, "sense")))),
        images=tuple(dict.fromkeys(_texts(value, "images"))),
    )


def _texts(value: Mapping[str, Any], name: str) -> list[str]:
    given = value.get(name)
    texts = [one.get("file") if isinstance(one, dict) else one for one in given] if isinstance(given, list) else []
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise LineError(_("%(column)s is not a list of names.") % {"column": name})
    return [str(text) for text in texts]


def _parts(sentence: str, word: str, start: Any, *, is_spaced: bool) -> tuple[str, str]:
    spans = [match.span() for match in BLANK.finditer(sentence)]
    if not spans:
        spans = occurrences(sentence, word, spaced=is_spaced)
        if isinstance(start, int) and not isinstance(start, bool):
            spans = [span for span in spans if span[0] == start]
    if len(spans) != 1:
        raise LineError(
            _(
                "There are %(count)s possible gaps. Put one blank (___) where the word was, or give its "
                "position as “start”."
            )
            % {"count": len(spans)}
        )
    return sentence[: spans[0][0]], sentence[spans[0][1] :]


def build_task(corpus: Path, folder: Path, *, sizes: Mapping[str, int], reserve_percent: int, seed: int) -> Built:
    """Draw the parts and write them, all or none; the same corpus, sizes and seed give the same bytes.

    Raises
    ------
    FileProblemsError
        Where lines of the corpus are not as they must be.
    TooFewInstancesError
        Where validation or test cannot get its size.
    GapTaskError
        Where what was written is not disjoint.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileProblemsError(
            [LineError(_("The folder already exists and is not empty. Choose another one."))], folder
        )
    instances = _instances(corpus)
    drawn = draw_parts(instances, sizes=sizes, reserve_percent=reserve_percent, seed=seed)
    folder.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _write_parts(corpus, making, drawn, instances)
        verified = _verify(making, drawn)
        manifest = {
            "task": "gap-task",
            "version": VERSION,
            "seed": seed,
            "reserve_percent": reserve_percent,
            "corpus": {"sha256": _sha256_of(corpus), "instances": len(instances), "eligible": drawn.eligible},
            "counts": {part: len(drawn.places[part]) for part in PARTS},
            "reserved_images": {part: list(drawn.reserved.values()).count(part) for part in HELD_OUT},
            "dropped_from_training": {
                "sentence_held_out": drawn.dropped_for_sentence,
                "images_reserved": drawn.dropped_for_images,
            },
            "verified": verified,
            "sha256": {path.name: _sha256_of(path) for path in sorted(making.iterdir())},
        }
        (making / MANIFEST).write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        making.chmod(0o755)
        if folder.exists():
            folder.rmdir()
        making.rename(folder)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    return Built(folder, manifest)


def _instances(corpus: Path) -> list[Instance]:
    """The columns of the corpus that drawing needs; recurring texts are kept once."""
    instances: list[Instance] = []
    sentences: dict[bytes, int] = {}
    kept: dict[Any, Any] = {}
    with LineReader(corpus) as reader:
        for line in corpus_lines(corpus, reader):
            whole = hashlib.sha256(_whole(line).encode()).digest()[:16]
            noun = f"{line.language} {normalised(line.word)}"
            instances.append(
                Instance(
                    kept.setdefault(noun, noun),
                    kept.setdefault(line.sense, line.sense),
                    sentences.setdefault(whole, len(sentences)),
                    kept.setdefault(line.split, line.split),
                    kept.setdefault(line.images, line.images),
                )
            )
            if len(reader.problems) > MOST_SHOWN:
                break
    return instances


def _whole(line: CorpusLine) -> str:
    return f"{line.language} {normalised(line.before + line.word + line.after)}"


def _write_parts(corpus: Path, folder: Path, drawn: Drawn, instances: Sequence[Instance]) -> None:
    part_of = {place: part for part, places in drawn.places.items() for place in places}
    numbers = dict.fromkeys(PARTS, 0)
    files = {part: (folder / f"{part}.jsonl").open("wb") for part in PARTS}
    gold = {part: (folder / f"{part}.gold.jsonl").open("wb") for part in HELD_OUT}
    try:
        for place, line in enumerate(corpus_lines(corpus, LineReader(corpus))):
            if (part := part_of.get(place)) is None:
                continue
            numbers[part] += 1
            question = {
                "id": f"{part}-{numbers[part]:06}",
                "language": line.language,
                "sentence": line.before + GAP + line.after,
                "images": list(drawn.images(instances[place], part)),
            }
            answer = {
                "id": question["id"],
                "item": line.item,
                "word": line.word,
                "sense": list(line.sense),
                "split": line.split,
                "place": place,
            }
            if part == TRAIN:
                files[part].write(_json_line({**question, **answer}))
            else:
                files[part].write(_json_line(question))
                gold[part].write(_json_line(answer))
    finally:
        for file in (*files.values(), *gold.values()):
            file.close()


def _json_line(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, sort_keys=True) + "\n").encode()


def _verify(folder: Path, drawn: Drawn) -> dict[str, int]:
    """Read back what was written and check it: the parts have their sizes and share no instance, sentence or image."""
    counts = dict.fromkeys(PARTS, 0)

    def members(part: str) -> Iterator[tuple[str, int, tuple[str, ...]]]:
        answers = objects_of(folder / f"{part}.jsonl" if part == TRAIN else folder / f"{part}.gold.jsonl")
        for question, answer in zip(objects_of(folder / f"{part}.jsonl"), answers, strict=True):
            counts[part] += 1
            if question["id"] != answer["id"]:
                raise GapTaskError(f"The question {question['id']} has the answer of {answer['id']}.")
            whole = normalised(question["sentence"].replace(GAP, answer["word"], 1))
            yield f"{question['language']} {whole}", answer["place"], tuple(question["images"])

    verified = verify_parts({part: members(part) for part in PARTS})
    if counts != {part: len(drawn.places[part]) for part in PARTS}:
        raise GapTaskError(f"The parts have {counts} instances.")
    return verified


def objects_of(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file that this module wrote.

    Raises
    ------
    FileProblemsError
        Where it is not one.
    """
    with LineReader(file) as reader:
        for record in reader.records():
            with reader.line(record):
                Fields(record.value, example='{"id": …}').text("id", needed=True)
                if not reader.problems:
                    yield record.value


def _sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        with file.open("rb") as opened:
            while chunk := opened.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()
