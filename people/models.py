"""Accounts, projects, roles per project, language skills, invitations by link, and consent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from django.contrib.auth.models import AbstractUser, UserManager
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from languages.models import Language


class Accounts(UserManager["User"]):
    @classmethod
    def normalize_email(cls, email: str | None) -> str:
        """Lower case as a whole: sign-in and password reset look it up that way."""
        return super().normalize_email(email).lower()


class User(AbstractUser):
    """An account. Memberships, project by project, say what a person may do; `is_superuser` is for installers."""

    reads_english = models.BooleanField(_("reads English well"), default=False)
    interface_language = models.CharField(_("interface language"), max_length=35, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True, help_text="When its owner deleted the account.")

    objects: ClassVar[Accounts] = Accounts()

    class Meta(AbstractUser.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(Lower("email"), condition=~Q(email=""), name="user_email_unique_whatever_case"),
            models.UniqueConstraint(Lower("username"), name="user_name_unique_whatever_case"),
        ]


class Session(AbstractBaseSession):
    """A session of a browser; `person` is found without decoding its data.

    No foreign key: saving a session need not wait for changes to the account.
    """

    person = models.BigIntegerField(null=True, db_index=True)
    signed_in_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True, help_text="When it was last used, to five minutes.")
    address = models.CharField(max_length=45, blank=True, default="", db_default="")
    user_agent = models.CharField(max_length=300, blank=True, default="", db_default="")


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


class Level(models.TextChoices):
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
    level = models.CharField(max_length=8, choices=Level.choices)
    recorded_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["user", "language"], name="language_skill_once_per_language"),
            models.CheckConstraint(condition=Q(level__in=Level.values), name="language_skill_level_known"),
        ]

    def __str__(self) -> str:
        return f"{self.level} {self.language_id}"


class Invitation(models.Model):
    """A link that admits up to `places` people, in one role, for some languages."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="invitations")
    token = models.CharField(max_length=43, unique=True)
    role = models.CharField(max_length=12, choices=Role.choices)
    languages = models.ManyToManyField(Language, blank=True, related_name="+")
    email = models.EmailField(blank=True)
    note = models.CharField(max_length=200, blank=True)
    places = models.PositiveIntegerField(default=1)
    places_taken = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(places_taken__lte=F("places")), name="invitation_not_oversold"),
            models.CheckConstraint(condition=Q(places__gte=1), name="invitation_has_a_place"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="invitation_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.role} of project {self.project_id}, {self.places_taken} of {self.places}"


class InvitationUse(models.Model):
    """One place of an invitation, and who used it."""

    invitation = models.ForeignKey(Invitation, on_delete=models.CASCADE, related_name="uses")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    used_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["invitation", "user"], name="invitation_used_once_per_person"),
        ]

    def __str__(self) -> str:
        return f"invitation {self.invitation_id} used by {self.user_id}"


class MailState(models.TextChoices):
    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"


UNFINISHED_MAILS = (MailState.QUEUED, MailState.SENDING)


class OutgoingMail(models.Model):
    """An e-mail that people/services/outbox.py sends once. This row decides."""

    NOT_NEEDED: ClassVar[str] = MailState.FAILED
    """The state of one that nobody needs any more when it would be sent."""
    REASON_LENGTH: ClassVar[int] = 300

    state = models.CharField(max_length=7, choices=MailState.choices, default=MailState.QUEUED)
    due_at = models.DateTimeField(help_text="Not to be sent before; if it is being sent, when that began.")
    attempts = models.PositiveSmallIntegerField(default=0)
    sent_at = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=REASON_LENGTH, blank=True, help_text="Why the last attempt failed.")

    class Meta:
        abstract = True


def mail_constraints(prefix: str, states: Sequence[str] = MailState.values) -> list[models.BaseConstraint]:
    return [
        models.CheckConstraint(condition=Q(state__in=states), name=f"{prefix}_state_known"),
        models.CheckConstraint(
            condition=Q(state="sent", sent_at__isnull=False) | (~Q(state="sent") & Q(sent_at=None)),
            name=f"{prefix}_sent_dated",
        ),
    ]


class InvitationMail(OutgoingMail):
    """One e-mail with the link of an invitation: the first, or a reminder."""

    invitation = models.ForeignKey(Invitation, on_delete=models.CASCADE, related_name="mails")
    is_reminder = models.BooleanField(default=False)
    site = models.CharField(max_length=300, help_text="Where the link begins, such as https://example.org/.")
    language = models.CharField(max_length=35, blank=True, help_text="In which it is written.")
    asked_at = models.DateTimeField()
    asked_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["invitation", "pk"]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["due_at"], condition=Q(state__in=UNFINISHED_MAILS), name="invitation_mail_due"),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["invitation"], condition=Q(state__in=UNFINISHED_MAILS), name="invitation_mail_one_at_a_time"
            ),
            *mail_constraints("invitation_mail"),
        ]

    def __str__(self) -> str:
        return f"{self.state} mail {self.pk} of invitation {self.invitation_id}"

    @property
    def reason_shown(self) -> str:
        """Return the reason in the language of the page, if it is one of ours and not of a mail server."""
        return gettext(self.reason) if self.reason else ""


class OnWithdrawal(models.TextChoices):
    KEEP = "keep", _("Keep earlier answers under a pseudonym")
    REMOVE = "remove", _("Stop counting earlier answers, and leave them out of later releases")
    CHOOSE = "choose", _("Let each person choose")


class ConsentText(models.Model):
    """A version of what people agree to before they work in a project; never edited, only replaced by the next."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="consent_texts")
    version = models.PositiveIntegerField()
    body = models.TextField(help_text="Markdown")
    on_withdrawal = models.CharField(
        max_length=6,
        choices=OnWithdrawal.choices,
        default=OnWithdrawal.CHOOSE,
        help_text="What happens to answers when somebody withdraws; shown beside the text.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "version"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "version"], name="consent_text_version_once"),
            models.CheckConstraint(condition=Q(version__gte=1), name="consent_text_version_from_one"),
        ]

    def __str__(self) -> str:
        return f"project {self.project_id}, version {self.version}"


class TextKind(models.TextChoices):
    CONSENT = "consent", _("Consent")
    RATING = "rating", _("Rating")
    WRITING = "writing", _("Writing")
    INSTRUCTIONS = "instructions", _("Instructions")


class TextTranslation(models.Model):
    """A translation of one version of a project's text: a draft, or published, and then never edited."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="text_translations")
    kind = models.CharField(max_length=12, choices=TextKind.choices)
    version = models.PositiveIntegerField(help_text="Of the text that is translated.")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    revision = models.PositiveIntegerField()
    body = models.TextField(help_text="Markdown")
    drafted_by = models.CharField(max_length=200, blank=True, help_text="The translator that drafted it, if any.")
    saved_at = models.DateTimeField()
    saved_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    published_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "kind", "version", "language", "revision"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["project", "kind", "version", "language", "revision"], name="text_translation_revision_once"
            ),
            models.CheckConstraint(condition=Q(kind__in=TextKind.values), name="text_translation_kind_known"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.version} of project {self.project_id} in {self.language_id}"


class Consent(models.Model):
    """A person's agreement to a version. A withdrawn one stays on record; agreeing again is a new row."""

    text = models.ForeignKey(ConsentText, on_delete=models.PROTECT, related_name="consents")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="consents")
    given_at = models.DateTimeField()
    translation = models.ForeignKey(
        TextTranslation, on_delete=models.PROTECT, null=True, blank=True, related_name="+",
        help_text="What the person read; empty for the original.",
    )  # fmt: skip
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    answers_kept = models.BooleanField(
        null=True, blank=True, help_text="If withdrawn: whether earlier answers stay, under a pseudonym."
    )

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["text", "user"], condition=Q(withdrawn_at=None), name="consent_once_per_version"
            ),
            models.CheckConstraint(
                condition=Q(withdrawn_at=None) | Q(withdrawn_at__gte=F("given_at")),
                name="consent_withdrawn_after_given",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} to text {self.text_id}"


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


class ApiToken(models.Model):
    """A token of a program that acts for a person; only a digest is stored. It expires, or is revoked before."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=8, help_text="Its first letters, to recognise it.")
    digest = models.CharField(max_length=64, unique=True)
    may_write = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} of {self.user_id}"


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


class Delivery(models.Model):
    """One event for one webhook: this row decides; it is retried at growing intervals."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=40)
    payload = models.JSONField()
    state = models.CharField(max_length=8, choices=DeliveryState.choices, default=DeliveryState.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField()
    answer = models.CharField(max_length=300, blank=True, help_text="Status or error of the last attempt.")
    created_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-created_at"]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["next_at"], condition=Q(state="waiting"), name="delivery_due"),
        ]

    def __str__(self) -> str:
        return f"{self.event} to webhook {self.webhook_id}"
