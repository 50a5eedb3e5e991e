"""Errors on pages of work and of arrival, those of Django and allauth too, are in the language of the page."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from django import forms
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import translation

from core.languages.rules.page_languages import PAGE_LANGUAGES
from core.people.models import User

FORMS = (
    "allauth.mfa.base.forms",
    "allauth.mfa.totp.forms",
    "core.conversation.forms.working",
    "core.people.forms.passkeys",
    "core.people.forms.profile",
    "core.people.forms.sign_in",
)
VALUES = {"limit_value": 7, "show_value": 9, "value": "7"}
SIMILAR = {"username": "marialopez", "email": "marialopez@example.org", "first_name": "marialopez"}


def fields() -> Iterator[forms.Field | models.Field[Any, Any]]:
    for module in map(importlib.import_module, FORMS):
        for form in vars(module).values():
            if isinstance(form, type) and issubclass(form, forms.Form):
                yield from form.base_fields.values()
    yield User._meta.get_field("username")


def kinds_of_error() -> Iterator[Any]:
    for field in fields():
        shown = ["unique"] if isinstance(field, models.Field) else field.error_messages
        yield from (field.error_messages[kind] for kind in shown)
        validators: list[Any] = field.validators
        yield from (one.message for one in validators)


def of_passwords() -> Iterator[str]:
    for user in [User(**{name: text}) for name, text in SIMILAR.items()]:
        for password in ("marialopez", "1234567", "password1234"):
            try:
                validate_password(password, user)
            except ValidationError as error:
                yield from error.messages


def said_in(language: str) -> dict[str, str]:
    """Every message in `language`, by its English."""
    with translation.override("en"):
        kinds = {str(one % VALUES): one for one in kinds_of_error()}
        passwords = [*of_passwords()]
    with translation.override(language):
        return {english: str(one % VALUES) for english, one in kinds.items()} | dict(
            zip(passwords, of_passwords(), strict=True)
        )


@pytest.mark.parametrize("language", [code for code, _own_name in PAGE_LANGUAGES if code != "en"])
def test_errors_of_arrival_and_of_work_are_in_the_language_of_the_page(language: str):
    said = said_in(language)
    assert "A user with that username already exists." in said
    assert "The password is too similar to the email address." in said
    assert [english for english, text in said.items() if text == english] == []


def test_errors_in_hindi_and_telugu_use_the_words_of_the_pages():
    """Django's own speak of postal addresses, and of a user by another word."""
    hindi, telugu = said_in("hi"), said_in("te")
    assert "ई-मेल" in hindi["Enter a valid email address."]
    assert "यूज़रनेम" in hindi["A user with that username already exists."]
    assert "యూజర్ పేరు" in telugu["A user with that username already exists."]
