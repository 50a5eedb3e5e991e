"""The items and pictures of the demo's gap filling season. Nothing is fetched here: the tests draw their own files."""

from __future__ import annotations

import json
import re
import unicodedata
import zipfile
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from PIL import Image as Pillow

from demo import game_items, game_pictures, photographs
from demo.game_pictures import PARTS, pictures

LANGUAGES = ("en", "es")
SPLITS = {f"intersect_{shared}" for shared in range(5)}
WHOLE = {photograph.key for photograph in (*photographs.PHOTOGRAPHS, photographs.HORSE)}


def plain(text: str) -> str:
    """Lower case, without accents."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))


def gives_away(word: str, told: str) -> bool:
    """Whether what is told is the word, or begins as it does so far that it would be of the same stem."""
    shared = 0
    for ours, theirs in zip(plain(word), plain(told), strict=False):
        if ours != theirs:
            break
        shared += 1
    return shared == len(plain(word)) or shared >= max(4, len(plain(word)) - 3)


def items_in(language: str) -> list[game_items.DemoItem]:
    return [item for item in game_items.items() if item["language"] == language]


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
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_there_are_at_least_sixty_in_each_language_and_none_twice(self, language):
        items = items_in(language)
        assert len(items) >= 60
        for name in ("key", "sentence", "word"):
            assert len({item[name] for item in items}) == len(items)

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_they_are_spread_over_the_five_splits(self, language):
        counts = Counter(item["split"] for item in items_in(language))
        assert counts.keys() == SPLITS
        assert min(counts.values()) >= 10

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_at_least_twenty_five_words_have_several_pictures(self, language):
        assert sum(len(item["images"]) > 1 for item in items_in(language)) >= 25

    @pytest.mark.parametrize("item", game_items.items(), ids=lambda item: item["key"])
    def test_each_has_one_gap_and_tells_neither_its_word_nor_the_stem(self, item):
        assert item["sentence"].count("____") == 1
        before, after = item["sentence"].split("____")
        assert not before.endswith("_")
        assert not after.startswith("_")
        told = re.findall(r"\w+", before + " " + after)
        assert [each for each in told if gives_away(item["word"], each)] == []
        assert item["word"] == item["word"].lower()
        assert item["word"].isalpha()

    def test_a_stem_would_be_noticed(self):
        assert gives_away("camión", "Camiones")
        assert gives_away("cat", "cats")
        assert gives_away("escalera", "escalar")
        assert not gives_away("coffee", "cold")

    @pytest.mark.parametrize("item", game_items.items(), ids=lambda item: item["key"])
    def test_the_representative_is_one_of_the_pictures_and_none_comes_twice(self, item):
        assert item["representative"] in item["images"]
        assert len(set(item["images"])) == len(item["images"])

    def test_pictures_of_several_senses_are_only_where_nothing_was_told_apart(self):
        undisambiguated = [item for item in game_items.items() if item["split"] == "intersect_0"]
        assert all(len(item["images"]) > 1 and item["sense"] == [] for item in undisambiguated)

    def test_they_are_written_one_a_line(self, tmp_path):
        lines = game_items.write(tmp_path).read_text(encoding="utf-8").splitlines()
        assert [json.loads(line) for line in lines] == game_items.items()

    def test_every_subject_is_in_a_sentence(self):
        used = {subject for sentences in game_items.SENTENCES.values() for subject, *_ in sentences}
        assert used == game_items.SUBJECTS.keys()


class TestPictures:
    def test_all_are_used_and_no_others(self):
        assert game_items.names_of_pictures() == pictures().keys()

    def test_each_has_an_author_a_licence_and_a_source_that_tells_what_was_changed(self):
        for picture in pictures().values():
            assert all(picture.line().values())
            assert ("enlarged" in picture.line()["source"]) == (picture.name not in WHOLE)

    def test_neither_file_nor_key_nor_the_key_of_an_item_holds_anything_but_a_digest(self):
        for picture in pictures().values():
            assert re.fullmatch(r"[0-9a-f]{16}", picture.key)
            assert re.fullmatch(r"[0-9a-f]{16}\.(png|jpg)", picture.file)
        assert all(re.fullmatch(r"(en|es)-[0-9a-f]{12}", item["key"]) for item in game_items.items())

    def test_parts_lie_within_their_photographs(self):
        for left, upper, right, lower in PARTS.values():
            assert 0 <= left < right <= 1
            assert 0 <= upper < lower <= 1

    def test_every_picture_of_an_item_is_in_the_folder_and_in_its_manifest(self, unpacked):
        folder = game_pictures.prepared(unpacked, game_items.names_of_pictures())
        lines = [json.loads(line) for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]
        files = {line["key"]: line["file"] for line in lines}
        assert len(files) == len(lines)
        assert {key for item in game_items.items() for key in item["images"]} == files.keys()
        assert {file.name for file in folder.iterdir()} == {*files.values(), "manifest.jsonl"}

    def test_parts_and_drawings_are_enlarged_and_without_metadata(self, unpacked):
        folder = game_pictures.prepared(unpacked, ["coffee/cup", "1f34c"])
        for name in ("coffee/cup", "1f34c"):
            with Pillow.open(folder / pictures()[name].file) as made:
                assert max(made.size) >= 440
                assert made.mode == "RGB"
                assert made.info == {}

    def test_the_same_files_give_the_same_pictures(self, unpacked):
        names = ["coffee", "coffee/cup", "cat/eye", "1f34c"]
        first = {file.name: file.read_bytes() for file in game_pictures.prepared(unpacked, names).iterdir()}
        again = {file.name: file.read_bytes() for file in game_pictures.prepared(unpacked, names).iterdir()}
        assert again == first

    def test_they_come_out_of_the_packages_together_with_the_photographs(self, tmp_path, settings, monkeypatch):
        settings.VAR = tmp_path
        wanted = replace(game_pictures.DRAWINGS[0], sha256=sha256(b"drawn").hexdigest())

        def fetch(packages):
            with zipfile.ZipFile(packages / "some-1.0-py3-none-any.whl", "w") as archive:
                archive.writestr(wanted.path, b"drawn")

        monkeypatch.setattr(photographs, "PHOTOGRAPHS", ())
        monkeypatch.setattr(photographs, "_fetch", fetch)
        folder = photographs.installed(lambda _sentence: None, also=[wanted])
        assert (folder / wanted.file).read_bytes() == b"drawn"
        assert (folder / "manifest.jsonl").read_text().strip() == ""
