"""Other programs that are notified, and what was sent to them."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from core.jobs.models import Due
from core.people.models.accounts import User
from core.people.models.projects import Project


class WebhookEvent(models.TextChoices):
    ROUND_CLOSED = "round.closed", _("A round was closed")
    ROUND_ACCEPTED = "round.accepted", _("A round was accepted")
    RELEASE_DONE = "release.done", _("A release is ready")
    RELEASE_FAILED = "release.failed", _("A release could not be made")


class Webhook(models.Model):
    """An address that a manager of a project registered for events, signed with `secret`."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="webhooks")
    url = models.URLField(max_length=500)
    secret = models.CharField(max_length=64)
    events = models.JSONField(default=list)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "pk"]

    def __str__(self) -> str:
        return f"webhook {self.pk} of project {self.project_id}"


class DeliveryState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    DONE = "done", _("Delivered")
    FAILED = "failed", _("Given up")


class Delivery(Due):
    """One event for one webhook: this row decides; it is retried at growing intervals."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=40)
    payload = models.JSONField()
    state = models.CharField(max_length=8, choices=DeliveryState.choices, default=DeliveryState.WAITING)
    answer = models.CharField(max_length=300, blank=True, help_text="Status or error of the last attempt.")
    created_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-created_at"]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["due_at"], condition=Q(state="waiting"), name="delivery_due"),
        ]

    def __str__(self) -> str:
        return f"{self.event} to webhook {self.webhook_id}"
