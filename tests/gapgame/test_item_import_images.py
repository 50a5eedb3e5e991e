"""The images of imported items: where they are found, which one comes first, and that none keeps the word."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.files.storage import default_storage
from PIL import Image as Pillow
from PIL.PngImagePlugin import PngInfo

from core.images.models import Collection, CollectionImage, Image
from core.images.services import imports as image_imports
from core.images.services.collections import find_or_create_collection
from core.images.services.file_storage import size_name
from core.images.services.images import make_sizes, sha256_of
from core.jobs.models import JobState
from gapgame.models import GapItem
from gapgame.rules.stripping import words_beside
from tests.factories import NOW
from tests.gapgame.item_files import LINE, WORD, run, sha_of, shas, told, write
from tests.images.image_files import image_file

pytestmark = pytest.mark.usefixtures("media")


def marked(word: str) -> Mapping[str, bytes]:
    """Images that hold the word, each in another place."""
    exif = Pillow.Exif()
    exif[0x010E] = f"A big {word.upper()} on ice"
    comment = Pillow.Exif()
    comment[0x9C9F] = f"{word}\0".encode("utf-16-le")
    text = PngInfo()
    text.add_itxt("Description", f"the {word}")
    xmp = f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><dc:subject>{word}</dc:subject></x:xmpmeta>'.encode()
    iptc = b"Photoshop 3.0\x008BIM\x04\x04\x00\x00\x00\x00\x00" + bytes([5 + len(word)])
    iptc += b"\x1c\x02\x78\x00" + bytes([len(word)]) + word.encode()
    plain = image_file(shade=25)
    segment = b"\xff\xed" + (len(iptc) + 2).to_bytes(2, "big") + iptc
    return {
        "exif.jpg": image_file(shade=20, exif=exif),
        "xp.jpg": image_file(shade=21, exif=comment),
        "xmp.jpg": image_file(shade=22, xmp=xmp),
        "comment.jpg": image_file(shade=23, comment=f"seen: {word}".encode()),
        "iptc.jpg": plain[:2] + segment + plain[2:],
        "text.png": image_file("PNG", shade=24, pnginfo=text),
        "exif.webp": image_file("WEBP", shade=26, exif=exif),
        "comment.gif": image_file("GIF", shade=27, comment=word.encode()),
        "tag.tif": image_file("TIFF", shade=28, description=f"{word} 7"),
    }


@pytest.mark.parametrize("name", sorted(marked(WORD)))
def test_an_image_that_holds_the_word_is_replaced_by_a_copy_that_holds_no_words(item_set, folder, name):
    content = marked(WORD)[name]
    (folder / name).write_bytes(content)
    path = write(folder, LINE | {"images": [name]})

    job = run(item_set, path)

    assert told(job)[0][0] == "added"
    assert "its title or file contains the word" in told(job)[0][1]
    image = item_set.items.get().images.get().image
    assert image.sha256 != sha256_of(io.BytesIO(content))
    assert not Image.objects.filter(sha256=sha256_of(io.BytesIO(content))).exists()
    with default_storage.open(image.original) as file:
        assert WORD not in words_beside(file, kind=image.format).lower()
        file.seek(0)
        assert WORD.encode() not in file.read().lower()
    with Pillow.open(io.BytesIO(content)) as one, Pillow.open(default_storage.open(image.original)) as other:
        assert one.size == other.size
        difference = np.asarray(one.convert("L"), int) - np.asarray(other.convert("L"), int)
        assert np.abs(difference).max() <= 2
    again = run(item_set, path)
    assert [outcome for outcome, _ in told(again)] == ["already"]
    assert item_set.collection.entries.count() == 1


def test_what_is_served_and_stored_of_a_telling_image_holds_no_trace_of_the_word(item_set, folder):
    exif = Pillow.Exif()
    exif[0x010E] = f"{WORD} at rest"
    exif[0x013B] = "Ada Example"
    exif[0x0112] = 6
    (folder / f"big-{WORD}.jpg").write_bytes(image_file(shade=30, size=(90, 60), exif=exif))
    image = {"file": f"big-{WORD}.jpg", "title": f"A {WORD}", "licence": "CC0", "source": "https://example.org/7"}

    job = run(item_set, write(folder, LINE | {"images": [image]}))

    assert "its name contains the word" in told(job)[0][1]
    entry = item_set.collection.entries.select_related("image").get()
    shown = entry.image
    assert (shown.title, shown.author, shown.licence) == ("", "Ada Example", "CC0")
    assert shown.source == "https://example.org/7"
    assert (shown.width, shown.height) == (60, 90)  # still upright
    assert shown.extra["withheld_title"] == f"A {WORD}"  # for the credit that a manager may have to give
    assert WORD not in entry.key + entry.file_name + shown.original + str(shown.public_id)
    make_sizes(image_id=shown.pk, now=NOW)
    content = default_storage.open(size_name(shown.public_id, 320)).read()
    assert WORD.encode() not in content.lower()
    with Pillow.open(io.BytesIO(content)) as served:
        assert served.format == "WEBP"
        assert not {"exif", "xmp", "icc_profile"} & served.info.keys()
    assert all(WORD not in " ".join((row.name, row.reason)) for row in job.rows.all())


def test_a_name_that_is_harmless_for_one_word_is_forgotten_when_another_word_is_in_it(item_set, folder):
    (folder / "seal.jpg").write_bytes(image_file(shade=33))
    seal = {"key": "seal", "sentence": "A ____ dives.", "word": "seal", "images": ["seal.jpg"]}
    run(item_set, write(folder, LINE | {"images": ["seal.jpg"]}))
    assert item_set.collection.entries.get().file_name == "seal.jpg"

    job = run(item_set, write(folder, LINE | seal))

    assert told(job)[0][0] == "added"
    assert "its name contains the word" in told(job)[0][1]
    assert item_set.collection.entries.get().file_name == ""


def test_files_of_a_folder_are_found_by_any_of_their_names(item_set, folder):
    for shade, name in enumerate(("e\u0301.jpg", "north/z.jpg", "south/z.jpg"), start=40):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(image_file(shade=shade))
    named = ["é.jpg", "a.JPG", "photos/north/z.jpg", "z.jpg"]
    job = run(item_set, write(folder, *(LINE | {"key": name, "images": [name]} for name in named)))

    assert [outcome for outcome, _reason in told(job)] == ["added"] * 3 + ["rejected"]
    assert "2 files have this name" in told(job)[3][1]


def test_images_of_other_collections_are_found_by_key_file_name_and_content(item_set, folder):
    image_imports.import_path(
        path=folder, collection=find_or_create_collection("Sea"), clock=lambda: NOW, announce=lambda image_id: None
    )
    digest = sha_of(folder / "c.jpg")
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    path = write(elsewhere, LINE | {"images": ["a", "b.jpg", digest.upper()]})

    assert told(run(item_set, path))[0][0] == "rejected"
    sea = Collection.objects.get(name="Sea")
    assert told(run(item_set, path, collections=[sea]))[0] == ("added", "")

    assert shas(item_set.items.get()) == [sha_of(folder / name) for name in ("a.jpg", "b.jpg", "c.jpg")]
    assert not set(item_set.collection.entries.values_list("key", flat=True)) & {"a", "b", "c"}
    key = CollectionImage.objects.get(collection=item_set.collection, image__sha256=digest).key
    by_own_key = write(elsewhere, LINE | {"key": "own", "images": [key]})
    assert told(run(item_set, by_own_key))[0][0] == "added"


def test_an_image_of_another_collection_whose_title_holds_the_word_is_copied_and_stays_as_it_is_there(item_set, folder):
    manifest = f"file,title,author,licence\na.jpg,Two {WORD}es,Ada,CC0\n"
    (folder / "manifest.csv").write_text(manifest)
    sea = find_or_create_collection("Sea")
    image_imports.import_path(path=folder, collection=sea, clock=lambda: NOW, announce=lambda image_id: None)
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()

    job = run(item_set, write(elsewhere, LINE | {"images": ["a"]}), collections=[sea])

    assert "its title" in told(job)[0][1]
    copied = item_set.collection.images.get()
    assert (copied.title, copied.author, copied.licence) == ("", "Ada", "CC0")
    assert sea.images.get().title == f"Two {WORD}es"
    assert told(run(item_set, elsewhere / "items.jsonl", collections=[sea]))[0][0] == "already"
    assert Image.objects.count() == 2


def test_an_image_without_a_licence_is_taken_and_reported(item_set, folder):
    (folder / "manifest.csv").unlink()
    given = [{"file": "a.jpg", "license": "CC0"}, "b.jpg"]
    assert told(run(item_set, write(folder, LINE | {"images": given}))) == [("added", "Image 2 has no known licence.")]


def test_a_path_that_leaves_the_folder_is_not_followed(item_set, folder):
    (folder.parent / "out.jpg").write_bytes(image_file(shade=50))
    (folder / "link.jpg").symlink_to(folder.parent / "out.jpg")
    paths = ["../out.jpg", "link.jpg", str(folder.parent / "out.jpg"), "nowhere/../../out.jpg"]
    job = run(item_set, write(folder, *(LINE | {"key": path, "images": [path]} for path in paths)))
    assert [outcome for outcome, _ in told(job)] == ["rejected"] * 4
    assert not Image.objects.exists()


def embeddings(folder: Path, kind: str) -> Path:
    vectors = {"a.jpg": [1, 0], "b": [0.8, 0.6], "c.jpg": [0, 1]}
    if kind == "jsonl":
        path = folder / "vectors.jsonl"
        path.write_text("".join(json.dumps({"image": n, "vector": v}) + "\n" for n, v in vectors.items()))
        return path
    path = folder / "vectors.npz"
    if kind == "npz by name":
        arrays: dict[str, Any] = {name: np.array(vector) for name, vector in vectors.items()}
        np.savez(path, **arrays)
    else:
        np.savez(path, images=np.array(list(vectors)), vectors=np.array(list(vectors.values())))
    return path


@pytest.mark.parametrize("kind", ["jsonl", "npz by name", "npz"])
def test_the_representative_is_the_most_central_embedding_else_the_one_named_else_the_first(item_set, folder, kind):
    images = ["a.jpg", "b.jpg", "c.jpg"]
    (folder / "d.jpg").write_bytes(image_file(shade=44))
    path = write(
        folder,
        LINE | {"images": images, "representative": "c.jpg"},
        LINE | {"key": "two", "images": ["d.jpg", "a.jpg"], "representative": "a.jpg"},
        LINE | {"key": "three", "images": ["d.jpg", "a.jpg"]},
    )
    job = run(item_set, path, embeddings=embeddings(folder, kind))

    sources = dict(GapItem.objects.values_list("key", "representative_source"))
    assert sources == {"one": "embeddings", "two": "file", "three": "first"}
    first = {item.key: shas(item)[0] for item in item_set.items.all()}
    expected = {"one": "b.jpg", "two": "a.jpg", "three": "d.jpg"}
    assert first == {key: sha_of(folder / name) for key, name in expected.items()}
    assert shas(item_set.items.get(key="one"))[1:] == [sha_of(folder / "a.jpg"), sha_of(folder / "c.jpg")]
    assert "1 of 2 images have no embedding" in told(job)[1][1]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"image": "a", "vector": [1, 0]}\n{"image": "b", "vector": [1]}\n', "Embedding 2 must be 2"),
        (b'{"image": "a", "vector": [0, 0]}\n', "not all 0"),
        (b'{"image": "a", "vector": [1e99, 0]}\n', "finite"),
        (b'{"image": "a", "vector": ["1"]}\n', "line 1: “vector” is not a list of numbers"),
        (b'{"image": "a"\n', "line 1: Not valid JSON"),
        (b"PK\x03\x04 no archive", "not a NumPy archive"),
        (b"", "empty"),
    ],
)
def test_embeddings_that_cannot_be_read_end_the_import_before_anything_is_taken(item_set, folder, content, says):
    path = folder / "vectors"
    path.write_bytes(content)
    job = run(item_set, write(folder, LINE), embeddings=path)
    assert job.state == JobState.FAILED
    assert says in job.error
    assert not GapItem.objects.exists()
