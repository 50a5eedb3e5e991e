"""The documents of a release that say how to use, cite and read it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from annotation.formats.release_images import WITH_IMAGES
from annotation.formats.release_tables import MEANINGS, ReleaseColumn
from annotation.rules.releases import LICENCES

CFF_VERSION = "1.2.0"

NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters that JSON allows, and YAML refuses or reads as the end of a line."""

DESCRIBED_FILES = {
    "captions.xm3600.jsonl": "`captions.xm3600.jsonl` | an image a line, in the layout of Crossmodal-3600",
    "captions.jsonl": "`captions.jsonl`, `captions.parquet` | a caption a row",
    "verdicts.jsonl": "`verdicts.jsonl`, `verdicts.parquet` | a rating of a caption by somebody else than its author",
    "english_ratings.jsonl": "`english_ratings.jsonl`, `english_ratings.parquet` | a rating of the English "
    "caption that was shown before writing",
    "images.csv": "`images.csv`, `images.jsonl`, `images.parquet` | an image a row, with its author and licence",
    WITH_IMAGES: "`with_images.parquet` | images as people saw them, with captions, author and licence",
    "croissant.json": "`croissant.json` | the files and columns in Croissant 1.1, for programs",
    "quality.csv": "`quality.csv` | verified captions by language: percentages with 95% intervals, agreement",
    "statistics.csv": "`statistics.csv` | captions by language: how many, per image, and how long",
    "levels.csv": "`levels.csv` | images by the language they were chosen for, and from which level they came",
    "CHANGES.md": "`CHANGES.md` | what changed since the release before",
    "changes.csv": "`changes.csv` | the same, caption by caption",
    "guidelines": "`guidelines/` | what annotators were told, by version",
    "consent": "`consent/` | what annotators agreed to, by version",
    "manifest.json": "`manifest.json` | the size and SHA-256 of every file",
}
"""What README.md says about the files."""

OPTIONAL_FILES = frozenset({"changes.csv", "croissant.json", "levels.csv", "guidelines", "consent", WITH_IMAGES})
"""The files that not every release has."""


def licence_text(
    spdx: str,
    *,
    title: str,
    authors: Sequence[str],
    year: int,
    images: Iterable[tuple[str, int]],
    has_images: bool,
) -> str:
    licence = LICENCES[spdx]
    where = "Some are in with_images.parquet" if has_images else "They are not in this folder"
    lines = [
        title,
        f"{year}, {'; '.join(authors)}",
        "",
        f"Everything in this folder besides what is named below is released under {licence.name} ({spdx}).",
        "",
        licence.notice,
        "",
        f"The licence in full, which alone holds: {licence.url}",
        "",
        "What it does not cover:",
        "",
        f"- The images. {where}. Each is its author's, under the licence that images.csv states for",
        "  it, with author, source and the address of the licence:",
        *(f"  {count} under {name or 'a licence that is not known'}" for name, count in images),
        "- The English captions by models (english_caption, english_model). They are given as they were shown to",
        "  annotators; terms of the models may hold for them.",
        "- Captions from a file (annotator is null). The licence that is named in source holds for them; where none is",
        "  named, ask the person who made the file.",
    ]
    return "\n".join(lines) + "\n"


def citation(
    *,
    title: str,
    authors: Sequence[str],
    number: int,
    spdx: str,
    released: str,
    languages: Sequence[str],
    abstract: str,
) -> str:
    """Return CITATION.cff, in version 1.2.0 of its format. Quoted values are JSON, and so YAML too."""
    lines = [
        f"cff-version: {CFF_VERSION}",
        "message: If you use this dataset, please cite it as below.",
        "type: dataset",
        f"title: {_quoted(title)}",
        f'version: "{number}"',
        f"date-released: {released}",
        f"license: {spdx}",
        "authors:",
    ]
    for author in authors:
        family, comma, given = (part.strip() for part in author.partition(","))
        if comma and given:
            lines += [f"  - family-names: {_quoted(family)}", f"    given-names: {_quoted(given)}"]
        else:
            lines.append(f"  - name: {_quoted(family)}")
    lines.append("keywords:")
    lines += [f"  - {_quoted(word)}" for word in ("image captions", "multilingual", *languages)]
    if abstract:
        lines.append(f"abstract: {_quoted(abstract)}")
    return "\n".join(lines) + "\n"


def readme(
    *,
    title: str,
    number: int,
    spdx: str,
    languages: Mapping[str, str],
    captions: int,
    images: int,
    filled: Sequence[str],
    there: Collection[str],
    tables: Mapping[str, Sequence[ReleaseColumn[Any]]],
    csv_tables: Mapping[str, Sequence[str]],
) -> str:
    """Return README.md. Its head is what `datasets` reads: a configuration for each of the tables that is `filled`.

    `there` has the names of the optional files and folders that this release has; `tables` its tables
    with their columns, and `csv_tables` the others.
    """
    loadable = [*filled, *([WITH_IMAGES] if WITH_IMAGES in there else [])]
    configs = [line for name in loadable for line in (f"  - config_name: {name}", f"    data_files: {name}.parquet")]
    configs.insert(1, "    default: true")
    head = [
        "---",
        f"pretty_name: {_quoted(title)}",
        f"license: {spdx.lower()}",
        "task_categories:",
        "  - image-to-text",
    ]
    head += ["language:", *(f"  - {_quoted(tag)}" for tag in languages), "configs:", *configs, "---"]
    listed = "".join(
        f"| {said} |\n" for name, said in DESCRIBED_FILES.items() if name not in OPTIONAL_FILES or name in there
    )
    loaded = "".join(f'{name} = load_dataset("path/to/this/folder", "{name}", split="train")\n' for name in loadable)
    is_with = "Those\nwhose licences allow it are in with_images.parquet"
    where = is_with if WITH_IMAGES in there else "The images\nare not here"
    where += ": images.csv says whose they are."
    body = f"""
# {title}, release {number}

{captions:,} captions of {images:,} images in {len(languages)} language{"" if len(languages) == 1 else "s"}:
{", ".join(languages.values())}.

What they are, how they came about and what they are not is in [DATASHEET.md](DATASHEET.md); how to cite them in
CITATION.cff; what may be done with them in LICENSE; what changed since the release before in CHANGES.md. {where}

| file | what is in it |
| --- | --- |
{listed}
## Reading it

```python
from datasets import load_dataset

{loaded}```

```python
import pandas

captions = pandas.read_parquet("captions.parquet")
same = pandas.read_json("captions.jsonl", lines=True, dtype=False)
images = pandas.read_csv("images.csv", dtype=str, keep_default_na=False)
```

In the CSV files an apostrophe stands before a text that a spreadsheet might take for a formula.

Whether all files are as they were released:

```python
import hashlib, json, pathlib

for file in json.loads(pathlib.Path("manifest.json").read_text("utf-8"))["files"]:
    found = hashlib.sha256(pathlib.Path(file["name"]).read_bytes()).hexdigest()
    assert found == file["sha256"], file["name"]
```
"""
    columns = {name: [(column.name, column.meaning) for column in of_table] for name, of_table in tables.items()}
    for name, of_table in csv_tables.items():
        if name not in OPTIONAL_FILES or name in there:
            columns[name] = [(column, MEANINGS[column]) for column in of_table]
    return "\n".join(head) + "\n" + body + "".join(_columns(name, of_table) for name, of_table in columns.items())


def _columns(name: str, columns: Sequence[tuple[str, str]]) -> str:
    rows = "".join(f"| `{column}` | {meaning} |\n" for column, meaning in columns)
    return f"\n## Columns of {name}\n\n| column | |\n| --- | --- |\n{rows}"


def _quoted(text: str) -> str:
    return NOT_IN_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))
