"""`manage.py changepassword NAME`: set the password of an account."""

from __future__ import annotations

import getpass
from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.utils import timezone

from core.people.models import User
from core.people.services.sessions import end_other_sessions


class Command(changepassword.Command):
    """Django's own command, which also ends all sessions and tokens of the old password."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        output = super().handle(*args, **options)
        user = User.objects.get_by_natural_key(options["username"] or getpass.getuser())
        end_other_sessions(user=user, this=None, with_tokens=True, now=timezone.now())
        return output
