"""A manager's pages of invitations: one, a link for each language, a list of addresses, and changes to several."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.jobs.tasks import sweep_jobs
from core.languages.models import Language
from core.people import defaults, tasks
from core.people.models import AuditEntry, Invitation, InvitationMail, MailState, Project, Role, User
from tests.clients import client_of
from tests.factories import make_language
from tests.people.invitations import link_of, make_invitation, publish

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
LIST, CREATE, IMPORT, CHANGE, CSV = (
    reverse(f"people:invitation-{name}", args=["lions"]) for name in ("list", "create", "import", "change", "export")
)


@pytest.fixture
def client(manager: User) -> Client:
    return client_of(manager)


def page_of(client: Client, address: str = LIST, **query: Any) -> str:
    return client.get(address, query).content.decode()


def invite_by_page(client: Client, **change: Any) -> Any:
    values = {"role": "annotator", "languages": ["de"], "places": "3", "days": "14", "email": "", "note": "The class"}
    return client.post(CREATE, values | change)


def sent(invitation: Invitation, at: Any, *, state: str = MailState.SENT, **about: Any) -> InvitationMail:
    about |= {"due_at": at, "asked_at": at, "asked_by": invitation.created_by, "site": "http://testserver/"}
    return invitation.mails.create(state=state, sent_at=at if state == MailState.SENT else None, **about)


def change(client: Client, action: str, *invitations: Invitation, **more: Any) -> Any:
    """Choose invitations, look at what would happen, and confirm."""
    page = client.post(CHANGE, {"action": action, "pk": [one.pk for one in invitations]} | more).content.decode()
    chosen = re.search(r'name="chosen" value="([\d,]+)"', page)
    assert chosen, page
    confirmed = {"action": action, "chosen": chosen[1], "is_confirmed": "1"} | more
    return client.post(CHANGE, confirmed)


# One invitation


def test_an_invitation_can_begin_with_a_role_and_one_for_raters_needs_a_language(client: Client):
    for asked, chosen in (("rater", Role.RATER), ("king", Role.ANNOTATOR)):
        form = client.get(CREATE, {"role": asked}).context["form"]
        assert form["role"].value() == chosen
    response = client.post(CREATE, {"role": "rater", "places": "1", "days": "7"})
    assert response.status_code == 422
    assert "Choose at least one language" in response.content.decode()


def test_a_manager_makes_a_link_and_finds_it_in_the_list(client: Client, manager: User):
    assert invite_by_page(client)["Location"] == LIST
    invitation = Invitation.objects.get()
    assert (invitation.places, invitation.note, invitation.created_by) == (3, "The class", manager)
    assert timedelta(days=13) < invitation.expires_at - timezone.now() <= timedelta(days=14)
    page = page_of(client)
    assert f"http://testserver{link_of(invitation)}" in page
    for shown in ("Annotator", "German", "0 of 3 places", "The class", "Open"):
        assert shown in page
    assert not InvitationMail.objects.exists()


def test_with_an_address_the_link_is_sent_there_in_the_background(
    client: Client, django_capture_on_commit_callbacks: Any, monkeypatch: pytest.MonkeyPatch
):
    for task in (sweep_jobs, tasks.send_invitation):
        monkeypatch.setattr(task, "delay", task)
    with django_capture_on_commit_callbacks(execute=True):
        invite_by_page(client, email="zoe@example.org", places="1")
    (message,) = mail.outbox
    assert message.to == ["zoe@example.org"]
    assert f"http://testserver{link_of(Invitation.objects.get())}" in message.body
    assert "Sent" in page_of(client)


@pytest.mark.parametrize("change", [{"languages": []}, {"places": "0"}, {"role": "king"}, {"days": "9999"}])
def test_an_invitation_that_makes_no_sense_is_not_made(client: Client, change: dict[str, Any]):
    assert invite_by_page(client, **change).status_code == 422
    assert not Invitation.objects.exists()


def test_nobody_is_invited_to_a_consent_text_with_gaps(client: Client, project: Project):
    for address in (CREATE, IMPORT):
        assert "Fill that in first" not in page_of(client, address)
    publish(project, defaults.GAP)
    for address in (CREATE, IMPORT):
        assert "Fill that in first" in page_of(client, address)
    refused = invite_by_page(client)
    assert refused.status_code == 422
    assert "Fill it in first" in refused.content.decode()
    assert not Invitation.objects.exists()
    assert invite_by_page(client, role="manager").status_code == 302


# Many languages


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    ("group", "tags"),
    [("core", {"en", "es", "hi", "zh"}), ("low-resource", {"bn", "quz", "mi", "sw", "te"}), ("none", set())],
)
def test_a_group_of_languages_can_be_ticked_by_a_link(client: Client, group: str, tags: set[str]):
    page = page_of(client, CREATE, group=group)
    assert set(re.findall(r'name="languages" value="(\w+)"[^>]*checked', page)) == tags
    assert "?group=all" in page


def test_a_link_for_each_of_36_languages_is_made_in_one_step_and_listed_to_copy(
    client: Client, project: Project, django_assert_max_num_queries: Any
):
    tags = [language.tag for language in Language.objects.all()]
    with django_assert_max_num_queries(30):
        response = invite_by_page(client, languages=tags, links="each", places="5")
    made = Invitation.objects.all()
    assert len(made) == 36
    assert {one.languages.get().tag for one in made} == set(tags)
    assert {one.places for one in made} == {5}
    make_invitation(project)  # Is not in the list that follows.
    page = client.get(response["Location"]).content.decode()
    (copied,) = re.findall(r'<textarea id="links"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    lines = copied.strip().splitlines()
    assert len(lines) == 36
    thai = made.get(languages="th")
    assert f"Thai, Annotator, http://testserver{link_of(thai)}" in lines
    (entry,) = AuditEntry.objects.filter(action="invitations.made")
    assert (entry.details["invitations"], entry.details["places"]) == (36, 180)


def test_one_link_for_many_languages_is_one_invitation(client: Client):
    invite_by_page(client, languages=["de", "sw", "th"], links="one")
    assert Invitation.objects.get().languages.count() == 3


def test_links_for_several_languages_do_not_go_to_one_address(client: Client):
    response = invite_by_page(client, languages=["de", "sw"], links="each", email="zoe@example.org")
    assert response.status_code == 422
    assert "do not go to one person" in response.content.decode()
    assert not Invitation.objects.exists()


# A list of addresses

ADDRESSES = "address,languages,role,note\nzoe@example.org,de sw,,Uni\nyan@example.org,Thai; iw,rater,\n"


def read(client: Client, text: str, **more: Any) -> Any:
    return client.post(IMPORT, {"text": text, "role": "annotator", "days": "14"} | more)


def test_a_list_is_shown_first_and_made_once_it_is_confirmed(client: Client):
    response = read(client, ADDRESSES)
    page = response.content.decode()
    assert response.status_code == 200
    for shown in ("zoe@example.org", "German, Swahili", "Uni", "Thai, Hebrew", "Rater", "Send 2 invitations"):
        assert shown in page
    assert not Invitation.objects.exists()
    response = read(client, ADDRESSES, is_confirmed="1")
    assert response["Location"].startswith(f"{LIST}?made=")
    zoe, yan = Invitation.objects.order_by("pk")
    assert (zoe.email, zoe.role, zoe.note, zoe.places) == ("zoe@example.org", "annotator", "Uni", 1)
    assert sorted(yan.languages.values_list("tag", flat=True)) == ["he", "th"]
    assert yan.role == "rater"
    assert list(InvitationMail.objects.values_list("state", flat=True)) == ["queued", "queued"]


def test_a_file_is_read_as_well_and_comes_back_as_text_to_correct(client: Client):
    file = SimpleUploadedFile("list.csv", "\ufeffaddress;languages\r\nzoe@example.org;de\r\n".encode())
    page = client.post(IMPORT, {"file": file, "text": "", "role": "rater", "days": "7"}).content.decode()
    assert "Send 1 invitation" in page
    assert re.search(r'type="hidden" name="text" value="address;languages', page)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("zoe@,de,,", "Line 3: “zoe@” is no e-mail address"),
        (",de,,", "Line 3: address is empty"),
        ("x@example.org,xx,,", "Line 3: There is no language “xx”"),
        ("x@example.org,,,", "Line 3: languages is empty"),
        ("x@example.org,de,king,", "Line 3: role is “king”. Give one of: manager, annotator"),
        ("ZOE@example.org,th,,", "Line 3: This address is also in line 2"),
        ("ann@example.org,de,,", "Line 3: This address already has an open invitation"),
        ("x@example.org,de,," + "n" * 201, "Line 3: note has 201 characters"),
    ],
)
def test_what_is_wrong_with_a_line_is_said_and_nothing_is_made_even_if_confirmed(
    client: Client, project: Project, line: str, said: str
):
    make_invitation(project, email="Ann@example.org")
    text = f"address,languages,role,note\nzoe@example.org,de,,\n{line}\n"
    response = read(client, text, is_confirmed="1")
    assert response.status_code == 422
    assert said in response.content.decode()
    assert "zoe@example.org" in response.content.decode(), "The list is there to correct."
    assert Invitation.objects.count() == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "Choose a file, or paste a list"), ("mail,x\na@b.org,y\n", "address"), ("address\n", "no address")],
)
def test_a_list_that_is_none_is_refused(client: Client, text: str, said: str):
    response = read(client, text)
    assert response.status_code == 422
    assert said in response.content.decode()


def test_a_thousand_addresses_are_enough(client: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.people.formats.invitations.MAX_LINES", 2)
    text = "address,languages\n" + "".join(f"p{number}@example.org,de\n" for number in range(3))
    assert "more than 2 lines" in read(client, text).content.decode()


# The list

EVERY = {"open", "expired", "revoked", "joined", "failed", "queued"}


def test_the_list_says_what_became_of_each_invitation(client: Client, project: Project):
    now = timezone.now()
    one = make_invitation(project, email="one@example.org")
    sent(one, now - DAY, state=MailState.SENT)
    sent(one, now, is_reminder=True)
    sent(make_invitation(project), now, state=MailState.FAILED, reason="550 No such user")
    sent(make_invitation(project), now, state=MailState.QUEUED)
    make_invitation(project, expires_at=now)
    page = page_of(client)
    for shown in (
        "Reminder sent",
        "2 e-mails in all",
        "Not sent",
        "550 No such user",
        "Queued",
        "Expired",
        "0 of 1 place",
    ):
        assert shown in page
    assert "1 places" not in page


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, EVERY),
        ({"shown": "open"}, {"open", "failed", "queued"}),
        ({"shown": "expired"}, {"expired"}),
        ({"shown": "revoked"}, {"revoked"}),
        ({"shown": "joined"}, {"joined"}),
        ({"shown": "not-sent"}, {"failed"}),
        ({"shown": "queued"}, {"queued"}),
        ({"role": "rater"}, {"queued"}),
        ({"language": "th"}, {"failed"}),
        ({"words": "EXP"}, {"expired"}),
        ({"words": "nobody"}, set()),
        (
            {"shown": "x", "role": "y", "language": "z", "made": "9"},
            {"open", "expired", "revoked", "joined", "failed", "queued"},
        ),
    ],
)
def test_the_list_and_its_csv_are_filtered(client: Client, project: Project, query: dict[str, str], found: set[str]):
    now = timezone.now()
    kinds: dict[str, dict[str, Any]] = {
        "open": {},
        "expired": {"expires_at": now},
        "revoked": {},
        "joined": {},
        "failed": {"languages": [make_language("th")]},
        "queued": {"role": Role.RATER},
    }
    for note, about in kinds.items():
        make_invitation(project, note=note, **about)
    of = Invitation.objects.filter
    of(note="revoked").update(revoked_at=now)
    of(note="joined").update(places_taken=1)
    sent(Invitation.objects.get(note="failed"), now, state=MailState.FAILED)
    sent(Invitation.objects.get(note="queued"), now, state=MailState.QUEUED)
    assert {row.invitation.note for row, _link in client.get(LIST, query).context["invitations"]} == found
    answer: Any = client.get(CSV, query)
    written = b"".join(answer.streaming_content).decode("utf-8-sig")
    rows = {row["note"]: row for row in csv.DictReader(io.StringIO(written))}
    assert set(rows) == found
    for note, row in rows.items():
        assert bool(row["link"]) == (note in {"open", "failed", "queued"})


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_long_list_takes_as_many_queries_as_a_short_one(
    client: Client, project: Project, django_assert_num_queries: Any, django_assert_max_num_queries: Any
):
    make_invitation(project)
    with django_assert_max_num_queries(30) as short:
        page_of(client)
    for _more in range(20):
        sent(make_invitation(project), timezone.now())
    with django_assert_num_queries(len(short)):
        page_of(client)


# Changing several


def test_nothing_happens_before_the_step_is_confirmed(client: Client, project: Project):
    one = make_invitation(project, email="one@example.org")
    for action in ("remind", "extend", "revoke"):
        page = client.post(CHANGE, {"action": action, "pk": [one.pk]}).content.decode()
        assert "one@example.org" in page
        one.refresh_from_db()
        assert one.revoked_at is None
    assert not InvitationMail.objects.exists()


def test_several_are_reminded_and_those_that_cannot_be_are_left_out_with_the_reason(client: Client, project: Project):
    now = timezone.now()
    due, fresh, again, link = (
        make_invitation(project, email=email) for email in ("due@x.org", "fresh@x.org", "again@x.org", "")
    )
    expired = make_invitation(project, email="late@x.org", expires_at=now)
    sent(due, now - DAY - timedelta(minutes=1))
    sent(fresh, now - timedelta(hours=1))
    sent(again, now - timedelta(hours=1), state=MailState.FAILED)
    chosen = [due, fresh, again, link, expired]
    page = client.post(CHANGE, {"action": "remind", "pk": [one.pk for one in chosen]}).content.decode()
    for said in ("less than a day ago", "has no e-mail address", "has expired", "Send 2 e-mails"):
        assert said in page
    change(client, "remind", *chosen)
    queued = InvitationMail.objects.filter(state=MailState.QUEUED).order_by("invitation")
    assert list(queued.values_list("invitation", "is_reminder")) == [(due.pk, True), (again.pk, False)]
    assert "2 links are being sent. 3 were left out." in page_of(client)
    change(client, "remind", *chosen)
    assert queued.count() == 2, "Not twice."


def test_expired_ones_are_extended_under_the_same_link_and_sent_again(client: Client, project: Project):
    now = timezone.now()
    expired = make_invitation(project, email="late@x.org", expires_at=now - DAY)
    used_up = make_invitation(project)
    Invitation.objects.filter(pk=used_up.pk).update(places_taken=1)
    change(client, "extend", expired, used_up, days="30", sends="on")
    token = expired.token
    expired.refresh_from_db()
    assert expired.token == token
    assert timedelta(days=29) < expired.expires_at - now <= timedelta(days=31)
    assert expired.mails.get().state == MailState.QUEUED
    assert "1 invitation was extended. 1 link is being sent. 1 was left out." in page_of(client)


def test_several_are_revoked_at_once(client: Client, project: Project):
    several = [make_invitation(project) for _number in range(3)]
    change(client, "revoke", *several)
    page = page_of(client)
    assert "Revoked" in page
    assert "3 invitations were revoked." in page
    assert all(one.token not in page for one in several)
    assert AuditEntry.objects.get(action="invitations.revoked").details == {"invitations": 3}


def test_all_that_the_filters_select_can_be_changed_on_all_pages(
    client: Client, project: Project, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("core.people.views.invitations.PER_PAGE", 2)
    raters = [make_invitation(project, role=Role.RATER) for _number in range(3)]
    kept = make_invitation(project)
    assert "All 3 invitations, on all pages" in page_of(client, role="rater")
    page = client.post(CHANGE, {"action": "revoke", "all": "1", "role": "rater"}).content.decode()
    chosen = re.search(r'name="chosen" value="([\d,]+)"', page)
    assert chosen
    client.post(CHANGE, {"action": "revoke", "chosen": chosen[1], "is_confirmed": "1"})
    assert set(Invitation.objects.filter(revoked_at=None)) == {kept}
    assert len(raters) == 3


@pytest.mark.parametrize(
    "data", [{}, {"action": "revoke"}, {"action": "burn", "pk": "1"}, {"action": "revoke", "pk": "x"}]
)
def test_who_chose_nothing_is_told_to(client: Client, project: Project, data: dict[str, str]):
    make_invitation(project)
    page = client.post(CHANGE, data, follow=True).content.decode()
    assert "Choose at least one invitation." in page
