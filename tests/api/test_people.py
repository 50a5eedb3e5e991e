"""What managers' programs do about people: webhooks, roles, invitations and translations, as on the pages."""

from __future__ import annotations

import pytest

from core.people.models import AnsweredRequest, Delivery, Invitation, Project, Role, TextTranslation, Webhook
from tests.api.seeded import Program
from tests.api.test_work import address, code
from tests.factories import join_project, make_language, make_project, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    make_language("de")
    return make_project("lions")


@pytest.fixture
def mia(project) -> Program:
    made = Program(project.created_by)
    made.headers["Idempotency-Key"] = "a-1"
    return made


@pytest.fixture
def _public_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.people.services.webhooks.check_address", lambda _address: "")


@pytest.mark.usefixtures("_public_names")
def test_the_secret_of_a_webhook_is_answered_once_and_kept_in_no_answer(project, mia):
    sent = {"url": "https://hooks.example.org/", "events": ["round.closed"]}
    made, again = (mia.post(address("webhook-list", "lions"), **sent) for _ in range(2))
    assert made.status_code == 201, made.json()
    assert made.json()["secret"] == Webhook.objects.get().secret
    assert again.json() == made.json() | {"secret": None}
    assert Webhook.objects.get().secret not in AnsweredRequest.objects.get().body
    (row,) = mia.all_of(address("webhook-list", "lions"))
    assert "secret" not in row


@pytest.mark.usefixtures("_public_names")
def test_a_webhook_is_tested_tried_again_and_turned_off(project, mia):
    hook = mia.post(address("webhook-list", "lions"), url="https://hooks.example.org/").json()["id"]
    del mia.headers["Idempotency-Key"]
    sent = mia.post(address("webhook-test", "lions", hook)).json()
    assert (sent["event"], sent["state"]) == ("webhook.test", "waiting")
    assert [row["id"] for row in mia.all_of(address("delivery-list", "lions", hook))] == [sent["id"]]
    Project.objects.filter(pk=project.pk).update(archived_at=project.created_at)
    assert code(mia.post(address("delivery-retry", "lions", sent["id"]))) == (409, "archived")
    assert mia.delete(address("webhook-show", "lions", hook)).status_code == 204
    Project.objects.filter(pk=project.pk).update(archived_at=None)
    assert code(mia.post(address("delivery-retry", "lions", sent["id"]))) == (409, "webhook-refused")
    assert Delivery.objects.get().state == "failed"


def test_a_role_is_taken_away_but_that_of_the_last_manager(project, mia):
    bob = join_project(project, make_user("bob"), Role.RESEARCHER)
    rows = {row["username"]: row["id"] for row in mia.all_of(address("member-list", "lions"))}
    assert mia.delete(address("member-remove", "lions", rows["bob"])).status_code == 204
    assert code(mia.delete(address("member-remove", "lions", rows[project.created_by.username]))) == (
        409,
        "last-manager",
    )
    assert not bob.memberships.exists()


def test_a_list_of_addresses_is_checked_and_then_invited_and_its_links_are_kept_in_no_answer(project, mia):
    where, text = address("invitation-addresses", "lions"), "address,languages\na@example.org,de\nb@example.org,de"
    checked = mia.post(where, text=text)
    assert (checked.status_code, [row["languages"] for row in checked.json()["lines"]]) == (200, [["de"], ["de"]])
    assert not Invitation.objects.exists()
    mia.headers["Idempotency-Key"] = "a-2"
    assert mia.post(where, text=text, is_confirmed=True).status_code == 201
    assert len(Invitation.objects.all()) == 2
    kept = "".join(AnsweredRequest.objects.values_list("body", flat=True))
    assert not [one for one in Invitation.objects.all() if one.token in kept]
    mia.headers["Idempotency-Key"] = "a-3"
    wrong = mia.post(where, text="address,languages\nnobody,de")
    assert list(wrong.json()["errors"]) == ["__all__"]


def test_invitations_are_revoked_and_those_for_which_it_is_too_late_are_named(project, mia):
    about = {"role": "player", "places": 2}
    made = mia.post(address("invitation-list", "lions"), **about).json()["results"][0]["id"]
    del mia.headers["Idempotency-Key"]
    where = address("invitation-change", "lions")
    assert mia.post(where, action="revoke", invitations=[made]).json() == {"done": 1, "mails": 0, "left_out": []}
    again = mia.post(where, action="extend", invitations=[made], days=30).json()
    assert (again["done"], [row["id"] for row in again["left_out"]]) == (0, [made])
    assert code(mia.post(where, action="burn", invitations=[made])) == (422, "invalid")


def test_a_translation_is_saved_published_and_refused_when_the_text_has_changed(project, mia):
    where = address("translation-show", "lions", "consent", "de")
    before = mia.get(where).json()
    assert (before["version"], before["body"], before["published_at"]) == (1, "", None)
    assert mia.put(where, body="Entwurf").json()["published_at"] is None
    assert mia.put(where, body="Text", publishes=True, version=1).json()["published_at"]
    assert code(mia.put(where, body="Text", version=2)) == (409, "stale-translation")
    assert code(mia.get(address("translation-show", "lions", "consent", "xx"))) == (404, "not-found")
    assert TextTranslation.objects.get().body == "Text"
