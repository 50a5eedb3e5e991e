"""Clients that are signed in, and what their pages say."""

from __future__ import annotations

from typing import Any

from django.test import Client

from core.people.models import User


def client_of(user: User, **options: Any) -> Client:
    """Sign `user` in; `options` are those of Django's client."""
    client = Client(**options)
    client.force_login(user)
    return client
