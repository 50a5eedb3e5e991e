"""Two people, or one twice, apply the file of a campaign at once: what it lacks is made once, and mailed once."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest
from django.db import connection

from annotation.services.campaign import LanguageBeginning
from annotation.services.projects import create_empty_project
from core.allocation.models import Pool
from core.people.models import Invitation, Project, User
from core.people.services.invitations import invite_many
from office.dashboard.formats.campaign_file import read_campaign, write_campaign
from office.dashboard.selectors.campaign_file import campaign_of
from office.dashboard.services.campaign import applying
from office.dashboard.services.campaign.applying import apply_campaign
from office.recruitment.models import Study
from tests.annotation.submitting import begin_language
from tests.concurrency import BARRIER_TIMEOUT_S, together
from tests.factories import NOW, make_collection, make_comparison, make_project, make_user
from tests.locks import check_order
from tests.tiers import runs

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]

FILE = b"""
[project]
name = "Herons"
[[invitations]]
role = "researcher"
email = "a@example.org"
[[studies]]
name = "First"
languages = ["de"]
places = 5
batches = 1
done_url = "https://example.org/done"
reward = 1
rate = 12
"""


def apply_twice(project: Project) -> Counter[str]:
    """Returns how often each path of the file was added."""

    def apply(_number: int) -> Any:
        own = Project.objects.get(pk=project.pk)
        return apply_campaign(read_campaign(FILE), project=own, by=own.created_by, now=NOW)

    return Counter(step.path for change in together(apply, range(2)) for step in change.steps)


@pytest.mark.parametrize("run", runs(8, short=1))
def test_a_file_that_is_applied_twice_at_once_adds_everything_once(run):
    project = make_project("herons")
    assert apply_twice(project) == {"invitations[0]": 1, "studies[0]": 1}
    assert (Invitation.objects.count(), Study.objects.count()) == (1, 1)


@pytest.mark.skipif(not connection.features.has_select_for_update, reason="SQLite has one writer at a time")
def test_the_control_without_waiting_both_add_it(monkeypatch):
    both_have_looked = threading.Barrier(2)

    def invite_once_both_have_looked(**about: Any) -> Any:
        both_have_looked.wait(BARRIER_TIMEOUT_S)
        return invite_many(**about)

    monkeypatch.setattr(applying, "_lock_what_is_there", lambda *_about: None)
    monkeypatch.setattr("office.dashboard.services.campaign.people.invite_many", invite_once_both_have_looked)
    assert apply_twice(make_project("herons"))["invitations[0]"] == 2


def make_twice(by: User) -> list[str]:
    """Returns the slugs of the projects that two requests for one new project made or changed."""
    changes = together(
        lambda _number: apply_campaign(read_campaign(FILE), project=None, slug="herons", by=by, now=NOW), range(2)
    )
    return [change.project.slug for change in changes]


@pytest.mark.parametrize("run", runs(8, short=1))
def test_a_new_project_that_is_asked_for_twice_at_once_is_made_once(run):
    assert make_twice(make_user("mara")) == ["herons", "herons"]
    assert (Project.objects.count(), Invitation.objects.count(), Study.objects.count()) == (1, 1, 1)


@pytest.mark.skipif(not connection.features.has_select_for_update, reason="SQLite has one writer at a time")
def test_the_control_without_waiting_makes_two(monkeypatch):
    both_have_looked = threading.Barrier(2)

    def create_once_both_have_looked(**about: Any) -> Any:
        both_have_looked.wait(BARRIER_TIMEOUT_S)
        return create_empty_project(**about)

    monkeypatch.setattr(applying, "_made_meanwhile", lambda *_about: None)
    monkeypatch.setattr("annotation.services.projects.create_empty_project", create_once_both_have_looked)
    assert sorted(make_twice(make_user("mara"))) == ["herons", "herons-2"]


@pytest.mark.skipif(not connection.features.has_select_for_update, reason="SQLite has one writer at a time")
def test_all_that_a_file_changes_is_locked_before_the_log():
    project, collection = make_project("herons"), make_collection(2)
    for tag in ("de", "cs"):
        begin_language(project, collection, tag, beginning=LanguageBeginning(why_no_pilot="Known people."))
        make_comparison(project=project, collection=collection, language=tag)
    said = campaign_of(project)
    said["project"]["name"] = "Egrets"
    for changed in (*said["languages"], *said["comparisons"]):
        changed.get("main", changed).update(replication=4, batch_size=7)
    file, own = read_campaign(write_campaign(said).encode()), Project.objects.get(pk=project.pk)
    check_order(lambda: apply_campaign(file, project=own, by=own.created_by, now=NOW))
    changed = Pool.objects.filter(replication=4, batch_size=7)
    assert (changed.exclude(comparison=None).count(), changed.exclude(round=None).count()) == (2, 2)
