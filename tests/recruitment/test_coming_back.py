"""People of a panel who come back when their study is over, for what is theirs."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from core.people.models import Consent, Project, User
from core.people.services.members import remove_member
from office.recruitment.models import Participant
from office.recruitment.services.participants import own_query
from tests.factories import NOW
from tests.recruitment.panel import Panel

pytestmark = pytest.mark.django_db


@pytest.mark.usefixtures("round")
def test_who_left_and_was_removed_withdraws_and_deletes_by_an_address_from_the_researcher(
    panel: Panel, project: Project
) -> None:
    panel.send("5f1a")
    page = panel.browser("5f1a").post(reverse("recruitment:study-finish"), {"leave": "1"}, follow=True)
    assert "To withdraw your consent" in page.content.decode()
    participant = Participant.objects.get()
    assert participant.user is not None
    remove_member(membership=participant.user.memberships.get(), by=project.created_by, now=NOW)

    unknown, sent = Client(), Client()
    assert "write to the researcher" in unknown.get(panel.address("5f1a")).content.decode()
    enter = reverse("recruitment:study-enter", args=[panel.study.token])
    sent.get(f"{enter}?{own_query(participant)}", follow=True)
    withdrawal = reverse("people:consent-withdraw", args=[project.slug])
    assert withdrawal in sent.get(reverse("people:profile-show")).content.decode()
    sent.post(withdrawal, {"answers": "remove"})
    assert Consent.objects.get(user=participant.user).withdrawn_at
    sent.post(reverse("people:account-delete"), {"understood": "on"})
    assert not User.objects.get(pk=participant.user.pk).is_active
