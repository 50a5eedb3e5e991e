"""The description of a release for machines: Croissant 1.1 with its part on responsible AI (RAI 1.0)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from annotation.formats.archives import FileFacts
from annotation.formats.release_images import TEXT_COLUMNS, WITH_IMAGES
from annotation.formats.release_tables import DAY, FLOAT, NUMBER, TEXT, TEXTS, ReleaseColumn

CROISSANT = "croissant.json"
CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]

_NAMES = (
    "citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format",
    "includes", "isArray", "arrayShape", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet",
    "references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip
CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{name: f"cr:{name}" for name in _NAMES},
}
ALWAYS: Mapping[str, Any] = {
    "rai:dataCollectionMissingData": "DATASHEET.md counts what was left out and says why.",
    "rai:dataCollectionRawData": "Texts as they were typed stay in the project's database.",
    "rai:dataAnnotationPlatform": "Crosslens",
    "rai:dataAnnotationProtocol": "guidelines/ has each version of what people read; each row names its version.",
    "rai:dataAnnotationAnalysis": "Verified captions have the median of their ratings; quality.csv has shares with 95% "
    "intervals and Krippendorff's alpha.",
    "rai:annotationsPerItem": "statistics.csv has captions per image, quality.csv the ratings of verified captions.",
    "rai:dataPreprocessingProtocol": "Captions are trimmed and in Unicode's NFC; those from a file are unchanged.",
    "rai:dataUseCases": "Evaluating and training captioning models; studying how people describe images.",
    "rai:dataBiases": "The English caption that was shown before may have shaped what was written. A language with few "
    "annotators has their habits.",
    "rai:dataLimitations": "Levels are judgements, and figures of quality stand on samples.",
    "rai:personalSensitiveInformation": "People have pseudonyms. Images and captions may show and describe people.",
    "rai:dataReleaseMaintenancePlan": "A release never changes. Corrections come with the next number; captions whose "
    "author withdrew consent are in no later release.",
}
"""What holds for every release."""
KINDS = {TEXT: "sc:Text", NUMBER: "sc:Integer", DAY: "sc:Date", TEXTS: "sc:Text", FLOAT: "sc:Float"}
ENCODINGS = {
    ".jsonl": "application/jsonlines",
    ".parquet": "application/x-parquet",
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".json": "application/json",
    ".cff": "application/yaml",
}
OTHER_ENCODING = "text/plain"


def croissant_text(
    about: Mapping[str, Any],
    *,
    files: Iterable[FileFacts],
    tables: Mapping[str, Sequence[ReleaseColumn[Any]]],
    has_images: bool,
) -> str:
    """Return croissant.json.

    - `about`: what the description begins with: properties of schema.org, and those of RAI with their prefix.
    - `files`: all files but this one and the manifest.
    - `tables`: each is described from its JSON Lines.
    - `has_images`: whether `release_images` wrote a file.
    """
    distribution: list[dict[str, Any]] = [
        {
            "@type": "cr:FileObject",
            "@id": file.name,
            "name": file.name,
            "contentUrl": file.name,
            "contentSize": f"{file.bytes} B",
            "encodingFormat": ENCODINGS.get(PurePosixPath(file.name).suffix, OTHER_ENCODING),
            "sha256": file.sha256,
        }
        for file in files
    ]
    records = [_record_set(name, columns) for name, columns in tables.items()]
    records += [_with_images()] if has_images else []
    described = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        **about,
        **ALWAYS,
        "distribution": distribution,
        "recordSet": records,
    }
    return json.dumps(described, ensure_ascii=False, indent=1) + "\n"


def _record_set(name: str, columns: Sequence[ReleaseColumn[Any]]) -> dict[str, Any]:
    fields = []
    for column in columns:
        source = {"fileObject": {"@id": f"{name}.jsonl"}, "extract": {"column": column.name}}
        field: dict[str, Any] = {"@type": "cr:Field", "@id": f"{name}/{column.name}", "name": column.name}
        field |= {"description": column.meaning, "dataType": KINDS[column.kind], "source": source}
        fields.append(field | ({"isArray": True, "arrayShape": "-1"} if column.kind == TEXTS else {}))
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields}


def _with_images() -> dict[str, Any]:
    def field(name: str, kind: str, meaning: str, **more: Any) -> dict[str, Any]:
        source: dict[str, Any] = {"fileObject": {"@id": f"{WITH_IMAGES}.parquet"}, "extract": {"column": name}}
        about: dict[str, Any] = {
            "@type": "cr:Field",
            "@id": f"{WITH_IMAGES}/{name}",
            "name": name,
            "description": meaning,
        }
        return about | {"dataType": kind, "source": source | more}

    fields = [
        field("image", "sc:ImageObject", "The image, as people saw it.", transform={"jsonPath": "bytes"}),
        *(field(name, "sc:Text", f"As in images.csv: {name}.") for name in TEXT_COLUMNS),
    ]
    return {"@type": "cr:RecordSet", "@id": WITH_IMAGES, "name": WITH_IMAGES, "field": fields}
