"""Sessions name the class that signed somebody in, which has moved since 0.1.0."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth import BACKEND_SESSION_KEY
from django.test import Client
from django.urls import reverse

from tests.factories import make_user


@pytest.mark.django_db
def test_an_update_in_which_the_backend_moved_signs_nobody_out(client: Client) -> None:
    migration = import_module("core.people.migrations.0007_sessions_name_moved_backend")
    client.force_login(make_user("ann"))
    assert client.get(reverse("people:profile-show")).status_code == 200
    ((old, new),) = migration.MOVED.items()
    session = client.session
    assert session[BACKEND_SESSION_KEY] == new
    session[BACKEND_SESSION_KEY] = old
    session.save()
    assert client.get(reverse("people:profile-show")).status_code == 302

    migration.name_moved_backend(apps, None)

    assert client.get(reverse("people:profile-show")).status_code == 200
