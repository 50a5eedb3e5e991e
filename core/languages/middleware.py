"""For every request: pages that are not translated into the chosen language are in English, whole."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation
from django.utils.deprecation import MiddlewareMixin

from core.languages.rules.page_languages import COMPLETE, is_page_of_work


class PageLanguage(MiddlewareMixin):
    """Keeps pages of managers in English for those whose language only has the pages of those who work."""

    def process_view(self, request: HttpRequest, view: Any, *_arguments: Any) -> None:
        if translation.get_language() in COMPLETE or hasattr(view, "cls") or request.resolver_match is None:
            return
        module = getattr(view, "view_class", view).__module__
        if not is_page_of_work(module, request.resolver_match.view_name):
            translation.activate(settings.LANGUAGE_CODE)
            request.LANGUAGE_CODE = translation.get_language()
