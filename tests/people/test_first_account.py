"""The first account of an empty installation: its address works once, and never beside other accounts."""

from __future__ import annotations

import pytest
from django.test import Client

from core.people.models import User
from core.people.services.accounts import first_account_path
from tests.factories import make_user

pytestmark = pytest.mark.django_db
PASSWORD = "heron-on-one-leg-4"


def test_whoever_installs_chooses_a_password_once():
    path = first_account_path("manager")
    client = Client()
    form = client.get(path, follow=True)
    here = form.redirect_chain[-1][0]
    home = client.post(here, {"password1": PASSWORD, "password2": PASSWORD}, follow=True)

    assert "New project" in home.text
    user = User.objects.get()
    assert (user.username, user.is_superuser, user.check_password(PASSWORD)) == ("manager", True, True)
    assert first_account_path("manager") == ""
    assert "password1" not in Client().get(path, follow=True).text


def test_an_address_that_nobody_used_is_told_again_for_the_same_account():
    first_account_path("manager")
    assert first_account_path("manager")
    assert User.objects.count() == 1


def test_no_account_is_made_where_there_are_others():
    make_user("somebody")
    assert first_account_path("manager") == ""
    assert not User.objects.filter(username="manager").exists()
