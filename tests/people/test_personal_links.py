"""Joining without a password: the personal link that is the account, and where it ends."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.people.models import Consent, Membership, PersonalLink, Project, Role, User
from core.people.rules.roles import CONTRIBUTORS
from core.people.services.members import remove_member
from core.people.services.personal_links import LIFETIME, make_link, use_link
from core.people.services.sessions import save_password
from tests.clients import client_of
from tests.people.invitations import link_of, make_invitation, publish

pytestmark = pytest.mark.django_db
ANSWERS = {"way": "link", "level-de": "native", "reads_english": "on", "consent": "on", "consent_version": "1"}


def join(project: Project, role: Role = Role.ANNOTATOR, **about: Any) -> tuple[Client, str]:
    """Return the browser of somebody who started with a link, and its address."""
    client = Client()
    response = client.post(link_of(make_invitation(project, role=role)), ANSWERS | about)
    assert response.status_code == 302, response.content.decode()
    return client, response["Location"].partition("?")[0]


def token_of(address: str) -> str:
    return address.rstrip("/").rpartition("/")[2]


@pytest.fixture
def consented(project: Project) -> Project:
    publish(project, "I agree.")
    return project


@pytest.mark.parametrize("role", sorted(CONTRIBUTORS))
def test_somebody_starts_without_a_name_and_password_and_comes_back_on_another_device(
    consented: Project, role: str
) -> None:
    version = consented.consent_texts.order_by("-version")[0].version
    client, address = join(consented, Role(role), consent_version=version)
    person = Membership.objects.get(project=consented, role=role).user
    assert not person.has_usable_password()
    assert person.consents.get().text.version == version
    assert address in client.get(address).content.decode()

    other = Client()
    assert not other.get(address).wsgi_request.user.is_authenticated, "programs that look ahead sign nobody in"
    other.post(address)
    assert other.get("/profile/").wsgi_request.user == person


def test_a_manager_is_never_admitted_by_a_link(consented: Project) -> None:
    invitation = make_invitation(consented, role=Role.MANAGER, languages=[])
    assert 'name="way"' not in Client().get(link_of(invitation)).content.decode()
    assert Client().post(link_of(invitation), ANSWERS).status_code == 422

    other = Project.objects.create(slug="tigers", name="Tigers", created_by=consented.created_by)
    client, address = join(consented, consent_version=_version(consented))
    response = client.post(link_of(make_invitation(other, role=Role.MANAGER, languages=[])), {"any": "thing"})
    assert "Choose a password in your profile first" in response.content.decode()
    person = PersonalLink.objects.get().user
    Membership.objects.create(project=other, user=person, role=Role.RESEARCHER)
    assert Client().post(address).status_code == 404


def test_only_a_digest_is_stored_and_an_account_needs_its_name_and_password(consented: Project) -> None:
    _client, address = join(consented, consent_version=_version(consented))
    assert token_of(address) not in str(PersonalLink.objects.values().get())
    page = Client().post(link_of(make_invitation(consented)), ANSWERS | {"way": "password"})
    assert page.status_code == 422
    assert page.content.decode().count("This field is required.") == 4, "each in the list and at its field"


def test_it_lasts_from_the_last_use_and_ends_with_a_password_or_a_new_link(consented: Project) -> None:
    client, address = join(consented, consent_version=_version(consented))
    token, now = token_of(address), timezone.now()
    soon, day = now + LIFETIME - timedelta(days=1), timedelta(days=1)
    person = use_link(token=token, now=soon)
    assert person is not None
    assert use_link(token=token, now=soon + LIFETIME + day) is None

    renewed = client.post(reverse("people:link-renew"))["Location"]
    assert use_link(token=token, now=now) is None
    assert client.get("/profile/").status_code == 200

    person.set_password("seven tall giraffes")
    save_password(user=person, now=now)
    assert use_link(token=token_of(renewed), now=now) is None


@pytest.mark.parametrize("is_archived", [True, False])
def test_who_is_removed_or_whose_project_is_archived_still_withdraws_downloads_and_deletes(
    consented: Project, *, is_archived: bool
) -> None:
    _client, address = join(consented, consent_version=_version(consented))
    membership = Membership.objects.get(project=consented, role=Role.ANNOTATOR)
    if is_archived:
        Project.objects.update(archived_at=timezone.now())
    else:
        remove_member(membership=membership, by=consented.created_by, now=timezone.now())
    client = Client()
    came = client.post(address, follow=True)
    assert is_archived or "Go to your profile" in came.content.decode()
    withdrawal = reverse("people:consent-withdraw", args=["lions"])
    assert withdrawal in client.get("/profile/").content.decode()
    assert client.post(withdrawal, {"answers": "remove"}).status_code == 302
    assert Consent.objects.get(user=membership.user).withdrawn_at
    assert client.get(reverse("people:data-download")).getvalue().startswith(b"PK")
    assert client.post(reverse("people:account-delete"), {"understood": "on"}).status_code == 302
    assert not User.objects.get(pk=membership.user_id).is_active
    assert Client().post(address).status_code == 404


def test_it_is_mailed_by_its_owner_alone(consented: Project) -> None:
    client, address = join(consented, consent_version=_version(consented))
    client.post(address, {"email": "zoe@example.org"})
    assert [message.to for message in mail.outbox] == [["zoe@example.org"]]
    assert f"http://testserver{address}" in mail.outbox[0].body
    ann = User.objects.create(username="ann")
    client_of(ann).post(address, {"email": "ann@example.org"})
    assert len(mail.outbox) == 1


def test_who_has_another_link_is_not_signed_in_over_it(consented: Project) -> None:
    _client, address = join(consented, consent_version=_version(consented))
    ann = User.objects.create(username="ann")
    make_link(user=ann, now=timezone.now())
    browser = client_of(ann)
    assert "You are signed in as ann" in browser.post(address).content.decode()
    assert browser.get("/profile/").wsgi_request.user == ann


def _version(project: Project) -> int:
    return project.consent_texts.order_by("-version")[0].version
