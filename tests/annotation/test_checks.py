"""Spot checks: what a manager sees side by side, what the filters find, what is kept, and who is kept away."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest
from django.urls import reverse

from annotation.models import (
    Caption,
    CaptionItem,
    CaptionState,
    CorrectionRequest,
    Feedback,
    Rating,
    Round,
    SpotCheck,
    Tally,
)
from annotation.selectors import checks as selectors
from annotation.selectors.checks import CheckFilters, check_page
from annotation.services import batches, corrections, feedback
from annotation.services.feedback import give_feedback
from core.allocation.models import Assignment, AssignmentState
from core.people.models import AuditEntry, LanguageSkill, Membership, User
from tests.annotation.submitting import submit_captions
from tests.annotation.verifying import make_captioned_round, make_reviewer, make_verification, rate, submit, take
from tests.clients import client_of
from tests.concurrency import together
from tests.factories import NOW, join_project, make_annotator, make_round, make_user
from tests.queries import queries_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def round(made_once) -> Round:
    return made_once(make_rated_round)


def make_rated_round() -> Round:
    """Three images that ann and bea wrote about; they rated the first alike, the second and third apart."""
    round = make_round(images=3, replication=2)
    ratings = {"ann": ("GOOD", "GOOD", "BAD"), "bea": ("GOOD", "BAD", "EXCELLENT")}
    for name, levels in ratings.items():
        submit_captions(round, make_annotator(round, name), f"Was {name} sieht")
        for caption, level in zip(captions_of(round, name), levels, strict=True):
            CaptionItem.objects.filter(pk=caption.item_id).update(rating=level)
    return round


def captions_of(round: Round, name: str) -> list[Caption]:
    return list(Caption.objects.filter(round=round, author__username=name).order_by("image"))


@pytest.fixture
def manager(round) -> User:
    return round.project.created_by


@pytest.fixture
def caption(round) -> Caption:
    return captions_of(round, "ann")[0]


@pytest.fixture
def path(round) -> str:
    return reverse("annotation:check-show", args=[round.project.slug, "de"])


def rows_of(round: Round, viewer: User) -> list[selectors.CheckedCaption]:
    return [row for shown in check_page(CheckFilters(round), viewer)["images"] for row in shown["rows"]]


def found(round: Round, viewer: User, **asked) -> list[tuple[int, str]]:
    """Place of the image and author of each caption that the filters find."""
    images = list(round.collection.entries.order_by("position").values_list("key", flat=True))
    page = check_page(CheckFilters(round, **asked), viewer)
    return [
        (images.index(shown["key"]) + 1, row.caption.author.username)
        for shown in page["images"]
        for row in shown["rows"]
        if row.is_asked
    ]


class TestWhatIsShown:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_english_caption_ratings_and_captions_side_by_side(self, round, manager, path):
        html = client_of(manager).get(path).content.decode()

        for caption in Caption.objects.all():
            assert caption.text in html
            assert caption.item.english.text in html
        assert html.count("<figure") == 3
        assert 'aria-pressed="true"' not in html

    def test_the_other_caption_of_an_image_stands_beside_the_one_asked_for(self, round, manager):
        ann = User.objects.get(username="ann")

        page = check_page(CheckFilters(round, annotator=ann), manager)

        assert [[row.caption.author.username for row in shown["rows"]] for shown in page["images"]] == [
            ["ann", "bea"]
        ] * 3
        assert [[row.is_asked for row in shown["rows"]] for shown in page["images"]] == [[True, False]] * 3

    def test_verdicts_that_count_stand_beside_a_caption(self, round, manager):
        rating = make_verification(round, places=1)
        rater = make_reviewer(rating, "rob")
        batch = take(rating, rater)
        rate(batch, rater, Rating.MEDIUM)
        assert not any(row.caption.verdicts.all() for row in rows_of(round, manager))

        rated = submit(batch, rater).verdicts.count()

        rows = rows_of(round, manager)
        said = [(one.person.username, one.rating) for row in rows for one in row.caption.verdicts.all()]
        assert said == [("rob", "MEDIUM")] * rated
        assert not any(row.may_be_returned for row in rows if row.caption.verdicts.all())

    def test_similar_captions_and_the_levels_of_the_author_stand_beside_a_caption(self, round, manager, path):
        ann, bea = captions_of(round, "ann"), captions_of(round, "bea")
        Caption.objects.filter(pk=ann[0].pk).update(text="Zwei Hunde laufen am Ufer eines Sees entlang")
        Caption.objects.filter(pk__in=[ann[2].pk, bea[0].pk]).update(text="Zwei Hunde laufen am Ufer des Sees entlang")
        Tally.objects.filter(person__username="ann").update(ratings={"GOOD": 2, "BAD": 1})

        row = selectors.row_of(ann[0], manager)

        found = {(one.caption.pk, one.is_same_image) for one in row.alike}
        assert found == {(bea[0].pk, True), (ann[2].pk, False)}
        assert all(80 <= one.percent < 100 for one in row.alike)
        html = client_of(manager).get(path).content.decode()
        assert "Levels that this author gave: 3" in html
        assert "Levels that this author gave: Excellent 0.0%, Good 66.7%" in html

    def test_the_same_stands_beside_captions_in_decisions_samples_and_feedback(self, round, manager):
        ann, bea = captions_of(round, "ann"), captions_of(round, "bea")
        Caption.objects.filter(pk__in=[ann[0].pk, bea[0].pk]).update(text="Zwei Hunde laufen am Ufer des Sees entlang")
        Tally.objects.filter(person__username="ann").update(ratings={"GOOD": 2, "BAD": 1})
        give_feedback(round=round, person=ann[0].author, caption=ann[0], text="Look again.", by=manager, now=NOW)
        project, person = round.project.slug, ann[0].author_id
        pages = [
            ("annotator-status-show", [project, "de", person]),
            ("annotator-status-decide", [project, "de", person]),
            ("samples-show", [project, round.pk]),
            ("feedback-create", [project, round.pk]),
        ]
        for name, where in pages:
            html = client_of(manager).get(reverse(f"annotation:{name}", args=where)).content.decode()
            assert "1 similar caption: 100% the same" in html, name
            assert "Levels that this author gave: 3" in html, name

    def test_what_does_not_count_is_not_there(self, round, manager):
        for state in ("late", "excluded", "withdrawn"):
            Caption.objects.filter(author__username="bea").update(state=state)
            assert found(round, manager) == [(1, "ann"), (2, "ann"), (3, "ann")]

    def test_what_was_returned_is(self, round, manager):
        Caption.objects.filter(author__username="bea").update(state=CaptionState.RETURNED)
        assert len(found(round, manager)) == 6

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_newest_round_comes_unasked(self, round, manager, path):
        newer = make_captioned_round(images=1, captions=1, project=round.project, number=2)[0]

        html = client_of(manager).get(path).content.decode()

        assert Caption.objects.get(round=newer).text in html
        assert captions_of(round, "ann")[0].text not in html

    def test_nothing_written_yet_is_said(self):
        round = make_round()
        path = reverse("annotation:check-show", args=[round.project.slug, "de"])
        assert "Nothing to check yet" in client_of(round.project.created_by).get(path).content.decode()


class TestFilters:
    def test_by_annotator_by_rating_and_by_ratings_two_levels_apart_whoever_is_asked_for(self, round, manager):
        assert found(round, manager, annotator=User.objects.get(username="ann")) == [(1, "ann"), (2, "ann"), (3, "ann")]
        assert found(round, manager, rated="BAD") == [(2, "bea"), (3, "ann")]
        assert found(round, manager, apart="ratings") == [(2, "ann"), (2, "bea"), (3, "ann"), (3, "bea")]
        ann = User.objects.get(username="ann")
        assert found(round, manager, apart="ratings", annotator=ann) == [(2, "ann"), (3, "ann")]

    def test_one_level_apart_is_none_and_no_opinion_no_level(self, round, manager):
        CaptionItem.objects.filter(caption__author__username="bea").update(rating=Rating.NOT_ENOUGH_INFO)
        assert found(round, manager, apart="ratings") == []
        CaptionItem.objects.filter(caption__author__username="bea").update(rating=Rating.MEDIUM)
        assert found(round, manager, apart="ratings") == []

    def test_by_verdicts_and_by_verdicts_apart(self, round, manager):
        rating = make_verification(round, places=2)
        for name, level in (("rob", Rating.BAD), ("sue", Rating.GOOD)):
            rater = make_reviewer(rating, name)
            batch = take(rating, rater)
            rate(batch, rater, Rating.GOOD)
            first = batch.verdicts.get(caption=_always_drawn(batch))
            batch.verdicts.filter(pk=first.pk).update(rating=level)
            submit(batch, rater)
        caption = _always_drawn(batch)
        place = list(round.collection.entries.order_by("position").values_list("image", flat=True))
        one = (place.index(caption.image_id) + 1, caption.author.username)

        assert found(round, manager, apart="verdicts") == [one]
        assert found(round, manager, verdict="BAD") == [one]
        assert one in found(round, manager, verdict="GOOD")
        assert found(round, manager, verdict="EXCELLENT") == []

    def test_verdicts_that_were_set_aside_say_nothing(self, round, manager):
        rating = make_verification(round, places=1)
        rater = make_reviewer(rating)
        batch = take(rating, rater)
        rate(batch, rater, Rating.BAD)
        submit(batch, rater)
        Assignment.objects.filter(person=rater).update(state=AssignmentState.REJECTED)

        assert found(round, manager, verdict="BAD") == []

    def test_by_what_nobody_has_checked(self, round, manager):
        first = captions_of(round, "ann")[0]
        feedback.check_level(caption_id=first.pk, level=Rating.GOOD, by=manager, now=NOW)

        assert (1, "ann") not in found(round, manager, is_unchecked=True)
        assert len(found(round, manager, is_unchecked=True)) == 5

    def test_every_filter_is_an_address_that_works_without_scripts(self, round, manager, path):
        ann = User.objects.get(username="ann")
        asked = {"round": round.pk, "annotator": ann.pk, "rated": "BAD", "apart": "ratings", "unchecked": "on"}

        html = client_of(manager).get(f"{path}?{urlencode(asked)}").content.decode()

        assert html.count("data-row") == 1
        assert captions_of(round, "ann")[2].text in html

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_what_makes_no_sense_is_no_error_of_ours(self, manager, path):
        client, nines = client_of(manager), "9" * 40
        for asked in ("round=999999", "annotator=999999", "rated=SPLENDID", "apart=x", "after=%00", f"after={nines}"):
            assert client.get(f"{path}?{asked}").status_code == 200, asked

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_round_of_another_project_cannot_be_asked_for(self, manager, path):
        other = make_round()
        submit_captions(other, make_annotator(other), "Geheim und anderswo")

        html = client_of(manager).get(f"{path}?round={other.pk}").content.decode()

        assert "Geheim" not in html


def _always_drawn(batch) -> Caption:
    return Caption.objects.filter(verdicts__batch=batch).order_by("pk").first()


class TestPages:
    @pytest.fixture
    def many(self, monkeypatch) -> Round:
        monkeypatch.setattr(selectors, "IMAGES_AT_ONCE", 3)
        return make_captioned_round(images=8, captions=2)[0]

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_one_walks_through_all_of_them_and_back(self, many):
        viewer, asked = many.project.created_by, CheckFilters(many)
        first = check_page(asked, viewer)
        second = check_page(asked, viewer, after=first["after"])
        third = check_page(asked, viewer, after=second["after"])

        assert [len(page["images"]) for page in (first, second, third)] == [3, 3, 2]
        assert len({shown["key"] for page in (first, second, third) for shown in page["images"]}) == 8
        assert (first["before"], third["after"]) == (0, 0)
        back = check_page(asked, viewer, before=third["before"])
        assert [shown["key"] for shown in back["images"]] == [shown["key"] for shown in second["images"]]
        assert check_page(asked, viewer, before=back["before"])["before"] == 0

    def test_how_much_is_asked_of_the_database_does_not_grow_with_the_round(self, many):
        viewer = many.project.created_by
        few = queries_of(lambda: check_page(CheckFilters(many, apart="ratings"), viewer))
        more = queries_of(lambda: check_page(CheckFilters(many), viewer))

        assert len(more) <= 14
        assert len(few) <= len(more)
        assert not any("COUNT(" in query for query in more)


class TestFindings:
    def post(self, user: User, caption: Caption, name: str = "caption-check", *, htmx: bool = False, **data):
        path = reverse(f"annotation:{name}", args=[caption.round.project.slug, caption.pk])
        headers = {"HX-Request": "true"} if htmx else {}
        return client_of(user).post(path, data, headers=headers)

    def test_rating_and_level_are_kept_apart_and_together(self, manager, caption):
        self.post(manager, caption, rating="wrong")
        self.post(manager, caption, level="MEDIUM")

        check = SpotCheck.objects.get()
        assert (check.by, check.is_rating_right, check.level) == (manager, False, "MEDIUM")

    def test_taken_back_it_is_unchecked_again_and_nonsense_changes_nothing(self, manager, caption):
        self.post(manager, caption, rating="right")
        self.post(manager, caption, rating="")
        assert not SpotCheck.objects.exists()
        assert self.post(manager, caption, rating="maybe", level="SPLENDID").status_code == 302
        assert not SpotCheck.objects.exists()

    def test_without_scripts_one_comes_back_to_the_same_place(self, manager, caption, path):
        response = self.post(manager, caption, rating="right", back="rated=GOOD&after=0")
        assert response["Location"] == f"{path}?rated=GOOD&after=0#caption-{caption.pk}"

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_with_scripts_the_caption_comes_back_alone(self, manager, caption):
        html = self.post(manager, caption, htmx=True, level="GOOD").content.decode()

        assert html.strip().startswith(f'<article id="caption-{caption.pk}"')
        assert "<html" not in html
        assert html.count('aria-pressed="true"') == 1

    def test_each_manager_has_their_own_and_sees_those_of_others(self, round, manager, caption):
        other = make_user("max")
        Membership.objects.create(project=round.project, user=other, role="manager")
        self.post(manager, caption, level="GOOD")
        html = self.post(other, caption, htmx=True, level="BAD").content.decode()

        assert SpotCheck.objects.count() == 2
        assert f"<bdi>{manager.username}</bdi>: Good" in " ".join(html.split())

    def test_it_stands_in_the_log(self, manager, caption):
        self.post(manager, caption, level="BAD")
        entry = AuditEntry.objects.get(action="caption.checked")
        assert (entry.by, entry.person, entry.details["level"]) == (manager, caption.author, "BAD")

    def test_feedback_and_sending_back_from_the_page(self, manager, caption):
        self.post(manager, caption, "caption-feedback", text="More colours.")
        html = self.post(manager, caption, "caption-return", htmx=True, text="What do they wear?").content.decode()

        assert Feedback.objects.get().caption == caption
        assert CorrectionRequest.objects.get().note == "What do they wear?"
        assert "More colours." in html
        assert "returned for correction" in html

    def test_what_was_typed_stays_where_it_is_refused(self, round, manager, caption):
        Membership.objects.filter(user=caption.author).delete()
        for name, htmx in product(("caption-feedback", "caption-return"), (True, False)):
            response = self.post(manager, caption, name, htmx=htmx, text="A long note, long to type.")
            assert response.status_code == (200 if htmx else 422)
            assert ">A long note, long to type.</textarea>" in response.content.decode()
            assert 'role="alert"' in response.content.decode()


class TestWhoIsKeptAway:
    def addresses(self, caption: Caption) -> list[str]:
        slug = caption.round.project.slug
        names = ("caption-check", "caption-feedback", "caption-return")
        return [reverse(f"annotation:{name}", args=[slug, caption.pk]) for name in names]

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_caption_of_a_file_is_not_there_to_be_checked(self, round, manager, caption):
        other = make_round(project=round.project, collection=round.collection, language="fr")
        of_file = Caption.objects.create(
            round=other, image=caption.image, guidelines=other.guidelines, position=1, text="Un chat", submitted_at=NOW
        )
        client = client_of(manager)
        for headers in ({}, {"HX-Request": "true"}):
            answers = [client.post(path, {"text": "x"}, headers=headers) for path in self.addresses(of_file)]
            assert [answer.status_code for answer in answers] == [404] * 3

    def test_a_language_that_the_project_has_not_is_none(self, round, manager):
        there = reverse("annotation:check-show", args=[round.project.slug, "fr"])
        assert client_of(manager).get(there).status_code == 404

    def test_a_manager_who_has_the_images_assigned_elsewhere_is_stopped(self, round, manager, path, caption):
        elsewhere = make_round(collection=round.collection, replication=3)
        join_project(elsewhere.project, manager)
        LanguageSkill.objects.create(user=manager, language=elsewhere.language, level="native")
        User.objects.filter(pk=manager.pk).update(reads_english=True)
        manager.refresh_from_db()
        assert batches.take_batch(round=elsewhere, person=manager, now=NOW, rng=Random(0))
        client = client_of(manager)

        answers = [client.get(path), *(client.post(address, {"text": "x"}) for address in self.addresses(caption))]
        part = client.post(self.addresses(caption)[0], headers={"HX-Request": "true"})

        assert [answer.status_code for answer in answers] == [302] * 4
        assert part["HX-Redirect"] == reverse("annotation:project-show", args=[round.project.slug])
        assert caption.text not in part.content.decode()
        assert not CorrectionRequest.objects.exists()


def test_a_caption_that_was_returned_shows_what_it_was_once_it_is_written_anew(round, manager):
    caption = captions_of(round, "ann")[0]
    corrections.return_for_correction(caption_id=caption.pk, note="Which dog?", by=manager, now=NOW)
    corrections.rewrite(caption_id=caption.pk, author=caption.author, text="Ein brauner Dackel rennt", now=NOW)
    give_feedback(round=round, person=caption.author, text="Better.", by=manager, now=NOW, caption=caption)

    row = selectors.row_of(caption, manager)

    assert row.caption.text == "Ein brauner Dackel rennt"
    assert [(one.note, one.text_before) for one in row.caption.corrections.all() if one.answered_at] == [
        ("Which dog?", caption.text)
    ]
    assert [one.text for one in row.caption.feedback.all()] == ["Better."]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_rating_and_level_in_two_tabs_at_once_are_both_kept():
    round, _authors = make_captioned_round(images=1, captions=1)
    manager, caption = round.project.created_by, Caption.objects.get()
    who: dict[str, Any] = {"caption_id": caption.pk, "by": manager, "now": NOW}
    acts = [lambda: feedback.check_rating(is_right=True, **who), lambda: feedback.check_level(level=Rating.GOOD, **who)]

    together(lambda act: act(), acts)

    check = SpotCheck.objects.get()
    assert (check.is_rating_right, check.level) == (True, "GOOD")
