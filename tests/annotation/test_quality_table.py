"""The quality table: from ratings to shares, on the page, in files and by command."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence

import pytest
from django.core.management import CommandError, call_command

from annotation.formats.quality import QualityLayout, fresh_table, write
from annotation.models import Caption, CaptionState, Rating, Round, RoundKind, RoundState, Verdict
from annotation.pages.quality import appendix_of
from annotation.selectors.quality import quality_table
from annotation.selectors.verification_figures import figures_of
from annotation.services import verification as services
from core.allocation.models import Assignment, AssignmentState
from core.people.models import User
from core.people.rules.pseudonyms import pseudonym
from crosslens_metrics.sampling.intervals import Interval
from tests.annotation.verifying import make_captioned_round, make_reviewer, make_verification, submit, take
from tests.factories import NOW, make_user

pytestmark = pytest.mark.django_db
E, G, M, B, N = Rating.EXCELLENT, Rating.GOOD, Rating.MEDIUM, Rating.BAD, Rating.NOT_ENOUGH_INFO


def rate_by_text(round: Round, reviewer: User, ratings: Mapping[str, Rating]) -> None:
    """Rate all captions of a round, each as `ratings` say for its text, and hand them in."""
    while batch := take(round, reviewer):
        by_position = {verdict.position: ratings[verdict.caption.text] for verdict in batch.verdicts.all()}
        services.save_verdicts(batch_id=batch.pk, person=reviewer, ratings=by_position, now=NOW)
        submit(batch, reviewer)


def rated_round(*opinions: Sequence[Rating], places: int = 3, **fields: object) -> tuple[Round, list[User]]:
    """A round whose n-th caption got the n-th opinion of each reviewer."""
    verified, _ = make_captioned_round(images=len(opinions[0]), captions=1, **fields)
    round = make_verification(verified, places=places)
    texts = sorted(Caption.objects.filter(round=verified).values_list("text", flat=True))
    reviewers = [make_reviewer(round) for _ in opinions]
    for reviewer, given in zip(reviewers, opinions, strict=True):
        rate_by_text(round, reviewer, dict(zip(texts, given, strict=True)))
    return round, reviewers


OPINIONS = ((E, G, B, N, M), (G, G, B, N, N), (E, B, M, G, E))
# The medians: EXCELLENT, GOOD, BAD, NOT-ENOUGH-INFO, MEDIUM.


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_table_says_what_the_medians_of_three_come_to():
    round, reviewers = rated_round(*OPINIONS)

    figures = figures_of(round)

    assert (figures["sampled"], figures["verified"], figures["verdicts"]) == (5, 5, 15)
    assert figures["levels"] == {"NOT-ENOUGH-INFO": 1, "BAD": 1, "MEDIUM": 1, "GOOD": 1, "EXCELLENT": 1}
    assert {name: (figures[name]["count"], figures[name]["share"]) for name in ("good", "medium", "bad")} == {
        "good": (2, 0.4),
        "medium": (3, 0.6),
        "bad": (1, 0.2),
    }
    assert figures["good"]["low"] == pytest.approx(0.1176, abs=1e-4)
    assert figures["good"]["high"] == pytest.approx(0.7693, abs=1e-4)
    # Of the other two the medians are G B B G E for the first reviewer, E B B G M and G G B N M for the others.
    assert [(row["person"], row["verdicts"], row["compared"], row["agreed"]) for row in figures["against_others"]] == [
        (reviewers[0].pk, 5, 5, 1),
        (reviewers[1].pk, 5, 5, 1),
        (reviewers[2].pk, 5, 5, 0),
    ]
    assert json.loads(json.dumps(figures)) == figures


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    ("opinions", "levels"),
    [
        (OPINIONS[:1], {"NOT-ENOUGH-INFO": 1, "BAD": 1, "MEDIUM": 1, "GOOD": 1, "EXCELLENT": 1}),
        # Of two the lower one; where one says NOT-ENOUGH-INFO the other, where both do that.
        (OPINIONS[:2], {"NOT-ENOUGH-INFO": 1, "BAD": 1, "MEDIUM": 1, "GOOD": 2, "EXCELLENT": 0}),
    ],
)
def test_a_round_may_have_one_or_two_raters_per_caption(opinions: Sequence[Sequence[Rating]], levels: dict[str, int]):
    round, _ = rated_round(*opinions, places=len(opinions))

    figures = figures_of(round)

    assert (figures["sampled"], figures["verified"], figures["verdicts"]) == (5, 5, 5 * len(opinions))
    assert figures["levels"] == levels
    assert (figures["alpha"] is None) == (len(opinions) == 1)
    (row,) = csv.DictReader(io.StringIO("".join(write(fresh_table(round.project), QualityLayout.CSV, name_of=str))))
    assert row["raters_per_caption"] == str(len(opinions))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_has_fewer_ratings_than_wanted_is_not_verified_yet():
    round, _ = rated_round(*OPINIONS[:2])

    figures = figures_of(round)

    assert (figures["sampled"], figures["verified"], figures["verdicts"]) == (5, 0, 10)
    assert figures["good"] == {"count": 0, "share": None, "low": None, "high": None, "over_authors": None}
    assert (figures["alpha"], figures["alpha_undefined"]) == (None, "no_pair_of_ratings")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_neither_late_ratings_nor_captions_that_do_not_count_are_in_it():
    round, reviewers = rated_round(*OPINIONS)
    excluded = Caption.objects.get(text="Bild 1, Satz 0")
    Caption.objects.filter(pk=excluded.pk).update(state=CaptionState.EXCLUDED)
    late = Verdict.objects.filter(person=reviewers[0], caption__text="Bild 2, Satz 0")
    Assignment.objects.filter(verdict__in=late).update(state=AssignmentState.LATE)

    figures = figures_of(round)

    assert (figures["sampled"], figures["verified"], figures["verdicts"]) == (4, 3, 11)
    assert figures["levels"]["EXCELLENT"] == figures["levels"]["GOOD"] == 0


@pytest.mark.long(reason="at least three others run each of its lines")
def test_languages_stand_by_name_with_the_ratings_of_pilots_under_each():
    round, _ = rated_round(*OPINIONS)
    verified = round.verifies
    pilot, _ = make_captioned_round(
        images=2, project=verified.project, collection=verified.collection, kind=RoundKind.PILOT, number=2,
        captioners=verified.captioners.all(),
    )  # fmt: skip
    of_pilot = make_verification(pilot, number=2)
    skipped = make_verification(pilot, number=3, filled=False, state=RoundState.PLANNED, verifies=verified_copy(pilot))
    Round.objects.filter(pk=skipped.pk).update(state=RoundState.SKIPPED, reason="Why not", decided_at=NOW)

    table = fresh_table(verified.project)

    assert [(language.pk, row and row.round) for language, row in table.languages] == [("de", round), ("de", of_pilot)]
    assert [row.verified for row in table.rows] == [5, 0]


def verified_copy(pilot: Round) -> Round:
    made, _ = make_captioned_round(
        images=1, captions=1, project=pilot.project, collection=pilot.collection, kind=RoundKind.PILOT, number=3,
        captioners=pilot.captioners.all(),
    )  # fmt: skip
    return made


def test_a_language_without_any_verification_has_a_line_of_its_own():
    verified, _ = make_captioned_round(images=1)

    assert quality_table(verified.project).languages == [(verified.language, None)]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_files_have_a_row_for_each_round_and_pseudonyms_for_raters():
    round, reviewers = rated_round(*OPINIONS)
    table = fresh_table(round.project)

    def name_of(person: int) -> str:
        return pseudonym(round.project, person)

    rows = list(csv.DictReader(io.StringIO("".join(write(table, QualityLayout.CSV, name_of=name_of)))))
    (entry,) = json.loads("".join(write(table, QualityLayout.JSON, name_of=name_of)))

    assert [(row["language"], row["round"], row["verified"], row["good"]) for row in rows] == [("de", "main", "5", "2")]
    assert float(rows[0]["good_percent"]) == pytest.approx(40)
    of_captions = {"count": 2, "share": 0.4, "low": 0.117621, "high": 0.769276}
    none = {"authors_low": None, "authors_high": None, "authors_undefined": "one_author"}
    assert entry["good"] == of_captions | none
    assert (entry["authors"], rows[0]["authors"], rows[0]["good_authors_low"]) == (1, "1", "")
    assert entry["designs"]["interval"]["fixed"] == {"author": 1, "reviewer": 3}
    assert {one["rater"] for one in entry["raters"]} == {name_of(reviewer.pk) for reviewer in reviewers}
    by_name = {one["rater"]: one["confusion"] for one in entry["raters"]}
    assert by_name[name_of(reviewers[2].pk)]["BAD"] == {
        **dict.fromkeys(by_name[name_of(reviewers[2].pk)]["BAD"], 0),
        "GOOD": 1,
    }
    assert not any(reviewer.username in json.dumps(entry) for reviewer in reviewers)


def test_captions_of_several_authors_have_an_interval_over_authors_too():
    round, _ = rated_round((E, G, B, M, G, B), places=1)
    captions = Caption.objects.filter(round=round.verifies).order_by("text")
    others = [make_user(), make_user()]
    for place, caption in enumerate(captions):
        if place % 3:
            Caption.objects.filter(pk=caption.pk).update(author=others[place % 3 - 1])

    (row,) = fresh_table(round.project).rows
    (cells,) = csv.DictReader(io.StringIO("".join(write(fresh_table(round.project), QualityLayout.CSV, name_of=str))))

    # Good are 1 of 2, 2 of 2 and 0 of 2.
    assert row.designs["over_authors"].words == (
        "generalises to other authors like these, with this reviewer (jackknife with Student’s t)"
    )
    interval = row.share("good").over_authors
    assert isinstance(interval, Interval)
    assert 0 < interval.low < 0.118 < 0.769 < interval.high < 1, "Wider than Wilson's."
    assert cells["authors"] == "3"
    assert float(cells["good_authors_high"]) == pytest.approx(100 * interval.high, abs=1e-5)
    assert [(one["verdicts"], one["compared"]) for one in row.reviewers] == [(6, 0)], "Nobody else rated them."


def test_not_enough_info_is_counted_and_left_out():
    round, _ = rated_round(*OPINIONS)
    table = fresh_table(round.project)

    (entry,) = json.loads("".join(write(table, QualityLayout.JSON, name_of=str)))
    (cells,) = csv.DictReader(io.StringIO("".join(write(table, QualityLayout.CSV, name_of=str))))

    assert [entry[name]["share"] for name in ("good", "good_judged", "bad", "bad_judged")] == [0.4, 0.5, 0.2, 0.25]
    assert (cells["good_judged"], float(cells["good_judged_percent"])) == ("2", 50)
    # Three of the ratings say so: two of the fourth caption, one of the fifth.
    assert entry["appendix"] == {
        "drawn": 5,
        "ratings_left_out": 0,
        "verified_ratings": 15,
        "not_enough_info_ratings": 3,
        "pairs": 15,
        "same_level": 4,
        "pairs_judged": 10,
        "same_level_judged": 3,
    }
    assert {name: int(cells[name]) for name in entry["appendix"]} == entry["appendix"]


def test_agreement_has_an_interval_over_captions_and_reviewers():
    round, _ = rated_round(*OPINIONS)
    table = fresh_table(round.project)

    (entry,) = json.loads("".join(write(table, QualityLayout.JSON, name_of=str)))
    (cells,) = csv.DictReader(io.StringIO("".join(write(table, QualityLayout.CSV, name_of=str))))

    assert entry["alpha_low"] < 0 < entry["alpha"] == pytest.approx(0.381, abs=1e-3)
    assert (float(cells["alpha_low"]), float(cells["alpha_high"])) == (entry["alpha_low"], entry["alpha_high"])
    words = (
        "generalises to other captions and other reviewers like these, with this author (jackknife with Student’s t)"
    )
    assert entry["designs"]["alpha_interval"]["words"] == words


def test_figures_that_were_stored_without_have_no_interval_over_authors():
    round, _ = rated_round(*OPINIONS)
    stored = figures_of(round)
    del stored["against_others"], stored["good"]["over_authors"], stored["drawn"]

    (row,) = quality_table(round.project, {round.pk: stored}).rows

    assert row.share("good").over_authors is None
    assert row.share("good").interval is not None
    assert (row.reviewers, row.designs) == ([], {})
    assert list(appendix_of(row)) == []


def test_the_command_prints_the_table_counted_now(capsys):
    round, _ = rated_round(*OPINIONS)

    call_command("quality_table", round.project.slug)
    text = capsys.readouterr().out
    call_command("quality_table", round.project.slug, "--json")
    (entry,) = json.loads(capsys.readouterr().out)

    assert "5 of 5    40.0 [11.8, 76.9] [–]" in text
    assert entry["verified"] == 5


def test_the_command_names_the_projects_there_are_and_says_where_nothing_was_rated(capsys):
    round, _ = make_captioned_round(images=1)

    with pytest.raises(CommandError, match=round.project.slug):
        call_command("quality_table", "nowhere")
    call_command("quality_table", round.project.slug)

    assert "No caption" in capsys.readouterr().out
