"""Every address, asked by a manager who has to set up a second factor first: none does anything until then."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.people.models import Project
from core.people.services import tokens
from tests.doors.asking import API, Asked, ask, ours, signed_in, writes
from tests.doors.world import DAY, NAME, World

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]
SETUP = reverse("mfa_activate_totp")
STILL_THERE = {
    "mfa_activate_totp": "where it is set up",
    "mfa_add_webauthn": "where a passkey is set up",
    "account_reauthenticate": "gives the password first",
    "account_logout": "",
    "set_language": "",
    "api:schema": "has nothing of anybody's",
    "api:nothing": "says that nothing is there",
}


def is_refused(asked: Asked) -> bool:
    if asked.status == 405:
        return True
    if asked.address.startswith(API) and not asked.leads_to:
        return asked.status == 403
    return asked.leads_to == SETUP


def test_no_address_answers_before_it_is_set_up(world: World, settings: Any) -> None:
    settings.SECOND_FACTOR_REQUIRED = True
    manager = Project.objects.get(name=NAME).created_by
    about: Any = {"name": "x", "may_write": True, "expires_at": timezone.now() + DAY, "now": timezone.now()}
    token = {"Authorization": f"Bearer {tokens.make_token(user=manager, **about).token}"}
    by_session, by_token = signed_in(manager), Client(raise_request_exception=False)
    answered = []
    with writes() as written:
        for route in ours():
            for address in () if route.name in STILL_THERE else route.addresses(world.known)[:1]:
                answered += [
                    f"{route.name}: {asked}"
                    for asked in ask(by_session, address, "get", "post")
                    if not is_refused(asked)
                ]
                if address.startswith(API) and route.name != "api:docs":
                    answers = ask(by_token, address, "get", "post", headers=token)
                    answered += [f"{route.name} by token: {asked}" for asked in answers if not is_refused(asked)]
    assert not answered, "\n".join(answered)
    assert not [sql for sql in written if "people_apitoken" not in sql]
    assert by_session.get(reverse("people:profile-show"))["Location"] == SETUP
