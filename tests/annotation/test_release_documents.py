"""What changed since the release before, and what the documents of a release say."""

from __future__ import annotations

from datetime import timedelta

import pytest
import yaml
from django.core.files.storage import default_storage

from annotation.models import Caption, CaptionState, Release, RoundState, Verdict
from annotation.services.release_contents import ReleaseNotPossibleError
from annotation.services.releases import build
from tests.annotation.released import KEYS, UNTIL, lines, table, written

pytestmark = pytest.mark.django_db


class TestChanges:
    @pytest.fixture
    def first(self, campaign, media) -> Release:
        release = campaign.start()
        return build(release_id=release.pk, clock=lambda: UNTIL)

    def test_the_first_release_says_so(self, folder):
        assert "The first release." in (folder / "CHANGES.md").read_text()

    def test_a_later_one_says_what_was_added_changed_and_removed_and_why(self, campaign, first, tmp_path):
        captions = {key: campaign.caption("de", "ann", key) for key in KEYS}
        Caption.objects.filter(pk=captions["harbour"].pk).update(state=CaptionState.WITHDRAWN)
        Caption.objects.filter(pk=captions["market"].pk).update(state=CaptionState.EXCLUDED)
        Caption.objects.filter(pk=captions["tower"].pk).update(text="Ganz anders")
        captions["tower"].pk = captions["tower"].item = captions["tower"].author = None
        captions["tower"].position = 3
        captions["tower"].text = captions["tower"].text_as_typed = "Dazu"
        captions["tower"].save()
        campaign.rounds["fr"].state = RoundState.REJECTED
        campaign.rounds["fr"].save()
        files = written(campaign.start(now=UNTIL + timedelta(days=1)), tmp_path / "release")
        assert files.counts["changes"] == {
            "since": 1,
            "kept": 13,
            "added": {"de": 1},
            "changed": {"de": 1},
            "removed": {"de": {"excluded": 1, "withdrawn": 1}, "fr": {"not-released": 4}},
        }
        said = (tmp_path / "release" / "CHANGES.md").read_text()
        assert "| German (de) | 1 | 1 | 1 excluded by a manager, 1 its author withdrew consent |" in said
        rows = table(tmp_path / "release" / "changes.csv")
        assert sorted(row["change"] for row in rows) == ["added", "changed", *["removed"] * 6]

    def test_without_the_files_of_the_one_before_it_cannot_be_told(self, campaign, first, tmp_path):
        default_storage.delete(f"{first.folder}/captions.jsonl")
        with pytest.raises(ReleaseNotPossibleError, match="files of release 1 are not in storage"):
            written(campaign.start(), tmp_path / "release")

    def test_nothing_changed_is_said_too(self, campaign, first, tmp_path):
        written(campaign.start(), tmp_path / "release")
        assert "No caption was added, changed or removed." in (tmp_path / "release" / "CHANGES.md").read_text()


class TestDocuments:
    def test_citation_and_readme_are_what_their_formats_want_and_explain_every_column(self, folder):
        citation = yaml.safe_load((folder / "CITATION.cff").read_text())
        assert citation["cff-version"] == "1.2.0"
        assert citation["type"] == "dataset"
        assert citation["version"] == "1"
        assert citation["license"] == "CC-BY-4.0"
        assert str(citation["date-released"]) == "2026-03-05"
        assert citation["authors"] == [{"family-names": "Lovelace", "given-names": "Ada"}, {"name": "An Institute"}]
        head = yaml.safe_load((folder / "README.md").read_text().split("---")[1])
        assert [config["config_name"] for config in head["configs"]] == [
            "captions",
            "verdicts",
            "english_ratings",
            "images",
        ]
        assert all((folder / config["data_files"]).is_file() for config in head["configs"])
        assert head["language"] == ["ar", "de", "fr"]
        readme = (folder / "README.md").read_text()
        for name in ("quality", "statistics"):
            assert f"## Columns of {name}.csv" in readme
            assert all(f"| `{column}` |" in readme for column in table(folder / f"{name}.csv")[0])
        assert "changes.csv" not in readme

    def test_a_table_without_rows_is_no_configuration(self, campaign, tmp_path):
        """`datasets` would make an error of it."""
        Verdict.objects.all().delete()
        written(campaign.start(), tmp_path / "release")
        head = yaml.safe_load((tmp_path / "release" / "README.md").read_text().split("---")[1])
        assert [config["config_name"] for config in head["configs"]] == ["captions", "english_ratings", "images"]

        assert "english_ratings = load_dataset(" in (tmp_path / "release" / "README.md").read_text()
        assert "verdicts = load_dataset(" not in (tmp_path / "release" / "README.md").read_text()

    def test_what_yaml_does_not_take_as_it_is_comes_back_from_citation_and_readme(self, campaign, tmp_path):
        odd = 'Zwei\u2028Zeilen, \x7f und \x85 und \ufeff: "#" 😀 ميناء'
        release = campaign.start(description=odd)
        Release.objects.filter(pk=release.pk).update(title=odd)
        release.refresh_from_db()
        written(release, tmp_path / "release")
        citation = yaml.safe_load((tmp_path / "release" / "CITATION.cff").read_bytes())
        head = yaml.safe_load((tmp_path / "release" / "README.md").read_bytes().split(b"---")[1])
        assert (citation["title"], citation["abstract"], head["pretty_name"]) == (odd, odd, odd)

    def test_where_all_is_from_files_the_texts_do_not_say_otherwise(self, campaign, tmp_path):
        for tag in ("ar", "de"):
            campaign.rounds[tag].state = RoundState.OPEN
            campaign.rounds[tag].save()
        written(campaign.start(), tmp_path / "release")
        sheet = (tmp_path / "release" / "DATASHEET.md").read_text()
        assert "All captions are from files" in sheet
        assert "No caption was verified by others." in sheet
        assert "Rate, then write" not in sheet
        assert not (tmp_path / "release" / "guidelines").exists()
        assert "`guidelines/`" not in (tmp_path / "release" / "README.md").read_text()
        assert {row["guidelines_version"] for row in lines(tmp_path / "release" / "captions.jsonl")} == {None}

    def test_every_column_is_explained(self, folder):
        readme = (folder / "README.md").read_text()
        for name in ("captions", "verdicts", "english_ratings", "images"):
            assert all(f"| `{column}` |" in readme for column in lines(folder / f"{name}.jsonl")[0])

    def test_guidelines_come_with_their_examples_and_consent_as_it_was_given(self, folder):
        said = (folder / "guidelines" / "1.md").read_text()
        assert "Write a sentence." in said
        assert "MEDIUM, German, image market" in said
        assert "> Ein Markt" in said
        assert (folder / "consent" / "1.md").read_text() == "I agree to take part.\n"

    def test_the_datasheet_says_what_the_database_knows(self, folder):
        sheet = (folder / "DATASHEET.md").read_text()
        assert "20 captions of 4 images by 2\nannotators" in sheet
        assert "German: 1 accepted, 1 not good enough" in sheet
        assert "Arabic: 1 skipped" in sheet
        assert "Another dataset, CC BY 4.0" in sheet
        assert "from 2026-03-02 to 2026-03-04" in sheet

    def test_the_licence_says_what_it_does_not_cover(self, folder):
        said = (folder / "LICENSE").read_text()
        assert "https://creativecommons.org/licenses/by/4.0/legalcode" in said
        assert "4 under CC BY 4.0" in said
