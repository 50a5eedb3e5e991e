"""Projects, roles in them, the languages that people know, and the audit log."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from core.jobs.models import Due
from core.languages.models import Language
from core.people.models.accounts import User


class Project(models.Model):
    """A team's work; everything that a manager sets up belongs to one."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=120)
    description = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    archived_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when it offers no work and cannot be changed."
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["name", "pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_archived(self) -> bool:
        return self.archived_at is not None


class ProjectDeletion(models.Model):
    """The deletion of a project: asked for, then done in the background. It stays when nothing else is left of it."""

    project = models.OneToOneField(Project, on_delete=models.SET_NULL, null=True, related_name="deletion")
    slug = models.SlugField()
    name = models.CharField(max_length=120)
    asked_at = models.DateTimeField()
    asked_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    lost = models.JSONField(default=dict, help_text="Number of rows, by kind.")
    files = models.JSONField(default=list, help_text="What is still to be removed from storage.")
    deleted_at = models.DateTimeField(null=True, blank=True, help_text="When its rows were deleted.")
    done_at = models.DateTimeField(null=True, blank=True, help_text="When its files were removed, too.")

    class Meta:
        ordering: ClassVar[list[str]] = ["-asked_at", "-pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(project=None, deleted_at__isnull=False) | Q(project__isnull=False, deleted_at=None),
                name="project_deletion_dated",
            ),
            models.CheckConstraint(
                condition=Q(done_at=None) | Q(deleted_at__isnull=False), name="project_deletion_rows_before_files"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["asked_at"], condition=Q(done_at=None), name="project_deletion_unfinished"),
        ]

    def __str__(self) -> str:
        return self.slug


class Owned(models.Model):
    """What belongs to a project, for its people alone unless it is shared with all.

    Without a project it belongs to its maker, until a new project is started with it.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    is_shared = models.BooleanField(
        _("shared with all"), default=False, help_text=_("Managers and researchers of every project can use it.")
    )
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        abstract = True


class Role(models.TextChoices):
    MANAGER = "manager", _("Manager")
    ANNOTATOR = "annotator", _("Annotator")
    RATER = "rater", _("Rater")
    PLAYER = "player", _("Player")
    RESEARCHER = "researcher", _("Researcher")


class Membership(models.Model):
    """One role of one person in one project; a person may have several, as `rules.conflicting_roles` allows."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role.choices)
    joined_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "user", "role"], name="membership_once_per_role"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="membership_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.user_id} of project {self.project_id}"


class LanguageLevel(models.TextChoices):
    NATIVE = "native", _("Native")
    FLUENT = "fluent", _("Fluent")
    ADVANCED = "advanced", _("Advanced")


class ProvidedRole(models.Model):
    """A role that groups of another service gave, and take away. Roles without one were given by people."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    provider = models.CharField(max_length=40, help_text="Its id in the file of SIGN_IN_PROVIDERS.")
    membership = models.OneToOneField(Membership, on_delete=models.CASCADE, related_name="provided")

    def __str__(self) -> str:
        return f"membership {self.membership_id} by {self.provider}"


class LanguageSkill(models.Model):
    """How well a person knows a language, by their own account."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="language_skills")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    level = models.CharField(max_length=8, choices=LanguageLevel.choices)
    recorded_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["user", "language"], name="language_skill_once_per_language"),
            models.CheckConstraint(condition=Q(level__in=LanguageLevel.values), name="language_skill_level_known"),
        ]

    def __str__(self) -> str:
        return f"{self.level} {self.language_id}"


class AuditEntry(models.Model):
    """One change by a manager or of the installation, never edited: each entry's digest covers the one before it."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="audit_entries")
    number = models.PositiveIntegerField()
    at = models.DateTimeField()
    by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    person = models.ForeignKey(
        User,
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        help_text="The person concerned, other than the one who did it.",
    )
    action = models.CharField(max_length=40, help_text="Noun and verb, such as round.opened.")
    about = models.CharField(max_length=200, help_text="The object of the change, in words.")
    details = models.JSONField(default=dict)
    digest = models.CharField(max_length=64)

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "-number"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "number"], name="audit_entry_numbered_once"),
        ]

    def __str__(self) -> str:
        return f"{self.number}: {self.action}"


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
