"""Captions of people from files: all of a file or nothing, letter for letter, and the same bytes out again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.models import Caption, Round, RoundFigures, RoundKind, RoundState
from annotation.selectors.campaign import language_page
from annotation.selectors.releases import released_rounds
from annotation.services import caption_imports
from annotation.services.references import use_as_references
from core.images.models import Collection, CollectionImage, ImportJob, ImportKind
from core.languages.models import Language
from core.people.models import AuditEntry, Project
from office.imports.services.undoing import UndoRefusedError, undo_at_once
from research.scoring.models import Reference, ReferenceSet
from tests.exported import exported_text
from tests.factories import make_keyed_collection, make_project, make_round
from tests.published import published
from tests.queries import queries_of

pytestmark = pytest.mark.django_db

REAL = "xm3600/captions_6languages.jsonl"
LINES = [
    {"image/key": "one", "de": {"caption": ["Ein Haus", "Gru\u0308n  "]}, "fr": {"caption": ["Maison"]}},
    {"image/key": "two", "de": {"caption": ["Ein „Baum“"]}, "fr": {"caption": []}},
]


def as_lines(lines) -> bytes:
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


def imported(path: Path, collection: Collection, project: Project, *more: str) -> None:
    into = ("--collection", collection.slug, "--project", project.slug, "--as", "captions by people")
    call_command("import", str(path), *into, *more)


def exported(project: Project) -> bytes:
    return exported_text(
        project, "captions", "xm3600", until=Caption.objects.latest("submitted_at").submitted_at
    ).encode()


@pytest.fixture
def collection() -> Collection:
    return make_keyed_collection(["one", "two"])


def test_scores_beside_captions_do_not_keep_these_out(collection, tmp_path):
    shown = {"src": "<img src='one.jpg'>", "tgt": {"A": "Ein Haus"}}
    line = {"annotation": [{"A": {"score": 80}}], "user_id": "u", "item": [shown]}
    (tmp_path / "scored.de.jsonl").write_bytes(as_lines([line]))
    imported(tmp_path / "scored.de.jsonl", collection, make_project())
    assert Caption.objects.get().text == "Ein Haus"


@pytest.fixture
def path(tmp_path) -> Path:
    place = tmp_path / "captions.jsonl"
    place.write_bytes(as_lines(LINES))
    return place


class TestIntoAProject:
    def test_the_export_is_the_file_byte_for_byte(self, path, collection, project, capsys):
        imported(path, collection, project)
        assert exported(project) == path.read_bytes()
        said = capsys.readouterr().out
        assert "Added: 4" in said
        assert "is identical to the file, byte for byte" in said

    def test_each_language_is_an_accepted_main_round_with_its_pilot_skipped(self, path, collection, project):
        imported(path, collection, project, "--source", "Elsewhere, CC BY 4.0")
        assert [round.language_id for round in released_rounds(project)] == ["de", "fr"]
        main = Round.objects.get(language="de", kind=RoundKind.MAIN)
        assert (main.state, main.source, main.replication) == (RoundState.ACCEPTED, "Elsewhere, CC BY 4.0", 2)
        assert not main.pool.is_open
        pilot = Round.objects.get(language="de", kind=RoundKind.PILOT)
        assert (pilot.state, pilot.reason) == (RoundState.SKIPPED, "imported")

    def test_captions_have_no_author_and_no_english_one_and_keep_place_and_letters(self, path, collection, project):
        imported(path, collection, project)
        captions = Caption.objects.filter(round__language="de", image__entries__key="one").order_by("position")
        assert [(one.position, one.text, one.author, one.item) for one in captions] == [
            (1, "Ein Haus", None, None),
            (2, "Gru\u0308n  ", None, None),
        ]
        until = Caption.objects.latest("submitted_at").submitted_at
        data = exported_text(project, "captions", until=until)
        rows = [json.loads(line) for line in data.split("\n")[:-1]]
        assert [row["caption"] for row in rows] == ["Ein Haus", "Gru\u0308n  ", "Maison", "Ein „Baum“"]
        for row in rows:
            assert row["author"] is row["english_caption"] is row["english_rating"] is row["rated_at"] is None
        assert exported_text(project, "captions", "csv", until=until).count("\r\n") == 5

    def test_the_page_of_a_language_shows_how_many_there_are(self, path, collection, project):
        imported(path, collection, project)
        main = Round.objects.get(language__tag="de", kind=RoundKind.MAIN)
        RoundFigures.objects.update_or_create(round=main, defaults={"figures": {"captions": 3}})
        RoundFigures.objects.exclude(round=main).update(figures={})
        for tag, done in (("de", 3), ("fr", 0)):
            page = language_page(project, Language.objects.get(tag=tag), now=timezone.now())
            assert [step.done for step in page.steps] == [0, done]

    def test_it_stands_in_the_log(self, path, collection, project):
        imported(path, collection, project)
        assert AuditEntry.objects.get(project=project).action == "captions.imported"

    def test_a_project_that_has_one_of_the_languages_takes_nothing(self, path, collection, project):
        make_round(project=project, language="fr")
        with pytest.raises(CommandError, match="already has rounds in fr"):
            imported(path, collection, project)
        assert not Caption.objects.exists()

    def test_other_languages_may_be_there(self, path, collection, project, capsys):
        make_round(project=project, language="sw")
        imported(path, collection, project)
        assert Caption.objects.count() == 4
        assert "byte" not in capsys.readouterr().out

    def test_an_alias_is_the_language_it_stands_for(self, collection, project, tmp_path, capsys):
        path = tmp_path / "captions.jsonl"
        path.write_bytes(as_lines([{"image/key": "one", "iw": {"caption": ["בית"]}}]))
        imported(path, collection, project)
        assert Round.objects.filter(language="he", state=RoundState.ACCEPTED).exists()
        assert "differs from the file" in capsys.readouterr().out

    def test_images_may_be_named_by_file_too(self, collection, project, tmp_path):
        path = tmp_path / "captions.jsonl"
        CollectionImage.objects.filter(key="one").update(file_name="eins.jpg")
        path.write_bytes(as_lines([{"image/key": "eins.jpg", "de": {"caption": ["Ein Haus"]}}]))
        imported(path, collection, project)
        assert Caption.objects.get().image.entries.get().key == "one"

    def test_pieces_make_no_difference(self, path, collection, project, monkeypatch):
        monkeypatch.setattr(caption_imports, "LINES_AT_ONCE", 1)
        monkeypatch.setattr(caption_imports, "CAPTIONS_PER_INSERT", 1)
        imported(path, collection, project)
        assert exported(project) == path.read_bytes()


class TestAllOrNothing:
    def refusal(self, path, content: bytes, collection, project) -> str:
        path.write_bytes(content)
        with pytest.raises(CommandError) as refused:
            imported(path, collection, project)
        assert not Caption.objects.exists()
        assert not Round.objects.exists()
        assert not Reference.objects.exists()
        assert not ReferenceSet.objects.exists()
        assert not AuditEntry.objects.exists()
        return str(refused.value)

    def test_a_line_that_is_cut_off_is_named(self, path, collection, project):
        said = self.refusal(path, as_lines(LINES)[:-20], collection, project)
        assert "Line 2: Not valid JSON" in said

    def test_one_that_is_cut_off_within_a_letter_too(self, path, collection, project):
        content = as_lines([{"image/key": "one", "de": {"caption": ["Grün"]}}])
        said = self.refusal(path, content[: content.index("ü".encode()) + 1], collection, project)
        assert "Holds characters that are not valid UTF-8." in said

    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            (b'{"image/key": "one", "de"}', "Not valid JSON"),
            (b'["one"]', "an object with 'image/key' is needed"),
            (b'{"de": {"caption": ["x"]}}', "'image/key' is missing"),
            (b'{"image/key": "one", "de": ["x"]}', "no list of captions"),
            (b'{"image/key": "one", "de": {"caption": [1]}}', "is a number, not a text"),
            (b'{"image/key": "one", "de": {"caption": ["  "]}}', "caption 1 of 'de' is empty"),
            (b'{"image/key": "one", "de": {"caption": ["\\u0000"]}}', "invalid characters"),
            (b'{"image/key": "one", "de": {"caption": ["\xff"]}}', "not valid UTF-8"),
            (b'{"image/key": "a\\ud800", "de": {"caption": ["x"]}}', "'image/key' holds half of a surrogate pair"),
            (b'{"image/key": "a\\u0000", "de": {"caption": ["x"]}}', "no image in the collection has the key 'a\\x00'"),
            (b'{"image/key": "lost", "de": {"caption": ["x"]}}', "no image in the collection has the key 'lost'"),
            (b'{"image/key": "two", "de": {"caption": ["x"]}}', "the image 'two' is already in line 1"),
            (b'{"image/key": "one", "tlh": {"caption": ["x"]}}', "there is no language tlh here"),
            (b'{"image/key": "one", "d_e": {"caption": ["x"]}}', "is not a BCP-47 language tag"),
            (b'{"image/key": "one", "he": {"caption": ["x"]}, "iw": {"caption": ["y"]}}', "are the same language"),
            (b'{"image/key": "one", "de": {"caption": ["' + b"x" * 2001 + b'"]}}', "2001 characters"),
            (b'{"image/key": "one", "de": {"caption": [' + b'"x", ' * 1000 + b'"x"]}}', "1001 captions in de"),
        ],
    )
    def test_a_line_that_is_not_in_order_is_named_with_the_reason(self, path, collection, project, line, problem):
        said = self.refusal(path, as_lines(LINES[1:]) + line + b"\n", collection, project)
        assert "Line 2: " in said
        assert problem in said

    def test_all_lines_are_looked_at(self, path, collection, project):
        lines = [{"image/key": f"lost-{number}", "de": {"caption": ["x"]}} for number in range(25)]
        said = self.refusal(path, as_lines(lines), collection, project)
        assert said.count("Line ") == 20
        assert said.endswith("and 5 more problems.")

    @pytest.mark.parametrize(
        ("content", "said"), [(b"", "empty"), (as_lines([{"image/key": "one", "de": {"caption": []}}]), "no captions")]
    )
    def test_a_file_without_any_caption_is_refused(self, path, collection, project, content, said):
        assert said in self.refusal(path, content, collection, project)

    def test_a_database_that_breaks_off_leaves_nothing(self, path, collection, project, monkeypatch):
        monkeypatch.setattr(caption_imports, "CAPTIONS_PER_INSERT", 1)
        monkeypatch.setattr("annotation.services.caption_imports.audit_log.record", _break)
        with pytest.raises(CommandError, match="ConnectionError"):
            imported(path, collection, project)
        assert not Caption.objects.exists()
        assert not Round.objects.exists()


def _break(**about) -> None:
    raise ConnectionError("the database went away")


class TestOtherLayouts:
    @pytest.mark.parametrize("layout", ["jsonl", "csv"])
    def test_our_own_export_by_rows_comes_back_too(self, path, collection, project, tmp_path, layout):
        path.write_bytes(as_lines([{"image/key": "one", "de": {"caption": ["=Treppe", "'s ist ein Haus", "-"]}}]))
        imported(path, collection, project)
        until = Caption.objects.latest("submitted_at").submitted_at
        there, into = tmp_path / f"rows.{layout}", make_project("again")
        there.write_bytes(exported_text(project, "captions", format=layout, until=until).encode())
        imported(there, collection, into)
        assert exported(into) == path.read_bytes()

    def test_a_line_without_an_image_keeps_all_of_them_out(self, collection, project, tmp_path):
        path = tmp_path / "captions.csv"
        path.write_text("image,caption,language\none,Haus,de\n,Baum,de\n")
        with pytest.raises(CommandError, match="Line 3: No image is named"):
            imported(path, collection, project)
        assert not Round.objects.exists()


class TestUndoing:
    def undone(self, project: Project) -> None:
        undo_at_once(ImportJob.objects.get(project=project, kind=ImportKind.FILES), now=timezone.now())

    def test_rounds_and_captions_go(self, path, collection, project):
        imported(path, collection, project)
        self.undone(project)
        assert not Caption.objects.exists()
        assert not Round.objects.exists()

    def test_what_was_made_of_them_is_named_and_nothing_goes(self, path, collection, project):
        imported(path, collection, project)
        main = Round.objects.get(language="de", kind=RoundKind.MAIN)
        use_as_references(round=main, by=project.created_by, now=timezone.now())
        with pytest.raises(UndoRefusedError, match="references"):
            self.undone(project)
        assert Caption.objects.count() == 4


class TestRealCaptions:
    """Crossmodal-3600 itself: 45,796 captions of 21,600 pairs of image and language."""

    @pytest.mark.long(reason="45,796 captions, as published")
    def test_they_go_in_and_come_out_byte_for_byte(self, project, capsys):
        path = published(REAL)
        with path.open(encoding="utf-8") as file:
            collection = make_keyed_collection([json.loads(line)["image/key"] for line in file])
        queries = queries_of(lambda: imported(path, collection, project))
        assert Caption.objects.count() == 45_796
        assert exported(project) == path.read_bytes()
        assert "is identical to the file, byte for byte" in capsys.readouterr().out
        # By pieces, not by images.
        assert len(queries) < 1000
