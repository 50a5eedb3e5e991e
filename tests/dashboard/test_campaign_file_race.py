"""Two people, or one twice, apply the file of a campaign at once: what it lacks is made once, and mailed once."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest
from django.db import connection

from core.people.models import Invitation, Project
from core.people.services.invitations import invite_many
from office.dashboard.formats.campaign_file import read_campaign
from office.dashboard.services.campaign import applying
from office.dashboard.services.campaign.applying import apply_campaign
from office.recruitment.models import Study
from tests.concurrency import BARRIER_TIMEOUT_S, together
from tests.factories import NOW, make_project
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

    monkeypatch.setattr(applying, "_wait_for_others", lambda _project: None)
    monkeypatch.setattr("office.dashboard.services.campaign.people.invite_many", invite_once_both_have_looked)
    assert apply_twice(make_project("herons"))["invitations[0]"] == 2
