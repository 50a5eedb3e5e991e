"""A corpus of illustrated words, and building the folder of a task from it or from another: docs/game-files.md."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from crosslens_metrics.formats.lines import LineFields, LineReader
from crosslens_metrics.formats.problems import MAX_SHOWN, LineError
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag, spaces_separate_words
from crosslens_metrics.text import occurrences
from gapgame.formats.sources import ITEMS, is_corpus, is_layout, multisubs_records
from gapgame.formats.task_folders import (
    README,
    Object,
    manifest_of,
    new_folder,
    sha256_of,
    verified_folder,
    write_manifest,
    write_parts,
)
from gapgame.formats.task_images import FEATURES, IMAGES, LISTED, Credits, add_images, credits_beside, credits_in
from gapgame.rules.item_sources import as_item, looks_like_it
from gapgame.rules.items import BLANK, EXAMPLE, key_of, split_of
from gapgame.rules.play import normalised_word
from gapgame.rules.task import PARTS, SplitChoice, WordInstance, draw_parts

DRAWN_FIELDS = {
    "image": "the image of the instance, drawn at random by the seed",
    "images": "all images that the part may use for it; no other part has any of them",
}
VERSION = 2
GAP = "____"
FIELDS = {"id": "name of the instance", "language": "tag", "sentence": f"the sentence with the gap `{GAP}`"}
ANSWERS = {
    "language": "tag of its language, whose lower case counts",
    "word": "the word that belongs in the gap",
    "sense": "its synsets",
    "split": "in how many languages the sense was confirmed",
    "item": "key of the sentence in the corpus, as in exports of turns",
    "place": "line of the corpus, from 0",
}


def write_readme(
    folder: Path,
    *,
    title: str,
    what: str,
    fields: Mapping[str, str],
    answers: Mapping[str, str],
    prediction: str,
    command: str,
    counts: Mapping[str, int],
    licences: Mapping[str, int],
) -> None:
    """Write format, counts, licences and the evaluation command in English, with the same bytes for the same task."""
    lines = [f"# {title}", "", what, "", "## Files", "", "| file | instances | |", "| --- | ---: | --- |"]
    for part in PARTS:
        content = "questions and answers" if part == PARTS[0] else f"questions; the answers are in `{part}.gold.jsonl`"
        lines.append(f"| `{part}.jsonl` | {counts[part]} | {content} |")
    lines.append(f"| `{LISTED}` | | the images, with author, licence and source where known |")
    if (folder / IMAGES).is_dir():
        lines.append(f"| `{IMAGES}/` | | the images themselves; `file` in `{LISTED}` names each |")
    if (folder / FEATURES).is_file():
        lines.append(f"| `{FEATURES}` | | NumPy archive: `keys`, the ids of images, and `vectors`, a row for each |")
    lines += ["| `manifest.json` | | counts, seed and SHA-256 of each file |", ""]
    lines += ["Each line is a JSON object in UTF-8:", "", "| field | |", "| --- | --- |"]
    lines += [f"| `{name}` | {says} |" for name, says in {**fields, **DRAWN_FIELDS}.items()]
    lines += ["", "Answers, in the same line for training and in the gold files for the rest:", ""]
    lines += ["| field | |", "| --- | --- |", *(f"| `{name}` | {says} |" for name, says in answers.items())]
    lines += ["", "No sentence and no image is in two parts.", "", "## Licences of the images", ""]
    lines += [
        f"- {licence or 'not stated'}: {number} {'image' if number == 1 else 'images'}"
        for licence, number in sorted(licences.items())
    ]
    lines += ["", "## Evaluation", "", "Write one prediction per line:", "", "```", prediction, "```", ""]
    lines += ["Then, with Crosslens, from this folder:", "", "```", f"python manage.py {command}", "```", ""]
    (folder / README).write_text("\n".join(lines), encoding="utf-8")


@dataclass(frozen=True)
class TaskDrawing:
    """How the parts of a task are drawn, and what goes into its folder besides them."""

    sizes: Mapping[str, int]
    reserve_percent: int
    seed: int
    splits: SplitChoice
    images: Path | None
    """A folder whose images are copied."""
    features: Path | None


def write_task(
    folder: Path,
    drawing: TaskDrawing,
    *,
    instances: Callable[[], Sequence[WordInstance]],
    questions: Iterable[tuple[Object, Object, tuple[str, ...]]],
    whole: Callable[[Object, Object], str],
    credits: Credits,
    facts: Callable[[], Object],
    readme: Mapping[str, Any],
) -> Object:
    """Draw the parts and write them, all or none, and return the manifest.

    The same instances, questions and drawing give the same bytes.

    - `instances`: called first; it says what is drawn from.
    - `questions`: of the same instances, in the same order. Reading them may add to `credits`.
    - `whole`: the whole sentence of a question and its answer: no two parts share one.
    - `facts`: called once the instances are read; what the manifest says besides, with something about `corpus`.
    - `readme`: arguments of `write_readme`.

    Raises FileProblemsError where lines of the corpus are not as they must be, or images or features are missing.
    Raises TooFewInstancesError where validation or test cannot get its size. Raises GapTaskError where what was written
    is not disjoint.
    """
    with new_folder(folder) as making:
        known, about = instances(), facts()
        drawn = draw_parts(
            known,
            sizes=drawing.sizes,
            reserve_percent=drawing.reserve_percent,
            seed=drawing.seed,
            splits=drawing.splits,
        )
        used = write_parts(making, drawn, questions, seed=drawing.seed)
        verified = verified_folder(making, drawn, whole)
        licences = add_images(making, used, credits, copied_from=drawing.images, features=drawing.features)
        write_readme(making, counts=drawn.counts, licences=licences, **readme)
        about["corpus"] |= {"instances": len(known), "eligible": drawn.eligible}
        manifest = manifest_of(
            making,
            drawn,
            **about,
            **drawing.splits._asdict(),
            seed=drawing.seed,
            reserve_percent=drawing.reserve_percent,
            verified=verified,
        )
        write_manifest(making, manifest)
    return manifest


class CorpusLine(NamedTuple):
    item: str
    language: str
    before: str
    after: str
    word: str
    split: str
    sense: tuple[str, ...]
    images: tuple[str, ...]
    credits: Credits


def corpus_lines(path: Path, reader: LineReader) -> Iterator[CorpusLine]:
    """Read the illustrated words of a file of items, of MultiSubs' sents.json, or of a folder in its layout."""
    for record in reader.whole(multisubs_records(path)) if is_layout(path) else reader.records():
        with reader.line(record):
            line = _corpus_line(record.value)
            yield line


def _corpus_line(value: Any) -> CorpusLine:
    if looks_like_it(value):
        value = as_item(value)
    fields = LineFields(value, example=EXAMPLE)
    language, word, sentence = (
        unicodedata.normalize("NFC", fields.text(name, needed=True)) for name in ("language", "word", "sentence")
    )
    try:
        language = canonical_tag(language)
    except MalformedTagError as error:
        raise LineError(str(error)) from error
    before, after = _parts(sentence, word, value.get("start"), is_spaced=spaces_separate_words(language))
    return CorpusLine(
        item=value.get("key") or key_of(language, before, after, word),
        language=language,
        before=before,
        after=after,
        word=word,
        split=f"intersect_{split_of(value.get('split'))}",
        sense=tuple(sorted(set(_texts(value, "sense")))),
        images=tuple(dict.fromkeys(_texts(value, "images"))),
        credits=credits_in(value["images"]),
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


def build_task(corpus: Path, folder: Path, drawing: TaskDrawing) -> Object:
    """Draw the parts of a corpus and write them, and return the manifest; raises as `write_task`."""
    items, credits = items_of(corpus), credits_beside(corpus)
    return write_task(
        folder,
        drawing,
        instances=partial(_instances, items),
        questions=_questions(items, credits),
        whole=_whole_of,
        credits=credits,
        facts=lambda: {"task": "gap-task", "version": VERSION, "corpus": {"sha256": sha256_of(items)}},
        readme={
            "title": "Fill-in-the-blank",
            "what": f"Predict the word that belongs in the gap `{GAP}`, from the sentence, the image, or both.",
            "fields": FIELDS,
            "answers": ANSWERS,
            "prediction": '{"id": "test-000001", "word": "cat"}',
            "command": "score_gap_task . predictions.jsonl --part test [--vectors FOLDER]",
        },
    )


def items_of(corpus: Path) -> Path:
    """Return the file of items in a folder that `build_corpus` made; else `corpus` itself."""
    return corpus / ITEMS if is_corpus(corpus) else corpus


def _instances(corpus: Path) -> list[WordInstance]:
    """The columns of the corpus that drawing needs; recurring texts are kept once."""
    instances: list[WordInstance] = []
    sentences: dict[bytes, int] = {}
    kept: dict[Any, Any] = {}
    with LineReader(corpus) as reader:
        for line in corpus_lines(corpus, reader):
            whole = hashlib.sha256(_whole(line).encode()).digest()[:16]
            noun = f"{line.language} {normalised_word(line.word, language=line.language)}"
            instances.append(
                WordInstance(
                    kept.setdefault(noun, noun),
                    kept.setdefault(line.sense, line.sense),
                    sentences.setdefault(whole, len(sentences)),
                    kept.setdefault(line.split, line.split),
                    kept.setdefault(line.images, line.images),
                )
            )
            if len(reader.problems) > MAX_SHOWN:
                break
    return instances


def _whole(line: CorpusLine) -> str:
    return f"{line.language} {normalised_word(line.before + line.word + line.after, language=line.language)}"


def _questions(corpus: Path, credits: Credits) -> Iterator[tuple[Object, Object, tuple[str, ...]]]:
    """Yield question, answer and images of each instance; credits that lines state are added to `credits`."""
    for line in corpus_lines(corpus, LineReader(corpus)):
        credits.update(line.credits)
        question = {"language": line.language, "sentence": line.before + GAP + line.after}
        answer = {
            "item": line.item,
            "language": line.language,
            "word": line.word,
            "sense": list(line.sense),
            "split": line.split,
        }
        yield question, answer, line.images


def _whole_of(question: Object, answer: Object) -> str:
    language = question["language"]
    return f"{language} {normalised_word(question['sentence'].replace(GAP, answer['word'], 1), language=language)}"
