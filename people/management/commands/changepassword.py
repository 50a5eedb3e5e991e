"""Sets the password of an account from the command line: python manage.py changepassword NAME."""

from __future__ import annotations

import getpass
from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.utils import timezone

from people.models import User
from people.services.sessions import end_other_sessions


class Command(changepassword.Command):
    """Django's own, after which nothing is left of what the old password let in."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        output = super().handle(*args, **options)
        user = User.objects.get_by_natural_key(options["username"] or getpass.getuser())
        end_other_sessions(user=user, this=None, with_tokens=True, now=timezone.now())
        return output
