"""The README of a task's folder: all that another team needs to train, predict and evaluate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gapgame.formats.task_folders import README
from gapgame.formats.task_images import FEATURES, IMAGES, LISTED
from gapgame.rules.task import PARTS

FIELDS = {
    "image": "the image of the instance, drawn at random by the seed",
    "images": "all images that the part may use for it; no other part has any of them",
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
    lines += [f"| `{name}` | {says} |" for name, says in {**fields, **FIELDS}.items()]
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
