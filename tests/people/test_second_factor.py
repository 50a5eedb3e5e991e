"""Staff and managers can be required to have a second factor: without one they reach nothing but where to set it up."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.people.api.authentication import viewer_of
from core.people.models import Project, Role, User
from core.people.services import tokens
from core.people.services.members import add_member
from tests.clients import client_of
from tests.factories import make_user
from tests.people.conftest import PASSWORD
from tests.people.test_sign_in import code_now

pytestmark = pytest.mark.django_db
SETUP, ME = reverse("mfa_activate_totp"), reverse("api:me")
HOME, PROFILE = reverse("people:home-show"), reverse("people:profile-show")


@pytest.fixture
def required(settings: Any) -> None:
    settings.SECOND_FACTOR_REQUIRED = True


@pytest.fixture
def ann(ann_with_password: User, project: Project) -> User:
    add_member(project=project, user=ann_with_password, role=Role.MANAGER)
    return ann_with_password


def give_factor(user: User) -> None:
    Authenticator.objects.create(user=user, type=Authenticator.Type.TOTP, data={"secret": "x"})


def token_of(user: User, *, may_write: bool = True) -> dict[str, str]:
    now = timezone.now()
    made = tokens.make_token(user=user, name="x", may_write=may_write, expires_at=now + timedelta(days=1), now=now)
    return {"Authorization": f"Bearer {made.token}"}


def leads_to_setup(response: Any) -> bool:
    return (response.status_code, response.get("Location")) == (302, SETUP)


def test_from_sign_in_on_one_is_led_to_set_it_up_and_then_goes_on(required: None, ann: User):
    client = Client()
    landed = client.post(reverse("account_login"), {"login": "Ann", "password": PASSWORD}, follow=True)
    addresses = [address for address, _status in landed.redirect_chain]
    assert addresses == [
        HOME,
        SETUP,
        f"{reverse('account_reauthenticate')}?next=%2Faccounts%2F2fa%2Ftotp%2Factivate%2F",
    ]
    assert "Your role requires a second factor" in landed.content.decode()
    assert reverse("annotation:project-list") not in landed.content.decode()
    page = client.post(reverse("account_reauthenticate"), {"password": PASSWORD, "next": SETUP}, follow=True)
    assert page.redirect_chain == [(SETUP, 302)]
    assert "Your role requires a second factor" in page.content.decode()
    done = client.post(SETUP, {"code": code_now(page.context["form"].secret, 0)}, follow=True)
    assert done.redirect_chain == [(reverse("mfa_view_recovery_codes"), 302)]
    assert "Your role needs" not in done.content.decode()
    assert client.get(PROFILE).status_code == 200
    assert client.get(HOME)["Location"] == reverse("annotation:project-list")


def test_parts_of_pages_and_the_api_refuse_sessions_also_with_recovery_codes_alone(required: None, ann: User):
    response = client_of(ann).get(PROFILE, headers={"hx-request": "true"})
    assert (response.status_code, response["HX-Redirect"]) == (200, SETUP)
    refused = client_of(ann).get(ME)
    assert (refused.status_code, refused.json()["code"]) == (403, "second-factor-missing")
    Authenticator.objects.create(user=ann, type=Authenticator.Type.RECOVERY_CODES, data={"seed": "x", "used_mask": 0})
    assert leads_to_setup(client_of(ann).get(PROFILE))


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("about", [{"is_staff": True}, {"is_staff": True, "is_superuser": True}])
def test_the_administration_is_no_way_around(required: None, about: Any):
    user = make_user(**about)
    client = client_of(user)
    for address in ("/admin/", "/admin/login/", "/admin/people/user/", f"/admin/people/user/{user.pk}/password/"):
        assert leads_to_setup(client.get(address)), address
        assert leads_to_setup(client.post(address)), address
    give_factor(user)
    assert client.get("/admin/").status_code == 200


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("may_write", [True, False])
def test_the_api_refuses_tokens_from_before(required: None, ann: User, method: str, may_write: bool):
    headers = token_of(ann, may_write=may_write)
    refused = getattr(Client(), method)(ME, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (403, "second-factor-missing")
    give_factor(ann)
    assert Client().get(ME, headers=headers).status_code == 200


def test_images_are_not_to_be_had_by_a_token(required: None, ann: User, rf: Any):
    request = rf.get("/", headers=token_of(ann))
    assert viewer_of(request).is_anonymous
    give_factor(ann)
    assert viewer_of(request) == ann


@pytest.mark.parametrize("address", [SETUP, reverse("account_reauthenticate")])
def test_there_is_no_loop(required: None, ann: User, address: str):
    assert client_of(ann).get(address, follow=True).status_code == 200


def test_one_can_still_sign_out_and_choose_a_language(required: None, ann: User):
    client = client_of(ann)
    assert client.post(reverse("set_language"), {"language": "ar", "next": SETUP})["Location"] == SETUP
    client.post(reverse("account_logout"))
    assert "_auth_user_id" not in client.session


@pytest.mark.long(reason="at least three others run each of its lines")
def test_turning_it_off_leads_back_to_setting_it_up(required: None, ann: User):
    client = client_of(ann)
    give_factor(ann)
    assert client.get(PROFILE).status_code == 200
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    client.post(reverse("mfa_deactivate_totp"))
    assert not Authenticator.objects.exists()
    assert leads_to_setup(client.get(PROFILE))


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.RATER, Role.PLAYER, Role.RESEARCHER])
def test_nobody_else_is_asked(required: None, project: Project, role: Role):
    user = make_user()
    add_member(project=project, user=user, role=role)
    assert client_of(user).get(PROFILE).status_code == 200
    assert Client().get(ME, headers=token_of(user)).status_code == 200


def test_whoever_becomes_a_manager_is_asked_from_then_on(required: None, project: Project, outsider: User):
    user = make_user()
    client = client_of(user)
    assert client.get(PROFILE).status_code == 200
    add_member(project=project, user=user, role=Role.MANAGER)
    assert leads_to_setup(client.get(PROFILE))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_unless_it_is_required_nobody_is_asked(ann: User):
    assert client_of(ann).get(PROFILE).status_code == 200
    assert client_of(make_user(is_staff=True, is_superuser=True)).get("/admin/").status_code == 200
    assert Client().get(ME, headers=token_of(ann)).status_code == 200


def test_strangers_see_no_difference(required: None, client: Client):
    for name in ("account_login", "account_reset_password", "people:home-show", "health-show"):
        assert client.get(reverse(name)).status_code == 200
