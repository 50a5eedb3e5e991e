"""The log tells who signed in, who failed to, and what was changed of the ways in; never by name."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from core.people import security_log
from core.people.models import User
from office.operations.logs import formatter
from tests.people.conftest import PASSWORD
from tests.people.test_sign_in import NEW_PASSWORD, TRIES, code_now, enrol, sign_in
from tests.servers import ROOT
from tests.test_config_environment import PRODUCTION

pytestmark = pytest.mark.django_db
HERE = "192.0.2.1"


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, logger=security_log.log.name)
    return caplog


def events(told: pytest.LogCaptureFixture) -> list[tuple[str, int | None]]:
    return [(one.event, one.account) for one in records(told)]


def records(told: pytest.LogCaptureFixture) -> list[Any]:
    return [record for record in told.records if record.name == security_log.log.name]


def test_signing_in_and_out_is_told_with_account_and_address_and_without_a_name(
    told, client: Client, ann_with_password: User
):
    sign_in(client, "Ann", REMOTE_ADDR=HERE)
    client.post(reverse("account_logout"))

    assert events(told) == [("signed-in", ann_with_password.pk), ("signed-out", ann_with_password.pk)]
    assert records(told)[0].address == HERE
    line = json.loads(formatter("json").format(records(told)[0]))
    assert (line["event"], line["account"], line["address"]) == ("signed-in", ann_with_password.pk, HERE)
    assert line["message"] == f"signed-in: account {ann_with_password.pk} from {HERE}"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_second_factor_is_told_when_it_is_added_used_and_removed(told, client: Client, ann_with_password: User):
    sign_in(client, "ann")
    secret = enrol(client)
    client.post(reverse("account_logout"))
    sign_in(client, "ann")
    client.post(reverse("mfa_authenticate"), {"code": code_now(secret, 1)})
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    client.post(reverse("mfa_deactivate_totp"))

    logged = [event for event, account in events(told) if account == ann_with_password.pk]
    assert logged[:3] == ["signed-in", "factor-added", "factor-added"]
    # The recovery codes go with the app.
    assert logged[-4:] == ["factor-used", "signed-in", "factor-removed", "factor-removed"]


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("name", ["Ann", "ann@example.org"])
def test_failures_are_told_by_the_number_of_the_account_until_it_is_locked(told, name: str, ann_with_password: User):
    for _ in range(TRIES + 1):
        sign_in(Client(), name, "wrong", REMOTE_ADDR=HERE)

    assert set(events(told)) == {("sign-in-failed", ann_with_password.pk), ("locked-out", ann_with_password.pk)}
    assert {one.address for one in records(told)} == {HERE}
    assert {one.levelname for one in records(told)} == {"WARNING"}


def test_what_was_tried_for_a_name_is_not_told(told, client: Client):
    sign_in(client, "hunter2-in-the-wrong-field", "ann")

    assert events(told) == [("sign-in-failed", None)]
    assert "hunter2" not in "".join(formatter("json").format(one) for one in told.records)


def test_a_new_password_is_told(told, client: Client, ann_with_password: User):
    sign_in(client, "ann")
    given = {"oldpassword": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    client.post(reverse("account_change_password"), given)

    assert ("password-changed", ann_with_password.pk) in events(told)


@pytest.mark.process
def test_production_keeps_these_lines_and_not_those_of_the_lock_out(tmp_path: Path):
    code = "from config.settings import LOGGING; print(LOGGING['loggers'])"
    environment = {**os.environ, **PRODUCTION, "CROSSLENS_VAR": str(tmp_path)}
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, check=True)

    assert b"'people.security_log': {'level': 'INFO'}" in told.stdout
    assert b"'axes': {'level': 'ERROR'}" in told.stdout
