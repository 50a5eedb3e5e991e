"""What needs a manager: each kind of it is found, leads to where it is done, and is shown to nobody else."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from annotation.models import Round, RoundState
from annotation.services.campaign import LanguageBeginning
from core.allocation.models import Batch
from core.images.models import Collection, Image, ImportJob, ImportKind
from core.jobs.models import JobState
from core.people.defaults import GAP
from core.people.models import ConsentText, InvitationMail, MailState, Membership, Project, Role, User
from gapgame.models import PlayerStatus
from office.dashboard.models import DismissedNeed
from office.dashboard.rules.needs import Need, NeedKind, in_order
from office.dashboard.selectors.needs import needs_of, number_of
from office.practice.models import PracticeAttempt
from research.inference.models import Run, RunState
from sxs_eval.models import RaterState, RaterStatus
from tests.annotation.submitting import begin_language, take
from tests.clients import client_of
from tests.factories import (
    make_annotator,
    make_captioner,
    make_collection,
    make_comparison,
    make_player,
    make_project,
    make_rater,
    make_season,
    make_user,
)
from tests.people.invitations import make_invitation
from tests.practice.making import make_practice
from tests.queries import queries_of

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _nothing_kept():
    cache.clear()


def found(user: User, *kinds: NeedKind) -> list[Need]:
    return [need for one in needs_of(user, now=timezone.now()) for need in one.needs if not kinds or need.kind in kinds]


def begin(project: Project, *tags: str) -> list[Round]:
    collection = make_collection(2)
    about = {"captioners": [make_captioner(collection)], "beginning": LanguageBeginning(pilot_images=2)}
    return [begin_language(project, collection, tag, now=timezone.now(), **about) for tag in tags]


def test_what_rounds_wait_for_is_one_line_with_the_languages_and_leads_there(project: Project):
    begin(project, "de", "fr", "sw", "it", "pl", "tr")
    manager = project.created_by
    (need,) = found(manager, NeedKind.DECISION)
    assert (need.text, need.detail) == ("Nobody can write", "French, German, Italian, Polish and 2 others")
    page = client_of(manager).get(need.url)
    assert page.status_code == 200
    Round.objects.exclude(language="de").update(state=RoundState.SKIPPED, reason="x", decided_at=timezone.now())
    (alone,) = found(manager, NeedKind.DECISION)
    assert alone.url == reverse("annotation:language-show", args=["lions", "de"])


def test_rounds_that_stand_still_for_different_times_are_one_line(project: Project):
    rounds = begin(project, "de", "fr")
    for days, round in enumerate(rounds, start=4):
        make_annotator(round)
        Round.objects.filter(pk=round.pk).update(opened_at=timezone.now() - days * DAY)
    (need,) = found(project.created_by, NeedKind.DECISION)
    assert (need.text, need.detail) == ("Stand still", "French and German")


def test_batches_that_expire_within_a_day_are_counted_and_others_not(project: Project):
    (round,) = begin(project, "de")
    batch = take(round, make_annotator(round), now=timezone.now())
    for left, number in ((DAY / 2, 1), (3 * DAY, 0), (-DAY / 24, 0)):
        Batch.objects.filter(pk=batch.pk).update(deadline=timezone.now() + left)
        assert len(found(project.created_by, NeedKind.DEADLINE)) == number
    comparison = make_comparison(project=project)
    assert comparison.project == project


def test_people_who_wait_for_a_decision(project: Project):
    comparison = make_comparison(project=project)
    RaterStatus.objects.create(
        comparison=comparison, person=make_rater(comparison), state=RaterState.PAUSED, paused_at=timezone.now()
    )
    season = make_season(project=project)
    make_player(season, is_marked=True)
    make_player(season, is_marked=True, status=PlayerStatus.CLEARED)
    practice = make_practice(project, tries=2)
    person = make_user()
    for number in (1, 2):
        assert len(found(project.created_by, NeedKind.PEOPLE)) == 2, f"before try {number}"
        PracticeAttempt.objects.create(
            practice=practice,
            language_id="en",
            working_language_id="de",
            person=person,
            started_at=timezone.now(),
            finished_at=timezone.now(),
            passed=False,
        )
    invitation = make_invitation(project, email="zoe@example.org", expires_at=timezone.now() + DAY)
    InvitationMail.objects.create(
        invitation=invitation,
        site="https://x/",
        due_at=timezone.now(),
        asked_at=timezone.now(),
        asked_by=project.created_by,
        state=MailState.FAILED,
        reason="550",
    )
    needs = found(project.created_by, NeedKind.PEOPLE)
    assert sorted(need.text for need in needs) == [
        "1 invitation was not sent",
        "1 paused rater to decide about",
        "1 person has no tries left at the practice",
        "1 player whose play looks scripted",
    ]
    manager = client_of(project.created_by)
    assert {manager.get(need.url).status_code for need in needs} == {200}
    PracticeAttempt.objects.update(is_forgiven=True)
    assert "practice" not in " ".join(need.text for need in found(project.created_by))


def test_what_failed_is_shown_for_two_weeks_or_until_it_is_dismissed(project: Project):
    manager, researcher = project.created_by, make_user()
    Membership.objects.create(project=project, user=researcher, role=Role.RESEARCHER)
    collection = make_collection(1, project=project)
    run = Run.objects.create(
        model=make_captioner(collection),
        collection=collection,
        queue="cpu",
        state=RunState.FAILED,
        error="No space left on device",
        project=project,
        created_at=timezone.now() - 3 * DAY,
        finished_at=timezone.now() - 2 * DAY,
    )
    job = ImportJob.objects.create(
        kind=ImportKind.IMAGES, project=project, collection=collection, source_name="a.zip", state=JobState.FAILED
    )
    assert [need.about for need in found(manager)] == [f"import:{job.pk}", f"run:{run.pk}"]
    assert [need.about for need in found(researcher)] == [f"run:{run.pk}"]
    assert {client_of(manager).get(need.url).status_code for need in found(manager)} == {200}
    client_of(manager).post(reverse("dashboard:need-dismiss"), {"about": f"import:{job.pk}"})
    assert [need.about for need in found(manager)] == [f"run:{run.pk}"]
    assert DismissedNeed.objects.get().person == manager
    Run.objects.update(finished_at=timezone.now() - 15 * DAY)
    assert found(manager) == found(researcher) == []


def test_what_belongs_to_no_project_is_its_maker_s_alone(project: Project):
    manager = project.created_by
    ImportJob.objects.create(kind=ImportKind.IMAGES, source_name="a.zip", state=JobState.FAILED, created_by=manager)
    (one,) = needs_of(manager, now=timezone.now())
    assert (one.slug, one.name, len(one.needs)) == ("", "Without a project", 1)
    assert found(make_project("zebras").created_by) == []


def test_images_without_a_licence_and_a_consent_text_with_gaps(project: Project):
    begin(project, "de")
    Image.objects.update(licence="")
    ConsentText.objects.create(project=project, version=2, body=f"Ask {GAP}.")
    needs = found(project.created_by, NeedKind.SETUP)
    assert [need.text for need in needs] == [
        "2 images have no licence: releases will refuse them",
        "The consent text still has gaps to fill in",
    ]
    Collection.objects.update(project=project)
    page = client_of(project.created_by).get(needs[0].url)
    assert page.context["page"].paginator.count == 2
    Image.objects.update(licence="CC BY 4.0")
    assert len(found(project.created_by, NeedKind.SETUP)) == 1


def test_people_who_manage_nothing_see_nothing(project: Project):
    (round,) = begin(project, "de")
    annotator = make_annotator(round)
    assert needs_of(annotator, now=timezone.now()) == []
    stranger = make_project("zebras").created_by
    assert needs_of(stranger, now=timezone.now()) == []


@pytest.mark.long(reason="at least three others run each of its lines")
def test_an_archived_project_needs_nobody(project: Project):
    begin(project, "de")
    assert found(project.created_by)
    Project.objects.update(archived_at=timezone.now())
    assert found(project.created_by) == []


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_page_the_number_and_the_empty_page(project: Project):
    manager = client_of(project.created_by)
    assert "Nothing needs you right now." in manager.get(reverse("dashboard:need-list")).content.decode()
    cache.clear()
    begin(project, "de", "fr")
    page = manager.get(reverse("dashboard:need-list")).content.decode()
    assert "Nobody can write" in page
    number = number_of(needs_of(project.created_by, now=timezone.now()))
    assert manager.get(reverse("dashboard:need-count")).content.decode() == str(number)
    assert number == 1


def test_more_languages_take_no_more_queries(project: Project):
    begin(project, "de")

    def queries() -> int:
        return len(queries_of(lambda: needs_of(project.created_by, now=timezone.now())))

    few = queries()
    begin(project, "fr", "it", "pl")
    make_comparison(project=project, language="fr")
    assert queries() <= few + 2


def test_the_most_urgent_comes_first():
    old, new = timezone.now() - DAY, timezone.now()
    needs = [
        Need(NeedKind.SETUP, "a", "/"),
        Need(NeedKind.FAILURE, "old", "/", at=old),
        Need(NeedKind.FAILURE, "new", "/", at=new),
        Need(NeedKind.DECISION, "b", "/"),
    ]
    assert [need.text for need in in_order(needs)] == ["b", "new", "old", "a"]
