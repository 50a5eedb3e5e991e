"""Every constraint of people, broken once."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from core.people.models import (
    Consent,
    ConsentText,
    Invitation,
    InvitationUse,
    LanguageSkill,
    Membership,
    Project,
    Role,
    User,
)
from tests.factories import NOW, make_language, make_project, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]


@pytest.fixture
def project() -> Project:
    return make_project()


@pytest.fixture
def invitation(project: Project) -> Invitation:
    return Invitation.objects.create(
        project=project, token="t", role=Role.ANNOTATOR, expires_at=NOW, created_by=project.created_by
    )


def refuses(name: str, query) -> None:
    with pytest.raises(IntegrityError) as refusal, transaction.atomic():
        query()
    # SQLite names a check; of a unique constraint it names the columns, or the index if it is one of expressions.
    text = str(refusal.value)
    assert name in text or "UNIQUE constraint failed" in text


def test_a_user_name_is_taken_whatever_its_case():
    make_user("ann")
    refuses("user_name_unique_whatever_case", lambda: User.objects.create(username="Ann"))


def test_an_e_mail_address_is_taken_whatever_its_case_but_may_be_empty_twice():
    make_user(email="ann@example.org")
    make_user(email="")
    make_user(email="")
    refuses("user_email_unique_whatever_case", lambda: User.objects.create(username="x", email="ANN@example.org"))


def test_a_role_is_held_once_and_is_a_known_one(project: Project):
    create = Membership.objects.create
    user = make_user()
    create(project=project, user=user, role=Role.RATER)
    refuses("membership_once_per_role", lambda: create(project=project, user=user, role=Role.RATER))
    refuses("membership_role_known", lambda: create(project=project, user=user, role="king"))


def test_a_language_is_known_at_one_known_level():
    create = LanguageSkill.objects.create
    user, german = make_user(), make_language("de")
    create(user=user, language=german, level="native")
    refuses("language_skill_once_per_language", lambda: create(user=user, language=german, level="fluent"))
    refuses("language_skill_level_known", lambda: create(user=user, language=make_language("fr"), level="some"))


def test_an_invitation_is_not_oversold_and_has_a_place_a_known_role_and_a_token_of_its_own(invitation: Invitation):
    update = Invitation.objects.filter(pk=invitation.pk).update
    refuses("invitation_not_oversold", lambda: update(places_taken=2))
    refuses("invitation_has_a_place", lambda: update(places=0))
    refuses("invitation_role_known", lambda: update(role="king"))
    other = {"project": invitation.project, "role": Role.RATER, "expires_at": NOW, "created_by": invitation.created_by}
    refuses("token", lambda: Invitation.objects.create(token="t", **other))


def test_a_person_uses_an_invitation_once(invitation: Invitation):
    user = make_user()
    InvitationUse.objects.create(invitation=invitation, user=user)
    refuses("invitation_used_once_per_person", lambda: InvitationUse.objects.create(invitation=invitation, user=user))


def test_a_version_of_a_consent_text_exists_once_and_versions_count_from_one(project: Project):
    create = ConsentText.objects.create
    refuses("consent_text_version_once", lambda: create(project=project, version=1, body="Other."))
    refuses("consent_text_version_from_one", lambda: create(project=project, version=0, body="Other."))


def test_a_version_is_agreed_to_once_at_a_time(project: Project):
    user, text = make_user(), project.consent_texts.get()
    first = Consent.objects.create(text=text, user=user, given_at=NOW)
    about = {"text": text, "user": user, "given_at": NOW}
    refuses("consent_once_per_version_and_role", lambda: Consent.objects.create(**about))
    refuses("consent_role_known", lambda: Consent.objects.create(**about, role="judge"))
    Consent.objects.create(**about, role=Role.PLAYER)
    Consent.objects.filter(pk=first.pk).update(withdrawn_at=NOW)
    Consent.objects.create(text=text, user=user, given_at=NOW)


def test_consent_is_not_withdrawn_before_it_was_given(project: Project):
    early = {"given_at": NOW, "withdrawn_at": NOW - timedelta(seconds=1)}
    text = project.consent_texts.get()
    refuses("consent_withdrawn_after_given", lambda: Consent.objects.create(text=text, user=make_user(), **early))
