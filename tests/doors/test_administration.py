"""The administration: superusers look everything up and change next to nothing, and no secret is read there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.apps import apps
from django.contrib import admin
from django.db.models import Model
from django.test import RequestFactory
from django.urls import reverse

from annotation.models import AnnotatorState, AnnotatorStatus, Exclusion, Release, SpotCheck
from core.people.models import ApiToken, Invitation, Webhook
from tests.doors.asking import signed_in
from tests.doors.world import World
from tests.factories import NOW, make_user, make_vectors

pytestmark = pytest.mark.django_db
APPS = ("annotation", "gapgame", "images", "inference", "people", "scoring", "sxs_eval")
ALL = {"add", "change", "delete"}
MAY = {"user": ALL, "authenticator": {"delete"}}
"""What is done here; all else is done by the pages."""
HAVE_NO_WORDS_OF_MODELS = ("inference", "scoring", "sxs_eval")
SHOWN_WITH_OTHERS = {"ConsentText", "InvitationMail", "InvitationUse", "LanguageSkill", "Session"}


def models() -> Iterator[type[Model]]:
    return (model for app in APPS for model in apps.get_app_config(app).get_models() if admin.site.is_registered(model))


def test_a_superuser_looks_everything_up_and_changes_nothing(world: World, rf: RequestFactory) -> None:
    ann = world.seeded.ann
    by: dict[str, Any] = {"by": world.seeded.manager, "at": NOW}
    about: dict[str, Any] = {
        "project": world.seeded.project,
        "person": ann,
        "language": world.seeded.main.language,
        "reason": "so",
    }
    AnnotatorStatus.objects.create(state=AnnotatorState.PAUSED, **about, **by)
    Exclusion.objects.create(**about, **by)
    SpotCheck.objects.create(caption=ann.captions.first(), is_rating_right=True, **by)
    Authenticator.objects.create(user=ann, type="totp", data={"secret": "OLDSECRET"})
    EmailAddress.objects.create(user=ann, email=ann.email)
    make_vectors()
    Release.objects.update(salt="s4lt-of-pseudonyms")
    kept: dict[Any, str] = {ApiToken: "digest", Webhook: "secret", Invitation: "token", Release: "salt"}
    secrets = {"OLDSECRET"}
    for kind, column in kept.items():
        secrets |= set(kind.objects.values_list(column, flat=True))
    assert len(secrets) > len(kept)
    assert all(secrets)
    request = rf.get("/")
    request.user = make_user(is_staff=True, is_superuser=True)
    client, seen = signed_in(request.user), 0
    for model in (*models(), Authenticator, EmailAddress):
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        assert client.get(reverse(f"{name}_changelist"), {"q": "a"}).status_code == 200, name
        row, looks = model._default_manager.first(), admin.site.get_model_admin(model)
        if row is not None:
            page = client.get(reverse(f"{name}_change", args=[row.pk]))
            text, seen = page.content.decode(), seen + 1
            assert page.status_code == 200, name
            assert not [secret for secret in secrets if secret in text], name
            if model._meta.app_label in HAVE_NO_WORDS_OF_MODELS:
                assert not re.search("(base|test) caption of", text), name
        does = {one for one in ALL if getattr(looks, f"has_{one}_permission")(request)}
        assert does == MAY.get(str(model._meta.model_name), set()), name
    assert seen > 40


def test_a_second_factor_that_was_lost_is_taken_away_there() -> None:
    factor = Authenticator.objects.create(user=make_user(), type="totp", data={"secret": "OLDSECRET"})
    client = signed_in(make_user(is_staff=True, is_superuser=True))
    assert client.post(reverse("admin:mfa_authenticator_delete", args=[factor.pk]), {"post": "yes"}).status_code == 302
    assert not Authenticator.objects.exists()


def test_everything_of_people_and_annotation_can_be_looked_up() -> None:
    of_these = [model for app in ("people", "annotation") for model in apps.get_app_config(app).get_models()]
    missing = {model.__name__ for model in of_these if not admin.site.is_registered(model)}
    # Those with "_" join two others, and are shown in lists of one of them. Answers to programs and personal links are
    # those alone who have them.
    assert {name for name in missing if "_" not in name} == {*SHOWN_WITH_OTHERS, "AnsweredRequest", "PersonalLink"}


@pytest.mark.long(reason="one permission of Django's keeps all of it")
def test_who_is_of_the_staff_without_permissions_sees_nothing_of_it() -> None:
    client = signed_in(make_user(is_staff=True))
    for model in models():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
        assert client.get(reverse(name)).status_code == 403, name
