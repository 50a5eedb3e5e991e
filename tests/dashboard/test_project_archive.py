"""An archived project: nobody gets work in it, nobody changes it, and restoring brings all of it back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Round
from annotation.rules.campaign import UnfinishedBatches
from annotation.selectors.verification import rating_work_of
from annotation.selectors.work import work_of
from annotation.services import batches, reassignment, verification
from annotation.services.campaign import UnfinishedBatchesError
from core.allocation.models import Batch, BatchState
from core.people.models import AuditEntry, Invitation, Membership, Project, Role
from core.people.selectors.qualification import NotQualifiedError
from core.people.services.invitations import InvitationClosedError, accept_invitation, invite
from gapgame.models import SeasonAccess
from gapgame.services import playing
from office.dashboard.services.projects import archive_project, restore_project
from office.recruitment.services.participants import StudyClosedError, admit_participant
from sxs_eval.selectors.work import work_of as judging_work_of
from sxs_eval.services import judging
from tests.annotation.submitting import submit_captions, take, write
from tests.annotation.verifying import make_reviewer, make_verification
from tests.api.seeded import Program
from tests.clients import client_of
from tests.exported import export_address
from tests.factories import (
    NOW,
    join_project,
    make_annotator,
    make_comparison,
    make_player,
    make_project,
    make_rater,
    make_round,
    make_season,
    make_user,
)
from tests.recruitment.panel import make_study

pytestmark = pytest.mark.django_db


def archive(project: Project, assigned: UnfinishedBatches | None = None, **fields: Any) -> Project:
    about: dict[str, Any] = {"by": project.created_by, "now": NOW} | fields
    return archive_project(project=project, assigned=assigned, **about)


def restore(project: Project) -> None:
    restore_project(project=project, by=project.created_by, now=NOW)


class TestNoWork:
    """Each way to work is tried before, in the archive, and after."""

    def refused(self, project: Project, ask: Callable[[], object]) -> None:
        archive(project, UnfinishedBatches.RETURN)
        with pytest.raises(NotQualifiedError, match="archived"):
            ask()
        restore(project)
        assert ask() is not None

    def test_no_captions(self):
        round = make_round(images=4, batch_size=2)
        ann = make_annotator(round)
        self.refused(round.project, lambda: take(round, ann))

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_no_batch_is_resumed(self):
        round = make_round()
        ann = make_annotator(round)
        batch = take(round, ann)
        batches.return_batch(batch_id=batch.pk, person=ann, now=NOW)
        self.refused(round.project, lambda: batches.resume_batch(batch_id=batch.pk, person=ann, now=NOW))

    def test_no_batch_is_moved(self):
        round = make_round()
        ann, bob = make_annotator(round), make_annotator(round)
        batch = take(round, ann).lease
        archive(round.project, UnfinishedBatches.LET_FINISH)
        with pytest.raises(NotQualifiedError, match="archived"):
            reassignment.move_batch(batch=batch, to=bob, by=round.project.created_by, now=NOW)

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_no_ratings(self):
        round = make_round()
        submit_captions(round, make_annotator(round))
        rating = make_verification(round, places=1)
        rater = make_reviewer(rating)
        self.refused(
            round.project,
            lambda: verification.take_batch(round=rating, person=rater, now=NOW, rng=Random(0)),
        )

    def test_no_judgements(self):
        comparison = make_comparison()
        rater = make_rater(comparison)
        self.refused(
            comparison.project,
            lambda: judging.take_batch(comparison=comparison, person=rater, now=NOW, rng=Random(0)),
        )

    def test_no_game(self):
        now = timezone.now()
        day = timedelta(days=1)
        season = make_season(access=SeasonAccess.OPEN, starts_at=now - day, ends_at=now + day)
        player = make_player(season)
        who: dict[str, Any] = {"player_id": player.pk, "user": player.user, "now": now}
        archive(season.project)
        page = reverse("gapgame:season-show", args=[season.slug])
        client = client_of(player.user)
        assert client.get(page).status_code == 404
        with pytest.raises(playing.NotPlayingError):
            playing.take_batch(**who, language="en", rng=Random(1))
        restore(season.project)
        assert client.get(page).status_code == 200
        playing.take_batch(**who, language="en", rng=Random(1))

    def test_nobody_joins(self):
        project, user = make_project(), make_user()
        invitation = invite(
            project=project, role=Role.RATER, expires_at=NOW + timedelta(days=9), created_by=project.created_by, now=NOW
        )
        about: dict[str, Any] = {"levels": {}, "reads_english": True, "consent_version": 1, "now": NOW}
        archive(project)
        with pytest.raises(InvitationClosedError, match="archived"):
            accept_invitation(token=invitation.token, user=user, **about)
        page = client_of(user).get(reverse("people:invitation-accept", args=[invitation.token]))
        assert "is archived, so nobody can join it" in page.content.decode()
        restore(project)
        accept_invitation(token=invitation.token, user=user, **about)
        assert Membership.objects.filter(user=user).exists()

    def test_nobody_comes_from_a_panel(self):
        study = make_study(make_project())
        archive(study.project)
        with pytest.raises(StudyClosedError):
            admit_participant(
                study=study,
                panel_id="p",
                session_id="s",
                levels={},
                reads_english=True,
                consent_version=1,
                interface_language="",
                now=NOW,
            )

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_lists_of_work_leave_it_out(self):
        round = make_round()
        ann = make_annotator(round)
        submit_captions(round, make_annotator(round))
        rater = make_reviewer(make_verification(round, places=1))
        comparison = make_comparison(project=round.project)
        judge = make_rater(comparison)
        lists = [
            lambda: work_of(ann, NOW),
            lambda: rating_work_of(rater, NOW),
            lambda: judging_work_of(judge, NOW),
        ]
        assert all(each() for each in lists)
        archive(round.project)
        assert not any(each() for each in lists)
        restore(round.project)
        assert all(each() for each in lists)


class TestUnfinishedBatches:
    def test_it_asks_what_happens_to_them(self):
        round = make_round()
        take(round, make_annotator(round))
        with pytest.raises(UnfinishedBatchesError, match="1 batch is unfinished"):
            archive(round.project)
        assert not Project.objects.get(pk=round.project_id).is_archived

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_people_can_finish_them(self):
        round = make_round()
        ann = make_annotator(round)
        batch = take(round, ann)
        archive(round.project, UnfinishedBatches.LET_FINISH)
        assert [work.open_batch.id for work in work_of(ann, NOW)] == [batch.pk]
        write(batch, ann, "Ein Bild von etwas")
        batches.submit_batch(batch_id=batch.pk, person=ann, now=NOW)
        assert round.captions.count() == 3
        assert work_of(ann, NOW) == []

    def test_they_are_returned(self):
        round = make_round()
        take(round, make_annotator(round))
        archive(round.project, UnfinishedBatches.RETURN)
        assert Batch.objects.get().state == BatchState.RETURNED

    def test_expired_ones_are_not_asked_about(self):
        round = make_round(lease_s=60)
        take(round, make_annotator(round))
        archive(round.project, now=NOW + timedelta(hours=1))
        assert Batch.objects.get().state == BatchState.EXPIRED


class TestNobodyChangesIt:
    @pytest.fixture
    def round(self) -> Round:
        round = make_round()
        archive(round.project)
        return round

    def test_pages_refuse_and_say_why(self, round):
        client = client_of(round.project.created_by)
        answer = client.post(reverse("annotation:guidelines-edit", args=[round.project.slug]), {"rating": "x"})
        assert (answer.status_code, round.project.guidelines.count()) == (409, 1)
        assert "This project is archived" in answer.content.decode()

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_pages_can_still_be_read(self, round):
        client = client_of(round.project.created_by)
        page = client.get(reverse("annotation:project-show", args=[round.project.slug]))
        assert page.status_code == 200
        assert "has been archived since" in page.content.decode()
        assert client.get(export_address(round.project.slug, "captions")).status_code == 200

    def test_programs_are_refused_too(self, round):
        manager = Program(round.project.created_by)
        address = f"/api/v1/projects/{round.project.slug}/releases/"
        answer = manager.post(address)
        assert (answer.status_code, answer.json()["code"]) == (409, "archived")
        assert manager.get(f"/api/v1/projects/{round.project.slug}/").status_code == 200

    def test_people_can_still_withdraw(self, round):
        ann = join_project(round.project, make_user())
        answer = client_of(ann).post(reverse("people:consent-withdraw", args=[round.project.slug]), {"answers": "keep"})
        assert answer.status_code != 409


def test_lists_of_projects_leave_it_out_unless_asked():
    project = make_project("old-times")
    client, page = client_of(project.created_by), reverse("annotation:project-list")
    assert "Old Times" in client.get(page).content.decode()
    archive(project)
    assert "Old Times" not in client.get(page).content.decode()
    assert "Old Times" in client.get(page, {"show": "archived"}).content.decode()


def test_the_log_says_who_and_when_once():
    project = make_project()
    for _time in range(2):
        archive(project)
    restore(project)
    restore(project)
    actions = list(AuditEntry.objects.filter(project=project).order_by("number").values_list("action", flat=True))
    assert actions == ["project.archived", "project.restored"]


def test_renaming_keeps_the_address_and_is_logged_once():
    project = make_project("lions")
    client, address = client_of(project.created_by), reverse("dashboard:project-settings", args=["lions"])
    assert client.post(address, {"name": "", "description": ""}).status_code == 422
    for _time in range(2):
        assert client.post(address, {"name": "Tigers", "description": "Striped."}).status_code == 302
    project.refresh_from_db()
    assert (project.name, project.description, project.slug) == ("Tigers", "Striped.", "lions")
    entry = AuditEntry.objects.get(project=project)
    assert entry.details["before"]["name"] == "Lions"


class TestPages:
    @pytest.mark.postgres
    def test_from_the_archive_to_the_end(self, monkeypatch):
        asked: list[int] = []
        monkeypatch.setattr("office.dashboard.views.projects.send_deletion", asked.append)
        round = make_round()
        take(round, make_annotator(round), now=timezone.now())
        project = round.project
        client = client_of(project.created_by)

        def at(name: str) -> str:
            return reverse(f"dashboard:project-{name}", args=[project.slug])

        assert "Archive it first" in client.get(at("delete")).content.decode()
        assert client.post(at("delete"), {"name": project.name}).status_code == 422
        assert "1 batch is unfinished" in client.get(at("archive")).content.decode()
        assert client.post(at("archive"), {}).status_code == 422
        assert client.post(at("archive"), {"assigned": "return"}).status_code == 302
        assert "Delete…" in client.get(at("settings")).content.decode()
        wrong = client.post(at("delete"), {"name": "Another"})
        assert wrong.status_code == 422
        assert "This is not the name of the project" in wrong.content.decode()
        assert client.post(at("delete"), {"name": project.name}).status_code == 302
        assert len(asked) == 1
        assert client.get(at("settings")).status_code == 404
        listed = client.get(reverse("annotation:project-list"), {"show": "archived"}).content.decode()
        assert "being deleted" in listed

    def test_restoring(self):
        project = archive(make_project())
        client_of(project.created_by).post(reverse("dashboard:project-restore", args=[project.slug]))
        assert not Project.objects.get(pk=project.pk).is_archived


def test_invitations_of_an_archived_project_say_so(django_assert_max_num_queries):
    project = make_project()
    for _time in range(3):
        Invitation.objects.create(
            project=project,
            token=f"{_time}" * 40,
            role=Role.RATER,
            created_by=project.created_by,
            expires_at=timezone.now() + timedelta(days=9),
        )
    archive(project)
    page = client_of(project.created_by).get(reverse("people:invitation-list", args=[project.slug]))
    assert page.content.decode().count("Closed: the project is archived") == 3
