"""E-mails of a project: texts in languages and versions as all others, which managers and reviewers publish."""

from __future__ import annotations

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from core.languages.models import Language
from core.languages.rules.cldr import date_text
from core.languages.rules.registry import LANGUAGES
from core.people.models import EMAIL_KINDS, InvitationMail, Project, TextKind, TextTranslation
from core.people.rules.placeholders import PlaceholdersError, check_addresses, check_placeholders
from core.people.rules.review_links import link_token
from core.people.selectors.email_texts import platform_email
from core.people.selectors.texts import TranslationState, original_of, originals_of, translation_rows
from core.people.services.invitations import INVITATIONS, InvitationMailing, queue_mails
from core.people.services.mails import post_by_server
from tests.clients import client_of
from tests.factories import NOW, make_language
from tests.people.invitations import make_invitation

pytestmark = pytest.mark.django_db
GERMAN = "Komm zu {PROJECT}\n\n{INVITER} fragt bis {DATE}:\n{LINK}\n"


@pytest.fixture
def manager(project: Project) -> Client:
    return client_of(project.created_by)


def send_invitation(project: Project, tag: str, *, is_reminder: bool = False) -> InvitationMail:
    invitation = make_invitation(project, email="zoe@example.org", languages=[make_language(tag)])
    asked = InvitationMailing(by=project.created_by, site="https://crosslens.example.org/")
    queue_mails(invitations=[invitation], mailing=asked, is_reminder=is_reminder, now=NOW)
    row = invitation.mails.get()
    INVITATIONS.send(mail_id=row.pk, post=post_by_server, clock=lambda: NOW)
    row.refresh_from_db()
    return row


def address_of(project: Project, kind: str, tag: str) -> str:
    return reverse("people:text-translate", args=[project.slug, kind, tag])


def publish(client: Client, address: str, body: str, **said: str) -> str:
    """Publish a text, and return the page that refuses it; empty if it is published."""
    version = str(client.get(address).context["form"]["version"].value())
    answer = client.post(address, {"version": version, "body": body, "do": "publish", **said})
    return "" if answer.status_code == 302 else answer.content.decode()


def states(project: Project, tag: str) -> dict[str, str]:
    [(_language, cells)] = translation_rows(project, originals_of(project), [make_language(tag)])
    return {cell.kind.value: cell.state.value for cell in cells}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{A} {B}", ""),
        ("{B}\n{A} {A}", ""),
        ("{A}", "The text lacks {B}."),
        ("x", "The text lacks {A}, {B}."),
        ("{A} {B} {C}", "Nothing is filled in for {C}. You can write {A}, {B}."),
        ("{A} {b}", "The text lacks {B}. Nothing is filled in for {b}."),
    ],
)
def test_placeholders_that_are_missing_or_unknown_are_named(body: str, said: str) -> None:
    if said:
        with pytest.raises(PlaceholdersError) as wrong:
            check_placeholders("{A} of {B}", body)
        assert said in str(wrong.value)
    else:
        check_placeholders("{A} of {B}", body)


def test_what_a_manager_publishes_is_sent_and_the_row_says_which_text(project: Project, manager: Client) -> None:
    before = send_invitation(project, "de")
    assert mail.outbox[0].subject.endswith("Lions")
    assert before.text_version == 1
    assert before.translation is not None
    assert (before.translation.body, before.translation.reviewer) == (platform_email(TextKind.INVITATION, "de"), "")

    assert not publish(manager, address_of(project, "invitation", "de"), GERMAN)
    sent = send_invitation(project, "de")
    assert mail.outbox[1].subject == "Komm zu Lions"
    assert sent.translation == TextTranslation.objects.get(body=GERMAN.strip())
    assert f"https://crosslens.example.org/join/{sent.invitation.token}/" in mail.outbox[1].body
    assert f"{project.created_by.username} fragt bis" in mail.outbox[1].body
    assert "{" not in mail.outbox[1].subject + mail.outbox[1].body
    send_invitation(project, "de", is_reminder=True)
    assert "Komm zu" not in mail.outbox[2].subject, "it is another text"


def test_a_new_version_in_english_is_the_original_of_translations(project: Project, manager: Client) -> None:
    german = address_of(project, "invitation", "de")
    assert not publish(manager, german, GERMAN)
    english = address_of(project, "invitation", "en")
    assert manager.get(english).context["form"]["body"].value() == platform_email(TextKind.INVITATION)
    changed = GERMAN.replace("Komm zu", "Join").replace("fragt bis", "asks until")
    assert not publish(manager, english, changed)
    assert original_of(project, TextKind.INVITATION).version == 2
    assert states(project, "de")["invitation"] == TranslationState.OLDER
    sent = send_invitation(project, "de")
    assert mail.outbox[0].subject == "Join Lions"
    assert (sent.text_version, sent.translation) == (2, None)
    assert "This is the translation of version 1" in manager.get(german).content.decode()
    assert not publish(manager, german, GERMAN)
    assert send_invitation(project, "de").text_version == 2
    assert mail.outbox[1].subject == "Komm zu Lions"
    page = manager.get(english)
    assert page.context["form"]["body"].value() == changed.strip()
    assert "This is the translation" not in page.content.decode()


@pytest.mark.parametrize(
    "address",
    ["http://x", "WWW.x", "x.org", "(x.org)", "{LINK}.org", "a@x.org", "x\uff0eorg", "10.0.0.1", "x.рф", "y.org/x"],
)
def test_addresses_that_the_original_lacks_are_named(address: str) -> None:
    check_addresses("y.org", "Siehe y.org. Um 17.30 Uhr, z.B. am 3.4.2030: {LINK}.")
    with pytest.raises(PlaceholdersError):
        check_addresses("y.org", f"Siehe {address}.")


def test_no_e_mail_of_the_platform_has_an_address_of_its_own() -> None:
    for kind in EMAIL_KINDS:
        for one in LANGUAGES:
            check_addresses("", platform_email(kind, one.tag))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (GERMAN.replace("{LINK}", ""), "The text lacks {LINK}."),
        (f"{GERMAN} {{PRICE}}", "Nothing is filled in for {PRICE}."),
    ],
)
def test_a_text_without_its_placeholders_is_refused_in_words(
    project: Project, manager: Client, body: str, said: str
) -> None:
    page = publish(manager, address_of(project, "invitation", "de"), body)
    assert said in page
    assert "Komm zu" in page, "what was typed stays"
    assert not TextTranslation.objects.exists()


def test_the_list_has_all_e_mails_and_a_preview_has_sample_values(project: Project, manager: Client) -> None:
    assert {states(project, "te")[kind.value] for kind in EMAIL_KINDS} == {TranslationState.MACHINE}
    page = manager.get(reverse("people:text-list", args=[project.slug])).content.decode()
    for kind in EMAIL_KINDS:
        assert address_of(project, kind, "te") in page
        assert address_of(project, kind, "en") in page
    page = manager.get(address_of(project, "reminder", "de")).content.decode()
    assert "Translated by a machine" in page
    assert "31. Januar 2030" in page
    assert "<p>https://example.org/…</p>" in page
    assert "Lions" in page


def test_a_date_is_in_the_language_of_the_text(project: Project, manager: Client) -> None:
    send_invitation(project, "de")
    assert not publish(manager, address_of(project, "invitation", "en"), GERMAN.replace("fragt bis", "asks until"))
    invitation = send_invitation(project, "de").invitation
    german, english = (date_text(invitation.expires_at, tag) for tag in ("de", "en"))
    assert german != english
    assert german in mail.outbox[0].body
    assert f"asks until {english}:" in mail.outbox[1].body


def test_the_platform_says_nothing_in_a_language_without_pages(project: Project) -> None:
    Language.objects.create(tag="lb", english_name="Luxembourgish", own_name="Lëtzebuergesch")
    assert platform_email(TextKind.INVITATION, "lb") == ""
    assert states(project, "lb")["invitation"] == TranslationState.NONE
    assert all(platform_email(kind, one.tag) for kind in EMAIL_KINDS for one in LANGUAGES)


def test_what_is_typed_is_no_html(project: Project, manager: Client) -> None:
    assert not publish(manager, address_of(project, "invitation", "de"), f"{GERMAN}<b>Bis bald!")
    page = manager.get(address_of(project, "invitation", "de")).content.decode()
    assert "&lt;b&gt;Bis bald!</p>" in page


def test_a_reviewer_with_the_link_of_a_language_publishes_them_too(project: Project) -> None:
    reviewer, token = Client(), link_token(project.pk, "de")
    assert (
        reverse("people:review-text", args=[token, "invitation"])
        in reviewer.get(reverse("people:review-list", args=[token])).content.decode()
    )
    address = reverse("people:review-text", args=[token, "invitation"])
    assert "The text lacks {DATE}, {INVITER}, {LINK}, {PROJECT}." in publish(
        reviewer, address, "Komm!", reviewed_by="Jutta"
    )
    for text in (f"{GERMAN}https://evil.example", GERMAN.replace("zu", "evil.example", 1)):
        said = publish(reviewer, address, text, reviewed_by="Jutta")
        assert "Remove" in said
        assert "evil.example, or ask a manager." in said
    assert not publish(reviewer, address, GERMAN, reviewed_by="Jutta")
    assert states(project, "de")["invitation"] == TranslationState.REVIEWED
    send_invitation(project, "de")
    assert mail.outbox[0].subject == "Komm zu Lions"
