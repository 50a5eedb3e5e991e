"""What the web server serves: `granian --interface asginl config.asgi:application`."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.core.handlers.wsgi import WSGIRequest
from django.db import close_old_connections

from config.wsgi import application as handle
from operations.serving import Application
from people.sessions import SessionStore


def is_signed_in(environ: dict[str, Any]) -> bool:
    close_old_connections()
    request = WSGIRequest(environ)
    request.session = SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    return get_user(request).is_authenticated


application = Application(handle, may_upload=is_signed_in)
