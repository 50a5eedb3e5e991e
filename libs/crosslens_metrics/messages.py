"""The language of messages: English, unless the program around the library has translations."""

from __future__ import annotations

from gettext import NullTranslations
from typing import Protocol


class TranslationSource(Protocol):
    """`gettext.GNUTranslations` is one, and so is the module `django.utils.translation`."""

    def gettext(self, message: str) -> str: ...
    def ngettext(self, singular: str, plural: str, number: int, /) -> str: ...


class _TranslationsInUse:
    translations: TranslationSource = NullTranslations()


def use(translations: TranslationSource) -> None:
    """Take all messages from `translations` from now on, at the moment when each is said."""
    _TranslationsInUse.translations = translations


def gettext(message: str) -> str:
    """Translate a message."""
    return _TranslationsInUse.translations.gettext(message)


def ngettext(singular: str, plural: str, number: int) -> str:
    """Translate a message that depends on a number."""
    return _TranslationsInUse.translations.ngettext(singular, plural, number)


def gettext_noop(message: str) -> str:
    """Mark a constant for translators; `gettext` translates it where it is used."""
    return message
