"""Messages of pages, in a cookie of this host alone like all other cookies."""

from __future__ import annotations

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage


class MessageCookie(CookieStorage):
    @property
    def cookie_name(self) -> str:  # type: ignore[override] # a constant of Django's
        return f"{settings.COOKIE_PREFIX}messages"


class MessageStorage(FallbackStorage):
    storage_classes = (MessageCookie, SessionStorage)
