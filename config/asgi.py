"""What the web server serves: `python -m config.serve --interface asginl config.asgi:application`."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.core.handlers.wsgi import WSGIRequest
from django.db import close_old_connections
from django.http import Http404
from django.utils import timezone

from config.wsgi import application as handle
from core.people.models import User
from core.people.permissions import READERS, check_reader, project_for
from core.people.services.sessions import SessionStore
from core.people.services.tokens import token_of
from office.operations.rules.uploads import project_at
from office.operations.serving.bodies import BodyRefusedError
from office.operations.serving.handler import ServedApplication

SIGNED_OUT = "You are signed out, so the files were not accepted. Go back, sign in and send them again."
NOT_YOURS = "Only managers and researchers can send files, so these were not accepted."


def check_uploader(environ: dict[str, Any]) -> None:
    """Raise BodyRefusedError unless the person may upload files there, to that very project."""
    close_old_connections()
    # A copy: the constructor changes what it is given.
    request = WSGIRequest({**environ})
    request.session = SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    scheme, _blank, key = request.headers.get("Authorization", "").partition(" ")
    token = token_of(key.strip(), now=timezone.now()) if scheme.lower() == "bearer" else None
    user = token.user if token and token.may_write else get_user(request)
    if not isinstance(user, User):
        raise BodyRefusedError(403, SIGNED_OUT)
    try:
        if slug := project_at(request.path_info):
            project_for(user, slug, *READERS)
        else:
            check_reader(user)
    except Http404 as error:
        raise BodyRefusedError(403, NOT_YOURS) from error


application = ServedApplication(handle, check_uploader=check_uploader)
