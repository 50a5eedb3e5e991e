"""Pages of progress, annotators, plots and statistics: who sees them, what they show, and that they are cheap."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import (
    AnnotatorState,
    AnnotatorStatus,
    Caption,
    CaptionItem,
    CorrectionRequest,
    Exclusion,
    Rating,
    Round,
    RoundKind,
    RoundState,
)
from annotation.selectors.overview import managed_projects, project_progress
from annotation.services import figures, tallies
from core.people.models import LanguageLevel, LanguageSkill, Membership, User
from tests.annotation.submitting import make_captions, submit_captions, take
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_project, make_round

pytestmark = pytest.mark.django_db

PAGES = ("project-show", "annotator-list", "plots-show", "statistics-show")
PARTS = ("project-progress", "annotator-progress", "plots-progress", "statistics-progress")
TEXT = "Ein Bild von etwas"


def make_lions() -> Round:
    return make_round(project=make_project("lions"), images=4, replication=2, batch_size=2, language="de")


def make_written() -> tuple[Round, User]:
    round = make_lions()
    person = make_annotator(round, "ann")
    submit_captions(round, person, TEXT, now=timezone.now())
    return round, person


@pytest.fixture
def round(made_once, request) -> Round:
    return made_once(make_written)[0] if "ann" in request.fixturenames else made_once(make_lions)


@pytest.fixture
def manager(round) -> Client:
    return client_of(round.project.created_by)


@pytest.fixture
def ann(round) -> User:
    return User.objects.get(username="ann")


def get(client: Client, name: str, /, *arguments: object, **query: str | int) -> str:
    response = client.get(reverse(f"annotation:{name}", args=["lions", *arguments]), query)
    assert response.status_code == 200
    return response.content.decode()


def words_of(cell: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", cell).split())


def rows_of(page: str) -> list[list[str]]:
    """The words of the cells of the first table's rows."""
    body = re.search(r"<tbody>(.*?)</tbody>", page, re.DOTALL).group(1)
    return [
        [words_of(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]
        for row in re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    ]


class TestWhoSeesThem:
    def test_no_caption_stands_there_and_no_query_counts_any_or_depends_on_what_was_submitted(
        self, manager, round, ann
    ):
        pages = [(name, ()) for name in PAGES] + [("annotator-show", (ann.pk,))]
        asked: dict[str, list[int]] = {}
        for _ in range(2):
            for name, arguments in pages:
                with CaptureQueriesContext(connection) as queries:
                    page = get(manager, name, *arguments)
                assert TEXT not in page
                assert "english caption of" not in page
                asked.setdefault(name, []).append(len(queries))
                for sql in (query["sql"].replace("annotation_captionbatch", "") for query in queries):
                    assert "annotation_captionitem" not in sql
                    assert "annotation_caption" not in sql or " IN (" in sql
            submit_captions(round, make_annotator(round), TEXT)
        assert all(first == second <= 22 for first, second in asked.values()), asked


@pytest.mark.parametrize(("tag", "is_marked"), [("th", True), ("de", False)])
def test_words_per_caption_are_marked_where_no_spaces_part_them(tag, is_marked):
    round = make_round(project=make_project("lions"), images=4, replication=2, batch_size=2, language=tag)
    person = make_annotator(round, "ann")
    submit_captions(round, person, TEXT, now=timezone.now())
    manager = client_of(round.project.created_by)
    for page in (get(manager, "statistics-show"), get(manager, "annotator-show", person.pk)):
        assert [cell.endswith("not meaningful") for cell in rows_of(page)[0]].count(True) == is_marked


class TestKeepingUpToDate:
    def test_who_has_seen_it_gets_nothing_until_something_changes(self, manager, round, ann):
        asks = []
        for name in PARTS:
            part = get(manager, name)
            asks.append(re.search(r'hx-get="([^"]*)"', part).group(1).replace("&amp;", "&"))
            assert "<html" not in part
        assert [manager.get(one).status_code for one in asks] == [204] * 4
        submit_captions(round, ann, TEXT, now=timezone.now())
        assert [manager.get(one).status_code for one in asks] == [200] * 4

    def test_what_was_asked_for_is_asked_for_again(self, manager, ann):
        page = get(manager, "project-show", rounds="all", sort="-done")
        assert re.search(r'hx-get="[^"]*rounds=all&amp;sort=-done&amp;seen=', page)

    def test_a_round_that_was_closed_is_something_new(self, manager, round, ann):
        part = get(manager, "project-progress", rounds="all")
        asks = re.search(r'hx-get="([^"]*)"', part).group(1).replace("&amp;", "&")
        Round.objects.update(state=RoundState.CLOSED)
        assert manager.get(asks).status_code == 200


class TestProgress:
    def test_each_language_stands_at_the_round_it_is_at(self, manager, round):
        pilot = make_round(project=round.project, language="de", kind=RoundKind.PILOT)
        Round.objects.filter(pk=pilot.pk).update(state=RoundState.ACCEPTED, decided_at=timezone.now())
        make_round(project=round.project, language="fr", kind=RoundKind.PILOT)
        assert [row[0] for row in rows_of(get(manager, "project-show"))] == ["French Pilot 1", "German Main"]
        assert len(rows_of(get(manager, "project-show", rounds="all"))) == 3
        accepted = rows_of(get(manager, "project-show", rounds="pilot", state="accepted"))
        assert [row[:2] for row in accepted] == [["German Pilot 1", "Accepted"]]

    def test_what_was_done_is_put_into_figures(self, manager, round, ann):
        CaptionItem.objects.update(rating_ms=30_000, writing_ms=60_000)
        Caption.objects.update(warnings=["short"])
        tallies.recount(round=round, person=ann)
        take(round, ann, now=timezone.now())
        (row,) = rows_of(get(manager, "project-show"))
        assert row[1:3] == ["Open", "● 6 captions missing"]
        wanted, done, percent, assigned, free, returned, expired, late, pace, _ends, minutes = row[3:14]
        assert (wanted, done, percent, assigned, free) == ("8", "2", "25%", "2", "4")
        assert (returned, expired, late, pace, minutes) == ("0", "0", "0", "2.0", "1.5")
        agreement, warnings, people, invited = row[18:22]
        assert (agreement, warnings, people, invited) == ("–", "2", "1", "0")

    def test_pace_and_end_are_of_the_last_seven_days(self, round):
        ann, ben = make_annotator(round), make_annotator(round)
        submit_captions(round, ann, TEXT, now=NOW - timedelta(days=9))
        submit_captions(round, ben, TEXT, now=NOW - timedelta(days=1))
        (row,) = project_progress(round.project, now=NOW).rounds
        assert (row.pace.done, row.pace.days) == (2, 7)
        assert row.ends_on == (NOW + timedelta(days=14)).date()

    def test_a_caption_returned_is_not_done_and_its_place_not_free(self, manager, round, ann):
        caption = Caption.objects.first()
        Caption.objects.filter(pk=caption.pk).update(state="returned")
        CorrectionRequest.objects.create(caption=caption, note="More.", by=round.project.created_by, at=timezone.now())
        tallies.recount(round=round, person=ann)
        row = rows_of(get(manager, "project-show"))[0]
        assert row[3:9] == ["8", "1", "12%", "0", "6", "1"]

    def test_agreement_is_what_the_background_computed(self, manager, round):
        make_captions(round, {task.image_id: ["Ein Bild", "Noch eines"] for task in round.tasks.all()})
        figures.compute(round_id=round.pk, now=timezone.now())
        assert rows_of(get(manager, "project-show"))[0][18] == "100%"

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_rows_are_sorted_as_asked(self, manager, round, ann):
        make_round(project=round.project, language="fr")
        for sort, first in (("done", "French"), ("-done", "German"), ("language", "French"), ("x", "French")):
            page = get(manager, "project-show", sort=sort)
            assert rows_of(page)[0][0].startswith(first), sort
            assert page.count("aria-sort=") == 1

    def test_the_link_of_the_column_sorted_by_turns_the_order_round(self, manager, round, ann):
        page = get(manager, "project-show", sort="-done", rounds="all")
        assert 'aria-sort="descending"><a href="?sort=done&amp;rounds=all">Done' in page


class TestAnnotators:
    def test_who_could_write_is_there_before_they_did(self, manager, round):
        make_annotator(round, "ben")
        assert rows_of(get(manager, "annotator-list"))[0][:3] == ["ben", "German", "0"]

    def test_people_are_found_by_name_language_status_and_activity(self, manager, round, ann):
        ben = make_annotator(round, "ben")
        LanguageSkill.objects.create(user=ben, language_id="fr", level=LanguageLevel.NATIVE)
        make_round(project=round.project, language="fr")
        about = {"project": round.project, "language": round.language, "by": round.project.created_by}
        AnnotatorStatus.objects.create(person=ann, state=AnnotatorState.PAUSED, at=timezone.now(), **about)
        take(round, ben, now=timezone.now())

        def names(**query):
            return [tuple(row[:2]) for row in rows_of(get(manager, "annotator-list", **query)) if len(row) > 1]

        assert names() == [("ann", "German"), ("ben", "French"), ("ben", "German")]
        assert names(name="BE", sort="-language") == [("ben", "German"), ("ben", "French")]
        assert names(language="fr") == [("ben", "French")]
        assert names(status="paused") == [("ann", "German")]
        assert names(activity="at-work") == [("ben", "German")]
        assert names(activity="recent") == [("ann", "German")]
        assert names(activity="not-begun") == [("ben", "French")]
        assert names(name="nobody") == []

    def test_an_exclusion_stands_before_other_decisions_and_who_left_is_marked(self, manager, round, ann):
        about = {"project": round.project, "person": ann, "language": round.language, "at": timezone.now()}
        Exclusion.objects.create(reason="A test.", by=round.project.created_by, **about)
        assert rows_of(get(manager, "annotator-list"))[0][-1] == "Excluded"
        Membership.objects.filter(user=ann).delete()
        assert rows_of(get(manager, "annotator-list"))[0][0] == "ann no longer an annotator"

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_many_are_shown_page_by_page(self, manager, round):
        for number in range(55):
            make_annotator(round, f"p{number:02}")
        assert len(rows_of(get(manager, "annotator-list"))) == 50
        assert len(rows_of(get(manager, "annotator-list", page=2))) == 5

    def test_a_row_that_says_nothing_comes_last_in_either_order(self, manager, round, ann):
        make_annotator(round, "aaa")
        for sort in ("seen-at", "-seen-at"):
            assert [row[0] for row in rows_of(get(manager, "annotator-list", sort=sort))] == ["ann", "aaa"]

    def test_one_annotators_page_has_their_rounds_plots_and_what_is_assigned(self, manager, round, ann):
        take(round, ann, now=timezone.now())
        page = get(manager, "annotator-show", ann.pk)
        row = rows_of(page)[0]
        assert row[0].startswith("German Main Check")
        assert row[1:5] == ["2", "2", "0", "0"]
        assert row[7:9] == ["5.0", "20.0"]
        assert "Captions per day" in page
        assert "Levels given by this person and by everybody" in page
        assert reverse("annotation:feedback-create", args=["lions", round.pk]) in page
        assert "batch-return-by-manager" not in page
        assert "Return" in page


class TestPlots:
    def test_each_has_a_title_a_summary_and_a_table_and_no_style_of_its_own(self, manager, round, ann):
        page = get(manager, "plots-show")
        assert page.count('<svg class="plot"') == 3
        assert page.count("As a table") == 3
        assert "2 captions from" in page
        assert "German · Main: Excellent 0.0%, Good 100.0%" in page
        assert "2 captions of 20.0 characters on average" in page
        assert " style=" not in get(manager, "plots-show")

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_language_can_be_looked_at_by_itself(self, manager, round, ann):
        french = make_round(project=round.project, language="fr")
        submit_captions(french, make_annotator(french), "Une image de quelque chose")
        assert get(manager, "plots-show").count("lengths-") > get(manager, "plots-show", language="fr").count(
            "lengths-"
        )
        assert "German · Main" not in get(manager, "plots-show", language="fr")

    def test_ratings_by_others_are_drawn_apart(self, manager, round, ann):
        rating = Round.objects.create(
            project=round.project,
            language=round.language,
            kind=RoundKind.VERIFICATION,
            verifies=round,
            collection=round.collection,
            pool=make_round().pool.__class__.objects.create(replication=3),
            guidelines=round.guidelines,
            seed=1,
        )
        tally = round.tallies.get()
        tally.pk, tally.round, tally.ratings = None, rating, {Rating.BAD: 2}
        tally.save(force_insert=True)
        page = get(manager, "plots-show", kind="any")
        assert "Ratings of written captions" in page
        assert "German · Verification: Excellent 0.0%" in page

    def test_without_anything_it_says_so(self, manager):
        assert "No charts yet" in get(manager, "plots-show")


class TestStatistics:
    def test_captions_are_there_at_once_and_images_once_they_were_counted(self, manager, round):
        make_captions(round, {task.image_id: ["eins zwei", "drei vier"] for task in round.tasks.all()})
        for person in {caption.author for caption in Caption.objects.select_related("author")}:
            tallies.recount(round=round, person=person)
        assert rows_of(get(manager, "statistics-show")) == [["German de", "8", "being counted", "2.0", "9.0"]]
        figures.compute(round_id=round.pk, now=timezone.now())
        assert rows_of(get(manager, "statistics-show")) == [["German de", "8", "0", "4", "0", "2.0", "9.0"]]

    def test_it_says_when_images_are_behind_captions(self, manager, round, ann):
        figures.compute(round_id=round.pk, now=timezone.now())
        submit_captions(round, ann, TEXT, now=timezone.now())
        assert "images as of" in get(manager, "statistics-show")

    def test_captions_from_a_file_have_no_tally_and_are_counted_in_the_background(self, manager, round):
        Round.objects.filter(pk=round.pk).update(source="A file.")
        image = round.tasks.first().image_id
        about = {"round": round, "image_id": image, "guidelines": round.guidelines, "submitted_at": NOW}
        Caption.objects.create(position=1, text="eins zwei", text_as_typed="eins zwei", **about)
        figures.compute(round_id=round.pk, now=timezone.now())
        assert rows_of(get(manager, "statistics-show")) == [["German de", "1", "1", "0", "0", "2.0", "9.0"]]
        assert rows_of(get(manager, "project-show"))[0][4] == "1"

    def test_without_a_main_round_it_says_so(self, manager, round):
        Round.objects.update(kind=RoundKind.PILOT)
        assert "No language has a main round yet" in get(manager, "statistics-show")


class TestTheList:
    def test_projects_say_how_far_their_main_rounds_are(self, round, ann):
        make_round(project=round.project, kind=RoundKind.PILOT)
        (row,) = managed_projects(round.project.created_by)
        assert (row.languages, row.wanted, row.done, row.percent) == (1, 8, 2, 25)

    def test_a_project_without_one_says_how_far_its_pilots_are(self, round, ann):
        Round.objects.update(kind=RoundKind.PILOT)
        (row,) = managed_projects(round.project.created_by)
        assert (row.wanted, row.done) == (8, 2)
        (row,) = managed_projects(make_project().created_by)
        assert (row.wanted, row.percent) == (0, 0)
