"""Setting up projects, changing their rounds, and counting how far they are."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import QuerySet

from annotation import tasks
from annotation.models import Caption, Rating, Round, RoundKind
from annotation.selectors import overview
from annotation.services import annotator_status, batches, projects, rounds
from annotation.services.campaign import LanguageBeginning
from annotation.services.projects import NewRound, RoundSettings
from core.allocation.models import AssignmentState, Task
from core.allocation.services.lifecycle import expire_overdue
from core.images.models import CollectionImage
from core.people.models import Invitation, LanguageLevel, LanguageSkill, Membership, Project, Role
from research.inference.models import ModelCaption
from tests.annotation.submitting import submit_captions, take, write
from tests.annotation.verifying import make_reviewer, make_verification
from tests.factories import (
    NOW,
    make_annotator,
    make_captioner,
    make_collection,
    make_image,
    make_language,
    make_project,
    make_round,
    make_user,
)
from tests.queries import queries_of
from tests.sweeping import sweep

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def set_up(**fields) -> Project:
    collection = fields.pop("collection", None) or make_collection(3)
    captioners = fields.pop("captioners", None) or [make_captioner(collection)]
    values: dict[str, Any] = {
        "creator": fields.pop("creator", None) or make_user(),
        "name": "Lions and Birds",
        "languages": [NewRound(make_language("de"), 2), NewRound(make_language("bn"), 1)],
        "batch_size": 15,
        "lease_s": 3600,
        "seed": 1,
        "beginning": LanguageBeginning(why_no_pilot="The guidelines are known."),
        "now": NOW,
    }
    return projects.create_project(collection=collection, captioners=captioners, **(values | fields))


def fill(project: Project) -> None:
    for round in mains_of(project):
        rounds.fill_round(round_id=round.pk)


def mains_of(project: Project) -> QuerySet[Round]:
    return project.rounds.filter(kind=RoundKind.MAIN)


def settings_of(round: Round, **fields) -> RoundSettings:
    values = {
        "replication": round.replication,
        "batch_size": round.pool.batch_size,
        "lease_s": round.pool.lease_s,
        "is_open": round.pool.is_open,
    }
    return RoundSettings(**(values | fields))


def change(round: Round, **fields) -> int:
    settings = settings_of(round, **fields)
    return projects.change_round(round=round, settings=settings, by=round.project.created_by, now=NOW)


def progress_of(round: Round, now=NOW) -> overview.RoundProgress:
    (progress,) = [row for row in overview.project_progress(round.project, now=now).rounds if row.round == round]
    return progress


class TestSettingUp:
    def test_a_project_gets_a_manager_guidelines_consent_and_a_round_per_language(self):
        boss = make_user()
        project = set_up(creator=boss)
        assert project.slug == "lions-and-birds"
        assert project.memberships.get().role == Role.MANAGER
        guidelines = project.guidelines.get()
        assert guidelines.version == 1
        assert "visually impaired friend" in guidelines.writing
        assert all(f"**{{{level.name}}}**" in guidelines.rating for level in Rating)
        assert project.consent_texts.count() == 1
        rounds = mains_of(project).values_list("language", "pool__replication", "pool__lease_s")
        assert set(rounds) == {("de", 2, 3600), ("bn", 1, 3600)}

    def test_its_tasks_are_made_in_the_background_and_filling_again_makes_nothing_twice(self):
        project = set_up()
        assert Task.objects.count() == 0
        assert all(round.awaits_tasks for round in mains_of(project))
        sweep(tasks.fill_round)
        assert Task.objects.count() == 6
        assert not any(round.awaits_tasks for round in mains_of(project))
        fill(project)
        fill(project)
        assert Task.objects.count() == 6

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_filling_goes_on_where_it_stopped(self, monkeypatch):
        monkeypatch.setattr(rounds, "TASKS_PER_INSERT", 2)
        project = set_up(collection=make_collection(5))
        rounds.add_missing_tasks(mains_of(project).get(language="de"), at_most=1)
        assert Task.objects.count() == 1
        fill(project)
        assert Task.objects.count() == 10

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_tasks_are_the_same_whether_made_at_once_or_bit_by_bit(self, monkeypatch):
        collection = make_collection(5)
        captioners = [make_captioner(collection), make_captioner(collection)]
        whole = make_round(collection=collection, captioners=captioners, seed=7)
        monkeypatch.setattr(rounds, "TASKS_PER_INSERT", 2)
        project = set_up(collection=collection, captioners=captioners, seed=7)
        fill(project)
        made = [
            set(round.tasks.values_list("image", "english", "task__shuffle_key"))
            for round in (whole, mains_of(project).get(language="de"))
        ]
        assert made[0] == made[1]

    def test_a_project_called_new_does_not_hide_behind_the_page_of_that_name(self):
        assert set_up(name="New").slug == "new-project"

    def test_a_language_is_added_once(self):
        project = set_up()
        more: dict[str, Any] = {
            "collection": mains_of(project).first().collection,
            "captioners": list(mains_of(project).first().captioners.all()),
            "batch_size": 15,
            "lease_s": 60,
            "seed": 1,
            "beginning": LanguageBeginning(why_no_pilot="The guidelines are known."),
            "by": project.created_by,
            "now": NOW,
        }
        projects.add_languages(project=project, languages=[NewRound(make_language("sw"), 2)], **more)
        assert mains_of(project).count() == 3
        with pytest.raises(projects.LanguageAlreadyAddedError, match="German"):
            projects.add_languages(
                project=project, languages=[NewRound(make_language(tag), 2) for tag in ("th", "de")], **more
            )
        assert mains_of(project).count() == 3

    def test_images_that_got_a_caption_since_come_in_when_asked_for(self):
        project = set_up()
        fill(project)
        collection = mains_of(project).first().collection
        CollectionImage.objects.create(collection=collection, image=make_image(), key="late", position=9)
        model = mains_of(project).first().captioners.get()
        ModelCaption.objects.create(
            model=model, image=collection.entries.get(key="late").image, language_id="en", text="A cat."
        )
        assert set(projects.ask_for_missing_tasks(project=project, by=project.created_by, now=NOW)) == set(
            mains_of(project).values_list("pk", flat=True)
        )
        sweep(tasks.fill_round)
        assert Task.objects.count() == 8


class TestChangingARound:
    def test_a_higher_replication_adds_places(self):
        round = make_round(images=2, replication=1)
        submit_captions(round, make_annotator(round))
        assert change(round, replication=3) == 0
        assert set(Task.objects.values_list("places", "places_taken")) == {(3, 1)}

    def test_a_lower_one_takes_nothing_away_that_is_written_or_assigned(self):
        round = make_round(images=3, replication=3)
        submit_captions(round, make_annotator(round))
        change(round, batch_size=1)
        take(round, make_annotator(round))
        above = change(round, replication=1)
        assert above == 1
        assert sorted(Task.objects.values_list("places", "places_taken")) == [(1, 1), (1, 1), (2, 2)]

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_place_returned_after_that_is_not_handed_out_again_once_saved(self):
        round = make_round(images=1, replication=2)
        submit_captions(round, make_annotator(round))
        slow = make_annotator(round)
        batch = take(round, slow)
        change(round, replication=1)
        batches.return_batch(batch_id=batch.pk, person=slow, now=NOW)
        assert change(round, replication=1) == 0
        assert Task.objects.get().places == 1

    def test_tasks_that_come_later_have_the_new_replication(self):
        project = set_up()
        round = mains_of(project).get(language="de")
        change(round, replication=5)
        fill(project)
        assert set(Task.objects.filter(pool=round.pool).values_list("places", flat=True)) == {5}

    def test_batches_are_cut_and_held_as_the_settings_say(self):
        round = make_round(images=3)
        change(round, batch_size=2, lease_s=60)
        batch = take(round, make_annotator(round))
        assert batch.items.count() == 2
        assert batch.lease.deadline == NOW + timedelta(seconds=60)


class TestProgress:
    def test_it_counts_captions_wanted_done_assigned_expired_and_late(self):
        round = make_round(images=4, replication=2)
        change(round, batch_size=1)
        round.refresh_from_db()
        done, holding, expired, late = (make_annotator(round) for _ in range(4))
        submit_captions(round, done)
        overdue = take(round, expired)
        late_batch = take(round, late)
        write(late_batch, late, "Ein Bild von etwas")
        expire_overdue(now=NOW + DAY * 2)
        batches.submit_batch(batch_id=late_batch.pk, person=late, now=NOW + DAY * 2)
        take(round, holding, now=NOW + DAY * 2)
        row = progress_of(round, NOW + DAY * 2)
        assert overdue.lease.assignments.get().state == AssignmentState.EXPIRED
        assert (row.tasks, row.wanted, row.done, row.assigned, row.expired, row.late) == (4, 8, 1, 1, 1, 1)
        assert row.open == 6
        assert row.done == Caption.objects.filter(state="counted").count()

    def test_what_is_overdue_counts_as_expired_before_it_is_swept(self):
        round = make_round(images=2)
        take(round, make_annotator(round))
        assert progress_of(round).assigned == 2
        row = progress_of(round, NOW + DAY * 2)
        assert (row.assigned, row.expired, row.done) == (0, 1, 0)

    def test_a_round_is_finished_when_every_place_has_its_caption(self):
        round = make_round(images=2, replication=1)
        assert not progress_of(round).is_finished
        submit_captions(round, make_annotator(round))
        assert progress_of(round).is_finished

    def test_only_those_who_may_write_in_a_language_are_counted_as_able_to(self):
        round = make_round(language="de")
        make_annotator(round)
        both = make_annotator(round, level=LanguageLevel.FLUENT)
        LanguageSkill.objects.create(user=both, language_id="fr", level=LanguageLevel.ADVANCED)
        make_annotator(round, level=LanguageLevel.ADVANCED)
        no_english = make_annotator(round)
        no_english.reads_english = False
        no_english.save()
        make_annotator(make_round(language="de"))
        french = make_round(project=round.project, language="fr")
        assert progress_of(round).able == 2
        assert progress_of(french).able == 0
        Membership.objects.create(project=round.project, user=both, role=Role.RATER)
        make_reviewer(round)
        assert progress_of(make_verification(round, filled=False)).able == 4

    def test_in_a_round_for_qualified_people_only_those_whom_a_manager_qualified_are_counted(self):
        round = make_round(language="de", needs_qualification=True)
        ann, _ben = make_annotator(round), make_annotator(round)
        assert progress_of(round).able == 0
        annotator_status.qualify(
            project=round.project, language=round.language, person=ann, by=round.project.created_by, now=NOW
        )
        assert progress_of(round).able == 1

    def test_only_open_invitations_are_counted(self):
        round = make_round(language="de")

        def invite(tag="de", **fields):
            values: dict[str, Any] = {"places": 3, "places_taken": 1, "role": Role.ANNOTATOR, "expires_at": NOW + DAY}
            made = Invitation.objects.create(
                project=round.project,
                token=f"t{Invitation.objects.count()}",
                created_by=round.project.created_by,
                **(values | fields),
            )
            made.languages.set([make_language(tag), make_language("sw")])

        invite()
        invite(places=2)
        invite(expires_at=NOW)
        invite(revoked_at=NOW)
        invite(role=Role.RATER)
        invite(places_taken=3)
        invite(tag="fr")
        assert progress_of(round).invited == 3

    def test_images_without_an_english_caption_are_counted_as_left_out(self):
        round = make_round(images=2)
        CollectionImage.objects.create(collection=round.collection, image=make_image(), key="x", position=9)
        assert progress_of(round).left_out == 1

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_it_takes_as_many_queries_for_many_languages_as_for_one(self):
        project = make_project()
        counts = []
        for tags in (["de"], ["fr", "ar", "ja", "sw"]):
            for tag in tags:
                round = make_round(project=project, language=tag)
                submit_captions(round, make_annotator(round))
            counts.append(len(queries_of(lambda: overview.project_progress(project, now=NOW))))
        assert counts[0] == counts[1] <= 11
