"""Published captions come in by the one import in each layout that it knows, and are the same afterwards."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest
from django.core.management import call_command

from core.images.models import Collection, ImportRow
from research.inference.models import ModelCaption
from research.scoring.models import Reference
from tests.factories import make_keyed_collection, make_project
from tests.published import published

pytestmark = pytest.mark.django_db

IMAGES = 8
Captions = Mapping[str, list[str]]
"""The two captions of each image, by its key."""


@pytest.fixture(scope="module")
def spanish() -> dict[str, list[str]]:
    with published("xm3600/captions_6languages.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(next(lines)) for _ in range(IMAGES)]
    return {row["image/key"]: row["es"]["caption"][:2] for row in rows}


def imported(paths: Iterable[Path], collection: Collection, *more: str, language: str = "es") -> dict[str, list[str]]:
    """Import files, and return what is stored of each image."""
    make_project("lions")
    into = ("--project", "lions", "--collection", collection.slug, "--language", language, "--strict", *more)
    call_command("import", *map(str, paths), *into, stdout=io.StringIO(), stderr=io.StringIO())
    key_of = dict(collection.entries.values_list("image", "key"))
    found = defaultdict[str, list[str]](list)
    for kind in (Reference, ModelCaption):
        for image, text in kind.objects.order_by("pk").values_list("image", "text"):
            found[key_of[image]].append(text)
    return dict(found)


def pairs(captions: Captions) -> list[tuple[str, str]]:
    return [(key, text) for key, texts in captions.items() for text in texts]


def table(captions: Captions, head: tuple[str, ...] = ("image", "caption"), *, delimiter: str = ",") -> str:
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter).writerows([head, *pairs(captions)])
    return written.getvalue()


def lines(rows: Iterable[object]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def coco(captions: Captions) -> str:
    images = [{"id": number, "file_name": f"{key}.jpg"} for number, key in enumerate(captions)]
    said = [{"image_id": number, "caption": text} for number, texts in enumerate(captions.values()) for text in texts]
    annotations = [{"id": number, **one} for number, one in enumerate(said)]
    return json.dumps({"images": images, "annotations": annotations})


def coco_with_images_last(captions: Captions) -> str:
    return json.dumps(dict(reversed(json.loads(coco(captions)).items())))


def karpathy(captions: Captions) -> str:
    images = [
        {"filename": f"{key}.jpg", "split": "test", "sentences": [{"raw": text, "tokens": []} for text in texts]}
        for key, texts in captions.items()
    ]
    return json.dumps({"images": images, "dataset": "coco"})


def flickr_token(captions: Captions) -> str:
    return "".join(
        f"{key}.jpg#{place}\t{text}\n" for key, texts in captions.items() for place, text in enumerate(texts)
    )


def flickr_table(captions: Captions) -> str:
    rows = [(f"{key}.jpg", place, text) for key, texts in captions.items() for place, text in enumerate(texts)]
    return "image_name| comment_number| comment\n" + "".join(f"{key}| {place}| {text}\n" for key, place, text in rows)


def flickr_of_hugging_face(captions: Captions) -> str:
    rows = [(json.dumps(texts), f"{key}.jpg", number) for number, (key, texts) in enumerate(captions.items())]
    written = io.StringIO()
    csv.writer(written).writerows([("raw", "filename", "img_id"), *rows])
    return written.getvalue()


def label_studio(captions: Captions) -> str:
    def task(key: str, texts: list[str]) -> dict[str, object]:
        results = [{"type": "textarea", "value": {"text": [text]}} for text in texts]
        annotations = [{"result": [result], "was_cancelled": False} for result in results]
        return {"data": {"image": f"/data/upload/1/0a1b2c3d-{key}.jpg"}, "annotations": annotations}

    return json.dumps([task(*one) for one in captions.items()])


TEXTS: Mapping[str, Callable[[Captions], str]] = {
    "coco.json": coco,
    "coco_images_last.json": coco_with_images_last,
    "karpathy.json": karpathy,
    "results.token": flickr_token,
    "results.csv": flickr_table,
    "hugging_face_flickr.csv": flickr_of_hugging_face,
    "crossmodal.jsonl": lambda said: lines({"image/key": key, "es": {"caption": of}} for key, of in said.items()),
    "metadata.csv": lambda said: table(said, ("file_name", "text")),
    "metadata.jsonl": lambda said: lines({"file_name": f"{key}.jpg", "text": of} for key, of in said.items()),
    "by_image.json": json.dumps,
    "by_language.json": lambda said: json.dumps({key: {"es": of} for key, of in said.items()}),
    "table.csv": table,
    "table.tsv": lambda said: table(said, delimiter="\t"),
    "excel.csv": lambda said: "sep=;\r\n" + table(said, ("Image", "CAPTION"), delimiter=";"),
    "marked.csv": lambda said: "\ufeff" + table(said),
    "list.json": lambda said: json.dumps([{"image": key, "caption": text} for key, text in pairs(said)]),
    "lines.jsonl": lambda said: lines({"image": key, "captions": of} for key, of in said.items()),
    "label_studio.json": label_studio,
}


@pytest.mark.parametrize("name", TEXTS)
def test_captions_in_a_text_of_any_layout(spanish, name, tmp_path):
    path = tmp_path / name
    path.write_text(TEXTS[name](spanish), encoding="utf-8")
    found = imported([path], make_keyed_collection([*spanish]))
    assert found == spanish


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("coco.json.gz", lambda text: gzip.compress(text.encode())),
        ("coco16.json", lambda text: text.encode("utf-16")),
        ("coco.zip", lambda text: zipped({"annotations/coco.json": text.encode()})),
    ],
)
def test_packed_and_encoded_otherwise(spanish, name, pack, tmp_path):
    path = tmp_path / name
    path.write_bytes(pack(coco(spanish)))
    assert imported([path], make_keyed_collection([*spanish]), "--as", "references") == spanish


def zipped(files: Mapping[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, held in files.items():
            archive.writestr(name, held)
    return content.getvalue()


def test_workbooks_and_parquet(spanish, tmp_path):
    import openpyxl
    import pyarrow
    from pyarrow import parquet

    book = openpyxl.Workbook()
    for row in [("image", "caption"), *pairs(spanish)]:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    parquet.write_table(
        pyarrow.table({"file_name": [*spanish], "text": [*spanish.values()]}), tmp_path / "metadata.parquet"
    )
    collection = make_keyed_collection([*spanish])
    both = imported([tmp_path / "a.xlsx", tmp_path / "metadata.parquet"], collection)
    assert both == {key: [*texts, *texts] for key, texts in spanish.items()}


@pytest.mark.parametrize("kind", ["references", "model captions"])
def test_images_inside_parquet_do_not_count_as_captions(spanish, tmp_path, kind):
    import pyarrow
    from pyarrow import parquet

    images = [{"bytes": b"1", "path": f"{key}.jpg"} for key in spanish]
    texts = [first for first, _second in spanish.values()]
    parquet.write_table(pyarrow.table({"image": images, "caption": texts}), tmp_path / "blip.parquet")
    options = ["--as", kind, *(["--model", "blip"] if kind == "model captions" else [])]
    found = imported([tmp_path / "blip.parquet"], make_keyed_collection([*spanish]), *options)
    assert found == {key: [text] for key, text in zip(spanish, texts, strict=True)}
    last = ImportRow.objects.order_by("number").last()
    assert (last.number, last.rejected) == (IMAGES + 1, 0)
    assert last.reason.startswith("The images inside the Parquet file are not imported.")


def test_sentences_as_multi30k_has_them(spanish, tmp_path):
    for place in (0, 1):
        text = "".join(f"{texts[place]}\n" for texts in spanish.values())
        (tmp_path / f"val.{place + 1}.es").write_text(text, encoding="utf-8")
    (tmp_path / "images.txt").write_text("".join(f"{key}.jpg\n" for key in spanish))
    found = imported(sorted(tmp_path.iterdir()), make_keyed_collection([*spanish]))
    assert found == spanish


def test_sentences_of_multi30k_in_the_folders_of_its_repository(spanish, tmp_path):
    names = [f"COCO_train2014_{number:012}.jpg" for number in range(IMAGES)]
    for folder in ("raw", "image_splits"):
        (tmp_path / folder).mkdir()
    text = "".join(f"{texts[0]}\n" for texts in spanish.values())
    (tmp_path / "raw/test_2017_mscoco.es.gz").write_bytes(gzip.compress(text.encode()))
    numbered = "".join(f"{name}#{place + 1000}\n" for place, name in enumerate(names))
    (tmp_path / "image_splits/test_2017_mscoco.txt").write_text(numbered)
    found = imported([tmp_path], make_keyed_collection(names))
    assert found == {name: texts[:1] for name, texts in zip(names, spanish.values(), strict=True)}


def test_captions_in_a_shard(spanish, tmp_path):
    with tarfile.open(tmp_path / "0.tar", "w") as shard:
        for key, texts in spanish.items():
            content = json.dumps({"es": {"caption": texts}}).encode()
            member = tarfile.TarInfo(f"{key}.json")
            member.size = len(content)
            shard.addfile(member, io.BytesIO(content))
    assert imported([tmp_path / "0.tar"], make_keyed_collection([*spanish]), "--as", "references") == spanish


def test_the_files_of_the_coco_example_come_in_as_they_are():
    folder = published("coco_example")
    annotations = json.loads((folder / "references.json").read_text("utf-8"))["annotations"]
    results = json.loads((folder / "candidates.json").read_text("utf-8"))
    collection = make_keyed_collection(sorted({str(one["image_id"]) for one in results}))
    found = imported([folder / "references.json", folder / "candidates.json"], collection, language="en")
    expected = defaultdict[str, list[str]](list)
    for one in [*annotations, *results]:
        expected[str(one["image_id"])].append(one["caption"])
    assert {key: sorted(texts) for key, texts in found.items()} == {
        key: sorted(text.strip() for text in texts) for key, texts in expected.items()
    }
