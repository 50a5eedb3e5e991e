from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from people.models import Project, Role, User
from people.services import add_member
from tests.factories import make_project, make_user

PASSWORD = "seven tall giraffes"


@pytest.fixture
def project() -> Project:
    return make_project("lions", manager=make_user("mia"))


@pytest.fixture
def manager(project: Project) -> User:
    return project.created_by


@pytest.fixture
def annotator(project: Project) -> User:
    user = make_user("ann")
    add_member(project=project, user=user, role=Role.ANNOTATOR)
    return user


@pytest.fixture
def outsider() -> User:
    """Manages a project, but another one."""
    return make_project("zebras").created_by


@pytest.fixture
def signed_in() -> Callable[[User], Client]:
    def sign_in(user: User) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def ann_with_password() -> User:
    user = make_user("Ann", email="ann@example.org")
    user.set_password(PASSWORD)
    user.save()
    return user
