"""Files that belong together: images with captions and manifests, and sentences with the list of their images."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from crosslens_metrics.formats.recognition import recognise
from tests.metrics.test_recognition import HUGGING_FACE, SHARD, matched, only

MULTI30K = {
    "val": ["1018148011.jpg", "1029450589.jpg"],
    "train": ["1000092795.jpg", "10002456.jpg"],
    "test_2016_flickr": ["1007129816.jpg", "1009434119.jpg"],
    "test_2017_flickr": ["22439193117_4183a49ec2.jpg", "24955677320_6f80a952e4.jpg"],
    "test_2017_mscoco": ["COCO_train2014_000000117071.jpg#367178", "COCO_val2014_000000398076.jpg#657409"],
    "test_2018_flickr": ["11832916064_229e7bd246.jpg", "12933703535_6208b34b58.jpg", "12978856903_11901c7507.jpg"],
}
"""How the lists of Multi30k's repository begin."""


def test_archives_and_folders_match_their_captions_to_their_images(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("train/b1.jpg", b"")
        archive.writestr("train/metadata.csv", "file_name,text\nb1.jpg,x\nb9.jpg,y\n")
        archive.writestr("__MACOSX/._metadata.csv", "x")
    with tarfile.open(tmp_path / "00000.tar", "w") as shard:
        for name, content in SHARD:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            shard.addfile(member, io.BytesIO(content))
    looked = recognise([tmp_path / "z.zip", tmp_path / "00000.tar"])
    assert looked.files[-1].captions == 2
    assert [(file.kind, file.layout, len(file.images), matched(looked, file)) for file in looked.files] == [
        ("images", "ZIP of images", 1, 1),
        ("captions", f"{HUGGING_FACE} (CSV)", 2, 1),
        ("images", "WebDataset", 2, 2),
        ("captions", "JSON Lines", 2, 2),
    ]


def test_a_manifest_among_images_is_about_them_and_no_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "boats").mkdir()
    (tmp_path / "boats" / "a.jpg").write_bytes(b"")
    manifest = tmp_path / "boats" / "manifest.jsonl"
    manifest.write_text('{"file": "a.jpg", "licence": "CC BY 4.0"}\n')
    assert [file.layout for file in recognise([tmp_path / "boats"]).files] == ["folder of images"]
    assert [file.layout for file in recognise([manifest]).files] == ["manifest of images"]


def test_images_are_named_as_their_manifest_names_them(tmp_path: Path) -> None:
    (tmp_path / "boats").mkdir()
    for name in ("a.jpg", "b.jpg"):
        (tmp_path / "boats" / name).write_bytes(b"")
    (tmp_path / "boats" / "manifest.csv").write_text("file,key\na.jpg,k1\ngone.jpg,k2\n")
    (tmp_path / "en.jsonl").write_text('{"image": "k1", "caption": "x"}\n{"image": "b.jpg", "caption": "y"}\n')
    looked = recognise([tmp_path / "boats", tmp_path / "en.jsonl"])
    assert [(len(file.images), matched(looked, file)) for file in looked.files] == [(1, 1), (2, 1)]
    assert {reason.split(".")[0]: about for reason, about in looked.files[0].problems.items()} == {
        "There is no such file next to the manifest": (1, "gone.jpg"),
        "The manifest does not name this file": (1, "b.jpg"),
    }


def test_the_key_of_an_image_goes_before_the_file_name_of_another(tmp_path: Path) -> None:
    for folder, manifest in (("a", "1.jpg,2.jpg\n2.jpg,1.jpg\n"), ("b", "1.jpg,3.jpg\n")):
        (tmp_path / folder).mkdir()
        for name in ("1.jpg", "2.jpg")[: manifest.count("\n")]:
            (tmp_path / folder / name).write_bytes(b"")
        (tmp_path / folder / "manifest.csv").write_text(f"file,key\n{manifest}")
    assert recognise([tmp_path / "a"]).image_names == {"1.jpg": "1.jpg", "2.jpg": "2.jpg"}
    both = recognise([tmp_path / "a", tmp_path / "b"])
    assert both.image_names == {"1.jpg": "1.jpg", "2.jpg": "2.jpg", "3.jpg": "3.jpg"}


def test_sentences_go_with_a_list_of_as_many_images(tmp_path: Path) -> None:
    (tmp_path / "val.en").write_text("A man, in a hat.\nTwo dogs.\n")
    (tmp_path / "val.de.gz").write_bytes(gzip.compress(b"Ein Mann.\nZwei Hunde.\n"))
    (tmp_path / "images.txt").write_text("b1.jpg\nb2.jpg\n")
    english, german, names = recognise([tmp_path / name for name in ("val.en", "val.de.gz", "images.txt")]).files
    assert [(file.layout, file.languages) for file in (english, german)] == [
        ("Multi30k", {"en": 2}),
        ("Multi30k", {"de": 2}),
    ]
    assert names.kind == "names of images"


@pytest.mark.parametrize("given", [["task1"], ["task1/raw", "task1/image_splits"], ["task1.zip"]])
def test_lists_of_multi30k_are_of_the_sentences_that_are_called_alike(tmp_path: Path, given: list[str]) -> None:
    for folder in ("raw", "image_splits"):
        (tmp_path / "task1" / folder).mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "task1.zip", "w") as archive:
        for name, images in MULTI30K.items():
            text = "".join(f"Bild {number} zeigt einen Hund.\n" for number in range(len(images)))
            (tmp_path / f"task1/image_splits/{name}.txt").write_text("".join(f"{image}\n" for image in images))
            (tmp_path / f"task1/raw/{name}.de.gz").write_bytes(gzip.compress(text.encode()))
            for path in (f"image_splits/{name}.txt", f"raw/{name}.de.gz"):
                archive.write(tmp_path / "task1" / path, path)
    files = recognise([tmp_path / one for one in given]).files
    sentences = [file for file in files if file.kind == "references"]
    assert {Path(file.path).name.split(".")[0]: [one for (one,) in file.images] for file in sentences} == {
        name: [image.partition("#")[0] for image in images] for name, images in MULTI30K.items()
    }
    assert not any(file.problems for file in files)


@pytest.mark.parametrize(
    ("sentences", "names", "problems"),
    [
        ("Ein Hund.\nEine Katze.\n\n", "b1.jpg\nb2.jpg\n", []),
        ("Ein Hund.\nEine Katze.\n", "b1.jpg\nb2.jpg\n\n\n", []),
        ("Ein Hund.\nEine Katze.\n\n", "b1.jpg\nb2.jpg\nb3.jpg\n", ["The caption is empty."]),
        ("Ein Hund.\nKein Bild.\nEine Katze.\n", "b1.jpg\n\nb2.jpg\n", ["“image” must be text or a whole number."]),
    ],
)
def test_blank_lines_at_the_end_are_neither_sentences_nor_names(
    tmp_path: Path, sentences: str, names: str, problems: list[str]
) -> None:
    (tmp_path / "val").write_text(sentences)
    (tmp_path / "val.txt").write_text(names)
    file, _names = recognise([tmp_path / "val", tmp_path / "val.txt"], language="de").files
    assert (file.languages, [*file.problems]) == ({"de": 2}, problems)


def test_sentences_get_no_list_that_is_another_files_or_one_of_several(tmp_path: Path) -> None:
    names = ("test_2016.de", "test_2017.de", "test_2016.txt")
    for name in names:
        (tmp_path / name).write_text("b1.jpg\nb2.jpg\n" if name.endswith("txt") else "Ein Hund.\nEine Katze.\n")
    first, second, _list = recognise([tmp_path / name for name in names]).files
    assert (first.kind, second.kind) == ("references", "unknown")
    assert next(iter(second.problems)).startswith(f"The list of 2 images, {tmp_path / names[2]}, is named after other")
    (tmp_path / "a.txt").write_text("b3.jpg\nb4.jpg\n")
    file, *_lists = recognise([tmp_path / name for name in ("test_2017.de", "a.txt", "test_2016.txt")]).files
    assert next(iter(file.problems)).startswith("Several lists have 2 names")


@pytest.mark.parametrize(("sentences", "nearest", "other"), [("test", "test", "test2017"), ("Val", "val", "train")])
def test_an_equal_name_is_the_nearest_in_any_case(tmp_path: Path, sentences: str, nearest: str, other: str) -> None:
    (tmp_path / f"{sentences}.de").write_text("Ein Hund.\nEine Katze.\n")
    (tmp_path / f"{nearest}.txt").write_text("b1.jpg\nb2.jpg\n")
    (tmp_path / f"{other}.txt").write_text("c1.jpg\nc2.jpg\n")
    names = (f"{sentences}.de", f"{other}.txt", f"{nearest}.txt")
    file, *_lists = recognise([tmp_path / name for name in names]).files
    assert [*file.images] == [("b1.jpg",), ("b2.jpg",)]


def test_equal_names_of_images_in_splits_are_those_of_their_own_folder(tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        (tmp_path / split / "0001.jpg").write_bytes(b"")
        (tmp_path / split / "metadata.csv").write_text("file_name,text\n0001.jpg,x\n")
    seen = recognise([tmp_path])
    named = [names for file in seen.files if file.layout.startswith(HUGGING_FACE) for names in file.images]
    assert named == [("test/0001.jpg", "0001.jpg"), ("train/0001.jpg", "0001.jpg")]
    assert [matched(seen, file) for file in seen.files[1:]] == [1, 1]


def test_what_is_left_out_of_a_folder_is_named(tmp_path: Path) -> None:
    for name in ("b1.jpg", "inner.zip", "notes.docx", "more.docx"):
        (tmp_path / name).write_bytes(b"")
    problems = only(tmp_path).problems
    assert [(count, example) for count, example in problems.values()] == [(1, "inner.zip"), (2, "more.docx")]


def test_sentences_in_an_archive_go_with_their_list(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        archive.writestr("val.de", "Ein Hügel.\nZwei Hunde.\n")
        archive.writestr("val_images.txt", "b1.jpg\nb2.jpg\n")
    kinds = {
        file.path.rpartition("/")[2]: (file.kind, dict(file.languages))
        for file in recognise([tmp_path / "m.zip"]).files
    }
    assert kinds == {"val.de": ("references", {"de": 2}), "val_images.txt": ("names of images", {})}
