"""What projections and encoders read: pairs in JSON lines, images, word vectors of an unnamed format."""

from __future__ import annotations

import struct

import pytest
from django.core.management import CommandError
from django.utils import timezone
from PIL import Image

from core.images.models import Collection
from core.images.services.imports import import_path
from crosslens_metrics.formats.problems import FileProblemsError
from crosslens_metrics.formats.word_vectors import FileFormat, format_of
from research.inference.formats.images import ImageFileError, images_in, read_collection, read_folder, read_pairs
from research.inference.management.arguments import check_file_to_write, word_vectors


def test_pairs_are_read_in_order_with_one_or_several_captions(tmp_path):
    file = tmp_path / "pairs.jsonl"
    file.write_text('{"image": "b", "captions": ["one", "two"]}\n{"image": "a", "caption": "đé"}\n', encoding="utf-8")

    assert read_pairs(file) == [("b", "one"), ("b", "two"), ("a", "đé")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no captions|empty"),
        ('{"caption": "x"}\n', "line 1: image is empty"),
        ('{"image": "a", "caption": "x"}\n["a"]\n', "line 2: Not an object"),
        ('{"image": "a"}\n', "line 1: image a needs"),
        ('{"image": "a", "captions": []}\n', "line 1: image a needs"),
        ('{"image": "a", "captions": [1]}\n', "line 1: image a needs"),
        ('{"image": "a", "caption": "x"}\n{\n', "line 2"),
    ],
)
def test_lines_that_are_no_pairs_are_refused_with_their_number(tmp_path, text, said):
    file = tmp_path / "pairs.jsonl"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(FileProblemsError, match=said):
        read_pairs(file)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FileProblemsError, match="cannot be read"):
        read_pairs(tmp_path / "none.jsonl")


def test_images_of_a_folder_are_named_by_their_path_and_hidden_ones_left_out(tmp_path):
    for name in ("b.png", "inside/a.JPG", ".hidden/c.png", ".d.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (2, 2)).save(tmp_path / name)
    (tmp_path / "notes.txt").write_text("no image", encoding="utf-8")

    assert images_in(tmp_path) == ["b.png", "inside/a.JPG"]


def test_images_are_turned_upright_and_broken_ones_named(tmp_path):
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.new("RGB", (4, 2)).save(tmp_path / "turned.jpg", exif=turned)
    (tmp_path / "broken.png").write_bytes(b"no image")

    [(_name, decoded)] = read_folder(tmp_path, ["turned.jpg"])
    assert decoded.size == (2, 4)
    with pytest.raises(ImageFileError, match=r"broken\.png cannot be read as an image"):
        list(read_folder(tmp_path, ["broken.png"]))


@pytest.mark.sqlite
@pytest.mark.django_db
def test_images_of_a_collection_go_by_their_keys(tmp_path):
    Image.new("RGB", (40, 20), "red").save(tmp_path / "red.png")
    collection = Collection.objects.create(is_shared=True, name="Colours", slug="colours")
    import_path(path=tmp_path, collection=collection, clock=timezone.now, announce=lambda image: None)

    [(key, decoded)] = read_collection(collection)

    assert (key, decoded.size) == ("red", (40, 20))


def test_the_format_of_word_vectors_is_found_out(tmp_path):
    numbers = struct.pack("<2f", 0.5, -1.25)
    files = {
        FileFormat.GLOVE: b"dog 0.5 -1.25\ncat 1 2\n",
        FileFormat.WORD2VEC: b"2 2\ndog 0.5 -1.25\ncat 1 2\n",
        FileFormat.WORD2VEC_BINARY: b"1 2\ndog " + numbers,
    }
    for file_format, content in files.items():
        (tmp_path / "vectors").write_bytes(content)
        assert format_of(tmp_path / "vectors") == file_format


def test_word_vectors_of_a_file_are_copied_once_and_taken_again(tmp_path):
    file = tmp_path / "glove.txt"
    file.write_text("dog 1 0\ncat 0 1\n", encoding="utf-8")

    first = word_vectors(str(file), language="en", copy_to=tmp_path / "copy")
    again = word_vectors(str(file), language="en", copy_to=tmp_path / "copy")
    by_folder = word_vectors(str(tmp_path / "copy"), language="en", copy_to=tmp_path / "unused")

    assert first.signature == again.signature == by_folder.signature
    assert list(first.vector("cat")) == [0.0, 1.0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "glove.txt"]
    file.write_text("dog 1 0\ncat 0 2\n", encoding="utf-8")
    with pytest.raises(CommandError, match="holds other word vectors"):
        word_vectors(str(file), language="en", copy_to=tmp_path / "copy")
    file.write_text("dog 1 0\ncat 0 1 2\n", encoding="utf-8")
    with pytest.raises(CommandError, match="line 2"):
        word_vectors(str(file), language="en", copy_to=tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "glove.txt"]


def test_nothing_is_written_over_and_no_folder_made_up(tmp_path):
    (tmp_path / "there.npz").write_bytes(b"")

    with pytest.raises(CommandError, match="already exists"):
        check_file_to_write(tmp_path / "there.npz")
    with pytest.raises(CommandError, match="no folder"):
        check_file_to_write(tmp_path / "none" / "new.npz")
