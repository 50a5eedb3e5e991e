"""Language and direction of user-written text."""

from __future__ import annotations

from django import template
from django.utils.html import strip_tags
from django.utils.safestring import SafeString

from core.languages.rules.scripts import is_english
from core.people.rules.markdown import to_html

register = template.Library()
register.filter("as_html", to_html)


@register.simple_tag
def written(text: str) -> SafeString:
    """Return the attributes `lang` and `dir` of an element that contains `text`, plain or HTML.

    Otherwise it would inherit the page's own language. An empty `lang` says that the language is not known.
    """
    return SafeString('lang="en" dir="ltr"' if is_english(strip_tags(text)) else 'lang="" dir="auto"')
