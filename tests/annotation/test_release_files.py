"""What is in a release, and that the same state of a database gives the same bytes."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from annotation.formats.archives import write_archive
from annotation.models import Caption, CaptionBatch, CaptionState, Round, RoundState, VerificationBatch
from annotation.services import release_files
from annotation.services.release_contents import ReleaseNotPossibleError
from annotation.services.release_files import write_release
from core.allocation.models import Assignment, AssignmentState, Task
from core.images.models import CollectionImage
from tabular.downloads import plain_cell
from tests.annotation.released import KEYS, UNTIL, Campaign, lines, table, written
from tests.annotation.submitting import caption_from_file
from tests.factories import make_translation

pytestmark = pytest.mark.django_db

GOLDEN = {
    1: "e9cc021de582e1e8896acb8ee1a528419eff310279c7f0dd24e6221312239110",
    2: "7e7110b54e6cf9d7f1da88907fc961320e5128e9e72284fb1ae68876e17c3c7a",
    3: "97a8b0d0dad8ae0e5a885840d077a06d678d385756ddf750c23e23b766eced00",
    4: "dcf27030331c053704a1109a81c89d85ba42c65c9165d4760d444b1bbe900d5e",
    5: "a403efeba181e32c4b5d071ea2c8f46f8eeead9978b59497368d6df4393758c7",
}
"""SHA-256 of the manifest, which has those of all other files: on SQLite and PostgreSQL, however rows are numbered. By
format: a release of an earlier version is built again in its own."""
DAY = timedelta(days=1)


class TestSameBytes:
    @pytest.mark.parametrize("is_other_way", [False, True], ids=["in order", "the other way round"])
    def test_the_same_state_gives_the_same_bytes_in_every_database(self, tmp_path, is_other_way):
        release = Campaign(is_other_way=is_other_way).start()
        for format, checksum in GOLDEN.items():
            release.format = format
            assert written(release, tmp_path / f"format-{format}").checksum == checksum, format

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_other_way_round_nothing_has_the_same_primary_key(self):
        """Or the test above would say nothing."""
        numbers = [
            [
                caption.pk
                for caption in Caption.objects.filter(round__project=campaign.project).order_by("image", "text")
            ]
            for campaign in (Campaign("one"), Campaign("two", is_other_way=True))
        ]
        orders = [sorted(range(len(keys)), key=keys.__getitem__) for keys in numbers]
        assert orders[0] != orders[1]

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_it_goes_on_from_one_piece_to_the_next_without_a_difference(self, campaign, tmp_path, monkeypatch):
        release = campaign.start()
        whole = written(release, tmp_path / "whole")
        monkeypatch.setattr(release_files, "IMAGES_AT_ONCE", 1)
        assert written(release, tmp_path / "pieces") == whole

    def test_an_archive_of_the_same_files_is_the_same(self, folder, tmp_path):
        names = sorted(path.name for path in folder.iterdir() if path.is_file())
        for number in (1, 2):
            write_archive(tmp_path / f"{number}.tar.gz", folder, names, within="harbours-1")
            for name in names:
                (folder / name).touch()
        assert (tmp_path / "1.tar.gz").read_bytes() == (tmp_path / "2.tar.gz").read_bytes()

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_what_is_submitted_later_changes_nothing(self, campaign, tmp_path):
        release = campaign.start()
        before = written(release, tmp_path / "before")
        caption = campaign.caption("de", "ann", "tower")
        Caption.objects.filter(pk=caption.pk).update(submitted_at=UNTIL + DAY)
        assert len(lines(tmp_path / "before" / "captions.jsonl")) == 20
        written(release, tmp_path / "after")
        assert len(lines(tmp_path / "after" / "captions.jsonl")) == 19
        assert before.counts["captions"] == 20


class TestTables:
    def test_every_file_is_in_the_manifest_with_its_digest(self, folder):
        manifest = json.loads((folder / "manifest.json").read_text())
        files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
        assert {file["name"] for file in manifest["files"]} == {*files} - {"manifest.json"}
        for file in manifest["files"]:
            content = files[file["name"]].read_bytes()
            assert file["bytes"] == len(content)
            assert file["sha256"] == hashlib.sha256(content).hexdigest()

    def test_a_caption_comes_with_what_is_known_of_it_and_one_from_a_file_with_its_source(self, campaign, folder):
        row = next(row for row in lines(folder / "captions.jsonl") if row["caption"] == "Boote am Abend 2")
        image = campaign.collection.entries.get(key="market").image
        assert len(row.pop("id")) == 16
        assert row.pop("annotator").startswith("p")
        assert row == {
            "image": "market",
            "image_sha256": image.sha256,
            "language": "de",
            "caption": "Boote am Abend 2",
            "guidelines_version": 1,
            "guidelines_language": None,
            "guidelines_revision": None,
            "writing_language": None,
            "writing_revision": None,
            "warnings": [],
            "english_model": "harbours-blip",
            "english_caption": "a market in the sun",
            "english_rating": "NOT-ENOUGH-INFO",
            "verified_as": "BAD",
            "source": "",
            "rating_ms": 2000,
            "writing_ms": 20_000,
            "submitted_on": "2026-03-03",
        }
        row = next(row for row in lines(folder / "captions.jsonl") if row["language"] == "fr")
        assert row["caption"] == " De\u0301ja\u0300 harbour 1"
        assert row["source"] == "Another dataset, CC BY 4.0"
        assert row["annotator"] is row["english_rating"] is row["writing_ms"] is None

    def test_the_language_of_the_guidelines_is_named_where_a_translation_was_shown(self, campaign, tmp_path):
        project = campaign.project
        german = make_translation(project, language="de", revision=0, body="**{GOOD}**, wenn …")
        writing = make_translation(project, kind="writing", language="de", revision=3)
        arabic = make_translation(project, language="ar", revision=2)
        make_translation(project, language="ar", revision=3)
        shown = {"guidelines_language": "de", "rating_translation": german, "writing_translation": writing}
        CaptionBatch.objects.filter(round__language="de").update(**shown)
        VerificationBatch.objects.update(guidelines_language="ar", rating_translation=arabic)
        written(campaign.start(), tmp_path / "release")
        captions = lines(tmp_path / "release" / "captions.jsonl")
        assert {(row["language"], row["guidelines_language"]) for row in captions} == {
            ("de", "de"),
            ("ar", None),
            ("fr", None),
        }
        columns = ("guidelines_revision", "writing_language", "writing_revision")
        assert {tuple(row[name] for name in columns) for row in captions} == {(0, "de", 3), (None, None, None)}
        verdicts = lines(tmp_path / "release" / "verdicts.jsonl")
        assert {(row["guidelines_language"], row["guidelines_revision"]) for row in verdicts} == {("ar", 2)}
        texts = {path.name: path.read_text() for path in (tmp_path / "release" / "guidelines").iterdir()}
        assert {*texts} == {"1.md", "1.rating.de.0.md", "1.writing.de.3.md", "1.rating.ar.2.md"}
        assert texts["1.rating.de.0.md"] == "**Gut**, wenn …\n", "as the buttons say it"
        assert "| `guidelines_language` |" in (tmp_path / "release" / "README.md").read_text()

    def test_rows_are_in_order_and_the_layout_of_crossmodal_3600_has_the_same_captions(self, folder):
        order = [(KEYS.index(row["image"]), row["language"], row["annotator"] or "") for row in self._captions(folder)]
        assert order == sorted(order)
        rows = [
            (line["image/key"], tag, text)
            for line in lines(folder / "captions.xm3600.jsonl")
            for tag in ("ar", "de", "fr")
            for text in line[tag]["caption"]
        ]
        assert rows == [(row["image"], row["language"], row["caption"]) for row in self._captions(folder)]

    @staticmethod
    def _captions(folder):
        return lines(folder / "captions.jsonl")

    def test_captions_of_two_rounds_come_by_the_numbers_of_the_rounds(self, campaign, tmp_path):
        """Not by primary keys, which are others in a copy of the database."""
        Round.objects.filter(pk=campaign.rounds["fr"].pk).update(number=2)
        image = campaign.collection.entries.get(key=KEYS[0]).image
        caption_from_file(campaign._round("fr"), image, "Un port")
        written(campaign.start(), tmp_path / "release")
        french = [row for row in self._captions(tmp_path / "release") if row["language"] == "fr"]
        assert french[0]["caption"] == "Un port"

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_parquet_has_the_same_rows_as_json(self, folder):
        import pyarrow.parquet as pq

        for name in ("captions", "verdicts", "english_ratings", "images"):
            rows = pq.read_table(folder / f"{name}.parquet").to_pylist()
            for row in rows:
                for column, value in row.items():
                    row[column] = value.isoformat() if column.endswith("_on") else value
            assert rows == lines(folder / f"{name}.jsonl")

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_verdicts_come_to_an_aggregate_once_all_are_there(self, folder):
        by_caption: dict[str, list[dict[str, Any]]] = {}
        for row in lines(folder / "verdicts.jsonl"):
            by_caption.setdefault(row["image"], []).append(row)
        assert {image: [len(rows), rows[0]["verified_as"]] for image, rows in by_caption.items()} == {
            "harbour": [3, "BAD"],
            "market": [3, "BAD"],
            "=stairs": [2, None],
        }

    def test_images_say_whose_they_are_and_quality_and_statistics_are_by_language(self, folder):
        rows = table(folder / "images.csv")
        assert [plain_cell(row["image"]) for row in rows] == list(KEYS)
        assert [row["region"] for row in rows] == ["de", "", "", ""]
        assert {row["author"] for row in rows} == {"An Author"}
        assert {row["licence"] for row in rows} == {"CC BY 4.0"}
        (quality,) = table(folder / "quality.csv")
        assert (quality["language"], quality["verified"], quality["ratings"], quality["bad"]) == ("de", "2", "6", "2")
        assert (quality["raters"], quality["unfinished"]) == ("3", "1")
        over_captions, over_authors = (
            [quality[f"bad_{end}"] for end in ends] for ends in (("low", "high"), ("authors_low", "authors_high"))
        )
        assert over_captions == ["34.24", "100.0"]
        assert over_authors == ["15.81", "100.0"]
        statistics = {row["language"]: row for row in table(folder / "statistics.csv")}
        assert [statistics[tag]["captions"] for tag in ("ar", "de", "fr")] == ["8", "8", "4"]
        assert statistics["de"]["mean_words"] == "3.5"

    def test_a_language_whose_main_round_was_not_accepted_is_left_out(self, campaign, tmp_path):
        campaign.rounds["ar"].state = RoundState.OPEN
        campaign.rounds["ar"].save()
        release = written(campaign.start(), tmp_path / "release")
        assert release.counts["languages"] == {"de": 8, "fr": 4}

    def test_captions_of_an_image_taken_out_of_the_collection_stay_under_its_digest(self, campaign, tmp_path):
        entry = campaign.collection.entries.select_related("image").get(key="market")
        CollectionImage.objects.filter(pk=entry.pk).delete()
        written(campaign.start(), tmp_path / "release")
        keys = [line["image/key"] for line in lines(tmp_path / "release" / "captions.xm3600.jsonl")]
        assert keys == ["harbour", "=stairs", "tower", entry.image.sha256]


class TestPeople:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_nobody_is_named(self, campaign, folder):
        for path in folder.rglob("*"):
            text = path.read_bytes() if path.is_file() else b""
            for person in campaign.people.values():
                assert person.username.encode() not in text
                assert person.email.encode() not in text

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_pseudonyms_are_others_in_another_release_and_hold_within_one(self, campaign, tmp_path):
        first, second = (written_rows(campaign, tmp_path, name) for name in ("one", "two"))
        assert {row["annotator"] for row in first} & {row["annotator"] for row in second} == {None}
        assert len({row["annotator"] for row in first}) == 3
        by_caption: dict[str, set[str]] = {}
        for row in first:
            if row["annotator"]:
                by_caption.setdefault(row["caption"].rpartition(" ")[0], set()).add(row["annotator"])
        assert all(len(names) == 1 for names in by_caption.values())

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_new_user_name_changes_no_pseudonym(self, campaign, tmp_path):
        release = campaign.start()
        before = written(release, tmp_path / "before")
        person = campaign.people["ann"]
        person.username = "somebody-else"
        person.save()
        assert written(release, tmp_path / "after") == before


def written_rows(campaign: Campaign, place: Path, salt: str) -> list[dict[str, Any]]:
    release = campaign.start(salt=salt)
    written(release, place / salt)
    release.delete()
    return lines(place / salt / "captions.jsonl")


class TestLeftOut:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_what_does_not_count_is_left_out_and_counted_by_reason(self, campaign, tmp_path):
        for key, state in zip(
            KEYS, (CaptionState.EXCLUDED, CaptionState.EXCLUDED, CaptionState.WITHDRAWN), strict=False
        ):
            caption = campaign.caption("de", "ann", key)
            Caption.objects.filter(pk=caption.pk).update(state=state)
        release = written(campaign.start(), tmp_path / "release")
        assert release.counts["left_out"] == {"de": {"excluded": 2, "withdrawn": 1}}
        assert release.counts["captions"] == 17
        sheet = (tmp_path / "release" / "DATASHEET.md").read_text()
        assert "German: 2 excluded by a manager" in sheet
        assert "German: 1 its author withdrew consent" in sheet
        texts = [row["caption"] for row in lines(tmp_path / "release" / "captions.jsonl")]
        assert not {"Ein Hafen 1", "Ein Hafen 2", "Ein Hafen 3"} & set(texts)
        # Nor are there verdicts of captions that are not there.
        assert {row["image"] for row in lines(tmp_path / "release" / "verdicts.jsonl")} == {"market"}

    def test_where_what_counts_changes_meanwhile_the_tables_still_agree(self, campaign, tmp_path):
        release = campaign.start()
        beats: list[None] = []

        def beat():
            beats.append(None)
            if len(beats) == 1:
                Caption.objects.filter(text="Ein Hafen 4").update(state=CaptionState.EXCLUDED)

        (tmp_path / "release").mkdir()
        manifest = write_release(release, tmp_path / "release", beat=beat)
        assert manifest.counts["captions"] == 19
        assert manifest.counts["left_out"] == {"de": {"excluded": 1}}

    def test_where_it_changes_all_the_time_it_is_given_up(self, campaign, tmp_path):
        release = campaign.start()

        def beat():
            counted = Caption.objects.counted().filter(round=campaign.rounds["de"]).first()
            Caption.objects.filter(pk=counted.pk).update(state=CaptionState.EXCLUDED)

        (tmp_path / "release").mkdir()
        with pytest.raises(ReleaseNotPossibleError, match="kept changing"):
            write_release(release, tmp_path / "release", beat=beat)

    def test_ratings_by_people_who_are_excluded_are_left_out_and_counted(self, campaign, tmp_path):
        eve = Assignment.objects.filter(person=campaign.people["eve"], verdict__isnull=False)
        assert eve.update(state=AssignmentState.REJECTED) == 2
        release = written(campaign.start(), tmp_path / "release")
        assert (release.counts["verdicts"], release.counts["verdicts_left_out"]) == (6, 2)
        sheet = (tmp_path / "release" / "DATASHEET.md").read_text()
        assert "- ratings of captions: 2 by people who were excluded or withdrew consent" in sheet

    def test_who_rated_only_what_is_not_finished_is_no_rater_of_the_verified(self, campaign, tmp_path):
        harbour, market = (
            Assignment.objects.filter(task__verification_task__caption__image__entries__key=key)
            for key in ("harbour", "market")
        )
        Task.objects.filter(assignments__in=harbour).update(places=2)
        eve = campaign.people["eve"]
        harbour.filter(person=eve).update(state=AssignmentState.REJECTED)
        market.exclude(person=eve).update(state=AssignmentState.REJECTED)
        written(campaign.start(), tmp_path / "release")
        (quality,) = table(tmp_path / "release" / "quality.csv")
        assert (quality["verified"], quality["ratings"], quality["raters"], quality["unfinished"]) == (
            "1",
            "2",
            "2",
            "2",
        )
