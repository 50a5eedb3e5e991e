"""`manage.py caption_stats` and `recount`, of files and of projects."""

from __future__ import annotations

import json

import pytest
from django.core.management.base import CommandError

from annotation.models import Caption, CaptionState, RoundKind, Tally
from annotation.selectors.statistics import project_statistics
from tests.annotation.submitting import make_captions, submit_captions
from tests.commands import output_of
from tests.factories import make_annotator, make_project, make_round

pytestmark = pytest.mark.django_db


class TestOfAProject:
    def test_captions_that_count_in_main_rounds_are_counted(self):
        round = make_round(project=make_project("lions"), images=2, language="de")
        first, second = (task.image_id for task in round.tasks.order_by("pk"))
        make_captions(round, {first: ["eins zwei", "drei"], second: ["vier fünf sechs", "gilt nicht"]})
        Caption.objects.filter(text="gilt nicht").update(state=CaptionState.EXCLUDED)
        pilot = make_round(project=round.project, images=1, language="de", kind=RoundKind.PILOT)
        make_captions(pilot, {pilot.tasks.get().image_id: ["nur ein Pilot"]})

        (row,) = json.loads(output_of("caption_stats", "lions", "--json"))
        assert row == {
            "language": "de",
            "captions": 3,
            "images_with_1": 1,
            "images_with_2": 1,
            "images_with_3_or_more": 0,
            "mean_words": 2.0,
            "mean_chars": 9.3,
        }

    def test_languages_come_by_their_tags_and_empty_ones_are_there(self):
        project = make_project("lions")
        for tag in ("fr", "de"):
            make_round(project=project, images=1, language=tag)
        assert [language.pk for language, _ in project_statistics(project)] == ["de", "fr"]
        assert output_of("caption_stats", "lions").splitlines()[1].split() == ["de", "0", "0", "0", "0", "-", "-"]

    def test_a_project_that_is_not_there_is_said_with_those_that_are(self):
        make_project("lions")
        with pytest.raises(CommandError, match=r"no file .tigers., and no project with that slug.*lions"):
            output_of("caption_stats", "tigers")


class TestOfAFile:
    def test_a_file_comes_out_as_a_table(self, tmp_path):
        path = tmp_path / "captions.jsonl"
        path.write_text('{"image/key": "a", "de": {"caption": ["eins zwei"]}}\n')
        head, row = output_of("caption_stats", str(path)).splitlines()
        assert head.split()[0] == "language"
        assert row.split() == ["de", "1", "1", "0", "0", "2.0", "9.0"]

    def test_line_and_reason_are_named(self, tmp_path):
        path = tmp_path / "captions.jsonl"
        path.write_text('{"image/key": "a", "de": {"caption": ["eins zwei"]}}\n{"image/key": "b"')
        with pytest.raises(CommandError, match=r"captions\.jsonl, line 2: Not valid JSON"):
            output_of("caption_stats", str(path))


class TestRecount:
    def test_what_differed_is_said_and_put_right(self):
        round = make_round(project=make_project("lions"), images=2, language="de")
        submit_captions(round, make_annotator(round, "ann"))
        Tally.objects.update(captions=7)

        assert output_of("recount", "lions").splitlines() == [
            "German, main 1, ann: captions was 7, is 2.",
            "Corrected: 1.",
        ]
        assert output_of("recount", "lions") == "All figures were right.\n"

    def test_a_project_that_is_not_there_is_said(self):
        with pytest.raises(CommandError, match="no project 'tigers'"):
            output_of("recount", "tigers")
