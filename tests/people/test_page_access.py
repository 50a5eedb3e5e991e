"""Who may open the pages about people and the administration: an outsider is not told that they exist."""

from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.urls import reverse

from people.models import Project, User
from people.services.tokens import make_token
from tests.clients import client_of
from tests.factories import NOW
from tests.people.hooks import make_webhook
from tests.people.invitations import make_invitation

pytestmark = pytest.mark.django_db


# Administration


def test_the_installer_finds_everything_in_the_administration_and_changes_roles_nowhere_there(
    project: Project, annotator: User, installer: User
):
    client = client_of(installer)
    make_invitation(project)
    for model in ("user", "project", "membership", "invitation", "consent"):
        assert client.get(reverse(f"admin:people_{model}_changelist")).status_code == 200
    assert client.get(reverse("admin:people_user_change", args=[annotator.pk])).status_code == 200
    assert client.get(reverse("admin:people_project_change", args=[project.pk])).status_code == 200
    assert client.get(reverse("admin:people_membership_add")).status_code == 403


def test_addresses_are_looked_up_in_the_administration_and_not_changed(annotator: User, installer: User):
    address = EmailAddress.objects.create(user=annotator, email=annotator.email)
    client = client_of(installer)
    assert annotator.email in client.get(reverse("admin:account_emailaddress_changelist")).content.decode()
    for name, args in (("add", []), ("delete", [address.pk])):
        assert client.get(reverse(f"admin:account_emailaddress_{name}", args=args)).status_code == 403
    change = reverse("admin:account_emailaddress_change", args=[address.pk])
    assert client.post(change, {"email": "other@example.org", "user": annotator.pk}).status_code == 403


def test_no_secret_that_lets_somebody_in_stands_in_the_administration(
    project: Project, annotator: User, installer: User
):
    """Nor any by which signatures or pseudonyms are made."""
    client = client_of(installer)
    secrets = {
        Authenticator.objects.create(user=annotator, type="totp", data={"secret": "OLDSECRET"}): "OLDSECRET",
        make_invitation(project): "token",
        make_token(user=annotator, name="x", may_write=True, expires_at=NOW, now=NOW).row: "digest",
        make_webhook(project, secret="whsec_x"): "secret",
    }
    for row, secret in secrets.items():
        page = client.get(reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk]))
        assert page.status_code == 200
        assert str(getattr(row, secret, secret)) not in page.content.decode()
    factor = Authenticator.objects.get()
    assert client.post(reverse("admin:mfa_authenticator_delete", args=[factor.pk]), {"post": "yes"}).status_code == 302
    assert not Authenticator.objects.exists()
