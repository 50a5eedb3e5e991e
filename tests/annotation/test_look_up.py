"""The administration: everything of people and annotation can be looked up, nothing changed, no secret read."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib import admin
from django.db.models import Model
from django.test import RequestFactory
from django.urls import reverse

from annotation.models import (
    AnnotatorState,
    AnnotatorStatus,
    CorrectionRequest,
    Exclusion,
    Feedback,
    Release,
    SpotCheck,
)
from people.models import ApiToken, Delivery, Webhook
from people.services import audit_log
from tests.annotation.submitting import submit_captions
from tests.annotation.verifying import make_verification, rate_all
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_round, make_user
from tests.kept import kept

pytestmark = pytest.mark.django_db
SECRETS = ("d1g3st", "s3cr3t", "s4lt")
# Accounts are made and changed here; all else by the pages.
CHANGED_HERE = {"user"}


def models_of(app: str) -> list[type[Model]]:
    return [model for model in apps.get_app_config(app).get_models() if admin.site.is_registered(model)]


@kept
def campaign() -> None:
    round = make_round(images=2, replication=2)
    ann, bob = make_annotator(round, "ann"), make_annotator(round, "bob")
    submit_captions(round, ann)
    project, manager, caption = round.project, round.project.created_by, ann.captions.first()
    rate_all(make_verification(round, places=1), bob)
    by = {"by": manager, "at": NOW}
    Feedback.objects.create(project=project, round=round, person=ann, text="Well done", **by)
    CorrectionRequest.objects.create(caption=caption, note="Resend", text_before="x", text_before_as_typed="x", **by)
    SpotCheck.objects.create(caption=caption, is_rating_right=True, **by)
    about = {"project": project, "person": ann, "language": round.language, "reason": "so"}
    AnnotatorStatus.objects.create(state=AnnotatorState.PAUSED, **about, **by)
    Exclusion.objects.create(**about, **by)
    until = {"until": NOW, "created_at": NOW, "created_by": manager}
    Release.objects.create(
        project=project, number=1, title="One", licence="CC-BY-4.0", authors="A", salt="s4lt", **until
    )
    audit_log.record(project=project, action="round.opened", about="main 1, de", by=manager, now=NOW)
    ApiToken.objects.create(user=ann, name="script", prefix="clt_", digest="d1g3st", created_at=NOW, expires_at=NOW)
    hook = Webhook.objects.create(
        project=project, url="https://example.org", secret="s3cr3t", created_at=NOW, created_by=manager
    )
    Delivery.objects.create(webhook=hook, event="round.closed", payload={}, next_at=NOW, created_at=NOW)


@pytest.mark.parametrize("app", ["people", "annotation"])
def test_a_superuser_looks_everything_up_and_changes_nothing(campaign: None, app: str, rf: RequestFactory):
    request = rf.get("/")
    request.user = make_user(is_staff=True, is_superuser=True)
    client = client_of(request.user)
    seen = 0
    for model in models_of(app):
        name = f"admin:{app}_{model._meta.model_name}"
        assert client.get(reverse(f"{name}_changelist"), {"q": "a"}).status_code == 200, name
        row = model._default_manager.first()
        if row is not None:
            page = client.get(reverse(f"{name}_change", args=[row.pk]))
            assert page.status_code == 200, name
            assert not [secret for secret in SECRETS if secret in page.content.decode()], name
            seen += 1
        if model._meta.model_name not in CHANGED_HERE:
            looks = admin.site.get_model_admin(model)
            assert not looks.has_add_permission(request), name
            assert not looks.has_change_permission(request, row), name
            assert not looks.has_delete_permission(request, row), name
    assert seen >= 8


@pytest.mark.parametrize("app", ["people", "annotation"])
def test_every_model_can_be_looked_up(app: str):
    inline = {"ConsentText", "InvitationMail", "InvitationUse", "LanguageSkill"}
    missing = {model.__name__ for model in apps.get_app_config(app).get_models() if not admin.site.is_registered(model)}
    keys = {"Session"}
    shown_in_lists = {name for name in missing if "_" in name}
    assert missing - inline - keys - shown_in_lists == set()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_who_is_of_the_staff_without_permissions_sees_nothing_of_it():
    client = client_of(make_user(is_staff=True))
    for app in ("people", "annotation"):
        for model in models_of(app):
            assert client.get(reverse(f"admin:{app}_{model._meta.model_name}_changelist")).status_code == 403
