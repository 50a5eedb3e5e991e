"""Pages of what is in a corpus: words, senses, sentences, candidates, statistics, and striking out."""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.test import Client
from PIL import Image as Pillow

from corpora.models import CorpusBuild, CorpusFile, CorpusStep, FileRole, StepState
from corpora.rules import played
from corpora.rules.played import PlayedSense
from parallel_text.statistics import Senses, Side, Statistics
from parallel_text.step_names import STEP_NAMES
from people.models import AuditEntry, Project
from tests.clients import client_of
from tests.factories import NOW, make_project, make_user
from tests.parallel_text.looked_at import ANIMAL, DOG, FRAGMENT_ROWS, STAMP, build_index

pytestmark = pytest.mark.django_db

TOP = "/projects/sea/corpora/seals"
PAGES = [
    "/words/",
    "/word/?word=seal",
    f"/sense/?word=seal&synset={ANIMAL}",
    "/sentences/0/",
    "/candidates/",
    "/statistics/",
    "/struck-out/",
]
STATISTICS = Statistics(
    instances=4,
    nouns=2,
    sentences={"en": [3, 1], "ar": [1, 1], "es": [3, 1]},
    sides=[Side("es", True, 3, 13, 9, 7, 4.333), Side("es", False, 3, 14, 11, 9, 4.667)],
    words_per_sentence={1: 2, 2: 1},
    images_per_synset={1: 1, 2: 1},
    senses=[Senses(0, 4, 2), Senses(1, 3, 3), Senses(2, 0, 0)],
)


@pytest.fixture
def project() -> Project:
    return make_project("sea")


@pytest.fixture
def empty(project) -> CorpusBuild:
    build = CorpusBuild.objects.create(
        project=project, slug="seals", name="Seals", created_at=NOW, created_by=project.created_by
    )
    CorpusStep.objects.bulk_create(
        CorpusStep(build=build, position=position, name=name) for position, name in enumerate(STEP_NAMES, start=1)
    )
    return build


@pytest.fixture(scope="module")
def indexed(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("corpus")
    build_index(path)
    return path


@pytest.fixture
def build(empty, indexed) -> CorpusBuild:
    shutil.copytree(indexed, place_of(empty))
    write_statistics(empty)
    return empty


def build_in(build: CorpusBuild, **changes: Any) -> None:
    build_index(place_of(build), {name.replace("__", "/"): rows for name, rows in changes.items()})
    write_statistics(build)


def place_of(build: CorpusBuild) -> Path:
    return Path(default_storage.path(f"{build.folder}/work"))


def write_statistics(build: CorpusBuild) -> None:
    (place_of(build) / "statistics.json").write_text(json.dumps(STATISTICS.as_json() | {"made_by": {}}))


@pytest.fixture
def manager(project) -> Client:
    return client_of(project.created_by)


def page(client: Client, address: str, **query: str) -> str:
    answer = client.get(TOP + address, query)
    assert answer.status_code == 200
    return answer.content.decode()


class TestDoor:
    def test_a_page_of_what_is_not_built_says_so(self, empty, manager):
        for address in PAGES[:-1]:
            assert "has not been built yet" in page(manager, address)

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_while_it_is_built_the_pages_show_what_was_there(self, build, manager):
        build.steps.filter(name="images").update(state=StepState.RUNNING)
        text = page(manager, "/words/")
        assert "being built" in text
        assert "seal" in text


class TestWords:
    def test_the_words_are_listed_with_their_counts(self, build, manager):
        text = page(manager, "/words/")
        assert text.index(">seal</bdi>") < text.index(">dog</bdi>")
        assert "581" in text

    def test_words_are_found_and_sorted(self, build, manager):
        assert ">seal</bdi>" not in page(manager, "/words/", search="DO", match="prefix")
        text = page(manager, "/words/", sort="word")
        assert text.index(">dog</bdi>") < text.index(">seal</bdi>")

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_what_nobody_can_have_meant_is_ignored(self, build, manager):
        for number in ("-1", "9999999999999999999999"):
            assert ">seal</bdi>" in page(manager, "/words/", sort="x'; DROP", match="?", page=number)

    def test_a_corpus_without_words_says_so(self, empty, manager):
        names = ("candidates__fragments", "intersect__instances", "images__instances", "images__images")
        build_in(empty, **{name: [] for name in names})
        assert "There are no such words." in page(manager, "/words/")
        assert "There are no such candidates." in page(manager, "/candidates/")


class TestWord:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_it_has_translations_senses_and_sentences(self, build, manager):
        text = page(manager, "/word/", word="seal")
        assert "60.0%" in text
        assert "Left out" in text
        assert "nadar" in text
        assert ANIMAL in text
        assert STAMP in text
        assert "The <mark>seal</mark> swims." in text
        assert "Ann O." in text

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_sentences_are_chosen_by_sense_and_n(self, build, manager):
        text = page(manager, "/word/", word="seal", sense=STAMP)
        assert "A <mark>seal</mark> on the letter." in text
        assert "swims" not in text
        assert "There are no such sentences." in page(manager, "/word/", word="seal", sense=STAMP, n="2")

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_bad_numbers_are_ignored(self, build, manager):
        for number in ("x", "-3", "9" * 30):
            assert "swims" in page(manager, "/word/", word="seal", n=number, page="x")

    def test_a_word_that_the_corpus_does_not_have_is_not_found(self, build, manager):
        for word in ("", "unicorn", "seal\0", "'", "se%al", "x" * 5000):
            answer = manager.get(f"{TOP}/word/", {"word": word})
            assert answer.status_code == (200 if word == "seal\0" else 404), word

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_any_word_has_an_address(self, empty, manager):
        words = ('the "end"', "🦭", "a&b=c?d#e", "../x")
        rows = [(word, "noun", 5, 600.0, "rated", True, None) for word in words]
        build_in(empty, candidates__fragments=[*FRAGMENT_ROWS, *rows])
        for word in words:
            listed = page(manager, "/words/", search=word)
            assert f"/word/?word={quote(word, safe='')}" in listed
            assert "The inventory has no senses" in page(manager, "/word/", word=word)

    def test_it_shows_what_players_found(self, build, manager, monkeypatch):
        monkeypatch.setattr(played, "_games", {})
        played.register(
            "game", lambda pk, word: [PlayedSense(ANIMAL, 77, 40, 20, 10, 7, 0.625)] if pk == build.pk else []
        )
        text = page(manager, "/word/", word="seal")
        assert "What players of the Gap Filling Game found" in text
        assert text.count("0.63") == 1
        assert ">77<" in page(manager, "/sense/", word="seal", synset=ANIMAL)
        assert "Gap Filling Game found" not in page(manager, "/sense/", word="seal", synset=STAMP)


class TestSense:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_it_has_words_of_all_languages_and_images_with_licences(self, build, manager):
        text = page(manager, "/sense/", word="seal", synset=ANIMAL)
        assert 'lang="ar" dir="rtl">فقمة' in text
        assert text.index("seal_2.jpg") < text.index("seal_1.jpg")
        assert "CC BY 4.0" in text
        assert 'href="https://images.test/seal_1"' in text

    def test_an_address_that_no_browser_should_open_is_no_link(self, build, manager):
        text = page(manager, "/sense/", word="dog", synset=DOG)
        assert "javascript:alert(1)" in text
        assert 'href="javascript' not in text

    def test_a_sense_that_the_word_does_not_have_is_not_found(self, build, manager):
        for query in ({"word": "seal", "synset": DOG}, {"word": "x", "synset": ANIMAL}, {}):
            assert manager.get(f"{TOP}/sense/", query).status_code == 404


class TestImage:
    def upload(self, build: CorpusBuild, **files: bytes) -> None:
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for name, data in files.items():
                archive.writestr(name.replace("__", "."), data)
        content.seek(0)
        stored = default_storage.save(f"{build.folder}/files/images.zip", content)
        CorpusFile.objects.create(
            build=build, role=FileRole.IMAGES, name="images.zip", stored=stored, sha256="0" * 64, bytes=1, added_at=NOW
        )

    def test_a_file_of_the_corpus_is_shown_small(self, build, manager):
        drawn = io.BytesIO()
        Pillow.new("RGB", (800, 640), "teal").save(drawn, "JPEG")
        self.upload(build, seal_1__jpg=drawn.getvalue(), other__jpg=drawn.getvalue())
        assert f"image/?synset={ANIMAL}&amp;file=seal_1.jpg" in page(manager, "/word/", word="seal")
        answer = manager.get(f"{TOP}/image/", {"synset": ANIMAL, "file": "seal_1.jpg"})
        assert (answer.status_code, answer["Content-Type"]) == (200, "image/webp")
        assert Pillow.open(io.BytesIO(answer.content)).size == (400, 320)
        for query in ({"synset": ANIMAL, "file": "other.jpg"}, {"synset": ANIMAL, "file": "seal_2.jpg"}, {}):
            assert manager.get(f"{TOP}/image/", query).status_code == 404
        outsider = client_of(make_user())
        assert outsider.get(f"{TOP}/image/", {"synset": ANIMAL, "file": "seal_1.jpg"}).status_code == 404

    def test_a_file_that_is_no_image_is_not_served(self, build, manager):
        self.upload(build, seal_1__jpg=b"<svg onload=alert(1)>")
        assert manager.get(f"{TOP}/image/", {"synset": ANIMAL, "file": "seal_1.jpg"}).status_code == 404


class TestSentence:
    def test_all_languages_stand_with_their_own_direction_and_the_aligned_words(self, build, manager):
        text = page(manager, "/sentences/0/")
        assert 'lang="ar" dir="rtl"' in text
        assert 'lang="es" dir="ltr"' in text
        assert re.search(r'id="word-en-1"[^>]*data-partners="ar-0-0 es-0-1"\s*>seal<sup>1</sup>', text)
        assert re.search(r'id="word-ar-0-0"[^>]*data-partners="en-1"\s*>الفقمة<sup>1</sup>', text)

    def test_words_and_signs_stand_as_in_the_text(self, build, manager):
        text = page(manager, "/sentences/2/")
        [spanish] = re.findall(r'<p class="aligned__text" lang="es" dir="ltr">(.*?)</p>', text, re.DOTALL)
        assert re.sub(r"<[^>]*>", "", spanish).strip() == "¡Focas1 y perros2!"

    def test_a_sentence_without_nouns_of_the_corpus_says_so(self, build, manager):
        assert "No noun of this sentence is in the corpus." in page(manager, "/sentences/4/")

    def test_a_sentence_that_the_corpus_does_not_have_is_not_found(self, build, manager):
        for number in ("5", "99999999999999999999999"):
            assert manager.get(f"{TOP}/sentences/{number}/").status_code == 404


def test_candidates_say_why_they_were_rejected(build, manager):
    text = page(manager, "/candidates/", reason="not_imageable")
    assert "Imageability too low" in text
    assert ">thing</bdi>" in text
    assert ">seal</bdi>" not in text
    assert ">letter</bdi>" in page(manager, "/candidates/", kind="noun", search="l")


class TestStatistics:
    def test_the_tables_stand_on_the_page_and_in_the_download(self, build, manager):
        text = page(manager, "/statistics/")
        for figure in ("intersect_2", "4.3", "100.0%", "50.0%", "Arabic"):
            assert figure in text
        answer = manager.get(f"{TOP}/download/statistics.json")
        assert json.loads(answer.getvalue())["table_1"]["es"] == {"1": 3, "2": 1}

    def test_the_command_prints_those_of_a_folder_or_of_a_corpus(self, build, capsys):
        folder = str(place_of(build))
        call_command("corpus_statistics", folder)
        of_folder = capsys.readouterr().out
        assert "intersect_0          4          2   50.0%" in of_folder
        call_command("corpus_statistics", project="sea", corpus="seals")
        assert capsys.readouterr().out == of_folder
        call_command("corpus_statistics", folder, json=True)
        assert json.loads(capsys.readouterr().out)["nouns"] == 2

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ([], "Name either a folder, or --project and --corpus."),
            (["--project=sea"], "Name either a folder, or --project and --corpus."),
            (["/nowhere/at/all"], "/nowhere/at/all is not a folder."),
            (["--project=sea", "--corpus=fish"], "The project has no corpus fish. It has: seals."),
        ],
    )
    def test_the_command_says_what_is_missing(self, build, arguments, message):
        with pytest.raises(CommandError, match=message.replace(".", r"\.")):
            call_command("corpus_statistics", *arguments)

    def test_the_command_says_that_a_folder_is_not_built(self, tmp_path):
        with pytest.raises(CommandError, match="has not been built yet"):
            call_command("corpus_statistics", str(tmp_path))


class TestStrikingOut:
    @pytest.mark.parametrize(
        ("sent", "kept"),
        [
            ({"kind": "word", "word": "seal"}, ("seal", "", "")),
            ({"kind": "word", "word": "seal", "synset": ANIMAL, "image": "x"}, ("seal", "", "")),
            ({"kind": "sense", "word": "seal", "synset": ANIMAL}, ("seal", ANIMAL, "")),
            ({"kind": "image", "image": "seal_1.jpg"}, ("", "", "seal_1.jpg")),
        ],
    )
    def test_it_is_listed_logged_and_taken_back(self, build, manager, sent, kept):
        answer = manager.post(f"{TOP}/strike-out/", sent | {"reason": "A name.", "back": f"{TOP}/word/?word=seal"})
        assert (answer.status_code, answer.url) == (302, f"{TOP}/word/?word=seal")
        exclusion = build.exclusions.get()
        assert (exclusion.word, exclusion.synset, exclusion.image) == kept
        assert exclusion.by == build.project.created_by
        assert "A name." in page(manager, "/struck-out/")
        manager.post(f"{TOP}/struck-out/{exclusion.pk}/take-back/")
        assert not build.exclusions.exists()
        actions = list(AuditEntry.objects.order_by("number").values_list("action", flat=True))
        assert actions[-2:] == ["corpus.struck-out", "corpus.restored"]

    def test_the_page_of_the_word_says_so(self, build, manager):
        for sent in ({"kind": "word", "word": "seal"}, {"kind": "sense", "word": "seal", "synset": STAMP}):
            manager.post(f"{TOP}/strike-out/", sent)
        assert page(manager, "/word/", word="seal").count("/take-back/") == 2
        manager.post(f"{TOP}/strike-out/", {"kind": "image", "image": "seal_1.jpg"})
        assert page(manager, "/sense/", word="seal", synset=ANIMAL).count("/take-back/") == 1

    def test_twice_is_once(self, build, manager):
        for _time in range(2):
            manager.post(f"{TOP}/strike-out/", {"kind": "word", "word": "seal"})
        exclusion = build.exclusions.get()
        for _time in range(2):
            assert manager.post(f"{TOP}/struck-out/{exclusion.pk}/take-back/").status_code == 302
        assert AuditEntry.objects.filter(action="corpus.struck-out").count() == 1
        assert AuditEntry.objects.filter(action="corpus.restored").count() == 1

    def test_what_names_nothing_strikes_out_nothing(self, build, manager):
        for sent in (
            {},
            {"kind": "word"},
            {"kind": "sense", "word": "seal"},
            {"kind": "image", "word": "seal"},
            {"kind": "planet", "word": "seal"},
            {"kind": "word", "word": "x" * 201},
            {"kind": "word", "word": "seal\0"},
            {"kind": "word", "word": "seal", "reason": "x" * 501},
        ):
            assert manager.post(f"{TOP}/strike-out/", sent).status_code == 302
            assert not build.exclusions.exists(), sent

    def test_nobody_is_sent_to_another_site(self, build, manager):
        for back in ("https://elsewhere.test/", "//elsewhere.test/", "/\\elsewhere.test", ""):
            answer = manager.post(f"{TOP}/strike-out/", {"kind": "word", "word": "seal", "back": back})
            assert answer.url == f"{TOP}/struck-out/"
